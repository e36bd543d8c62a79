"""dispatch: a function that does not know its arguments' types asks others.

The functions of TF are not open to it here: to add a type, `add_dispatch_support` decorates one's own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.api.util import inspection
from headrace.api.util.decorators import make_decorator

DISPATCH_ATTR = "_tf_dispatchers"


class OpDispatcher:
    """Somebody who may handle a call."""

    NOT_SUPPORTED = object()

    def handle(self, args: Any, kwargs: Any) -> Any:
        return self.NOT_SUPPORTED

    def register(self, op: Any) -> None:
        if not hasattr(op, DISPATCH_ATTR):
            raise AssertionError(f"Dispatching not enabled for {op}")
        getattr(op, DISPATCH_ATTR).append(self)


class _TypeBasedDispatcher(OpDispatcher):
    """Handles calls with an argument, or a member of one, of certain types."""

    def __init__(self, override_func: Callable[..., Any], types: tuple[type, ...]) -> None:
        self._override_func, self._types = override_func, types

    def handle(self, args: Any, kwargs: Any) -> Any:
        if any(self._is_mine(value) for value in [*args, *kwargs.values()]):
            return self._override_func(*args, **kwargs)
        return self.NOT_SUPPORTED

    def _is_mine(self, value: Any) -> bool:
        members = value if isinstance(value, list | tuple) else ()
        return any(isinstance(v, self._types) for v in (value, *members))


def dispatch(op: Any, *args: Any, **kwargs: Any) -> Any:
    """What the first dispatcher that handles the call gives."""
    for dispatcher in getattr(op, DISPATCH_ATTR):
        result = dispatcher.handle(args, kwargs)
        if result is not OpDispatcher.NOT_SUPPORTED:
            return result
    return OpDispatcher.NOT_SUPPORTED


def dispatch_for_types(op: Any, *types: type) -> Callable[[Any], Any]:
    """Decorator: this function is called instead of `op` for arguments of these types."""

    def register(func: Any) -> Any:
        if inspection.getargspec(func) != inspection.getargspec(op):
            raise AssertionError(
                "The decorated function's signature must exactly match the signature of the overridden op."
            )
        _TypeBasedDispatcher(func, types).register(op)
        return func

    return register


def add_dispatch_list(target: Any) -> Any:
    if hasattr(target, DISPATCH_ATTR):
        raise AssertionError(f"{target} already has a dispatch list")
    setattr(target, DISPATCH_ATTR, [])
    return target


def add_dispatch_support(target: Any) -> Any:
    """Ask the dispatchers where `target` refuses its arguments."""

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        try:
            return target(*args, **kwargs)
        except (TypeError, ValueError):
            result = dispatch(wrapper, *args, **kwargs)
            if result is OpDispatcher.NOT_SUPPORTED:
                raise
            return result

    add_dispatch_list(wrapper)
    return make_decorator(target, wrapper)
