"""A TF1 program under measurement: a graph, variables with given first values, a session, a step.

`tf` is any module that offers TensorFlow 1's names: headrace, or tensorflow.compat.v1."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np

Value = Callable[[], Any]  # made only when it is loaded: a large network exists once


@dataclass
class Step:
    """What a worker times.  `run` does one whole step and gives its loss, or None where the result
    stays inside; `check` then gives a number to compare.  `flops` counts a multiply-add as two."""

    run: Callable[[], Any]
    check: Callable[[], float] | None = None
    close: Callable[[], None] = lambda: None
    flops: float = 0


class Program:
    def __init__(self, tf: Any) -> None:
        self.tf = tf
        self.graph = tf.Graph()
        self.given: list[tuple[Any, Value]] = []

    def building(self) -> AbstractContextManager[Any]:
        return self.graph.as_default()

    def variable(self, name: str, shape: tuple[int, ...], value: Value, **options: Any) -> Any:
        """`tf.get_variable` whose first value is the same in every framework."""
        zeros = self.tf.zeros_initializer()
        variable = self.tf.get_variable(name, shape, initializer=zeros, **options)
        self.given.append((variable, value))
        return variable

    def filled(self, name: str, size: int, number: float, **options: Any) -> Any:
        """A vector of one number, such as a bias or a scale."""
        return self.variable(name, (size,), lambda: np.full(size, number, np.float32), **options)

    def resident(self, name: str, value: Any) -> Any:
        """Data that is loaded once and not fed."""
        return self.variable(name, value.shape, lambda: value, dtype=value.dtype, trainable=False)

    def start(self) -> Any:
        """A session whose variables have their first values."""
        session = self.session = self.tf.Session(graph=self.graph)
        with self.building():
            given = {variable.name for variable, _ in self.given}
            others = [v for v in self.tf.global_variables() if v.name not in given]
            session.run(self.tf.variables_initializer(others))
            for variable, value in self.given:
                variable.load(value(), session)
        self.given.clear()
        return session

    def training(
        self, loss: Any, train: Any, feeds: Callable[[], dict[Any, Any]] | None = None, flops: float = 0
    ) -> Step:
        """The usual step: the loss is fetched, the update done."""
        run = self.start().run
        fetches = [loss, train]
        if feeds is None:
            return Step(lambda: run(fetches)[0], close=self.session.close, flops=flops)
        return Step(lambda: run(fetches, feeds())[0], close=self.session.close, flops=flops)
