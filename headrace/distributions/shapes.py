"""Shapes, by numbers while the graph is built where these are known by then, else by tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.functions.array.array import get_static_value, rank, shape
from headrace.functions.array.indexing import where_v2
from headrace.functions.array.stacking import concat
from headrace.functions.platform.scopes import name_scope
from headrace.functions.values.conversion import convert_to_tensor


def maybe_get_static_value(x: Any, dtype: Any = None) -> Any:
    """The value while the graph is built, or None."""
    if x is None:
        return None
    try:
        value = get_static_value(x)
    except TypeError:
        value = x
    return value if value is None or dtype is None else np.array(value, dtype)


def prefer_static_value(x: Any) -> Any:
    value = get_static_value(x)
    return x if value is None else value


def prefer_static_rank(x: Any) -> Any:
    return prefer_static_value(rank(x))


def pick_vector(cond: Any, true_vector: Any, false_vector: Any, name: str = "pick_vector") -> Any:
    """One of two vectors of any length."""
    with name_scope(name, values=(cond, true_vector, false_vector)):
        cond = convert_to_tensor(cond, name="cond")
        if cond.dtype != dtypes.bool_:
            raise TypeError(f"{cond}.dtype={cond.dtype} which is not {dtypes.bool_}")
        known = get_static_value(cond)
        if known is not None:
            return true_vector if known else false_vector
        true_vector = convert_to_tensor(true_vector, name="true_vector")
        false_vector = convert_to_tensor(false_vector, name="false_vector")
        if true_vector.dtype != false_vector.dtype:
            raise TypeError(
                f"{true_vector}.dtype={true_vector.dtype} does not match "
                f"{false_vector}.dtype={false_vector.dtype}"
            )
        count = shape(true_vector)[0]
        both = concat([true_vector, false_vector], 0)
        start = where_v2(cond, 0, count)
        return both[start : where_v2(cond, count, shape(both)[0])]
