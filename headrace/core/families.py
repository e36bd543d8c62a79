"""Functions and classes that differ in little: what they share is said once.

A member of a family is made by a function (`named`), shares a part of its docstring with the others
(`documented`), or takes what another class takes but for a few arguments (`arguments_of`).  Whoever asks
Python about it (help, editors, inspect) sees a name, a docstring and a signature as if it were written out.
"""

from __future__ import annotations

import functools
import inspect
import textwrap
from collections.abc import Callable
from typing import Any, TypeVar

First = str | Callable[..., Any]
T = TypeVar("T", bound=Callable[..., Any])
C = TypeVar("C", bound=type)


def named(name: str, doc: str | None = None) -> Callable[[T], T]:
    """A decorator for a function that another function makes: its name and its docstring."""

    def decorate(function: T) -> T:
        function.__name__ = function.__qualname__ = name
        if doc is not None:
            function.__doc__ = doc
        return function

    return decorate


def documented(section: str, **words: str) -> Callable[[T], T]:
    """A decorator that adds a section to a docstring; with `words`, {key} in it becomes that word."""

    def decorate(thing: T) -> T:
        if thing.__doc__:  # none with python -OO
            shared = textwrap.dedent(section).strip("\n")
            shared = shared.format(**words) if words else shared
            thing.__doc__ = f"{inspect.cleandoc(thing.__doc__)}\n\n{shared}\n"
        return thing

    return decorate


def changed(
    template: Callable[..., Any], without: tuple[str, ...] = (), first: First = "", **defaults: Any
) -> inspect.Signature:
    """The signature of `template`, without some arguments and with other defaults for others.

    `first` stands before the template's arguments (but for self): names, or a function that takes them.  A
    default for a name that neither has is an argument more, before **kwargs.
    """
    signature = inspect.signature(template)
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    if isinstance(first, str):
        before = [inspect.Parameter(name, kind) for name in first.split()]
    else:
        before = [p for name, p in inspect.signature(first).parameters.items() if name not in without]
    known = [p for name, p in signature.parameters.items() if name not in without]
    begin = int(bool(known) and known[0].name == "self")
    known[begin:begin] = before
    taken = {p.name for p in known}
    known = [p.replace(default=defaults[p.name]) if p.name in defaults else p for p in known]
    more = [
        inspect.Parameter(name, kind, default=value, annotation=_annotation(name, value))
        for name, value in defaults.items()
        if name not in taken
    ]
    end = len(known) - (known[-1].kind is inspect.Parameter.VAR_KEYWORD)
    known[end:end] = more
    return signature.replace(parameters=known)


def _annotation(name: str, default: Any) -> str:
    """What a default says of an argument's type; a name is a text."""
    if name == "name" and default is None:
        return "str | None"
    return type(default).__name__ if isinstance(default, (bool, str)) else "Any"


def bound(name: str, signature: inspect.Signature, /, *args: Any, **kwargs: Any) -> inspect.BoundArguments:
    """The arguments of a call by their names, defaults too; a call that does not fit names the function, as
    Python does.

    Args:
      name: the function as its caller knows it.
      signature: what it takes.
      *args: what it is called with.
      **kwargs: likewise.
    """
    try:
        given = signature.bind(*args, **kwargs)
    except TypeError as error:
        raise TypeError(f"{name}() {error}") from None
    given.apply_defaults()
    return given


def takes(
    template: Callable[..., Any], *without: str, first: First = "", **defaults: Any
) -> Callable[[T], Callable[..., Any]]:
    """A decorator for a function that takes the arguments of `template`, and gets them all by their names.

    The function itself names those that it looks at, and hands on the others as **options.

    Args:
      template: a function.
      *without: arguments of it that this one does not have.
      first: names of arguments that stand before them, or a function that takes those.
      **defaults: values of arguments that are not given.
    """
    taken = changed(template, without, first, **defaults)

    def decorate(function: T) -> Callable[..., Any]:
        signature = taken.replace(return_annotation=function.__annotations__.get("return", taken.empty))

        @functools.wraps(function)
        def taking(*args: Any, **kwargs: Any) -> Any:
            return function(**bound(function.__name__, signature, *args, **kwargs).arguments)

        taking.__signature__ = signature  # type: ignore[attr-defined]
        return taking

    return decorate


def arguments_of(template: type, *without: str, **defaults: Any) -> Callable[[C], C]:
    """A decorator for a class that takes the arguments of `template` and hands them on to the class above it.

    Args:
      template: a class.
      *without: arguments of its constructor that this one does not have.
      **defaults: values of arguments that are not given.
    """
    signature = changed(template.__init__, without, **defaults)  # type: ignore[misc]

    def decorate(cls: Any) -> Any:
        def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
            given = bound(__init__.__qualname__, signature, self, *args, **kwargs)
            _, *named = given.arguments.items()
            words = dict(named)
            words |= words.pop("kwargs", {})
            super(cls, self).__init__(**words)

        __init__.__signature__ = signature  # type: ignore[attr-defined]
        __init__.__qualname__, __init__.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
        cls.__init__ = __init__
        return cls

    return decorate
