"""Convolutions with holes, by moving blocks of space into the batch: tf.nn.with_space_to_batch,
convolution, atrous_conv2d, depthwise_conv2d, separable_conv2d."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.shapes import Shape, as_shape
from headrace.functions.array.array import shape
from headrace.functions.array.space import required_space_to_batch_paddings
from headrace.functions.array.stacking import concat, stack
from headrace.functions.nn.conv import conv1d, conv2d
from headrace.functions.nn.window import channels_first, per_dimension, spatial_dimensions, strides_and_rates
from headrace.functions.values.old_names import renamed
from headrace.functions.values.structure import name_scope
from headrace.graph.tensor import Tensor
from headrace.ops.array import space
from headrace.ops.declaration.constants import constant_value
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.nn.convolution import conv, conv3d, depthwise


def with_space_to_batch(
    input: Any,
    dilation_rate: Any,
    padding: str,
    op: Callable[[Tensor, int, str], Tensor],
    filter_shape: Any = None,
    spatial_dims: Any = None,
    data_format: str | None = None,
) -> Tensor:
    """`op` with a dilated window, done by `op` with a plain one on interleaved parts of space.

    Args:
      input: a tensor [batch, space..., channels] or [batch, channels, space...].
      dilation_rate: int32 [n], how far elements of the window are apart in each dimension.
      padding: "SAME" or "VALID".
      op: op(input, n, padding) -> result; it slides a window with stride 1.
      filter_shape: the shape of the window; needed for "SAME".
      spatial_dims: the numbers of the dimensions of space, increasing; 1 to n if not given.
      data_format: says where the channels are; last if not given.

    Returns:
      What `op` gives.

    Raises:
      ValueError: a shape is not known that must be, the padding is not one of these, or a rate is
        below 1.
    """
    tensor = convert_to_tensor(input, name="input")
    rate = convert_to_tensor(dilation_rate, dtypes.int32, name="dilation_rate")
    count = _rate_count(rate)
    dims = _checked_dims(spatial_dims, count, data_format)
    least = dims[-1] + (0 if channels_first(data_format) else 1)
    if tensor.shape.rank is not None and tensor.shape.rank < least:
        raise ValueError(f"input tensor must have rank {least} at least")
    known = constant_value(rate)
    if known is not None:
        if np.any(known < 1):
            raise ValueError("dilation_rate must be positive")
        if np.all(known == 1):
            return op(tensor, count, padding)
    base = _base_paddings(filter_shape, count, padding, rate if known is None else known)
    sizes = _spatial_sizes(tensor, dims)
    paddings, crops = required_space_to_batch_paddings(sizes, rate, base)
    blocks = _spread(rate, 1, dims)
    parts = space.space_to_batch_nd(tensor, blocks, _spread(paddings, 0, dims))
    return space.batch_to_space_nd(op(parts, count, "VALID"), blocks, _spread(crops, 0, dims))


def _rate_count(rate: Tensor) -> int:
    if rate.shape.rank not in (None, 1):
        raise ValueError("rate must be rank 1")
    if not rate.shape.is_full:
        raise ValueError("rate must have known shape")
    return int(rate.shape.sizes[0])  # type: ignore[arg-type]


def _checked_dims(given: Any, count: int, data_format: str | None) -> list[int]:
    dims = list(spatial_dimensions(count, data_format) if given is None else given)
    if dims != sorted({int(d) for d in dims}) or any(d < 1 for d in dims):
        raise ValueError("spatial_dims must be a montonically increasing sequence of positive integers")
    return dims


def _spatial_sizes(tensor: Tensor, dims: Sequence[int]) -> Any:
    if tensor.shape.rank is not None:
        known = [tensor.shape.sizes[d] for d in dims]
        if None not in known:
            return known
    sizes: Any = shape(tensor)
    return stack([sizes[d] for d in dims])


def _base_paddings(filter_shape: Any, count: int, padding: str, rate: Any) -> Any:
    """What padding the dilated window itself needs."""
    if padding == "VALID":
        return np.zeros([count, 2], np.int32)
    if padding != "SAME":
        raise ValueError(f"Invalid padding method {padding!r}")
    if filter_shape is None:
        raise ValueError("filter_shape must be specified for SAME padding")
    sizes: Any = convert_to_tensor(filter_shape, name="filter_shape")
    known = constant_value(sizes)
    window = (sizes if known is None else known)[:count]
    total = window + (window - 1) * (rate - 1) - 1
    before = total // 2
    after = total - before
    return stack([[before[i], after[i]] for i in range(count)])


def _spread(values: Any, fill: int, dims: Sequence[int]) -> Any:
    """One entry per dimension from the first to the last of space; `fill` where it is not space."""
    if list(dims) == list(range(1, len(dims) + 1)):
        return values
    known = constant_value(values)
    rest = values.shape.sizes[1:]
    blank = np.full([1, *rest], fill, values.dtype.as_numpy_dtype)
    place = {d: i for i, d in enumerate(dims)}
    source = values if known is None else known
    parts = [source[place[d] : place[d] + 1] if d in place else blank for d in range(1, dims[-1] + 1)]
    return concat(parts, 0) if known is None else np.concatenate(parts)


# -- convolution ----------------------------------------------------------------------------------
def convolution(
    input: Any,
    filter: Any,
    padding: str,
    strides: int | Sequence[int] | None = None,
    dilation_rate: int | Sequence[int] | None = None,
    name: str | None = None,
    data_format: str | None = None,
    filters: Any = None,
    dilations: int | Sequence[int] | None = None,
) -> Tensor:
    """Correlation in one, two or three dimensions of space, strided or with holes.

    Args:
      input: [batch, space..., channels], or [batch, channels, space...].
      filter: [space..., channels, outputs].
      padding: "SAME" or "VALID".
      strides: how far the filter moves in each dimension of space.
      dilation_rate: how far the elements of the filter are apart.
      name: name of the scope.
      data_format: "NWC", "NCW", "NHWC", "NCHW", "NDHWC" or "NCDHW"; channels last if not given.
      filters: another name of `filter`.
      dilations: another name of `dilation_rate`.

    Returns:
      The result, in the format of the input.

    Raises:
      ValueError: shapes do not match, or both strides and rates are above 1.
    """
    filter = renamed("filters", filters, "filter", filter)
    rates = renamed("dilations", dilations, "dilation_rate", dilation_rate)
    count = _space_of(input, filter)
    steps = per_dimension(strides, count, data_format, "strides")
    rates = per_dimension(rates, count, data_format, "dilations")
    with name_scope(name, "convolution", [input, filter]) as scope:
        return correlate(input, filter, padding, steps, rates, data_format, scope)


def correlate(
    input: Any,
    filter: Any,
    padding: str,
    steps: Sequence[int],
    rates: Sequence[int],
    data_format: str | None,
    name: str | None = None,
) -> Tensor:
    """`convolution` without a scope of its own; strides and rates have one entry per dimension."""
    count = len(steps) - 2
    if all(r == 1 for r in rates):
        return _plain(count, input, filter, steps, padding, data_format, name)
    inner = slice(2, None) if channels_first(data_format) else slice(1, -1)
    return _with_holes(
        convert_to_tensor(input, name="input"),
        convert_to_tensor(filter, name="filter"),
        padding,
        steps[inner],
        rates[inner],
        data_format,
        name,
    )


def _space_of(input: Any, filter: Any) -> int:
    for value in (input, filter):
        rank = as_shape(value.shape if hasattr(value, "shape") else np.shape(value)).rank
        if rank is not None:
            break
    else:
        raise ValueError("rank of input or filter must be known")
    if not 3 <= rank <= 5:
        raise ValueError(f"Input tensor must be of rank 3, 4 or 5 but was {rank}.")
    return rank - 2


def _plain(
    count: int, x: Any, w: Any, strides: Any, padding: str, data_format: Any, name: str | None
) -> Tensor:
    """The convolution without holes; strides has one entry per dimension."""
    if count == 1:
        return conv1d(x, w, strides, padding, data_format=data_format, name=name)
    build = conv.conv2d if count == 2 else conv3d.conv3d
    return build(x, w, strides=strides, padding=padding, data_format=data_format, name=name)


def _with_holes(
    x: Tensor, w: Tensor, padding: str, strides: Any, rates: Any, data_format: Any, name: str | None
) -> Tensor:
    count = len(rates)
    for tensor, what in ((x, "input"), (w, "filter")):
        if tensor.shape.rank not in (None, count + 2):
            raise ValueError(f"{what} tensor must have rank {count + 2}")
    channels = x.shape.dim(1 if channels_first(data_format) else -1)
    wanted = w.shape.dim(-2)
    if None not in (channels, wanted) and channels != wanted:
        raise ValueError(
            "number of input channels does not match corresponding dimension of filter, "
            f"{channels} != {wanted}"
        )
    strides, rates = strides_and_rates(count, strides, rates)
    steps = per_dimension(list(strides), count, data_format, "strides")

    def slide(parts: Tensor, _: int, padding: str) -> Tensor:
        return _plain(count, parts, w, steps, padding, data_format, name)

    window = list(w.shape.sizes) if w.shape.is_full else shape(w)
    result = with_space_to_batch(x, rates, padding, slide, window, data_format=data_format)
    if channels_first(data_format) and result.shape.rank is not None and w.shape.rank is not None:
        sizes = list(result.shape.sizes)
        sizes[1] = w.shape.sizes[-1] if sizes[1] is None else sizes[1]
        result.set_shape(Shape(sizes))
    return result


def atrous_conv2d(value: Any, filters: Any, rate: Any, padding: str, name: str | None = None) -> Tensor:
    """Correlation of images with filters with holes.

    Args:
      value: images [batch, height, width, channels].
      filters: [height, width, channels, outputs].
      rate: how far the elements of the filter are apart.
      padding: "SAME" or "VALID".
      name: name of the scope.
    """
    return convolution(value, filters, padding, dilation_rate=np.broadcast_to(rate, (2,)).tolist(), name=name)


# -- depthwise ------------------------------------------------------------------------------------
def depthwise_conv2d(
    input: Any,
    filter: Any,
    strides: int | Sequence[int] | None,
    padding: str,
    rate: int | Sequence[int] | None = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: int | Sequence[int] | None = None,
) -> Tensor:
    """Correlation of every channel with filters of its own, strided or with holes.

    Args:
      input: images in `data_format`.
      filter: [height, width, channels, multiplier].
      strides: four numbers.
      padding: "SAME" or "VALID".
      rate: two numbers: how far the elements of the filter are apart.
      name: name of the scope.
      data_format: "NHWC" or "NCHW".
      dilations: another name of `rate`.

    Returns:
      Images with channels * multiplier channels.
    """
    rate = renamed("dilations", dilations, "rate", rate)
    with name_scope(name, "depthwise", [input, filter]) as scope:
        tensor = convert_to_tensor(input, name="tensor_in")
        filter = convert_to_tensor(filter, name="filter_in")
        return _depthwise(tensor, filter, strides, padding, rate, data_format, scope)


def _depthwise(
    x: Tensor, w: Tensor, strides: Any, padding: str, rate: Any, data_format: Any, name: str
) -> Tensor:
    def slide(parts: Tensor, _: int, padding: str) -> Tensor:
        return depthwise.depthwise_conv2d_native(
            parts, w, strides=strides, padding=padding, data_format=data_format, name=name
        )

    rate = [1, 1] if rate is None else rate
    return with_space_to_batch(x, rate, padding, slide, shape(w), data_format=data_format)


def separable_conv2d(
    input: Any,
    depthwise_filter: Any,
    pointwise_filter: Any,
    strides: int | Sequence[int] | None,
    padding: str,
    rate: int | Sequence[int] | None = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: int | Sequence[int] | None = None,
) -> Tensor:
    """A depthwise convolution, and a 1x1 convolution that mixes its channels.

    Args:
      input: images in `data_format`.
      depthwise_filter: [height, width, channels, multiplier].
      pointwise_filter: [1, 1, channels * multiplier, outputs].
      strides: four numbers, of the depthwise convolution.
      padding: "SAME" or "VALID".
      rate: two numbers: how far the elements of the depthwise filter are apart.
      name: name of the scope.
      data_format: "NHWC" or "NCHW".
      dilations: another name of `rate`.

    Raises:
      ValueError: the pointwise filter is not 1x1.
    """
    rate = renamed("dilations", dilations, "rate", rate)
    values = [input, depthwise_filter, pointwise_filter]
    with name_scope(name, "separable_conv2d", values) as scope:
        tensor = convert_to_tensor(input, name="tensor_in")
        deep = convert_to_tensor(depthwise_filter, name="depthwise_filter")
        flat = convert_to_tensor(pointwise_filter, name="pointwise_filter")
        sizes = flat.shape.with_rank(4)
        for axis in (0, 1):
            sizes[axis].assert_is_compatible_with(1)
        mixed = _depthwise(tensor, deep, strides, padding, rate, data_format, "depthwise")
        return conv2d(mixed, flat, [1, 1, 1, 1], "VALID", data_format=data_format, name=scope)
