"""A function of a pipeline, with the values that it captured when the dataset was made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.core.errors import InvalidArgumentError, require
from headrace.ops.data.pipeline.dataset import Element
from headrace.ops.data.pipeline.running import Running


class Captured:
    """`f` with its last arguments bound."""

    __slots__ = ("function", "values", "waits")

    def __init__(self, ctx: Any, function: Any, values: Sequence[Any]) -> None:
        self.function, self.values = function, list(values)
        self.waits: bool = ctx.step.library.waits(function)

    def __call__(self, running: Running, element: Sequence[Any]) -> Element:
        return running.call(self.function, [*element, *self.values])

    def rows(self, running: Running, columns: Element) -> Element | None:
        """Its results for many elements at once, stacked; None where it has to be called for each."""
        if self.waits:
            return None
        results = running.call_rows(self.function, columns, self.values)
        count = len(columns[0])
        if results is None or any(np.ndim(r) == 0 or len(r) != count for r in results):
            return None
        found: Element = results
        return found

    def truth(self, running: Running, element: Sequence[Any]) -> bool:
        """The value of a predicate."""
        results = self(running, element)
        ok = len(results) == 1 and np.ndim(results[0]) == 0 and np.asarray(results[0]).dtype == np.bool_
        if not ok:
            raise InvalidArgumentError(None, None, "Predicate must return a scalar bool.")
        return bool(results[0])

    def number(self, running: Running, element: Sequence[Any], message: str) -> int:
        """The value of a function that gives one int64."""
        return self.one_number(self(running, element), message)

    @staticmethod
    def one_number(results: Sequence[Any], message: str) -> int:
        """The only one of results, an int64."""
        is_one = len(results) == 1 and np.size(results[0]) == 1
        require(is_one and np.asarray(results[0]).dtype == np.int64, message)
        return int(np.asarray(results[0]).reshape(()))
