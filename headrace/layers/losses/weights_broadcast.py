"""Weights of losses and metrics: a scalar, or the rank of the values with each size equal or 1.

Checked while building where shapes are known, else at every step.
"""

from __future__ import annotations

from typing import Any

from headrace.functions.array.array import expand_dims, ones_like, rank, shape, size
from headrace.functions.array.checks import Assert
from headrace.functions.array.stacking import concat
from headrace.functions.control.cond import cond
from headrace.functions.math.math import equal
from headrace.functions.sparse.sets import set_difference
from headrace.functions.values.structure import name_scope
from headrace.graph.defaults import get_default_graph
from headrace.ops.array.source import no_op
from headrace.ops.declaration.constants import constant_value
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.math.arithmetic import mul

_FAULT = "weights can not be broadcast to values."


def assert_broadcastable(weights: Any, values: Any) -> Any:
    """A node that fails where `weights` do not fit `values`.

    Raises:
      ValueError: they are known not to.
    """
    with name_scope(None, "assert_broadcastable", (weights, values)) as scope:
        weights, weights_shape, weights_rank = _described(weights, "weights")
        values, values_shape, values_rank = _described(values, "values")
        checked = _check_static(weights, values, weights_shape, values_shape)
        if checked is not None:
            return no_op(name=checked)
        is_scalar = equal(0, weights_rank, name="is_scalar")
        shapes = (weights_rank, weights_shape, values_rank, values_shape)
        fits = cond(is_scalar, lambda: is_scalar, lambda: _fits(*shapes), name="is_valid_shape")
        data = (
            _FAULT,
            "weights.shape=",
            weights.name,
            weights_shape,
            "values.shape=",
            values.name,
            values_shape,
            "is_scalar=",
            is_scalar,
        )
        return Assert(fits, data, name=scope)


def _described(x: Any, name: str) -> tuple[Any, Any, Any]:
    with name_scope(None, name, (x,)) as scope:
        x = convert_to_tensor(x, name=scope)
        return x, shape(x, name="shape"), rank(x, name="rank")


def _check_static(weights: Any, values: Any, weights_shape: Any, values_shape: Any) -> str | None:
    """What the node of a finished check is called; None where sizes must be seen at run time."""
    ranks = weights.shape.rank, values.shape.rank
    if None in ranks:
        return None
    if ranks[0] == 0:
        return "static_scalar_check_success"
    if ranks[0] != ranks[1]:
        raise ValueError(
            f"{_FAULT} values.rank={ranks[1]}. weights.rank={ranks[0]}. "
            f"values.shape={values.shape}. weights.shape={weights.shape}."
        )
    given, wanted = constant_value(weights_shape), constant_value(values_shape)
    if given is None or wanted is None:
        return None
    for i, (have, want) in enumerate(zip(given, wanted, strict=True)):
        if have not in (1, want):
            raise ValueError(f"{_FAULT} Mismatch at dim {i}. values.shape={wanted} weights.shape={given}.")
    return "static_dims_check_success"


def _fits(weights_rank: Any, weights_shape: Any, values_rank: Any, values_shape: Any) -> Any:
    """Same rank, and sizes that are equal or 1."""
    values = (weights_rank, weights_shape, values_rank, values_shape)
    with name_scope(None, "has_valid_nonscalar_shape", values) as scope:
        is_same_rank = equal(values_rank, weights_rank, name="is_same_rank")
        sizes_fit = lambda: _sizes_fit(weights_shape, values_shape)
        return cond(is_same_rank, sizes_fit, lambda: is_same_rank, name=scope)


def _sizes_fit(weights_shape: Any, values_shape: Any) -> Any:
    with name_scope(None, "has_invalid_dims", (weights_shape, values_shape)) as scope:
        wanted = expand_dims(values_shape, -1)
        allowed = concat((wanted, ones_like(wanted)), axis=1)
        wrong = set_difference(expand_dims(weights_shape, -1), allowed)
        return equal(0, size(wrong.values, name="num_invalid_dims"), name=scope)


def broadcast_weights(weights: Any, values: Any) -> Any:
    """`weights` in the shape of `values`."""
    with name_scope(None, "broadcast_weights", (weights, values)) as scope:
        values = convert_to_tensor(values, name="values")
        weights = convert_to_tensor(weights, dtype=values.dtype.base_dtype, name="weights")
        same = weights.shape.is_full and values.shape.is_full
        if same and weights.shape.is_compatible_with(values.shape):
            return weights
        with get_default_graph().control_dependencies([assert_broadcastable(weights, values)]):
            return mul(weights, ones_like(values), name=scope)
