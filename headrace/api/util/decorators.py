"""tf_decorator and tf_contextlib: functions around functions, which know what they are around.

A function that `make_decorator` made has a TFDecorator at `_tf_decorator`: the function inside, and the
signature that is shown for both, if it is not the inner one's.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable
from typing import Any

_MARK = "_tf_decorator"


class TFDecorator:
    """One layer around a function.  Calling it calls the function inside."""

    def __init__(
        self, decorator_name: str, target: Any, decorator_doc: str = "", decorator_argspec: Any = None
    ) -> None:
        self._decorated_target = target
        self._decorator_name = decorator_name
        self._decorator_doc = decorator_doc
        self._decorator_argspec = decorator_argspec
        self.__name__ = getattr(target, "__name__", type(target).__name__)
        self.__qualname__ = getattr(target, "__qualname__", self.__name__)
        self.__doc__ = decorator_doc or getattr(target, "__doc__", None)

    def __get__(self, instance: Any, owner: Any) -> Any:
        return self._decorated_target.__get__(instance, owner)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._decorated_target(*args, **kwargs)

    @property
    def decorated_target(self) -> Any:
        return self._decorated_target

    @decorated_target.setter
    def decorated_target(self, target: Any) -> None:
        self._decorated_target = target

    @property
    def decorator_name(self) -> str:
        return self._decorator_name

    @property
    def decorator_doc(self) -> str:
        return self._decorator_doc

    @property
    def decorator_argspec(self) -> Any:
        return self._decorator_argspec


def make_decorator(
    target: Any,
    decorator_func: Any,
    decorator_name: str | None = None,
    decorator_doc: str = "",
    decorator_argspec: Any = None,
) -> Any:
    """`decorator_func`, marked as what stands around `target`, with its name and attributes."""
    if decorator_name is None:
        decorator_name = sys._getframe(1).f_code.co_name
    decorator = TFDecorator(decorator_name, target, decorator_doc, decorator_argspec)
    setattr(decorator_func, _MARK, decorator)
    functools.update_wrapper(
        decorator_func, target, assigned=("__name__", "__qualname__", "__module__"), updated=()
    )
    for name, value in getattr(target, "__dict__", {}).items():
        decorator_func.__dict__.setdefault(name, value)
    if hasattr(target, "__doc__"):
        decorator_func.__doc__ = decorator.__doc__
    decorator_func.__wrapped__ = decorator_func.__original_wrapped__ = target
    return decorator_func


def tf_decorator(decorated: Any) -> TFDecorator | None:
    """The mark of a function that `make_decorator` made."""
    mark = getattr(decorated, _MARK, None)
    return mark if isinstance(mark, TFDecorator) else None


def unwrap(maybe_tf_decorator: Any) -> tuple[list[TFDecorator], Any]:
    """The layers around a function, the outermost first, and the function."""
    layers: list[TFDecorator] = []
    current = maybe_tf_decorator
    while True:
        layer = current if isinstance(current, TFDecorator) else tf_decorator(current)
        if layer is None:
            return layers, current
        layers.append(layer)
        # Somebody may have given the function another inside without `rewrap`: what runs is meant.
        inside = getattr(current, "__wrapped__", layer.decorated_target)
        was = getattr(current, "__original_wrapped__", inside)
        current = inside if inside is not was else layer.decorated_target


def rewrap(decorator_func: Any, previous_target: Any, new_target: Any) -> Any:
    """Put `new_target` where `previous_target` is, inside of all layers around it."""
    current, innermost = decorator_func, None
    while (layer := tf_decorator(current)) is not None:
        innermost = current
        if layer.decorated_target is previous_target:
            break
        current = layer.decorated_target
    if innermost is None:
        return new_target
    mark = tf_decorator(innermost)
    assert mark is not None
    mark.decorated_target = new_target
    getattr(innermost, "__func__", innermost).__wrapped__ = new_target  # a bound method has no attributes
    return decorator_func


def contextmanager(target: Callable[..., Any]) -> Any:
    """contextlib.contextmanager, whose function can be inspected as its target."""
    return make_decorator(target, contextlib.contextmanager(target), "contextmanager")
