"""What handles and references point to: the state that outlives a step."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.dtypes import DType
from headrace.core.errors import FailedPreconditionError, NotFoundError
from headrace.core.shapes import UNKNOWN, Shape


def keep(value: Any) -> Any:
    """A value that may outlive its step: what only looks into another array (a fed one, say) is
    copied, because its owner may write there later."""
    return np.array(value) if isinstance(value, np.ndarray) and value.base is not None else value


class Slot:
    """The state of one variable.  `value` is an array or None (not initialised).

    A value that somebody read never changes: an update happens in place only where the slot is the
    array's only holder (`writable`), else in a copy.
    """

    __slots__ = ("name", "dtype", "shape", "value", "lock", "__weakref__")

    def __init__(self, name: str, dtype: DType, shape: Shape) -> None:
        self.name, self.dtype, self.shape = name, dtype, shape
        self.value: Any = None
        self.lock = threading.RLock()

    def read(self) -> Any:
        value = self.value
        if value is None:
            raise FailedPreconditionError(
                None, None, f"Attempting to use uninitialized value {self.name}"
            )
        return value

    def assign(self, value: Any) -> None:
        """Take a value; it may be shared, since arrays that were produced never change."""
        self.value = keep(value)

    def update(self, function: Callable[..., Any], *operands: Any) -> Any:
        """value = function(value, *operands), a NumPy function with `out`.  Atomic."""
        with self.lock:
            if _in_place(function, self.read(), operands):
                value = self.writable()
                function(value, *operands, out=value)
            else:
                old = self.value
                self.value = np.asarray(function(old, *operands), dtype=old.dtype)
            return self.value

    def writable(self) -> Any:
        """The array, for writing into: a copy first where somebody else holds it.  Hold `lock`."""
        if self.read() is not None and self.holders() > _SOLE:
            self.value = np.array(self.value)
        elif not (self.value.flags.writeable and self.value.flags.owndata):
            self.value = np.array(self.value)
        return self.value

    def holders(self) -> int:
        """References to the array, plus those of this call itself (see `_SOLE`)."""
        return sys.getrefcount(self.value)


def _count_for_sole_holder() -> int:
    """What `holders` says of an array that only the slot holds: differs between Python versions."""
    slot = Slot("", dtypes.float32, UNKNOWN)
    slot.value = np.zeros(1)
    return slot.holders()


def _in_place(function: Any, old: Any, operands: tuple[Any, ...]) -> bool:
    if not isinstance(function, np.ufunc):
        return False
    return all(
        np.broadcast_shapes(old.shape, np.shape(o)) == old.shape and o is not old for o in operands
    )


class Handle:
    """The value of a resource tensor: names a resource and finds it."""

    __slots__ = ("container", "name", "kind", "device", "target")

    def __init__(self, container: str, name: str, kind: str, device: str, target: Any) -> None:
        self.container, self.name, self.kind, self.device = container, name, kind, device
        self.target = target

    def get(self) -> Any:
        if self.target is None:
            raise NotFoundError(
                None, None, f"Resource {self.container or 'localhost'}/{self.name} does not exist."
            )
        return self.target

    def __repr__(self) -> str:
        return f"<handle {self.kind} {self.container or 'localhost'}/{self.name}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Handle) and (
            (self.container, self.name, self.kind) == (other.container, other.name, other.kind)
        )

    def __hash__(self) -> int:
        return hash((self.container, self.name, self.kind))


_SOLE = _count_for_sole_holder()
