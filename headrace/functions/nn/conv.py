"""Convolutions of sequences, images and volumes: tf.nn.conv1d, conv2d, conv3d and the ops of their
gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core.families import takes
from headrace.functions.nn.window import as_images, per_dimension, split_padding
from headrace.functions.values.old_names import renamed
from headrace.functions.values.structure import name_scope
from headrace.graph.tensor import Tensor
from headrace.ops.declaration import array
from headrace.ops.nn.convolution import conv, depthwise
from headrace.ops.nn.convolution import conv3d as ops3d

DENSE, DENSE_3D = [1, 1, 1, 1], [1, 1, 1, 1, 1]  # dilations: a filter without holes


def conv1d(
    value: Any = None,
    filters: Any = None,
    stride: int | Sequence[int] | None = None,
    padding: str | None = None,
    use_cudnn_on_gpu: bool | None = None,
    data_format: str | None = None,
    name: str | None = None,
    input: Any = None,
    dilations: int | Sequence[int] | None = None,
) -> Tensor:
    """Correlation of sequences with filters.

    Args:
      value: sequences [batch, width, channels], or [batch, channels, width] for "NCW".
      filters: [width, channels, outputs].
      stride: how far the filter moves; an int, or a list of 1 or 3.
      padding: "SAME" or "VALID".
      use_cudnn_on_gpu: no effect here.
      data_format: "NWC" or "NCW".
      name: name of the scope.
      input: another name of `value`.
      dilations: how far the elements of the filter are apart; an int, or a list of 1 or 3.

    Returns:
      [batch, places, outputs], in the format of the input.

    Raises:
      ValueError: `data_format` is not one of these.
    """
    value = renamed("input", input, "value", value)
    with name_scope(name, "conv1d", [value, filters]) as scope:
        layout, axis = as_images(data_format)
        strides = [1, *per_dimension(stride, 1, layout, "stride")]
        rates = [1, *per_dimension(dilations, 1, layout, "dilations")]
        images = array.expand_dims(value, axis)
        filters = array.expand_dims(filters, 0)
        result = conv.conv2d(
            images,
            filters,
            strides=strides,
            padding=padding,
            use_cudnn_on_gpu=use_cudnn_on_gpu,
            data_format=layout,
            dilations=rates,
            name=scope,
        )
        return array.squeeze(result, [axis])


def conv2d(
    input: Any,
    filter: Any = None,
    strides: int | Sequence[int] | None = None,
    padding: str | None = None,
    use_cudnn_on_gpu: bool = True,
    data_format: str | None = "NHWC",
    dilations: int | Sequence[int] = DENSE,
    name: str | None = None,
    filters: Any = None,
) -> Tensor:
    """Correlation of images with filters.

    Args:
      input: images in `data_format`, of a float type.
      filter: [height, width, channels, outputs].
      strides: how far the filter moves; an int, or a list of 1, 2 or 4.
      padding: "SAME", "VALID", or four pairs: zeros before and after each dimension.
      use_cudnn_on_gpu: no effect here.
      data_format: "NHWC" or "NCHW".
      dilations: how far the elements of the filter are apart; an int, or a list of 1, 2 or 4.
      name: name of the node.
      filters: another name of `filter`.

    Returns:
      Images with `outputs` channels, in the format of the input.

    Example:
      >>> x = tf.ones([1, 5, 5, 3])
      >>> tf.nn.conv2d(x, tf.ones([3, 3, 3, 8]), strides=1, padding="SAME").shape  # (1, 5, 5, 8)
    """
    filter = renamed("filters", filters, "filter", filter)
    padding, explicit = split_padding(padding)
    data_format = data_format or "NHWC"
    return conv.conv2d(
        input,
        filter,
        strides=per_dimension(strides, 2, data_format, "strides"),
        padding=padding,
        use_cudnn_on_gpu=use_cudnn_on_gpu,
        explicit_paddings=explicit,
        data_format=data_format,
        dilations=per_dimension(dilations, 2, data_format, "dilations"),
        name=name,
    )


def _sliding(
    strides: int | Sequence[int] | None,
    padding: str | None,
    use_cudnn_on_gpu: bool = True,
    data_format: str = "NHWC",
    dilations: int | Sequence[int] = DENSE,
    name: str | None = None,
) -> None:
    """The arguments of convolutions and of their gradients, after the tensors."""


def _transposed(input_sizes: Any, filter: Any = None, out_backprop: Any = None) -> None:
    """The tensors of a gradient with respect to the input."""


_VOLUMES = {"data_format": "NDHWC", "dilations": DENSE_3D}


@takes(_sliding, first="input filter_sizes out_backprop")
def conv2d_backprop_filter(padding: Any, **given: Any) -> Tensor:
    """The gradient of `tf.nn.conv2d` with respect to its filter.

    Args:
      input: the images.
      filter_sizes: int32 [4], the shape of the filter.
      out_backprop: the gradient of the output.
      strides: as in the convolution, four numbers.
      padding: as in the convolution.
      use_cudnn_on_gpu: no effect here.
      data_format: "NHWC" or "NCHW".
      dilations: as in the convolution, four numbers.
      name: name of the node.
    """
    padding, explicit = split_padding(padding)
    return conv.conv2d_backprop_filter(**given, padding=padding, explicit_paddings=explicit)


@takes(_sliding, first=_transposed, strides=None, padding=None, filters=None)
def conv2d_backprop_input(filter: Any, padding: Any, filters: Any, **given: Any) -> Tensor:
    """The gradient of `tf.nn.conv2d` with respect to its input.

    Args:
      input_sizes: int32 [4], the shape of the images.
      filter: [height, width, channels, outputs].
      out_backprop: the gradient of the output.
      strides: as in the convolution, four numbers.
      padding: as in the convolution.
      use_cudnn_on_gpu: no effect here.
      data_format: "NHWC" or "NCHW".
      dilations: as in the convolution, four numbers.
      name: name of the node.
      filters: another name of `filter`.
    """
    filter = renamed("filters", filters, "filter", filter)
    padding, explicit = split_padding(padding)
    return conv.conv2d_backprop_input(**given, filter=filter, padding=padding, explicit_paddings=explicit)


def conv3d(
    input: Any,
    filter: Any = None,
    strides: int | Sequence[int] | None = None,
    padding: str | None = None,
    data_format: str = "NDHWC",
    dilations: int | Sequence[int] = DENSE_3D,
    name: str | None = None,
    filters: Any = None,
) -> Tensor:
    """Correlation of volumes with filters.

    Args:
      input: volumes in `data_format`, of a float type.
      filter: [depth, height, width, channels, outputs].
      strides: five numbers; those of batch and channels are 1.
      padding: "SAME" or "VALID".
      data_format: "NDHWC" or "NCDHW".
      dilations: five numbers; those of batch and channels are 1.
      name: name of the node.
      filters: another name of `filter`.
    """
    filter = renamed("filters", filters, "filter", filter)
    return ops3d.conv3d(
        input,
        filter,
        strides=strides,
        padding=padding,
        data_format=data_format,
        dilations=dilations,
        name=name,
    )


@takes(_sliding, "use_cudnn_on_gpu", first="input filter_sizes out_backprop", **_VOLUMES)
def conv3d_backprop_filter_v2(**given: Any) -> Tensor:
    """The gradient of `tf.nn.conv3d` with respect to its filter.

    Args:
      input: the volumes.
      filter_sizes: int32 [5], the shape of the filter.
      out_backprop: the gradient of the output.
      strides: as in the convolution.
      padding: "SAME" or "VALID".
      data_format: "NDHWC" or "NCDHW".
      dilations: as in the convolution.
      name: name of the node.
    """
    return ops3d.conv3d_backprop_filter_v2(**given)


@takes(_sliding, "use_cudnn_on_gpu", first="input filter")
def depthwise_conv2d_native(**given: Any) -> Tensor:
    """Correlation of every channel with filters of its own.

    Args:
      input: images in `data_format`.
      filter: [height, width, channels, multiplier].
      strides: four numbers.
      padding: "SAME" or "VALID".
      data_format: "NHWC" or "NCHW".
      dilations: four numbers.
      name: name of the node.

    Returns:
      Images with channels * multiplier channels.
    """
    return depthwise.depthwise_conv2d_native(**given)


@takes(_sliding, "use_cudnn_on_gpu", first="input_sizes filter out_backprop")
def depthwise_conv2d_native_backprop_input(**given: Any) -> Tensor:
    """The gradient of `depthwise_conv2d_native` with respect to its input.

    Args:
      input_sizes: int32 [4], the shape of the images.
      filter: [height, width, channels, multiplier].
      out_backprop: the gradient of the output.
      strides: four numbers.
      padding: "SAME" or "VALID".
      data_format: "NHWC" or "NCHW".
      dilations: four numbers.
      name: name of the node.
    """
    return depthwise.depthwise_backprop_input(**given)


@takes(_sliding, "use_cudnn_on_gpu", first="input filter_sizes out_backprop")
def depthwise_conv2d_native_backprop_filter(**given: Any) -> Tensor:
    """The gradient of `depthwise_conv2d_native` with respect to its filter.

    Args:
      input: the images.
      filter_sizes: int32 [4], the shape of the filter.
      out_backprop: the gradient of the output.
      strides: four numbers.
      padding: "SAME" or "VALID".
      data_format: "NHWC" or "NCHW".
      dilations: four numbers.
      name: name of the node.
    """
    return depthwise.depthwise_backprop_filter(**given)
