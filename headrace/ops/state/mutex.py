"""Locks in the graph: who holds one runs alone."""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import numpy as np

from headrace.core.errors import CancelledError, InvalidArgumentError, require
from headrace.core.shapes import show
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.resources import Handle
from headrace.ops.declaration.shape_rules import none, scalar
from headrace.ops.declaration.traits import DEFERRED, READS, STATEFUL, WRITES
from headrace.ops.declaration.waiting import cancelled, until_cancelled

MUTEX = "mutex"


class Lock:
    """The right to run alone.  It ends when it is given back, when its step fails or is cancelled (an error
    keeps the step's values alive for as long as somebody looks at it), and when nobody knows of it."""

    __slots__ = ("_mutex", "_forget", "__weakref__")

    def __init__(self, mutex: Mutex, ctx: Any) -> None:
        self._mutex: Mutex | None = mutex
        self._forget: Callable[[], None] | None = None
        known = weakref.ref(self)  # the step's token does not keep it
        self._forget = ctx.on_cancel(lambda: _release(known()))

    def release(self) -> None:
        mutex = self._mutex
        if mutex is None:
            return
        with mutex.guard:  # the step's end and the cancelling thread may come at once
            was_held, self._mutex = self._mutex is not None, None
        if was_held:
            if self._forget is not None:
                self._forget()
            mutex.released()

    def __del__(self) -> None:
        self.release()


def _release(lock: Lock | None) -> None:
    if lock is not None:
        lock.release()


class Mutex:
    """The resource behind a mutex's handle: a lock, and those who wait for it, in the order of asking."""

    def __init__(self) -> None:
        self._held = False
        self._waiting: deque[tuple[Any, Future[np.ndarray]]] = deque()  # with the contexts that ask
        self.guard = threading.RLock()  # a lock may be given back by the collector, inside of this

    def acquire(self, ctx):
        """A lock in a tensor, now or later."""
        future = Future()
        asking = ctx, future
        with self.guard:
            is_free = not self._held
            if is_free:
                self._held = True
            else:
                self._waiting.append(asking)
        if is_free:
            return _boxed(Lock(self, ctx))
        return until_cancelled(ctx, future, lambda: self._give_up(asking))

    def released(self) -> None:
        with self.guard:
            if not self._waiting:
                self._held = False
                return
            ctx, future = self._waiting.popleft()
        future.set_result(_boxed(Lock(self, ctx)))

    def _give_up(self, asking) -> None:
        with self.guard:
            waited = asking in self._waiting
            if waited:
                self._waiting.remove(asking)
        if waited:
            ctx, future = asking
            future.set_exception(cancelled(ctx, "Lock acquisition cancelled."))

    def close_resource(self) -> None:
        """The container that held the mutex is cleared."""
        with self.guard:
            waiting, self._waiting = self._waiting, deque()
        for _, future in waiting:
            future.set_exception(CancelledError(None, None, "Lock acquisition cancelled."))


def _boxed(lock):
    out = np.empty((), object)
    out[()] = lock
    return out


@op("MutexV2", "-> resource: resource", container="", shared_name="", traits={STATEFUL, READS}, shape=scalar)
def mutex_v2(ctx, *, container, shared_name):
    """A lock that steps take and give back."""
    name = shared_name or ctx.node.name
    found = ctx.resources.get_or_make(container, MUTEX, name, Mutex)
    return Handle(container, name, MUTEX, ctx.node.device, found)


@op("MutexLock", "mutex: resource -> mutex_lock: variant", traits={STATEFUL, WRITES, DEFERRED}, shape=scalar)
def mutex_lock(ctx, mutex):
    """Take the lock, when nobody has it."""
    return mutex.get(Mutex).acquire(ctx)


@op("ConsumeMutexLock", "mutex_lock: variant ->", traits={STATEFUL}, shape=none)
def consume_mutex_lock(mutex_lock):
    """Give the lock back."""
    require(mutex_lock.ndim == 0, f"Expected input to be a scalar, saw shape: {show(mutex_lock.shape)}")
    lock = mutex_lock[()]
    if not isinstance(lock, Lock):
        raise InvalidArgumentError(
            None, None, f"Expected input to contain a SharedLockReleaser object, but saw variant: '{lock}'"
        )
    lock.release()
    return ()


mutex_lock.no_gradient()
consume_mutex_lock.no_gradient()
