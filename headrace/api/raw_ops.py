"""tf.raw_ops: every op by its own name, with keyword arguments only.

    tf.raw_ops.Add(x=a, y=b)

A name resolves on first use.  A few arguments have other names here than in their OpDef.
"""

from __future__ import annotations

import functools
import sys
import typing  # "Any" here is an op
from collections.abc import Callable

from headrace.api import absent
from headrace.core.errors import NotFoundError
from headrace.ops.declaration import catalog
from headrace.ops.declaration.declare import REGISTRY, Op

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
        raise AttributeError(f"module 'headrace.raw_ops' has no attribute {name!r}")
    try:
        op = catalog.find(name)
    except NotFoundError:
        raise absent.error(sys.modules[__name__], "raw_ops", name) from None
    made = _keyword_only(op)
    globals()[name] = made
    return made


def __dir__() -> list[str]:
    return registered_ops()


def _keyword_only(op: Op) -> Callable[..., typing.Any]:
    build = op.as_function(__name__, op.name, RENAMED.get(op.name))

    @functools.wraps(build)
    def call(**kwargs: typing.Any) -> typing.Any:
        return build(**kwargs)

    return call
