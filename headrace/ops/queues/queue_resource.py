"""A queue of tuples of tensors: `queue_state` behind a lock, values checked and put together.

Whoever has to wait gets a Future, so that waiting holds no thread.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from typing import Any

import numpy as np

from headrace.core.dtypes import DType, string
from headrace.core.errors import DeadlineExceededError, InternalError, OpError, require
from headrace.core.fields import reads
from headrace.core.shapes import Shape, make_shape
from headrace.ops.declaration.resources import keep
from headrace.ops.queues.queue_state import Answer, Element, QueueState

Values = list[Any]


class Ticket:
    """Somebody's place in the queue: the future he holds, and what his elements become."""

    __slots__ = ("future", "finish")

    def __init__(self, finish: Callable[[list[Element]], Values]) -> None:
        self.future: Future[Values] = Future()
        self.finish = finish

    def answer(self, result: list[Element] | OpError) -> None:
        if isinstance(result, OpError):
            self.future.set_exception(result)
            return
        try:
            values = self.finish(result)
        except (OpError, ValueError, MemoryError) as error:
            self.future.set_exception(error)
        else:
            self.future.set_result(values)


class Queue:
    """The resource behind a queue's handle."""

    def __init__(
        self,
        state: QueueState,
        types: Sequence[DType],
        shapes: Sequence[Shape] | None,
        pads: bool = False,
        settings: dict[str, Any] | None = None,
    ) -> None:
        """`shapes` None: anything goes in, and only single elements come out.  With `pads`, sizes
        that are not known are filled up in batches.  `settings` are those that nodes must share."""
        self.state, self.types, self.shapes, self.pads = state, tuple(types), shapes, pads
        self.settings = settings or {}
        self._sizes = [s.sizes if s.is_full else None for s in shapes or ()]
        self.verified: Any = None  # attributes of the node that was last found to fit
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self.state)

    # -- elements in ---------------------------------------------------------------------------
    def put(self, ctx: Any, values: Values) -> Any:
        """One element."""
        shapes = [v.shape for v in values]
        if shapes != self._sizes:
            self._check(values, shapes)
        element = tuple(keep(v) for v in values)
        with self._lock:
            if self.state.put_now((element,)):
                return ()
        return self._ask(ctx, _nothing, lambda ticket: self.state.put(ticket, [element]))

    def put_many(self, ctx: Any, values: Values) -> Any:
        """The slices along the first dimension."""
        require(
            all(np.ndim(v) for v in values),
            "Every component of a batch needs a first dimension to be split along",
        )
        count = len(values[0])
        if self.shapes is not None:
            self._check(values, [v.shape for v in values], count)
        else:
            self._check(values, None)
            for i, value in enumerate(values):
                require(
                    len(value) == count,
                    "All input tensors must have the same size in the 0th dimension. Component "
                    f"{i} has {len(value)}, and should have {count}",
                )
        if not count:
            return ()
        kept = [keep(v) for v in values]
        elements = list(zip(*map(_rows, kept)))
        with self._lock:
            if self.state.put_now(elements):
                return ()
        return self._ask(ctx, _nothing, lambda ticket: self.state.put(ticket, elements))

    def _check(self, values: Values, shapes: Any, count: int | None = None) -> None:
        require(
            len(values) == len(self.types),
            f"Wrong number of components in tuple. Expected {len(self.types)}, got {len(values)}",
        )
        if shapes is None or self.shapes is None:
            return
        for i, (shape, expected) in enumerate(zip(shapes, self.shapes)):
            if count is not None:
                expected = make_shape([count]).concatenate(expected)
            require(
                expected.is_compatible_with(make_shape(shape)),
                f"Shape mismatch in tuple component {i}. Expected {_show(expected)}, got "
                f"{_show(make_shape(shape))}",
            )

    # -- elements out --------------------------------------------------------------------------
    def take(self, ctx: Any) -> Any:
        with self._lock:
            found = self.state.take_now(1)
        if found is not None:
            return list(found[0])
        return self._ask(ctx, lambda got: list(got[0]), lambda ticket: self.state.take(ticket, 1))

    def take_many(self, ctx: Any, count: int, up_to: bool = False) -> Any:
        """`count` elements put together; with `up_to`, fewer when the queue is closed."""
        name = "DequeueUpToOp" if up_to else "DequeueManyOp"
        require(count >= 0, f"{name} requested {count} < 0 elements")
        require(
            self.shapes is not None,
            f"{self.state.kind}'s DequeueMany and DequeueUpTo require the components to have "
            "specified shapes.",
        )
        if not count:
            return self._together([])
        with self._lock:
            found = self.state.take_now(count)
        if found is not None:
            return self._together(found)
        return self._ask(ctx, self._together, lambda ticket: self.state.take(ticket, count, up_to))

    def _together(self, elements: list[Element]) -> Values:
        assert self.shapes is not None
        return [
            _stack([e[i] for e in elements], dtype, shape, self.pads)
            for i, (dtype, shape) in enumerate(zip(self.types, self.shapes))
        ]

    # -- the end -------------------------------------------------------------------------------
    def close(self, ctx: Any, cancel_pending: bool) -> Any:
        return self._ask(ctx, _nothing, lambda ticket: self.state.close(ticket, cancel_pending))

    is_closed: bool = reads("state.closed")

    def close_resource(self) -> None:
        """The container that held the queue is cleared."""
        with self._lock:
            answers = self.state.abandon()
        _deliver(answers)

    # -- asking --------------------------------------------------------------------------------
    def _ask(
        self, ctx: Any, finish: Callable[[list[Element]], Values], ask: Callable[[Ticket], list[Answer]]
    ) -> Any:
        """The values, or a Future of them."""
        ticket = Ticket(finish)
        with self._lock:
            answers = ask(ticket)
        _deliver(answers)
        if ticket.future.done():
            return ticket.future.result()
        forget = ctx.on_cancel(lambda: self._cancel(ctx, ticket))
        ticket.future.add_done_callback(lambda future: forget())
        return ticket.future

    def _cancel(self, ctx: Any, ticket: Ticket) -> None:
        with self._lock:
            answers = self.state.cancel(ticket)
        reason = ctx.cancel_reason()
        if isinstance(reason, DeadlineExceededError):  # that is what the caller wants to hear
            answers = [(t, reason if t is ticket else result) for t, result in answers]
        _deliver(answers)


def _deliver(answers: Iterable[Answer]) -> None:
    for ticket, result in answers:
        ticket.answer(result)


def _nothing(elements: list[Element]) -> Values:
    return []


def _rows(array: Any) -> list[Any]:
    """The slices along the first dimension."""
    return list(array) if array.ndim > 1 else [array[i, ...] for i in range(len(array))]


def _stack(parts: list[Any], dtype: DType, shape: Shape, pads: bool) -> Any:
    """Elements as one array, filled up with zeros where their sizes differ and may."""
    if pads and not shape.is_full:
        sizes = [
            max((p.shape[axis] for p in parts), default=0) if size is None else size
            for axis, size in enumerate(shape.sizes)
        ]
        blank: Any = b"" if dtype is string else 0
        out = np.full((len(parts), *sizes), blank, dtype.numpy)
        for i, part in enumerate(parts):
            out[i][tuple(slice(n) for n in part.shape)] = part
        return out
    if not parts:
        return np.empty((0, *shape.sizes), dtype.numpy)
    if not shape.is_full and any(p.shape != parts[0].shape for p in parts):
        raise InternalError(None, None, "elements of a queue have different shapes")
    if not parts[0].ndim:
        return np.stack(parts)
    return np.concatenate(parts).reshape(len(parts), *parts[0].shape)  # half the time of `stack`


def _show(shape: Shape) -> str:
    return "[" + ",".join("?" if s is None else str(s) for s in shape.sizes) + "]"
