"""Functions from layers: make the layer, apply it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

_INPUTS = inspect.Parameter("inputs", inspect.Parameter.POSITIONAL_OR_KEYWORD)
_REUSE = inspect.Parameter("reuse", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None)


def function_of(cls: type, name: str, shares: bool = True) -> Callable[..., Any]:
    """`name(inputs, arguments of the class..., reuse)`; `shares`: variables may be reused.

    With a name, the variables are in the variable scope of that name; without, each call makes its
    own.
    """
    own = list(inspect.signature(cls).parameters.values())[:-1]  # all but **kwargs
    signature = inspect.Signature([_INPUTS, *own, *([_REUSE] if shares else [])])

    def function(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        given = dict(bound.arguments)
        inputs = given.pop("inputs")
        if shares:
            given |= {"_scope": given["name"], "_reuse": given.pop("reuse")}
        return cls(**given)(inputs)

    function.__name__ = function.__qualname__ = name
    function.__module__ = cls.__module__
    function.__signature__ = signature  # type: ignore[attr-defined]
    function.__doc__ = (
        f"Apply a new `{cls.__name__}` layer to `inputs`; the other arguments are the layer's"
        + (", and `reuse`: take the variables of the layer of this name." if shares else ".")
    )
    return function
