"""function_utils: names and arguments of whatever can be called."""

from __future__ import annotations

import functools
import inspect
from types import CodeType
from typing import Any

from headrace.api.util import inspection
from headrace.api.util.decorators import unwrap


def _called(fn: Any) -> Any:
    """The function that runs when an object is called."""
    is_object = not isinstance(fn, type) and inspect.ismethod(getattr(fn, "__call__", None))  # noqa: B004
    return fn.__call__ if is_object else fn


def fn_args(fn: Any) -> tuple[str, ...]:
    """The names of the arguments that can be given; of a method, without self."""
    if isinstance(fn, functools.partial):
        left = fn_args(fn.func)[len(fn.args) :]
        return tuple(name for name in left if name not in (fn.keywords or {}))
    called = _called(fn)
    args = list(inspection.getfullargspec(called).args)
    inner = unwrap(called)[1]
    is_bound = inspect.ismethod(called) or (inspect.ismethod(inner) and inner.__self__ is not None)
    return tuple(args[1:] if is_bound else args)


def has_kwargs(fn: Any) -> bool:
    """Does it take any keyword?"""
    if isinstance(fn, functools.partial):
        fn = fn.func
    elif not callable(fn):
        raise TypeError(f"fn should be a function-like object, but is of type {type(fn)}.")
    return inspection.getfullargspec(_called(fn)).varkw is not None


def get_func_name(func: Any) -> str:
    """How a message calls it."""
    inner = unwrap(func)[1]
    if not callable(inner):
        raise ValueError("Argument must be callable")
    if inspect.isfunction(inner):
        return inner.__name__
    if inspect.ismethod(inner):
        return f"{type(inner.__self__).__name__}.{inner.__func__.__name__}"
    return str(type(inner))


def get_func_code(func: Any) -> CodeType | None:
    inner = unwrap(func)[1]
    if not callable(inner):
        raise ValueError("Argument must be callable")
    called = getattr(inner, "__code__", None) or getattr(type(inner).__call__, "__code__", None)
    return called if isinstance(called, CodeType) else None
