"""Reductions: along the axes given, or along all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.dtypes import DTypeLike
from headrace.core.families import documented, named, takes
from headrace.functions.array.array import zeros
from headrace.functions.math.cast import cast
from headrace.functions.math.math import range_
from headrace.functions.values.old_names import renamed
from headrace.functions.values.structure import name_scope
from headrace.graph.tensor import Tensor
from headrace.ops.array import source
from headrace.ops.array.constant import constant
from headrace.ops.array.indexing import where
from headrace.ops.declaration import array
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.math import arithmetic, comparison, reduce

_SIMPLE = (np.ndarray, np.generic, int, float, complex, bool, str, bytes)
_PLAIN = (list, tuple, *_SIMPLE)


def axes_of(x: Any, axis: Any) -> Any:
    """`axis`, or all axes of `x` where it is None."""
    if axis is not None:
        return axis
    rank = np.ndim(x) if isinstance(x, _PLAIN) else x.shape.rank
    if rank is not None:
        return constant(np.arange(rank), dtypes.int32)
    return range_(0, array.rank(x))


def _reduce(build: Any, x: Any, axis: Any, keepdims: Any, name: str | None) -> Tensor:
    keep = bool(keepdims) if keepdims is not None else False
    if not isinstance(x, (Tensor, *_PLAIN)) or _holds_tensors(x):
        x = convert_to_tensor(x)
    out: Tensor = build(x, axes_of(x, axis), keep, name=name)
    if axis is None and not keep and not out.shape.is_full:
        out.set_shape(())
    return out


def _holds_tensors(x: Any) -> bool:
    """A list of tensors becomes one tensor before anything can be said of its rank."""
    return isinstance(x, (list, tuple)) and any(
        _holds_tensors(item) if isinstance(item, (list, tuple)) else not isinstance(item, _SIMPLE)
        for item in x
    )


def _family(called: str, build: Any, what: str, types: str, example: str) -> Callable[..., Tensor]:
    """A reduction with TF 1.15's arguments, old names included."""

    def reduction(
        input_tensor: Any,
        axis: Any = None,
        keepdims: bool | None = None,
        name: str | None = None,
        reduction_indices: Any = None,
        keep_dims: bool | None = None,
    ) -> Tensor:
        axis = renamed("axis", axis, "reduction_indices", reduction_indices)
        keepdims = renamed("keepdims", keepdims, "keep_dims", keep_dims)
        return _reduce(build, input_tensor, axis, keepdims, name)

    reduction.__name__ = reduction.__qualname__ = called
    reduction.__doc__ = f"""The {what} of a tensor's elements, along axes.

    Args:
      input_tensor: the tensor to reduce, of {types}.
      axis: the axes, an int or a vector of ints in [-rank, rank).  None: all of them.
      keepdims: keep a reduced axis with size 1 instead of removing it.
      name: name of the node.
      reduction_indices: old name of `axis`.
      keep_dims: old name of `keepdims`.

    Returns:
      The reduced tensor, of the same type.

    Example:
      >>> {example}
    """
    return reduction


_X = "tf.constant([[1., 2.], [3., 5.]])"
_B = "tf.constant([[True, False], [True, True]])"
reduce_sum = _family("reduce_sum", reduce.sum_, "sum", "numbers", f"tf.reduce_sum({_X}, 0)     # 4. 7.")
reduce_mean = _family("reduce_mean", reduce.mean, "mean", "numbers", f"tf.reduce_mean({_X}, 0)    # 2. 3.5")
reduce_prod = _family("reduce_prod", reduce.prod, "product", "numbers", f"tf.reduce_prod({_X})    # 30.")
reduce_max = _family(
    "reduce_max", reduce.max_, "largest", "real numbers", f"tf.reduce_max({_X}, 1)    # 2. 5."
)
reduce_min = _family("reduce_min", reduce.min_, "smallest", "real numbers", f"tf.reduce_min({_X})    # 1.")
reduce_all = _family("reduce_all", reduce.all_, "and", "bool", f"tf.reduce_all({_B}, 1)    # False True")
reduce_any = _family("reduce_any", reduce.any_, "or", "bool", f"tf.reduce_any({_B}, 1)    # True True")


_ALONG = """
    Args:
      input_tensor: a tensor of numbers.
      axis: the axes to reduce; None: all.
      keepdims: keep a reduced axis with size 1.
      name: name of the node, or of the scope.

    Returns:
      The reduced tensor.
    """


@documented("Example:\n  >>> tf.math.reduce_euclidean_norm(tf.constant([3., 4.]))       # 5.")
@documented(_ALONG)
def reduce_euclidean_norm(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """The square root of the sum of squares along axes."""
    return _reduce(reduce.euclidean_norm, input_tensor, axis, keepdims, name)


def reduce_logsumexp(
    input_tensor: Any,
    axis: Any = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """log(sum(exp(x))) along axes, without overflow or underflow.

    Args:
      input_tensor: a tensor of floats.
      axis: the axes to reduce; None: all.
      keepdims: keep a reduced axis with size 1.
      name: name of the scope.
      reduction_indices: old name of `axis`.
      keep_dims: old name of `keepdims`.

    Returns:
      The reduced tensor.

    Example:
      >>> tf.reduce_logsumexp(tf.constant([0., 0., 0.]))       # log(3)
    """
    axis = renamed("axis", axis, "reduction_indices", reduction_indices)
    keepdims = bool(renamed("keepdims", keepdims, "keep_dims", keep_dims))
    x = convert_to_tensor(input_tensor)
    with name_scope(name, "ReduceLogSumExp", [x]):
        top = reduce_max(x, axis, keepdims=True)
        # A shift by an infinite maximum would give NaN: inf - inf.
        finite = where.select(comparison.is_finite(top), top, array.zeros_like(top))
        top = source.stop_gradient(finite)
        total = reduce_sum(arithmetic.exp(arithmetic.sub(x, top)), axis, keepdims=keepdims)
        result = arithmetic.log(total)
        if not keepdims:
            top = array.reshape(top, array.shape_of(result))
        result = arithmetic.add(result, top)
        if axis is None and not keepdims and not result.shape.is_full:
            result.set_shape(())
        return result


@documented(_ALONG)
def reduce_variance(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """The mean squared distance from the mean, along axes."""
    with name_scope(name or "reduce_variance"):
        means = reduce_mean(input_tensor, axis, keepdims=True)
        return reduce_mean(arithmetic.square(input_tensor - means), axis, keepdims=keepdims)


@documented(_ALONG)
@takes(reduce_variance)
def reduce_std(name: str | None, **options: Any) -> Tensor:
    """The standard deviation along axes: the square root of `tf.math.reduce_variance`."""
    with name_scope(name or "reduce_std"):
        return arithmetic.sqrt(reduce_variance(**options))


def count_nonzero(
    input_tensor: Any = None,
    axis: Any = None,
    keepdims: bool | None = None,
    dtype: DTypeLike = dtypes.int64,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: bool | None = None,
    input: Any = None,
) -> Tensor:
    """How many elements are not zero (not empty, for strings), along axes.

    Args:
      input_tensor: a tensor of numbers, bool or strings.
      axis: the axes to reduce; None: all.
      keepdims: keep a reduced axis with size 1.
      dtype: type of the result.
      name: name of the scope.
      reduction_indices: old name of `axis`.
      keep_dims: old name of `keepdims`.
      input: new name of `input_tensor`.

    Returns:
      The counts.

    Example:
      >>> tf.math.count_nonzero(tf.constant([[0, 1], [2, 3]]), axis=0)       # 1 2
    """
    keepdims = renamed("keepdims", keepdims, "keep_dims", keep_dims)
    x = renamed("input", input, "input_tensor", input_tensor)
    axis = renamed("axis", axis, "reduction_indices", reduction_indices)
    with name_scope(name, "count_nonzero", [x]):
        x = convert_to_tensor(x, name="input")
        truths = cast(comparison.not_equal(x, zeros([], x.dtype.base)), dtypes.int64)
        result: Tensor = cast(reduce_sum(truths, axis, keepdims=keepdims), dtype)
        return result


def _index_of(build: Any, name: str, which: str) -> Callable[..., Tensor]:
    @documented("""
        Args:
          input: a tensor of numbers.
          axis: the axis, 0 by default.
          name: name of the node.
          dimension: old name of `axis`.
          output_type: int32 or int64.

        Returns:
          The indices, of shape `input` without the axis.
    """)
    @named(name, f"The index of the {which} element along an axis; of equal ones the first.")
    def function(
        input: Any,
        axis: Any = None,
        name: str | None = None,
        dimension: Any = None,
        output_type: DTypeLike = dtypes.int64,
    ) -> Tensor:
        axis = renamed("axis", axis, "dimension", dimension)
        result: Tensor = build(input, 0 if axis is None else axis, output_type, name=name)
        return result

    return function


argmax = documented("""
    Example:
      >>> tf.argmax(tf.constant([[1, 9, 3], [7, 5, 6]]), 1)       # 1 0
""")(_index_of(reduce.argmax, "argmax", "largest"))
argmin = _index_of(reduce.argmin, "argmin", "smallest")
