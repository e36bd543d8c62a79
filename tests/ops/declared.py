"""Every declared op with its samples, as the generated tests see them.

OPS=reduce,array pytest tests/ops     only the ops declared in these modules
"""

from __future__ import annotations

import functools
import os
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np

import headrace as tf
from headrace.core.dtypes import as_dtype, resource
from headrace.graph.tensor import Tensor
from headrace.ops.array.source import placeholder
from headrace.ops.declaration import catalog
from headrace.ops.declaration.declare import REGISTRY, Op
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.traits import CONTROL_FLOW, SOURCE


@functools.cache
def ops() -> list[Op]:
    chosen = os.environ.get("OPS", "")
    if not chosen:
        catalog.load_all()
        return [REGISTRY[name] for name in sorted(REGISTRY)]
    catalog.load_all()
    words = set(chosen.split(","))
    return [o for _, o in sorted(REGISTRY.items()) if o.__module__.rpartition(".")[2] in words]


def needs_samples(op: Op) -> bool:
    """Ops without a kernel, or whose meaning is an effect, are tested by hand."""
    return not (op.is_stateful or op.wants_context or op.reference is None) and not (
        op.traits & {CONTROL_FLOW, SOURCE} or any(a.is_ref for a in op.signature.inputs)
    )


def samples(kind: type[Sample] = Sample) -> Iterator[tuple[str, Op, Sample]]:
    for op in ops():
        if op.sample_rule is None:
            continue
        rng = np.random.default_rng(zlib.crc32(op.name.encode()))
        for i, sample in enumerate(op.sample_rule(rng)):
            if type(sample) is kind:
                yield f"{op.name}-{i}-{sample!r}", op, sample


class Built:
    """An op built on placeholders, in a graph of its own.

    hide: (position of an input, axis) whose size is not known, or axis -1 for the whole shape.
    known: the inputs from this position on are constants.
    """

    def __init__(
        self, op: Op, sample: Sample, hide: tuple[int, int] | None = None, known: int | None = None
    ) -> None:
        self.graph, self.op, self.sample = tf.Graph(), op, sample
        self.feeds: dict[Tensor, Any] = {}
        self.initializers: list[Any] = []
        self.variables: list[Any] = []
        self.hide, self.known = hide, known
        with self.graph.as_default():
            inputs = [self._argument(i, value) for i, value in enumerate(sample.inputs)]
            result = op(*inputs, **sample.attrs)
        self.node = result if isinstance(result, tf.Operation) else _first(result).op

    def _argument(self, position: int, value: Any) -> Any:
        declared = self.op.signature.inputs[position]
        if declared.is_ref or declared.dtype is resource:
            return self._state(value, declared.is_ref)
        if isinstance(value, (list, tuple)):
            return [self._placeholder(position, v) for v in value]
        return self._placeholder(position, value)

    def _placeholder(self, position: int, value: Any) -> Tensor:
        array = np.asarray(value)
        if self.known is not None and position >= self.known:
            return tf.constant(array)
        shape: list[int | None] | None = list(array.shape)
        if self.hide is not None and self.hide[0] == position:
            if self.hide[1] < 0:
                shape = None
            elif self.hide[1] < array.ndim:
                shape[self.hide[1]] = None
        tensor = placeholder(dtype=as_dtype(array.dtype), shape=shape)
        self.feeds[tensor] = array
        return tensor

    def _state(self, value: Any, by_reference: bool) -> Tensor:
        """A variable that holds the value, for an input that is a reference or a handle."""
        variable = tf.Variable(value, trainable=False, use_resource=not by_reference)
        self.initializers.append(variable.initializer)
        self.variables.append(variable)
        return variable._ref() if by_reference else variable.handle

    @property
    def outputs(self) -> list[Tensor]:
        return list(self.node.outputs)

    def run(self, fetches: Any, feeds: dict[Tensor, Any] | None = None) -> Any:
        with tf.Session(graph=self.graph) as session:
            if self.initializers:
                session.run(self.initializers)
            return session.run(fetches, self.feeds if feeds is None else feeds)


def _first(result: Any) -> Tensor:
    while isinstance(result, (list, tuple)):
        result = next(part for part in result if not isinstance(part, (list, tuple)) or part)
    return result


__all__ = ["Built", "ErrorSample", "Sample", "needs_samples", "ops", "samples"]
