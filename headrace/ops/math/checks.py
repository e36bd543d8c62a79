"""Ops that fail: on a false condition, on values that are no numbers."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from headrace.core.dtypes import FLOATS
from headrace.core.errors import InvalidArgumentError, require
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.emit import Decline
from headrace.ops.declaration.shape_rules import none, same
from headrace.ops.declaration.signature import Ints, String, Strings, Types
from headrace.ops.declaration.traits import ELEMENTWISE, STATEFUL
from headrace.ops.strings.summarize import summarize as text


def _assert_shape(condition, data):
    require(condition.rank in (None, 0), f"Shape must be rank 0 but is rank {condition.rank}")
    return none()


@op(
    "Assert",
    "condition: bool, data: T ->",
    T=Types(min=1),
    summarize=3,
    shape=_assert_shape,
    traits={STATEFUL},
)
def assert_(condition, data, *, summarize):
    """Fails, and shows data, unless the condition is true."""
    require(condition.size == 1, f"In[0] should be a scalar: {list(condition.shape)}")
    if not condition.all():
        shown = " ".join(said(x, summarize) for x in data)
        raise InvalidArgumentError(None, None, f"assertion failed: {shown}")
    return ()


assert_.no_gradient()


@assert_.lower
def _(e, condition, data):
    _must_hold(e, condition)


def _must_hold(e, condition):
    if prod(condition.shape) != 1:
        raise Decline("an assertion of something that is no scalar")
    if condition.value is not None and condition.value.all():
        return
    e.require(condition[(0,) * len(condition.shape)], "assertion failed")


# What `build_in_texts` makes of an Assert: constants are said in advance.
@op(
    "_SaidAssert",
    "condition: bool, data: T ->",
    T=Types(),
    words=Strings(),
    places=Ints(),
    summarize=3,
    shape=_assert_shape,
    traits={STATEFUL},
)
def said_assert(condition, data, *, words, places, summarize):
    """Assert whose message is `words`, with the data at these places among them."""
    require(condition.size == 1, f"In[0] should be a scalar: {list(condition.shape)}")
    if not condition.all():
        shown = list(words)
        for place, x in zip(places, data):
            shown[place] = said(x, summarize)
        raise InvalidArgumentError(None, None, f"assertion failed: {' '.join(shown)}")
    return ()


said_assert.no_gradient()


@said_assert.lower
def _(e, condition, data):
    _must_hold(e, condition)


def said(value: Any, limit: int) -> str:
    """A value, as the message of a failed assertion shows it."""
    return f"[{text(np.asarray(value), limit)}]"


@op(
    "CheckNumerics",
    "tensor: T -> output: T",
    T=FLOATS,
    message=String(),
    shape=same,
    traits={STATEFUL, ELEMENTWISE},
)
def check_numerics(tensor, *, message):
    """The tensor; fails if an element is infinite or NaN."""
    if not np.isfinite(tensor).all():
        found = [word for word, is_so in (("Inf", np.isinf), ("NaN", np.isnan)) if is_so(tensor).any()]
        words = " and ".join(found)
        raise InvalidArgumentError(None, None, f"{message} : Tensor had {words} values")
    return tensor


@check_numerics.gradient
def _(node, dy):
    message = "Not a number (NaN) or infinity (Inf) values detected in gradient."
    return check_numerics(dy, f"{message} {node.attrs['message']}")


@check_numerics.lower
def _(e, x, *, message):
    e.require(~e.is_nan(x), f"{message} : Tensor had NaN values")
    e.require(~e.is_inf(x), f"{message} : Tensor had Inf values")
    return x
