"""Convolutions whose weights differ from place to place."""

from __future__ import annotations

import builtins
import itertools
from typing import Any

from headrace.layers import ops
from headrace.layers.engine.config import image_data_format


def local_conv(
    inputs: Any,
    kernel: Any,
    kernel_size: Any,
    strides: Any,
    output_shape: Any,
    data_format: str | None = None,
) -> Any:
    """Each window of the inputs times the weights of its place.

    Args:
      inputs: with one or two dimensions of space.
      kernel: [places, elements of a window, channels].
      kernel_size: size of the window.
      strides: how far it moves.
      output_shape: how many places there are, by dimension.
      data_format: channels_last or channels_first.
    """
    data_format = data_format or image_data_format()
    if data_format not in ("channels_first", "channels_last"):
        raise ValueError(f"Unknown data_format: {data_format}")
    first = data_format == "channels_first"
    rank = len(output_shape)
    elements, channels = kernel.shape.as_list()[1:]
    windows = []
    for place in itertools.product(*(builtins.range(n) for n in output_shape)):
        inside = [slice(at * step, at * step + size) for at, step, size in zip(place, strides, kernel_size)]
        index = [slice(None), slice(None), *inside] if first else [slice(None), *inside, slice(None)]
        windows.append(ops.reshape(inputs[tuple(index)], (1, -1, elements)))
    outputs = ops.matmul(ops.concat(windows, axis=0), kernel)
    outputs = ops.reshape(outputs, (*output_shape, -1, channels))
    space = list(builtins.range(rank))
    return ops.transpose(outputs, [rank, rank + 1, *space] if first else [rank, *space, rank + 1])


def local_conv1d(
    inputs: Any, kernel: Any, kernel_size: Any, strides: Any, data_format: str | None = None
) -> Any:
    """The same along one dimension."""
    places = (kernel.shape.as_list()[0],)
    return local_conv(inputs, kernel, kernel_size, strides, places, data_format)


local_conv2d = local_conv
