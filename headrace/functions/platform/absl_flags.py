"""absl's flags as tf.app.flags has them: TF's names of arguments, and values that read the command line."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from absl import flags as absl_flags

# What TF called the arguments of the DEFINE functions, before they became absl's.
_ARGUMENTS = {"flag_name": "name", "default_value": "default", "docstring": "help"}


class _Values:
    """absl.flags.FLAGS; the first flag that is asked for reads the command line."""

    def __init__(self, values: Any) -> None:
        self.__dict__["_values"] = values

    def _read(self) -> Any:
        values = self.__dict__["_values"]
        if not values.is_parsed():
            values(sys.argv)
        return values

    def __getattr__(self, name: str) -> Any:
        values = self.__dict__["_values"]
        is_flag = not name.startswith("__") and name in values
        return getattr(self._read() if is_flag else values, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.__dict__["_values"], name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self.__dict__["_values"], name)

    def __dir__(self) -> list[str]:
        return dir(self.__dict__["_values"])

    def __getitem__(self, name: str) -> Any:
        return self.__dict__["_values"][name]

    def __setitem__(self, name: str, flag: Any) -> None:
        self.__dict__["_values"][name] = flag

    def __contains__(self, name: object) -> bool:
        return name in self.__dict__["_values"]

    def __len__(self) -> int:
        return len(self.__dict__["_values"])

    def __iter__(self) -> Any:
        return iter(self.__dict__["_values"])

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.__dict__["_values"](*args, **kwargs)


FLAGS = _Values(absl_flags.FLAGS)


def _defining(define: Callable[..., Any]) -> Callable[..., Any]:
    """A DEFINE function that takes TF's names of arguments too."""

    @functools.wraps(define)
    def with_names(*args: Any, **kwargs: Any) -> Any:
        values = kwargs.get("flag_values")
        if isinstance(values, _Values):
            kwargs["flag_values"] = values.__dict__["_values"]
        return define(*args, **{_ARGUMENTS.get(name, name): value for name, value in kwargs.items()})

    return with_names


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    value = getattr(absl_flags, name)
    value = _defining(value) if name.startswith("DEFINE_") else value
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [name for name in dir(absl_flags) if not name.startswith("_")]
