"""Functions from layers: make the layer, apply it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from headrace.core.families import bound, named

_SHARED = "Apply a new `{}` layer to `inputs`; the other arguments are the layer's"


def _own(name: str, **default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, **default)


def function_of(
    cls: type, name: str, shares: bool = True, order: str = "", doc: str = "", **call: Any
) -> Callable[..., Any]:
    """`name(inputs, arguments of the class..., reuse)`.

    With a name, the variables are in the variable scope of that name; without, each call makes its
    own.

    Args:
      cls: the layer.
      name: name of the function.
      shares: may variables be reused?
      order: the names of all arguments, where they stand in another order.
      doc: docstring, if more is to be said than that.
      **call: arguments of the layer's call, with their defaults.
    """
    layers = list(inspect.signature(cls).parameters.values())[:-1]  # all but **kwargs
    own = [_own("inputs"), *layers, *(_own(word, default=value) for word, value in call.items())]
    own += [_own("reuse", default=None)] if shares else []
    by_name = {p.name: p for p in own}
    signature = inspect.Signature([by_name[word] for word in order.split() or by_name])
    said = _SHARED.format(cls.__name__)
    said += ", and `reuse`: take the variables of the layer of this name." if shares else "."

    @named(name, doc or said)
    def function(*args: Any, **kwargs: Any) -> Any:
        given = dict(bound(name, signature, *args, **kwargs).arguments)
        inputs = given.pop("inputs")
        called = {word: given.pop(word) for word in call}
        if shares:
            given |= {"_scope": given["name"], "_reuse": given.pop("reuse")}
        return cls(**given)(inputs, **called)

    function.__module__ = cls.__module__
    function.__signature__ = signature  # type: ignore[attr-defined]
    return function
