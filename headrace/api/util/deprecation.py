"""deprecation: decorators that say in docstrings and once in the log that something is going away."""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Callable, Iterator
from typing import Any

from headrace.api.util import decorators, documented, inspection
from headrace.core import log
from headrace.functions.values.old_names import renamed as deprecated_argument_lookup

__all__ = ["deprecated_argument_lookup"]

_printed: set[Any] = set()
_silent = False


class DeprecatedNamesAlreadySet(Exception):
    """A function was given deprecated names twice."""


def _when(date: str | None) -> str:
    return "in a future version" if date is None else f"after {date}"


def _warn(key: Any, warn_once: bool, what: str, date: str | None, instructions: str) -> None:
    """Log it, the first time only where `warn_once` says so."""
    if _silent or (warn_once and key in _printed):
        return
    _printed.add(key)
    log.warning(
        "%s is deprecated and will be removed %s.\nInstructions for updating:\n%s",
        what,
        _when(date),
        instructions,
    )


def _called(func: Any) -> str:
    return f"{func.__qualname__} (from {func.__module__})"


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """No such warnings inside."""
    global _silent
    before, _silent = _silent, True
    try:
        yield
    finally:
        _silent = before


def _check(date: str | None, instructions: str) -> None:
    if date is not None and not re.match(r"20\d\d-[01]\d-[0123]\d", date):
        raise ValueError("Date must be YYYY-MM-DD.")
    if not instructions:
        raise ValueError("Don't deprecate things without conversion instructions!")


def _noticed(doc: str | None, what: str, kind: str, sentence: str, instructions: str) -> str:
    """The docstring with a notice at its head."""
    notice = [sentence, "Instructions for updating:"]
    return documented.add_notice_to_docstring(doc, instructions, f"DEPRECATED {what}", f"({kind})", notice)


def deprecated(date: str | None, instructions: str, warn_once: bool = True) -> Callable[[Any], Any]:
    """A function, or a class, that is going away."""
    _check(date, instructions)
    sentence = f"THIS FUNCTION IS DEPRECATED. It will be removed {_when(date)}."

    def mark(func_or_class: Any) -> Any:
        is_class = isinstance(func_or_class, type)
        func = func_or_class.__init__ if is_class else func_or_class
        if not callable(func):
            raise ValueError(
                f"{func!r} is not a function. If this is a property, apply @deprecated after @property."
            )

        name = func_or_class.__qualname__

        @functools.wraps(func)
        def warned(*args: Any, **kwargs: Any) -> Any:
            _warn(func, warn_once, f"{name} (from {func.__module__})", date, instructions)
            return func(*args, **kwargs)

        doc = _noticed(func.__doc__, "FUNCTION", "deprecated", sentence, instructions)
        layer = decorators.make_decorator(func, warned, "deprecated", doc)
        if not is_class:
            return layer
        func_or_class.__init__ = layer
        return func_or_class

    return mark


def deprecated_args(
    date: str | None, instructions: str, *deprecated_arg_names_or_tuples: Any, **kwargs: Any
) -> Callable[[Any], Any]:
    """Arguments that are going away: a name, or (name, value that is no use of it)."""
    _check(date, instructions)
    warn_once = kwargs.pop("warn_once", True)
    if kwargs:
        raise ValueError("kwargs contained unexpected keys: " + ", ".join(kwargs))
    if not deprecated_arg_names_or_tuples:
        raise ValueError("Specify which argument is deprecated.")
    idle: dict[str, Any] = dict(
        a if isinstance(a, tuple) else (a, _NO_VALUE) for a in deprecated_arg_names_or_tuples
    )

    def is_used(name: str, given: dict[str, Any]) -> bool:
        value = given.get(name, _NO_VALUE)
        if value is _NO_VALUE or value is idle[name]:
            return False
        return idle[name] is _NO_VALUE or not _same(value, idle[name])

    def mark(func: Any) -> Any:
        spec = inspection.getfullargspec(func)
        known = {*spec.args, *spec.kwonlyargs, spec.varargs, spec.varkw}
        missing = sorted(set(idle) - known)
        if missing and spec.varkw is None:
            raise ValueError(
                f"The following deprecated arguments are not present in the function signature: {missing}."
            )
        sentence = (
            f"SOME ARGUMENTS ARE DEPRECATED: `({', '.join(idle)})`. They will be removed {_when(date)}."
        )
        doc = _noticed(func.__doc__, "FUNCTION ARGUMENTS", "deprecated arguments", sentence, instructions)

        @functools.wraps(func)
        def warned(*args: Any, **kwargs: Any) -> Any:
            given = dict(zip(spec.args, args)) | kwargs
            if len(args) > len(spec.args) and spec.varargs:
                given[spec.varargs] = args[len(spec.args) :]
            for name in idle:
                if is_used(name, given):
                    what = f"calling {_called(func)} with {name}"
                    _warn((func, name), warn_once, what, date, instructions)
            return func(*args, **kwargs)

        return decorators.make_decorator(func, warned, "deprecated", doc)

    return mark


_NO_VALUE = object()


def deprecated_arg_values(
    date: str | None, instructions: str, warn_once: bool = True, **deprecated_kwargs: Any
) -> Callable[[Any], Any]:
    """Values of arguments that are going away."""
    _check(date, instructions)
    if not deprecated_kwargs:
        raise ValueError("Specify which argument values are deprecated.")

    def mark(func: Any) -> Any:
        shown = ", ".join(f"{k}={v!r}" for k, v in deprecated_kwargs.items())
        sentence = f"SOME ARGUMENT VALUES ARE DEPRECATED: `({shown})`. They will be removed {_when(date)}."
        kind = "deprecated argument values"
        doc = _noticed(func.__doc__, "FUNCTION ARGUMENT VALUES", kind, sentence, instructions)

        @functools.wraps(func)
        def warned(*args: Any, **kwargs: Any) -> Any:
            given = inspection.getcallargs(func, *args, **kwargs)
            for name, value in deprecated_kwargs.items():
                if name in given and _same(given[name], value):
                    what = f"calling {_called(func)} with {name}={value}"
                    _warn((func, name), warn_once, what, date, instructions)
            return func(*args, **kwargs)

        return decorators.make_decorator(func, warned, "deprecated", doc)

    return mark


def _same(value: Any, other: Any) -> bool:
    """Equal, where comparing gives one answer (arrays and tensors do not)."""
    answer = value is other or (type(value) is type(other) and value == other)
    return answer if isinstance(answer, bool) else False


def deprecated_alias(deprecated_name: str, name: str, func_or_class: Any, warn_once: bool = True) -> Any:
    """The same function or class under its old name, which says so when it is used."""

    def warn() -> None:
        if not (_silent or (warn_once and func_or_class in _printed)):
            _printed.add(func_or_class)
            log.warning("The name %s is deprecated. Please use %s instead.\n", deprecated_name, name)

    if isinstance(func_or_class, type):

        class Alias(func_or_class):  # type: ignore[misc]
            __doc__ = func_or_class.__doc__
            __module__ = func_or_class.__module__

            @functools.wraps(func_or_class.__init__)  # type: ignore[misc]
            def __init__(self, *args: Any, **kwargs: Any) -> None:
                warn()
                super().__init__(*args, **kwargs)

        Alias.__name__ = func_or_class.__name__
        return Alias

    @functools.wraps(func_or_class)
    def alias(*args: Any, **kwargs: Any) -> Any:
        warn()
        return func_or_class(*args, **kwargs)

    return decorators.make_decorator(func_or_class, alias, "deprecated", func_or_class.__doc__ or "")


def deprecated_endpoints(*args: str) -> Callable[[Any], Any]:
    """Note which of a function's public names are going away."""

    def mark(func: Any) -> Any:
        if "_tf_deprecated_api_names" in vars(func):
            raise DeprecatedNamesAlreadySet(
                f"Cannot set deprecated names for {func.__name__} to {args}. "
                f"Deprecated names are already set to {func._tf_deprecated_api_names}."
            )
        func._tf_deprecated_api_names = args
        return func

    return mark


def rewrite_argument_docstring(old_doc: str, old_argument: str, new_argument: str) -> str:
    """The docstring with an argument under another name."""
    return old_doc.replace(f"`{old_argument}`", f"`{new_argument}`").replace(
        f"{old_argument}:", f"{new_argument}:"
    )


class hide_attribute_from_api(property):
    """Stands in a class for an inherited attribute that the class does not have."""

    def __init__(self, deprecation_message: str) -> None:
        def refuse(_: Any) -> Any:
            raise AttributeError(deprecation_message)

        super().__init__(refuse)


HIDDEN_ATTRIBUTE = hide_attribute_from_api("This attribute has been deprecated.")
