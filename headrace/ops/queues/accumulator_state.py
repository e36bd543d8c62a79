"""Accumulators of gradients: they add up what workers send for the current step, and give the sum or mean
when enough has arrived.  `Gate` decides who gets it and when: a pure state machine."""

from __future__ import annotations

import threading
from collections import deque
from concurrent.futures import Future
from typing import Any

import numpy as np

from headrace.core import log
from headrace.core.dtypes import DType
from headrace.core.errors import CancelledError, require
from headrace.core.shapes import Shape, make_shape
from headrace.ops.declaration.waiting import cancelled, until_cancelled
from headrace.ops.io.example_columns import c_shape


class Gate:
    """How many gradients there are, for which step, and who waits for how many."""

    def __init__(self) -> None:
        self.count = 0
        self.step = 0
        self._waiting: deque[tuple[Any, int]] = deque()

    def admits(self, local_step: int) -> bool:
        """Whether a gradient of this step counts; older ones are dropped."""
        return local_step >= self.step

    def wait(self, ticket: Any, required: int) -> None:
        self._waiting.append((ticket, required))

    def next(self) -> Any | None:
        """Who gets what has been added up; it starts anew then."""
        if not self._waiting or self.count < self._waiting[0][1]:
            return None
        self.step += 1
        self.count = 0
        return self._waiting.popleft()[0]

    def leave(self, ticket: Any) -> bool:
        """Somebody waits no longer; False if he did not wait."""
        for place, (other, _) in enumerate(self._waiting):
            if other is ticket:
                del self._waiting[place]
                return True
        return False

    def leave_all(self) -> list[Any]:
        tickets = [ticket for ticket, _ in self._waiting]
        self._waiting.clear()
        return tickets


# -- what is added up ----------------------------------------------------------------------------
class DenseTotal:
    """Tensors of one shape.  The first is kept as it is, since values do not change; the sum of two is this
    object's own, and changes in place until it is given away."""

    def __init__(self, shape: Shape) -> None:
        self.shape, self.value, self._is_own = shape, np.zeros(0), False

    def start(self, gradient: Any) -> None:
        self._check(gradient, self.shape)
        self.value, self._is_own = gradient, False

    def add(self, gradient: Any) -> None:
        self._check(gradient, make_shape(self.value.shape))
        self._check(gradient, self.shape)
        out = self.value if self._is_own else np.empty_like(self.value)
        self.value, self._is_own = np.add(self.value, gradient, out=out), True

    def _check(self, gradient: Any, shape: Shape) -> None:
        if not shape.is_compatible_with(make_shape(gradient.shape)):
            expected = "<unknown>" if shape.rank is None else c_shape(shape)
            require(False, f"Shape mismatch: expected {expected}, got {c_shape(gradient.shape)}")

    def result(self, count: int | None) -> Any:
        """The sum, or the mean of `count`."""
        if count is None or count == 1:
            return self.value
        if not self._is_own or self.value.dtype.kind not in "fc":
            return _divided(self.value, count)
        return np.divide(self.value, np.asarray(count).astype(self.value.dtype), out=self.value)


class SparseTotal:
    """Rows of tensors, each with its index; the mean of a row is over those who sent it."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.indices = self.counts = np.zeros(0, np.int64)
        self.values = np.zeros(0)

    def start(self, gradient: Any) -> None:
        self._check_given(gradient)
        indices, values, _ = gradient
        rank = self.shape.rank or 0
        require(
            rank <= values.ndim, f"Shape mismatch: expected values rank at least {rank}, got {values.ndim}"
        )
        self._check_rows(values, (self.shape.sizes if rank else ())[1:])
        self.indices, self.values = np.array(indices), np.array(values)
        self.counts = np.ones(len(indices), np.int64)

    def add(self, gradient: Any) -> None:
        self._check_given(gradient)
        indices, values, _ = gradient
        rank = self.values.ndim
        require(rank == values.ndim, f"Shape mismatch: expected values rank {rank}, got {values.ndim}")
        self._check_rows(values, self.values.shape[1:])
        mine, theirs = _merged(self.indices, indices)
        out = np.zeros((len(mine), *values.shape[1:]), self.values.dtype)
        counts = np.zeros(len(mine), np.int64)
        new = np.zeros(len(mine), np.int64)
        for places, rows, numbers, names in (
            (mine, self.values, self.counts, self.indices),
            (theirs, values, np.ones(len(indices), np.int64), indices),
        ):
            here = places >= 0
            chosen = places[here]
            out[here] += rows[chosen]
            counts[here] += numbers[chosen]
            new[here] = names[chosen]
        self.indices, self.values, self.counts = new, out, counts

    def _check_given(self, gradient: Any) -> None:
        indices, values, shape = gradient
        require(
            indices.ndim == 1, f"Input indices should be vector but received shape: {c_shape(indices.shape)}"
        )
        require(values.ndim > 0, "Values cannot be 0-dimensional.")
        require(
            len(values) == len(indices), f"Expected {len(indices)} non-empty input values, got {len(values)}"
        )
        sizes = self.shape.sizes if self.shape.rank is not None else ()
        if shape is not None:
            require(
                len(sizes) <= shape.size,
                f"Shape mismatch: expected shape rank at least {len(sizes)}, got {shape.size}",
            )
            for i, (size, given) in enumerate(zip(sizes, shape.reshape(-1).tolist())):
                require(
                    size in (None, given), f"Shape mismatch: expected shape dim {i} to be {size}, got {given}"
                )
        if sizes and sizes[0] is not None:
            for i in np.flatnonzero(indices >= sizes[0])[:1]:
                require(
                    False,
                    f"Shape mismatch: index of slice {i} exceeded limits of shape; index is "
                    f"{indices[i]} exceeded {sizes[0]}",
                )

    def _check_rows(self, values: Any, sizes: Any) -> None:
        for i, (size, given) in enumerate(zip(sizes, values.shape[1:]), 1):
            require(
                size in (None, given), f"Shape mismatch: expected values dim {i} to be {size}, got {given}"
            )

    def result(self, count: int | None) -> Any:
        values = self.values
        if count is not None:
            counts = self.counts.reshape(-1, *[1] * (values.ndim - 1))
            values = _divided(values, counts)
        first = self.shape.sizes[0] if self.shape.rank else None
        shape = [-1 if first is None else first, *values.shape[1:]]
        return self.indices, values, np.array(shape, np.int64)


def _divided(values: Any, count: Any) -> Any:
    """Integers are divided as in C: towards zero."""
    if values.dtype.kind in "iu":
        return np.asarray(np.trunc(values / count)).astype(values.dtype)
    return (values / np.asarray(count).astype(values.dtype)).astype(values.dtype, copy=False)


def _merged(a: Any, b: Any) -> tuple[Any, Any]:
    """Two lists of indices walked side by side, the smaller one first: for each place of the result
    where it is in either, or -1."""
    if _rises(a) and _rises(b):
        both = np.union1d(a, b)
        return _places(both, a), _places(both, b)
    left, right = [], []
    i = j = 0
    while i < len(a) or j < len(b):
        in_a = j == len(b) or (i < len(a) and a[i] <= b[j])
        in_b = i == len(a) or (j < len(b) and b[j] <= a[i])
        left.append(i if in_a else -1)
        right.append(j if in_b else -1)
        i, j = i + in_a, j + in_b
    return np.array(left, np.int64), np.array(right, np.int64)


def _rises(indices: Any) -> bool:
    return bool((np.diff(indices) > 0).all())


def _places(all_indices: Any, some: Any) -> Any:
    out = np.full(len(all_indices), -1, np.int64)
    out[np.searchsorted(all_indices, some)] = np.arange(len(some))
    return out


# -- the resource --------------------------------------------------------------------------------
class Accumulator:
    """The resource behind an accumulator's handle."""

    def __init__(self, dtype: DType, total: DenseTotal | SparseTotal, reduction: str) -> None:
        self.dtype, self.total, self.takes_mean = dtype, total, reduction == "MEAN"
        self.gate = Gate()
        self._lock = threading.Lock()

    def apply(self, local_step: int, gradient: Any) -> None:
        """Add a gradient, unless it is too old."""
        with self._lock:
            if self.gate.admits(local_step):
                if self.gate.count:
                    self.total.add(gradient)
                else:
                    self.total.start(gradient)
                self.gate.count += 1
            answers = self._answers()
        _deliver(answers)

    def take(self, ctx: Any, required: int) -> Any:
        """What was added up, when `required` gradients have arrived; or a Future of it."""
        require(required > 0, f"Argument num_required must be positive, but was {required}")
        future: Future[Any] = Future()
        with self._lock:
            self.gate.wait(future, required)
            answers = self._answers()
        _deliver(answers)
        if future.done():
            return future.result()
        return until_cancelled(ctx, future, lambda: self._give_up(ctx, future))

    def set_step(self, step: int) -> None:
        with self._lock:
            if step < self.gate.step:
                log.warning(
                    "Attempt to set current_global_step_ to smaller value: %s >= %s", self.gate.step, step
                )
            self.gate.step = step

    def close_resource(self) -> None:
        """The container that held the accumulator is cleared."""
        with self._lock:
            waiting = self.gate.leave_all()
        for future in waiting:
            message = "TakeGrad operation was cancelled"
            future.set_exception(CancelledError(None, None, message))

    def _answers(self) -> list[tuple[Any, Any]]:
        found: list[tuple[Any, Any]] = []
        while True:
            count = self.gate.count
            ticket = self.gate.next()
            if ticket is None:
                return found
            found.append((ticket, self.total.result(count if self.takes_mean else None)))

    def _give_up(self, ctx: Any, future: Future[Any]) -> None:
        with self._lock:
            waited = self.gate.leave(future)
        if waited:
            future.set_exception(cancelled(ctx, "TakeGrad operation was cancelled"))


def _deliver(answers: list[tuple[Any, Any]]) -> None:
    for future, value in answers:
        future.set_result(value)
