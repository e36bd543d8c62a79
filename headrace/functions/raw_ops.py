"""tf.raw_ops: every op by its own name, with keyword arguments only.

    tf.raw_ops.Add(x=a, y=b)

A name resolves on first use.  A few arguments have other names here than in their OpDef.
"""

from __future__ import annotations

import inspect
import typing  # "Any" here is an op
from collections.abc import Callable

from headrace.core.errors import NotFoundError
from headrace.ops import catalog
from headrace.ops.declare import REGISTRY, Op

# op -> {name here: name in the OpDef}
_AXES = {"axis": "reduction_indices"}
RENAMED: dict[str, dict[str, str]] = {
    "All": _AXES, "Any": _AXES, "EuclideanNorm": _AXES, "Max": _AXES, "Mean": _AXES, "Min": _AXES,
    "Prod": _AXES, "Sum": _AXES, "ExpandDims": {"axis": "dim"}, "Select": {"x": "t", "y": "e"},
    "Split": {"axis": "split_dim"}, "SplitV": {"axis": "split_dim"},
    "Squeeze": {"axis": "squeeze_dims"}, "Where": {"condition": "input"},
}  # fmt: skip


def registered_ops() -> list[str]:
    """The names of all ops."""
    catalog.load_all()
    return sorted(REGISTRY)


def __getattr__(name: str) -> Callable[..., typing.Any]:
    if not name[:1].isupper():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        op = catalog.find(name)
    except NotFoundError:
        raise AttributeError(f"no op is called {name!r}") from None
    made = _keyword_only(op)
    globals()[name] = made
    return made


def __dir__() -> list[str]:
    return registered_ops()


def _keyword_only(op: Op) -> Callable[..., typing.Any]:
    names = RENAMED.get(op.name, {})

    def call(**kwargs: typing.Any) -> typing.Any:
        given = {names.get(key, key): value for key, value in kwargs.items()}
        return op._apply((), given, op.name)

    shown = {theirs: ours for ours, theirs in names.items()}
    parameters = [
        p.replace(name=shown.get(p.name, p.name)) for p in op.__signature__.parameters.values()
    ]
    call.__name__ = call.__qualname__ = op.name
    call.__doc__ = op.__doc__
    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return call
