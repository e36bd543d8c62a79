"""tf.app.flags where absl is not installed: options of the command line.

    flags.DEFINE_integer("steps", 100, "how many")     # --steps=5, --steps 5, -steps=5
    flags.DEFINE_bool("verbose", False, "say more")    # --verbose, --noverbose, --verbose=true
    flags.FLAGS.steps

The command line is read when a flag is first asked for, or by tf.app.run.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from typing import Any

from headrace.core.families import named
from headrace.functions.platform.flag_values import (
    FLAGS,
    DuplicateFlagError,
    Error,
    Flag,
    FlagValues,
    IllegalFlagValueError,
    UnparsedFlagAccessError,
    UnrecognizedFlagError,
    ValidationError,
)

__all__ = [
    "FLAGS",
    "DuplicateFlagError",
    "Error",
    "Flag",
    "FlagValues",
    "IllegalFlagValueError",
    "UnparsedFlagAccessError",
    "UnrecognizedFlagError",
    "ValidationError",
]


# -- definitions --------------------------------------------------------------------------------
def _define(
    flag_name: str, default: Any, help: str | None, parse: Callable[[Any], Any], **options: Any
) -> None:
    values = options.pop("flag_values", FLAGS)
    options.pop("required", None)
    options.pop("module_name", None)
    values[flag_name] = Flag(flag_name, default, help, parse, **options)


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode()
    return str(value)


def _integer(low: int | None, high: int | None) -> Callable[[Any], int]:
    def parse(value: Any) -> int:
        if isinstance(value, str):
            base = 16 if value.lower().lstrip("-").startswith("0x") else 10
            value = int(value, 8 if value.startswith("0o") else base)
        elif isinstance(value, bool) or int(value) != value:
            raise TypeError(f"Expect argument to be a string or int, found {type(value)}")
        return int(_within(int(value), low, high))

    return parse


def _float(low: float | None, high: float | None) -> Callable[[Any], float]:
    return lambda value: float(_within(float(value), low, high))


def _within(value: Any, low: Any, high: Any) -> Any:
    if (low is not None and value < low) or (high is not None and value > high):
        raise ValueError(f"{value} is not in [{low}, {high}]")
    return value


def _bool(value: Any) -> bool:
    if isinstance(value, str):
        if value.lower() in ("true", "t", "1", "yes", "y"):
            return True
        if value.lower() in ("false", "f", "0", "no", "n"):
            return False
        raise ValueError("Non-boolean argument to boolean flag", value)
    if value not in (0, 1):
        raise TypeError("Non-boolean argument to boolean flag", value)
    return bool(value)


def _enum(choices: Sequence[str], case_sensitive: bool = True) -> Callable[[Any], str]:
    def parse(value: Any) -> str:
        for choice in choices:
            if value == choice or (not case_sensitive and value.lower() == choice.lower()):
                return choice
        raise ValueError(f"value should be one of <{'|'.join(choices)}>")

    return parse


def _list(value: Any) -> list[str]:
    if isinstance(value, (list, tuple)):
        return list(value)
    return [item.strip() for item in next(csv.reader([value], strict=True))] if value else []


def _space_list(value: Any) -> list[str]:
    return list(value) if isinstance(value, (list, tuple)) else value.split()


def DEFINE_string(flag_name: str, default_value: Any, docstring: str | None, **args: Any) -> None:
    """Define a flag whose value is text."""
    _define(flag_name, default_value, docstring, _text, **args)


def _number(parser: Callable[..., Any], name: str, doc: str, is_multi: bool = False) -> Callable[..., None]:
    """A function that defines a flag of numbers, which may have bounds."""

    @named(name, doc)
    def define(
        flag_name: str,
        default_value: Any,
        docstring: str | None,
        lower_bound: float | None = None,
        upper_bound: float | None = None,
        **args: Any,
    ) -> None:
        parse = parser(lower_bound, upper_bound)
        _define(flag_name, default_value, docstring, parse, is_multi=is_multi, **args)

    return define


DEFINE_integer = _number(_integer, "DEFINE_integer", "Define a flag whose value is an integer.")
DEFINE_float = _number(_float, "DEFINE_float", "Define a flag whose value is a number.")


def DEFINE_boolean(flag_name: str, default_value: Any, docstring: str | None, **args: Any) -> None:
    """Define a flag that is on or off."""
    _define(flag_name, default_value, docstring, _bool, is_bool=True, **args)


DEFINE_bool = DEFINE_boolean


def DEFINE_enum(
    flag_name: str,
    default_value: Any,
    enum_values: Sequence[str],
    docstring: str | None,
    case_sensitive: bool = True,
    **args: Any,
) -> None:
    """Define a flag whose value is one of some words."""
    _define(flag_name, default_value, docstring, _enum(enum_values, case_sensitive), **args)


def DEFINE_enum_class(
    flag_name: str, default_value: Any, enum_class: Any, docstring: str | None, **args: Any
) -> None:
    """Define a flag whose value is a member of an Enum, given by name."""
    find = lambda v: v if isinstance(v, enum_class) else enum_class[v]
    _define(flag_name, default_value, docstring, find, show=lambda v: str(v.name), **args)


def DEFINE_list(flag_name: str, default_value: Any, docstring: str | None, **args: Any) -> None:
    """Define a flag whose value is a list of words between commas."""
    _define(flag_name, default_value, docstring, _list, show=",".join, **args)


def DEFINE_spaceseplist(flag_name: str, default_value: Any, docstring: str | None, **args: Any) -> None:
    """Define a flag whose value is a list of words between spaces."""
    _define(flag_name, default_value, docstring, _space_list, show=" ".join, **args)


def DEFINE_multi_string(flag_name: str, default_value: Any, docstring: str | None, **args: Any) -> None:
    """Define a flag that may be given several times: a list of texts."""
    _define(flag_name, default_value, docstring, _text, is_multi=True, **args)


DEFINE_multistring = DEFINE_multi_string


_SEVERAL = "Define a flag that may be given several times: a list of"
DEFINE_multi_integer = _number(_integer, "DEFINE_multi_integer", f"{_SEVERAL} integers.", is_multi=True)
DEFINE_multi_int = DEFINE_multi_integer
DEFINE_multi_float = _number(_float, "DEFINE_multi_float", f"{_SEVERAL} numbers.", is_multi=True)


def DEFINE_multi_enum(
    flag_name: str, default_value: Any, enum_values: Sequence[str], docstring: str | None, **args: Any
) -> None:
    """Define a flag that may be given several times: each one of some words."""
    _define(flag_name, default_value, docstring, _enum(enum_values), is_multi=True, **args)


def DEFINE_alias(name: str, original_name: str, **_: Any) -> None:
    """Define another name of a flag."""
    FLAGS._flags[name] = FLAGS[original_name]


# -- conditions ---------------------------------------------------------------------------------
def register_validator(
    flag_name: str,
    checker: Callable[[Any], Any],
    message: str = "Flag validation failed",
    flag_values: FlagValues = FLAGS,
) -> None:
    """Refuse values for which `checker` is false."""
    flag_values[flag_name].validators.append((checker, message))


def validator(
    flag_name: str, message: str = "Flag validation failed", flag_values: FlagValues = FLAGS
) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Decorator form of `register_validator`."""

    def decorate(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        register_validator(flag_name, function, message, flag_values)
        return function

    return decorate


def mark_flag_as_required(flag_name: str, flag_values: FlagValues = FLAGS) -> None:
    """Refuse a command line without this flag."""
    register_validator(
        flag_name,
        lambda value: value is not None,
        f"Flag --{flag_name} must have a value other than None.",
        flag_values,
    )


def mark_flags_as_required(flag_names: Sequence[str], flag_values: FlagValues = FLAGS) -> None:
    for name in flag_names:
        mark_flag_as_required(name, flag_values)
