"""Ops that fail: on a false condition, on values that are no numbers."""

from __future__ import annotations

import numpy as np

from headrace.core.dtypes import FLOATS
from headrace.core.errors import InvalidArgumentError, require
from headrace.ops.declare import op
from headrace.ops.shape_rules import none, same
from headrace.ops.signature import String, Types
from headrace.ops.summarize import summarize as text
from headrace.ops.traits import ELEMENTWISE, STATEFUL


def _assert_shape(condition, data):
    require(condition.rank in (None, 0), f"Shape must be rank 0 but is rank {condition.rank}")
    return none()


@op("Assert", "condition: bool, data: T ->", T=Types(min=1), summarize=3, shape=_assert_shape,
    traits={STATEFUL})  # fmt: skip
def assert_(condition, data, *, summarize):
    """Fails, and shows data, unless the condition is true."""
    require(condition.size == 1, f"In[0] should be a scalar: {list(condition.shape)}")
    if not condition.all():
        shown = " ".join(f"[{text(np.asarray(x), summarize)}]" for x in data)
        raise InvalidArgumentError(None, None, f"assertion failed: {shown}")
    return ()


assert_.no_gradient()


@op("CheckNumerics", "tensor: T -> output: T", T=FLOATS, message=String(), shape=same,
    traits={STATEFUL, ELEMENTWISE})  # fmt: skip
def check_numerics(tensor, *, message):
    """The tensor; fails if an element is infinite or NaN."""
    if not np.isfinite(tensor).all():
        found = [
            word for word, is_so in (("Inf", np.isinf), ("NaN", np.isnan)) if is_so(tensor).any()
        ]
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
