"""Transposed convolutions: tf.nn.conv1d_transpose, conv2d_transpose, conv3d_transpose ...

The gradient of a convolution, used forwards: filters are [space..., outputs, channels].
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence, Sized
from typing import Any

import numpy as np

from headrace.core.families import takes
from headrace.functions.array.array import shape
from headrace.functions.array.space import batch_to_space, space_to_batch
from headrace.functions.array.stacking import concat
from headrace.functions.nn.window import as_images, per_dimension
from headrace.functions.values.old_names import renamed
from headrace.functions.values.structure import name_scope
from headrace.graph.tensor import Tensor
from headrace.ops.declaration import array
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.nn.convolution import conv, conv3d


def _transposing(
    input: Any,
    filters: Any,
    output_shape: Any,
    strides: int | Sequence[int] | None,
    padding: str = "SAME",
    data_format: str | None = None,
    dilations: int | Sequence[int] | None = None,
    name: str | None = None,
) -> None:
    """The arguments of transposed convolutions of any rank."""


def _old_transposing(
    value: Any = None,
    filter: Any = None,
    output_shape: Any = None,
    strides: int | Sequence[int] | None = None,
    padding: str = "SAME",
    data_format: str | None = None,
    name: str | None = None,
    input: Any = None,
    filters: Any = None,
    dilations: int | Sequence[int] | None = None,
) -> None:
    """The arguments that came first."""


@takes(_transposing, data_format="NWC")
def conv1d_transpose(
    input: Any,
    filters: Any,
    output_shape: Any,
    strides: int | Sequence[int] | None,
    padding: str,
    data_format: str | None,
    dilations: int | Sequence[int] | None,
    name: str,
) -> Tensor:
    """The transpose of `tf.nn.conv1d`.

    Args:
      input: sequences [batch, width, channels], or [batch, channels, width] for "NCW".
      filters: [width, outputs, channels].
      output_shape: int32 [3], the shape of the result.
      strides: an int, or a list of 1 or 3.
      padding: "SAME" or "VALID".
      data_format: "NWC" or "NCW".
      dilations: an int, or a list of 1 or 3.
      name: name of the scope.

    Raises:
      ValueError: `data_format` is not one of these.
    """
    with name_scope(name, "conv1d_transpose", [input, filters, output_shape]) as scope:
        layout, axis = as_images(data_format, old_names=False)
        steps = [1, *per_dimension(strides, 1, layout, "stride")]
        rates = [1, *per_dimension(dilations, 1, layout, "dilations")]
        images = array.expand_dims(input, axis)
        filters = array.expand_dims(filters, 0)
        sizes = output_shape if isinstance(output_shape, Tensor) else list(output_shape)
        sizes = concat([sizes[:axis], [1], sizes[axis:]], 0)
        result = conv.conv2d_backprop_input(
            sizes,
            filters,
            images,
            strides=steps,
            padding=padding,
            data_format=layout,
            dilations=rates,
            name=scope,
        )
        return array.squeeze(result, [axis])


@takes(_old_transposing, data_format="NHWC")
def conv2d_transpose(value: Any, filter: Any, input: Any, filters: Any, name: Any, **options: Any) -> Tensor:
    """The transpose of `tf.nn.conv2d`.

    Args:
      value: images in `data_format`.
      filter: [height, width, outputs, channels].
      output_shape: int32 [4], the shape of the result.
      strides: an int, or a list of 1, 2 or 4.
      padding: "SAME" or "VALID".
      data_format: "NHWC" or "NCHW".
      name: name of the node.
      input: another name of `value`.
      filters: another name of `filter`.
      dilations: an int, or a list of 1, 2 or 4.
    """
    value = renamed("input", input, "value", value)
    filter = renamed("filters", filters, "filter", filter)
    with name_scope(name, "conv2d_transpose", [value, filter, options["output_shape"]]) as scope:
        made: Tensor = conv2d_transpose_v2(value, filter, **options, name=scope)
        return made


@takes(_transposing, data_format="NHWC")
def conv2d_transpose_v2(**given: Any) -> Tensor:
    """`conv2d_transpose` with the arguments of `conv_transpose`."""
    return _transposed(conv.conv2d_backprop_input, "NHWC", "conv2d_transpose", **given)


@takes(_old_transposing, value=inspect.Parameter.empty, data_format="NDHWC")
def conv3d_transpose(value: Any, filter: Any, input: Any, filters: Any, **options: Any) -> Tensor:
    """The transpose of `tf.nn.conv3d`.

    Args:
      value: volumes in `data_format`.
      filter: [depth, height, width, outputs, channels].
      output_shape: int32 [5], the shape of the result.
      strides: an int, or a list of 1, 3 or 5.
      padding: "SAME" or "VALID".
      data_format: "NDHWC" or "NCDHW".
      name: name of the node.
      input: another name of `value`.
      filters: another name of `filter`.
      dilations: an int, or a list of 1, 3 or 5.
    """
    filter = renamed("filters", filters, "filter", filter)
    value = renamed("input", input, "value", value)
    made: Tensor = conv3d_transpose_v2(value, filter, **options)
    return made


@takes(_transposing, data_format="NDHWC")
def conv3d_transpose_v2(**given: Any) -> Tensor:
    """`conv3d_transpose` with the arguments of `conv_transpose`."""
    return _transposed(conv3d.conv3d_backprop_input_v2, "NDHWC", "conv3d_transpose", **given)


def _transposed(
    build: Any,
    layout: str,
    default: str,
    input: Any,
    filters: Any,
    output_shape: Any,
    name: str,
    **options: Any,
) -> Tensor:
    """The gradient of a convolution with respect to its input, with its options per dimension."""
    with name_scope(name, default, [input, filters, output_shape]) as scope:
        layout = options["data_format"] or layout
        for key in ("strides", "dilations"):
            options[key] = per_dimension(options[key], len(layout) - 2, layout, key)
        made: Tensor = build(output_shape, filters, input, **options | {"data_format": layout}, name=scope)
        return made


@takes(_transposing)
def conv_transpose(input: Any, filters: Any, output_shape: Any, name: Any, **options: Any) -> Tensor:
    """The transpose of a convolution in one, two or three dimensions of space.

    Args:
      input: a tensor of rank 3, 4 or 5.
      filters: [space..., outputs, channels].
      output_shape: the shape of the result.
      strides: an int or a list.
      padding: "SAME" or "VALID".
      data_format: a format with as many dimensions; channels last if not given.
      dilations: an int or a list.
      name: name of the scope.

    Raises:
      ValueError: the rank is not 3, 4 or 5.
    """
    with name_scope(name, "conv_transpose", [input, filters, output_shape]) as scope:
        if isinstance(output_shape, Tensor):
            space = (output_shape.shape.dim(0) or 0) - 2
        elif isinstance(output_shape, Sized):
            space = len(output_shape) - 2
        else:
            raise ValueError("output_shape must be a tensor or sized collection.")
        if not 1 <= space <= 3:
            raise ValueError(f"output_shape must be of length 3, 4 or 5 but was {space + 2}.")
        build = (conv1d_transpose, conv2d_transpose_v2, conv3d_transpose_v2)[space - 1]
        made: Tensor = build(input, filters, output_shape, **options, name=scope)
        return made


def atrous_conv2d_transpose(
    value: Any, filters: Any, output_shape: Any, rate: int, padding: str, name: str | None = None
) -> Tensor:
    """The transpose of `tf.nn.atrous_conv2d`.

    Args:
      value: images [batch, height, width, channels].
      filters: [height, width, outputs, channels].
      output_shape: int32 [4], the shape of the result.
      rate: how far the elements of the filter are apart.
      padding: "SAME" or "VALID".
      name: name of the scope.

    Raises:
      ValueError: shapes do not match, or the padding is not one of these.
    """
    with name_scope(name, "atrous_conv2d_transpose", [value, filters, output_shape]):
        value = convert_to_tensor(value, name="value")
        filters = convert_to_tensor(filters, name="filters")
        _check_atrous(value, filters, output_shape, rate)
        if rate == 1:
            result: Tensor = conv2d_transpose(value, filters, output_shape, [1, 1, 1, 1], padding, "NHWC")
            return result
        output_shape = list(output_shape) if isinstance(output_shape, tuple) else output_shape
        pads = _atrous_pads(filters, rate, padding)
        full = [output_shape[1 + i] + sum(pads[i]) for i in (0, 1)]
        extra = [(rate - n % rate) % rate for n in full]
        value = space_to_batch(value, [[0, extra[0]], [0, extra[1]]], block_size=rate)
        sizes = [
            rate * rate * output_shape[0],
            *((n + e) // rate for n, e in zip(full, extra)),
            output_shape[3],
        ]
        value = conv.conv2d_backprop_input(
            sizes, filters, value, strides=[1, 1, 1, 1], padding="VALID", data_format="NHWC"
        )
        crops = [[before, after + e] for (before, after), e in zip(pads, extra)]
        return batch_to_space(value, crops, block_size=rate)


def _check_atrous(value: Tensor, filters: Tensor, output_shape: Any, rate: int) -> None:
    channels, wanted = value.shape.dim(3), filters.shape.dim(3)
    if None not in (channels, wanted) and channels != wanted:
        raise ValueError(
            f"value's input channels does not match filters' input channels, {channels} != {wanted}"
        )
    if rate < 1:
        raise ValueError(f"rate {rate} cannot be less than one")
    if rate == 1:
        return
    sizes = convert_to_tensor(output_shape, name="output_shape")
    if not sizes.shape.is_compatible_with((4,)):
        raise ValueError(f"output_shape must have shape (4,), got {sizes.shape}")
    outputs = filters.shape.dim(2)
    plain = isinstance(output_shape, (list, tuple, np.ndarray))
    if plain and outputs is not None and output_shape[3] not in (None, outputs):
        raise ValueError(
            f"output_shape does not match filter's output channels, {output_shape[3]} != {outputs}"
        )


def _atrous_pads(filters: Tensor, rate: int, padding: str) -> list[tuple[Any, Any]]:
    """Zeros before and after height and width."""
    if padding == "VALID":
        return [(0, 0), (0, 0)]
    if padding != "SAME":
        raise ValueError(f"padding must be either VALID or SAME: {padding}")
    sizes: Any = list(filters.shape.sizes) if filters.shape.is_full else shape(filters)
    totals = [sizes[i] + (sizes[i] - 1) * (rate - 1) - 1 for i in (0, 1)]
    return [(total // 2, total - total // 2) for total in totals]
