"""Shapes, by numbers while the graph is built where these are known by then, else by tensors."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.shapes import Shape
from headrace.functions.array.array import (
    broadcast_dynamic_shape,
    broadcast_static_shape,
    get_static_value,
    rank,
    shape,
)
from headrace.functions.array.indexing import where_v2
from headrace.functions.array.stacking import concat
from headrace.functions.control.cond import cond as cond_
from headrace.functions.math.math import equal
from headrace.functions.math.reduce import reduce_all
from headrace.functions.platform.scopes import name_scope
from headrace.functions.values.conversion import convert_to_tensor
from headrace.ops.array.constant import constant


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


def prefer_static_shape(x: Any) -> Any:
    return prefer_static_value(shape(x))


def prefer_static_broadcast_shape(
    shape1: Any, shape2: Any, name: str = "prefer_static_broadcast_shape"
) -> Any:
    """The common shape: a TensorShape where both are known, else a tensor."""

    def known(sizes: Any) -> Any:
        if isinstance(sizes, Shape):
            return sizes
        value = get_static_value(convert_to_tensor(sizes, dtypes.int32, "shape"))
        return None if value is None else Shape(value)

    def tensor(sizes: Any) -> Any:
        if isinstance(sizes, Shape):
            if not sizes.is_fully_defined():
                raise ValueError("Cannot broadcast from partially defined `TensorShape`.")
            sizes = sizes.as_list()
        return convert_to_tensor(sizes, dtypes.int32, "shape")

    with name_scope(name, values=[shape1, shape2]):
        first, second = known(shape1), known(shape2)
        if first is not None and second is not None:
            return broadcast_static_shape(first, second)
        return broadcast_dynamic_shape(tensor(shape1), tensor(shape2))


def dimension_size(x: Any, axis: int) -> Any:
    known = x.shape.with_rank_at_least(abs(axis)).dims
    size = known[axis].value if known else None
    return shape(x)[axis] if size is None else size


def same_dynamic_shape(a: Any, b: Any) -> Any:
    """Are the shapes of both equal?"""
    a, b = convert_to_tensor(a, name="a"), convert_to_tensor(b, name="b")
    return cond_(
        equal(rank(a), rank(b)), lambda: reduce_all(equal(shape(a), shape(b))), lambda: constant(False)
    )


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


def gen_new_seed(seed: Any, salt: str) -> int | None:
    """Another seed for each use of one."""
    if seed is None:
        return None
    digest = hashlib.md5((str(seed) + salt).encode("utf-8"), usedforsecurity=False).hexdigest()
    return int(digest[:8], 16) & 0x7FFFFFFF
