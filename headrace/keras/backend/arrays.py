"""Shapes, places and parts of tensors."""

from __future__ import annotations

from typing import Any

from headrace.keras.layers.windows import repeated, resized
from headrace.layers import ops
from headrace.layers.engine.config import image_data_format

squeeze, stack, tile, gather = ops.squeeze, ops.stack, ops.tile, ops.gather
reverse, transpose = ops.reverse, ops.transpose


def concatenate(tensors: Any, axis: int = -1) -> Any:
    """Tensors side by side."""
    if axis < 0:
        rank = tensors[0].shape.ndims
        axis = axis % rank if rank else 0
    return ops.concat([ops.convert_to_tensor(x) for x in tensors], axis)


def reshape(x: Any, shape: Any) -> Any:
    """The same elements in another shape."""
    return ops.reshape(x, shape)


def permute_dimensions(x: Any, pattern: Any) -> Any:
    """The dimensions in another order."""
    return ops.transpose(x, perm=pattern)


def flatten(x: Any) -> Any:
    """All in one dimension."""
    return ops.reshape(x, [-1])


def batch_flatten(x: Any) -> Any:
    """Everything but the first dimension in one."""
    return ops.reshape(x, ops.stack([-1, ops.reduce_prod(ops.shape(x)[1:])]))


def expand_dims(x: Any, axis: int = -1) -> Any:
    """A dimension of size 1 more."""
    return ops.expand_dims(x, axis)


def repeat_elements(x: Any, rep: int, axis: int) -> Any:
    """Each slice along an axis `rep` times."""
    return repeated(x, rep, axis)


def repeat(x: Any, n: int) -> Any:
    """Each example `n` times: [samples, n, size]."""
    return ops.tile(ops.expand_dims(x, 1), ops.stack([1, n, 1]))


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = "int32") -> Any:
    """Numbers in order."""
    if stop is None and start < 0:
        start = 0
    found = ops.range(start, limit=stop, delta=step) if stop is not None else ops.range(start, delta=step)
    return found if dtype == "int32" else ops.cast(found, dtype)


def one_hot(indices: Any, num_classes: int) -> Any:
    """1 at the place of each number, 0 elsewhere."""
    return ops.one_hot(indices, depth=num_classes, axis=-1)


def resize_images(
    x: Any, height_factor: int, width_factor: int, data_format: str, interpolation: str = "nearest"
) -> Any:
    """Images, larger by whole factors."""
    if data_format not in ("channels_first", "channels_last"):
        raise ValueError(f"Invalid `data_format` argument: {data_format}")
    if interpolation not in ("nearest", "bilinear"):
        raise ValueError('interpolation should be one of "nearest" or "bilinear".')
    return resized(x, height_factor, width_factor, data_format, interpolation)


def resize_volumes(x: Any, depth_factor: int, height_factor: int, width_factor: int, data_format: str) -> Any:
    """Volumes, larger by whole factors."""
    if data_format not in ("channels_first", "channels_last"):
        raise ValueError(f"Invalid data_format: {data_format}")
    first = 2 if data_format == "channels_first" else 1
    for axis, factor in enumerate((depth_factor, height_factor, width_factor)):
        x = repeated(x, factor, first + axis)
    return x


def temporal_padding(x: Any, padding: Any = (1, 1)) -> Any:
    """Zeros before and behind sequences."""
    return ops.pad(x, [[0, 0], list(padding), [0, 0]])


def _padded(x: Any, padding: Any, data_format: str | None) -> Any:
    data_format = data_format or image_data_format()
    if data_format not in ("channels_first", "channels_last"):
        raise ValueError(f"Unknown data_format: {data_format}")
    inner = [list(pair) for pair in padding]
    none = [0, 0]
    return ops.pad(x, [none, none, *inner] if data_format == "channels_first" else [none, *inner, none])


def spatial_2d_padding(x: Any, padding: Any = ((1, 1), (1, 1)), data_format: str | None = None) -> Any:
    """Zeros around images."""
    return _padded(x, padding, data_format)


def spatial_3d_padding(
    x: Any, padding: Any = ((1, 1), (1, 1), (1, 1)), data_format: str | None = None
) -> Any:
    """Zeros around volumes."""
    return _padded(x, padding, data_format)


def in_top_k(predictions: Any, targets: Any, k: int) -> Any:
    """Are the targets among the `k` largest predictions?"""
    return ops.in_top_k(predictions, targets, k)
