"""Default arguments by scope: inside `with arg_scope([f], x=1)`, f(...) gets x=1 unless it is told
otherwise.  Only for functions that are decorated with `add_arg_scope`."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Scope = dict[str, dict[str, Any]]


class _Stack(threading.local):
    def __init__(self) -> None:
        self.scopes: list[Scope] = [{}]


_stack = _Stack()
_arguments: dict[str, tuple[str, ...]] = {}  # of decorated functions: those that have defaults


def current_arg_scope() -> Scope:
    """Default arguments that hold here, by function."""
    return _stack.scopes[-1]


def arg_scope_func_key(op: Any) -> str:
    """How a scope calls a function."""
    key: str = getattr(op, "_key_op", str(op))
    return key


@contextmanager
def arg_scope(list_ops_or_scope: Any, **kwargs: Any) -> Iterator[Scope]:
    """Default arguments for functions.

    Args:
      list_ops_or_scope: the functions, or a scope that this context returned before.
      **kwargs: the arguments.

    Yields:
      The scope, to enter it again.

    Raises:
      TypeError: neither a list nor a scope.
      ValueError: a function is not decorated, or arguments are given with a scope.

    Example:
      >>> with arg_scope([conv2d], padding="SAME", weights_regularizer=l2_regularizer(0.1)):
      ...     net = conv2d(inputs, 64, [3, 3])
    """
    if isinstance(list_ops_or_scope, dict):
        if kwargs:
            raise ValueError(
                "When attempting to re-use a scope by suppling adictionary, kwargs must be empty."
            )
        scope = dict(list_ops_or_scope)
    elif isinstance(list_ops_or_scope, list | tuple):
        scope = dict(current_arg_scope())
        for op in list_ops_or_scope:
            if not has_arg_scope(op):
                name = (op.__module__, op.__name__)
                raise ValueError("%s is not decorated with @add_arg_scope", name)
            key = arg_scope_func_key(op)
            scope[key] = scope.get(key, {}) | kwargs
    else:
        raise TypeError("list_ops_or_scope must either be a list/tuple or reused scope (i.e. dict)")
    _stack.scopes.append(scope)
    try:
        yield scope
    finally:
        _stack.scopes.pop()


def add_arg_scope(func: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: the function takes default arguments from scopes."""
    key = arg_scope_func_key(func)

    @functools.wraps(func)
    def with_scope(*args: Any, **kwargs: Any) -> Any:
        return func(*args, **(current_arg_scope().get(key, {}) | kwargs))

    parameters = inspect.signature(func).parameters.values()
    _arguments[key] = tuple(p.name for p in parameters if p.default is not p.empty)
    with_scope._key_op = key  # type: ignore[attr-defined]
    return with_scope


def has_arg_scope(func: Any) -> bool:
    """Is the function decorated?"""
    return arg_scope_func_key(func) in _arguments


def arg_scoped_arguments(func: Any) -> tuple[str, ...]:
    """The arguments of a decorated function that a scope may set."""
    return _arguments[arg_scope_func_key(func)]
