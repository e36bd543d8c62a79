"""Infinite and missing numbers, order, and counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.core import dtypes
from headrace.core.dtypes import NUMBERS
from headrace.core.families import named
from headrace.functions.control.grouping import group, with_dependencies
from headrace.functions.math.cast import cast
from headrace.functions.math.clip import clip_by_value
from headrace.functions.math.math import truediv
from headrace.functions.math.reduce import reduce_all, reduce_max, reduce_prod
from headrace.functions.values.old_names import renamed
from headrace.functions.values.structure import name_scope
from headrace.graph.defaults import get_default_graph
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor
from headrace.ops.array import fingerprint as fingerprints
from headrace.ops.array.constant import constant
from headrace.ops.array.indexing import segment
from headrace.ops.array.slices import strided_slice
from headrace.ops.declaration import array
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.math import arithmetic, checks, comparison, histogram


# -- checks -------------------------------------------------------------------------------------
def verify_tensor_all_finite(
    t: Any = None, msg: str | None = None, name: str | None = None, x: Any = None, message: str | None = None
) -> Tensor:
    """The tensor; fails if an element is infinite or NaN.

    Args:
      t: old name of `x`.
      msg: old name of `message`.
      name: name of the node.
      x: a `Tensor` of floats.
      message: what to say when it fails.

    Returns:
      `x`, once it has been checked.
    """
    x = renamed("x", x, "t", t)
    message = renamed("message", message, "msg", msg)
    with name_scope(name, "VerifyFinite", [x]):
        x = convert_to_tensor(x, name="x")
        with get_default_graph().colocate_with(x):
            checked = checks.check_numerics(x, message=message)
            result: Tensor = with_dependencies([checked], x)
            return result


def add_check_numerics_ops() -> Node:
    """An operation that fails if any float tensor of the graph is infinite or NaN.

    Returns:
      The operation; it checks the tensors in the order in which they were made.

    Raises:
      ValueError: the graph has conditionals or loops.
    """
    graph = get_default_graph()
    if graph.runs_at_once:
        raise RuntimeError(
            "add_check_numerics_ops() is not compatible with eager execution. To check for Inf's and "
            "NaN's under "
            "eager execution, call tf.debugging.enable_check_numerics() once before executing the checked "
            "operations."
        )
    checked: list[Any] = []
    for node in graph.get_operations():
        for output in node.outputs:
            if output.dtype not in (dtypes.float16, dtypes.float32, dtypes.float64):
                continue
            if node._get_control_flow_context() is not None:
                raise ValueError(
                    "`tf.add_check_numerics_ops() is not compatible with TensorFlow control flow "
                    "operations such as `tf.cond()` or `tf.while_loop()`."
                )
            with graph.control_dependencies(checked):
                message = f"{node.name}:{output.value_index}"
                checked = [checks.check_numerics(output, message=message)]
    return group(*checked)


def is_numeric_tensor(tensor: Any) -> bool:
    """Is this a `Tensor` of numbers?"""
    return isinstance(tensor, Tensor) and tensor.dtype.base in NUMBERS


def fingerprint(data: Any, method: Any = "farmhash64", name: str | None = None) -> Tensor:
    """A short digest of every row of a tensor.

    Args:
      data: a `Tensor` of at least one dimension.
      method: "farmhash64", the only one there is.
      name: name of the node.

    Returns:
      A matrix of uint8: 8 bytes per row, the lowest first.
    """
    return fingerprints.fingerprint(data, method, name=name)


# -- order --------------------------------------------------------------------------------------
def _steps(x: Any) -> Tensor:
    """The differences of neighbours, in row-major order."""
    x = array.reshape(x, [-1])
    if not is_numeric_tensor(x):
        raise TypeError(f"Expected x to be numeric, instead found: {x}")
    following = strided_slice.getitem(x, slice(1, None))
    return following - strided_slice.getitem(x, slice(None, -1))


def _ordered(called: str, relation: str, holds: Callable[..., Tensor]) -> Callable[..., Tensor]:
    @named(
        called,
        f"""Is every element {relation} the one before, in row-major order?

    Args:
      x: a `Tensor` of numbers.
      name: name of the scope.

    Returns:
      A scalar bool; true if there are fewer than two elements.

    Raises:
      TypeError: `x` is not numeric.
    """,
    )
    def function(x: Any, name: str | None = None) -> Tensor:
        with name_scope(name, called, [x]):
            steps = _steps(x)
            return reduce_all(holds(convert_to_tensor(0, steps.dtype), steps))

    return function


is_non_decreasing = _ordered("is_non_decreasing", "at least as large as", comparison.less_equal)
is_strictly_increasing = _ordered("is_strictly_increasing", "larger than", comparison.less)


# -- counts -------------------------------------------------------------------------------------
def bincount(
    arr: Any, weights: Any = None, minlength: Any = None, maxlength: Any = None, dtype: Any = dtypes.int32
) -> Tensor:
    """How often 0, 1, 2, ... occur, or the sums of the weights that belong to them.

    Args:
      arr: an int32 `Tensor` of numbers that are not negative.
      weights: a `Tensor` of the shape of `arr`.
      minlength: the result has at least this many elements.
      maxlength: and at most this many; larger numbers are not counted.
      dtype: type of the counts where there are no weights.

    Returns:
      A vector.

    Example:
      >>> tf.bincount([1, 1, 3])       # 0 2 0 1
    """
    with name_scope("bincount"):
        arr = convert_to_tensor(arr, dtypes.int32, name="arr")
        has_some = reduce_prod(array.shape_of(arr)) > 0
        size = cast(has_some, dtypes.int32) * (reduce_max(arr) + 1)
        if minlength is not None:
            minlength = convert_to_tensor(minlength, dtypes.int32, name="minlength")
            size = arithmetic.maximum(minlength, size)
        if maxlength is not None:
            maxlength = convert_to_tensor(maxlength, dtypes.int32, name="maxlength")
            size = arithmetic.minimum(maxlength, size)
        if weights is not None:
            weights = convert_to_tensor(weights, name="weights")
            return segment.unsorted_segment_sum(weights, arr, size)
        return histogram.bincount(arr, size, constant([], dtype))


def histogram_fixed_width(
    values: Any, value_range: Any, nbins: Any = 100, dtype: Any = dtypes.int32, name: str | None = None
) -> Tensor:
    """How many values fall into each of `nbins` equal parts of a range.

    Args:
      values: a `Tensor` of numbers; those outside the range count for its ends.
      value_range: two numbers of the same type.
      nbins: the number of parts.
      dtype: type of the counts, int32 or int64.
      name: name of the node.

    Returns:
      A vector of `nbins` counts.

    Example:
      >>> tf.histogram_fixed_width([-1., 0., 1.5, 2., 5., 15.], [0., 5.], nbins=5)  # 2 1 1 0 2
    """
    with name_scope(name, "histogram_fixed_width", [values, value_range, nbins]) as scope:
        return histogram.histogram_fixed_width(values, value_range, nbins, dtype=dtype, name=scope)


def histogram_fixed_width_bins(
    values: Any, value_range: Any, nbins: Any = 100, dtype: Any = dtypes.int32, name: str | None = None
) -> Tensor:
    """Which of `nbins` equal parts of a range each value falls into.

    Args:
      values: a `Tensor` of numbers; those outside the range belong to its ends.
      value_range: two numbers of the same type.
      nbins: the number of parts.
      dtype: has no effect, as in TensorFlow: the result is int32.
      name: name of the scope.

    Returns:
      A tensor of int32 of the shape of `values`.
    """
    with name_scope(name, "histogram_fixed_width_bins", [values, value_range, nbins]):
        values = convert_to_tensor(values, name="values")
        shape = array.shape_of(values)
        flat = array.reshape(values, [-1])
        bounds = convert_to_tensor(value_range, name="value_range")
        count = cast(convert_to_tensor(nbins, dtypes.int32, name="nbins"), values.dtype)
        low, high = (strided_slice.getitem(bounds, i) for i in (0, 1))
        places = truediv(flat - low, high - low, name="scaled_values")
        places = arithmetic.floor(count * places, name="indices")
        return array.reshape(cast(clip_by_value(places, 0, count - 1), dtypes.int32), shape)
