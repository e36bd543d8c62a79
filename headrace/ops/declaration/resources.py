"""What handles and references point to: the state that outlives a step."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

from headrace.core import forks
from headrace.core.dtypes import DType
from headrace.core.errors import FailedPreconditionError, NotFoundError, require
from headrace.core.ownership import holders, is_changeable
from headrace.core.shapes import Shape


class Waiting(threading.local):
    """The cancel token of the step that this thread runs: ends its waiting for a variable."""

    cancel: Any = None


waiting = Waiting()


def keep(value: Any) -> Any:
    """A value that may outlive its step, in the usual order of elements: what only looks into another
    array (a fed one, say) is copied, because its owner may write there later."""
    if isinstance(value, np.ndarray) and (value.base is not None or not value.flags.c_contiguous):
        return np.array(value, order="C")
    return value


class Slot:
    """The state of one variable.  `value` is an array or None (not initialised).

    A value that somebody read never changes: an update happens in place only where the slot is the
    array's only holder, else in a copy.  While an array is changed in place it is not in the slot
    (`del slot.value`, holding `lock`), and who asks for `value` waits until it is back: nobody sees
    half an update.
    """

    __slots__ = ("name", "dtype", "shape", "value", "lock", "__weakref__")

    def __init__(self, name: str, dtype: DType, shape: Shape) -> None:
        self.name, self.dtype, self.shape = name, dtype, shape
        self.value: Any = None
        self.lock = threading.RLock()
        _slots.add(self)

    def __getattr__(self, name: str) -> Any:
        """`value` while somebody changes it.  Only its return is waited for, not the lock: two
        steps may each hold a lock and read the other's variable."""
        if name != "value":
            raise AttributeError(name)
        while True:
            if self.lock.acquire(timeout=_GLANCE):
                self.lock.release()
            try:
                return object.__getattribute__(self, "value")
            except AttributeError:
                if waiting.cancel is not None and waiting.cancel.reason is not None:
                    raise waiting.cancel.reason from None

    def read(self) -> Any:
        value = self.value
        if value is None:
            raise FailedPreconditionError(None, None, f"Attempting to use uninitialized value {self.name}")
        return value

    def assign(self, value: Any) -> None:
        """Take a value; it may be shared, since arrays that were produced never change."""
        value = keep(value)
        with self.lock:
            self.value = value

    def update(self, function: Callable[..., Any], *operands: Any) -> Any:
        """value = function(value, *operands), a NumPy function with `out`.  Atomic."""
        with self.lock:
            if _in_place(function, self.read(), operands):
                with self.changing() as value:
                    function(value, *operands, out=value)
            else:
                old = self.value
                self.value = np.asarray(function(old, *operands), dtype=old.dtype)
            return self.value

    @contextmanager
    def changing(self) -> Iterator[Any]:
        """The array, for writing into; a copy of it where somebody else holds it too.  Hold
        `lock`."""
        held = [self.read()]
        del self.value
        try:
            if holders(held, 0) > 1 or not is_changeable(held[0]):
                held[0] = np.array(held[0])
            yield held[0]
        finally:
            self.value = held[0]


_GLANCE = 0.002  # seconds between two looks at a slot whose value is being changed
_slots: weakref.WeakSet[Slot] = weakref.WeakSet()


# -- forks ---------------------------------------------------------------------------------------
def _quiet() -> Callable[[], None]:
    """No variable is being changed while the process forks."""
    until = time.monotonic() + forks.PATIENCE
    taken = [
        slot
        for slot in sorted(_slots, key=id)
        if slot.lock.acquire(timeout=max(until - time.monotonic(), 0.0))
    ]

    def release() -> None:
        for slot in taken:
            slot.lock.release()

    return release


def _renew() -> None:
    """A variable that a long step of another thread was changing has no value in the child."""
    for slot in _slots:
        slot.lock = threading.RLock()
        try:
            object.__getattribute__(slot, "value")
        except AttributeError:
            slot.value = None


forks.guard(forks.VARIABLES, _quiet, _renew)


def _in_place(function: Any, old: Any, operands: tuple[Any, ...]) -> bool:
    if not isinstance(function, np.ufunc):
        return False
    return all(np.broadcast_shapes(old.shape, np.shape(o)) == old.shape and o is not old for o in operands)


Target = TypeVar("Target")


class Handle:
    """The value of a resource tensor: names a resource and finds it."""

    __slots__ = ("container", "name", "kind", "device", "target")

    def __init__(self, container: str, name: str, kind: str, device: str, target: Any) -> None:
        self.container, self.name, self.kind, self.device = container, name, kind, device
        self.target = target

    def get(self, kind: type[Target]) -> Target:
        """What it names, which must be of this kind."""
        found = self.target
        if found is None:
            raise self.missing()
        require(
            isinstance(found, kind),
            f"Trying to access resource {self.name} using the wrong type. "
            f"Expected {'Variable' if kind is Slot else kind.__name__} got {self.kind}",
        )
        return found

    def variable(self) -> Slot:
        """The slot of a variable that has a value: to TF, one without is not there at all."""
        slot = self.get(Slot)
        if slot.value is None:
            raise self.missing(" The variable is uninitialized.")
        return slot

    def missing(self, hint: str = "") -> NotFoundError:
        where = f"{self.container or 'localhost'}/{self.name}"
        return NotFoundError(None, None, f"Resource {where} does not exist.{hint}")

    def __repr__(self) -> str:
        return f"<handle {self.kind} {self.container or 'localhost'}/{self.name}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Handle) and (
            (self.container, self.name, self.kind) == (other.container, other.name, other.kind)
        )

    def __hash__(self) -> int:
        return hash((self.container, self.name, self.kind))


def named(words: Any) -> tuple[str, str]:
    """Container and name of a resource, from the two words that stand for it by reference."""
    words = words.read() if isinstance(words, Slot) else words
    require(
        words.shape == (2,) and all(isinstance(word, bytes) for word in words),
        f"A reference to a resource must be a vector of 2 strings, but has shape {words.shape}",
    )
    container, name = (word.decode("utf-8", "replace") for word in words)
    return container, name
