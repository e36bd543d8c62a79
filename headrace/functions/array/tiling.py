"""Borders and repetition: tf.pad, tf.meshgrid, tf.repeat."""

from __future__ import annotations

from typing import Any

from headrace.core import dtypes
from headrace.core.dtypes import DType
from headrace.functions.array.array import ones, rank, shape, size
from headrace.functions.array.indexing import sequence_mask
from headrace.functions.array.stacking import concat, stack
from headrace.functions.values.structure import name_scope
from headrace.graph.tensor import Tensor
from headrace.ops.array.indexing.mask import boolean_mask
from headrace.ops.declaration import array
from headrace.ops.declaration.constants import constant_value
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.math import reduce
from headrace.ops.math.arithmetic import maximum
from headrace.ops.math.cast import cast


def pad(
    tensor: Any, paddings: Any, mode: str = "CONSTANT", name: str | None = None, constant_values: Any = 0
) -> Tensor:
    """A tensor with a border.

    Args:
      tensor: a tensor of rank n.
      paddings: integers [n, 2]: how many elements before and after, for every dimension.
      mode: "CONSTANT" (one value), "REFLECT" (its mirror image without the edge) or "SYMMETRIC"
        (with the edge), in upper or lower case.
      name: name of the node.
      constant_values: the value of a constant border.

    Raises:
      ValueError: the mode is not one of these.

    Example:
      >>> tf.pad([[1, 2]], [[1, 0], [0, 1]])       # [[0, 0, 0], [1, 2, 0]]
    """
    mode = mode.upper()
    if mode == "CONSTANT":
        if not isinstance(constant_values, Tensor) and _is_zero(constant_values):
            out = array.pad(tensor, paddings, name=name)
        else:
            out = array.pad_v2(tensor, paddings, constant_values, name=name)
    elif mode in ("REFLECT", "SYMMETRIC"):
        out = array.mirror_pad(tensor, paddings, mode, name=name)
    else:
        raise ValueError(f"Unknown padding mode: {mode}")
    return _with_known_sizes(out)


def _is_zero(value: Any) -> bool:
    return not hasattr(value, "_as_graph_element") and bool(value == 0)


def _with_known_sizes(out: Tensor) -> Tensor:
    """Sizes whose paddings are known, where others are not."""
    x, paddings = out.op.inputs[:2]
    if x.shape.rank is None or out.shape.is_full:
        return out
    known = constant_value(paddings, partial=True)
    if known is not None:
        sizes: list[int | None] = []
        for pair, extent in zip(known, x.shape.sizes):
            if pair is None or extent is None or any(p is None for p in pair):
                sizes.append(None)
            else:
                sizes.append(sum(int(p) for p in pair) + extent)
        out.set_shape(sizes)
    return out


def pad_v2(
    tensor: Any, paddings: Any, mode: str = "CONSTANT", constant_values: Any = 0, name: str | None = None
) -> Tensor:
    """tf.pad with the order of arguments that TensorFlow 2 has."""
    return pad(tensor, paddings, mode, name, constant_values)


def meshgrid(*args: Any, **kwargs: Any) -> list[Tensor]:
    """The coordinates of a grid, one tensor per axis.

    Args:
      *args: vectors, the places along each axis.
      indexing: "xy" (the first two axes exchanged, as in a plot) or "ij" (as in a matrix).
      name: name of the scope.

    Raises:
      TypeError: an unknown keyword argument.
      ValueError: an unknown indexing.

    Example:
      >>> tf.meshgrid([1, 2, 3], [4, 5])       # [[1, 2, 3], [1, 2, 3]], [[4, 4, 4], [5, 5, 5]]
    """
    indexing, name = kwargs.pop("indexing", "xy"), kwargs.pop("name", "meshgrid")
    for key in kwargs:
        raise TypeError(f"'{key}' is an invalid keyword argument for this function")
    if indexing not in ("xy", "ij"):
        raise ValueError("indexing parameter must be either 'xy' or 'ij'")
    with name_scope(name, "meshgrid", args):
        count = len(args)
        order = list(range(count))
        if indexing == "xy" and count > 1:
            order[:2] = [1, 0]
        columns = []
        for i, x in enumerate(args):
            sizes = [1] * count
            sizes[order[i]] = -1
            columns.append(array.reshape(stack(x), sizes))
        extents = [size(args[i]) for i in order]
        units = ones(extents, convert_to_tensor(args[0]).dtype.base)
        return [x * units for x in columns]


# -- repeat -------------------------------------------------------------------------------------
def repeat(input: Any, repeats: Any, axis: int | None = None, name: str | None = None) -> Tensor:
    """Elements or slices, each repeated.

    Args:
      input: a tensor.
      repeats: integers, how often: a scalar for all, or one per slice along `axis`.
      axis: the dimension; without it the flattened input is used.
      name: name of the scope.

    Raises:
      TypeError: `repeats` are not integers.
      ValueError: `axis` is out of range, or negative where the rank is not known.

    Example:
      >>> tf.repeat([3, 5], [2, 1], axis=0)       # [3, 3, 5]
    """
    if axis is None:
        input, axis = array.reshape(input, [-1]), 0
    return repeat_with_axis(input, repeats, axis, name)


def repeat_with_axis(data: Any, repeats: Any, axis: int, name: str | None = None) -> Tensor:
    """tf.repeat along a dimension that is given."""
    if not isinstance(axis, int):
        raise TypeError(f"axis must be an int; got {type(axis).__name__}")
    with name_scope(name, "Repeat", [data, repeats]):
        data = _at_least_vector(convert_to_tensor(data, name="data"))
        repeats = integers(repeats, "repeats")
        repeats.shape.with_rank_at_most(1)
        axis = positive_axis(axis, data.shape.rank)
        if repeats.shape.rank == 1 and data.shape.rank is not None:
            data.shape[axis].assert_is_compatible_with(repeats.shape[0])
        sizes = shape(data)
        around = concat([sizes[:axis], [-1], sizes[axis + 1 :]], 0)
        copies = array.expand_dims(data, axis + 1)
        if repeats.shape.rank == 0:
            return array.reshape(tile_one_dimension(copies, axis + 1, repeats), around)
        most = maximum(0, reduce.max_(repeats, [0]))
        spread = array.broadcast_to(repeats, concat([sizes[: axis + 1 - rank(repeats)], shape(repeats)], 0))
        spread.set_shape([None] * (axis + 1))
        kept = boolean_mask(tile_one_dimension(copies, axis + 1, most), sequence_mask(spread, most))
        out = kept if axis == 0 else array.reshape(kept, around)
        if data.shape.rank is not None:
            along = 0 if repeats.shape.dim(0) == 0 else None
            out.set_shape(data.shape[:axis].concatenate([along]).concatenate(data.shape[axis + 1 :]))
        return out


def integers(value: Any, name: str, dtype: DType = dtypes.int32) -> Tensor:
    """A tensor of integers of this type; other kinds of numbers are refused."""
    tensor = convert_to_tensor(value, name=name, preferred_dtype=dtype)
    if not tensor.dtype.is_integer:
        raise TypeError(f"{name} must be an integer tensor; dtype={tensor.dtype}")
    return tensor if tensor.dtype.base is dtype else cast(tensor, DstT=dtype)


def positive_axis(axis: Any, count: int | None) -> int:
    """The axis, counted from the front."""
    if not isinstance(axis, int):
        raise TypeError(f"axis must be an int; got {type(axis).__name__}")
    if count is None:
        if axis < 0:
            raise ValueError("axis may only be negative if ndims is statically known.")
        return axis
    if not -count <= axis < count:
        raise ValueError(f"axis={axis} out of bounds: expected {-count}<=axis<{count}")
    return axis % count


def tile_one_dimension(data: Tensor, axis: int, multiple: Any) -> Tensor:
    """A tensor repeated along one dimension."""
    if data.shape.rank is not None:
        multiples: Any = [1] * data.shape.rank
        multiples[axis] = multiple
    else:
        units = ones(array.reshape(rank(data), [1]), dtypes.int32)
        multiples = concat([units[:axis], [multiple], units[axis + 1 :]], 0)
    return array.tile(data, multiples)


def _at_least_vector(data: Tensor) -> Tensor:
    if data.shape.rank is not None:
        return data if data.shape.rank else stack([data])
    sizes = concat([[1], shape(data)], 0)
    return array.reshape(data, sizes[-maximum(rank(data), 1) :])
