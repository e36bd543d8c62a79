"""Parts of images and images in frames: tf.image.central_crop, pad_to_bounding_box,
crop_and_resize, extract_glimpse, extract_image_patches ..."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core import dtypes
from headrace.functions.array.array import reshape, shape
from headrace.functions.array.slice import slice_
from headrace.functions.array.stacking import stack
from headrace.functions.array.tiling import pad
from headrace.functions.control.grouping import with_dependencies
from headrace.functions.image.checks import (
    as_batch,
    check,
    check_image,
    checked_image,
    from_batch,
    is_tensor,
    sizes_of,
)
from headrace.functions.math.cast import cast
from headrace.functions.math.math import equal
from headrace.functions.values.old_names import renamed
from headrace.functions.values.structure import name_scope
from headrace.graph.tensor import Tensor
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.image import crop
from headrace.ops.math import arithmetic
from headrace.ops.nn import patches


def central_crop(image: Any, central_fraction: float) -> Tensor:
    """The middle of images.

    Args:
      image: [height, width, channels] or [batch, height, width, channels].
      central_fraction: which part of height and width to keep, above 0 and up to 1.

    Raises:
      ValueError: the fraction is outside of that, or another rank.
    """
    with name_scope(None, "central_crop", [image]):
        tensor = convert_to_tensor(image, name="image")
        if not 0.0 < central_fraction <= 1.0:
            raise ValueError("central_fraction must be within (0, 1]")
        if central_fraction == 1.0:
            return tensor
        checked_image(tensor)
        count = tensor.shape.rank
        if count not in (3, 4):
            raise ValueError(
                f"`image` should either be a Tensor with rank = 3 or rank = 4. Had rank = {count}."
            )
        axes = (count - 3, count - 2)
        sides = [_central(tensor, axis, central_fraction) for axis in axes]
        begin = [0] * (count - 3) + [start for start, _ in sides] + [0]
        size = [-1] * (count - 3) + [length for _, length in sides] + [-1]
        result = slice_(tensor, stack(begin), stack(size))
        known = list(tensor.shape.sizes)
        for axis, (_, length) in zip(axes, sides):
            known[axis] = None if is_tensor(length) else length
        result.set_shape(known)
        return result


def _central(image: Tensor, axis: int, fraction: float) -> tuple[Any, Any]:
    """(start, length) of the middle of an axis."""
    known = image.shape.sizes[axis]
    if known is not None:
        start: Any = int((float(known) - float(known) * fraction) / 2)
        return start, known - start * 2
    length: Any = shape(image)[axis]
    wide = cast(length, dtypes.float64)
    start = cast((wide - wide * fraction) / 2, dtypes.int32)
    return start, length - start * 2


def pad_to_bounding_box(
    image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Tensor:
    """Images in a frame of zeros.

    Args:
      image: [height, width, channels] or [batch, height, width, channels].
      offset_height: rows of zeros above.
      offset_width: columns of zeros on the left.
      target_height: height of the result.
      target_width: width of the result.

    Raises:
      ValueError: the image does not fit, or another rank.
    """
    with name_scope(None, "pad_to_bounding_box", [image]):
        images, is_batch = as_batch(image)
        checks = check_image(images)
        batch, height, width, depth = sizes_of(images, 4)
        right = target_width - offset_width - width
        below = target_height - offset_height - height
        checks += check(offset_height >= 0, "offset_height must be >= 0")
        checks += check(offset_width >= 0, "offset_width must be >= 0")
        checks += check(right >= 0, "width must be <= target - offset")
        checks += check(below >= 0, "height must be <= target - offset")
        images = with_dependencies(checks, images)
        zeros = stack([0, 0, offset_height, below, offset_width, right, 0, 0])
        padded = pad(images, reshape(zeros, [4, 2]))
        return _framed(padded, [batch, target_height, target_width, depth], is_batch)


def _framed(images: Tensor, sizes: list[Any], is_batch: bool) -> Tensor:
    images.set_shape([None if is_tensor(n) else n for n in sizes])
    return from_batch(images, is_batch)


def crop_to_bounding_box(
    image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Tensor:
    """A part of images.

    Args:
      image: [height, width, channels] or [batch, height, width, channels].
      offset_height: the first row of the part.
      offset_width: the first column of the part.
      target_height: height of the part.
      target_width: width of the part.

    Raises:
      ValueError: the part is not inside of the image, or another rank.
    """
    with name_scope(None, "crop_to_bounding_box", [image]):
        images, is_batch = as_batch(image)
        checks = check_image(images)
        batch, height, width, depth = sizes_of(images, 4)
        checks += check(offset_width >= 0, "offset_width must be >= 0.")
        checks += check(offset_height >= 0, "offset_height must be >= 0.")
        checks += check(target_width > 0, "target_width must be > 0.")
        checks += check(target_height > 0, "target_height must be > 0.")
        fits_across = width >= target_width + offset_width
        fits_down = height >= target_height + offset_height
        checks += check(fits_across, "width must be >= target + offset.")
        checks += check(fits_down, "height must be >= target + offset.")
        images = with_dependencies(checks, images)
        begin = stack([0, offset_height, offset_width, 0])
        cropped = slice_(images, begin, stack([-1, target_height, target_width, -1]))
        return _framed(cropped, [batch, target_height, target_width, depth], is_batch)


def _pick(tensors: Any, numbers: Any, x: Any, y: Any) -> Any:
    """An op on tensors, its Python form on numbers."""
    return tensors(x, y) if is_tensor(x) or is_tensor(y) else numbers(x, y)


def resize_image_with_crop_or_pad(image: Any, target_height: Any, target_width: Any) -> Tensor:
    """Images cropped or padded to a size, around their middle.

    Args:
      image: [height, width, channels] or [batch, height, width, channels].
      target_height: height of the result.
      target_width: width of the result.

    Raises:
      ValueError: a target is not positive, or another rank.
    """
    with name_scope(None, "resize_image_with_crop_or_pad", [image]):
        images, is_batch = as_batch(image)
        checks = check_image(images)
        checks += check(target_width > 0, "target_width must be > 0.")
        checks += check(target_height > 0, "target_height must be > 0.")
        images = with_dependencies(checks, images)
        if is_tensor(target_height):
            target_height = with_dependencies(checks, target_height)
        if is_tensor(target_width):
            target_width = with_dependencies(checks, target_width)
        _, height, width, _ = sizes_of(images, 4)
        across, down = target_width - width, target_height - height
        crop_left, pad_left = _halves(across)
        crop_top, pad_top = _halves(down)
        cropped = crop_to_bounding_box(
            images,
            crop_top,
            crop_left,
            _pick(arithmetic.minimum, min, target_height, height),
            _pick(arithmetic.minimum, min, target_width, width),
        )
        resized = pad_to_bounding_box(cropped, pad_top, pad_left, target_height, target_width)
        _, found_height, found_width, _ = sizes_of(resized, 4)

        def same(x: Any, y: Any) -> Any:
            return _pick(equal, lambda a, b: a == b, x, y)

        checks = check(same(found_height, target_height), "resized height is not correct.")
        checks += check(same(found_width, target_width), "resized width is not correct.")
        return from_batch(with_dependencies(checks, resized), is_batch)


def _halves(missing: Any) -> tuple[Any, Any]:
    """What to cut off and what to add at the start, for a size that differs by this much."""
    cut = _pick(arithmetic.maximum, max, -missing // 2, 0)
    return cut, _pick(arithmetic.maximum, max, missing // 2, 0)


# -- ops under their old names --------------------------------------------------------------------
def crop_and_resize(
    image: Any,
    boxes: Any,
    box_ind: Any = None,
    crop_size: Any = None,
    method: str = "bilinear",
    extrapolation_value: float = 0,
    name: str | None = None,
    box_indices: Any = None,
) -> Tensor:
    """Boxes cut out of images and brought to one size.

    Args:
      image: [batch, height, width, channels].
      boxes: float32 [boxes, 4]: y1, x1, y2, x2, where 0 is the first and 1 the last pixel.
      box_ind: int32 [boxes], which image each box is of.
      crop_size: int32 [2], height and width of the result.
      method: "bilinear" or "nearest".
      extrapolation_value: what lies outside of the images.
      name: name of the node.
      box_indices: another name of `box_ind`.

    Returns:
      float32 [boxes, crop_height, crop_width, channels].
    """
    box_ind = renamed("box_indices", box_indices, "box_ind", box_ind)
    return crop.crop_and_resize(
        image, boxes, box_ind, crop_size, method=method, extrapolation_value=extrapolation_value, name=name
    )


def extract_glimpse(
    input: Any,
    size: Sequence[int] | Tensor,
    offsets: Any,
    centered: bool = True,
    normalized: bool = True,
    uniform_noise: bool = True,
    name: str | None = None,
) -> Tensor:
    """A window of each image around an offset; noise where there is no image.

    Args:
      input: float32 [batch, height, width, channels].
      size: int32 [2], height and width of the windows.
      offsets: float32 [batch, 2], the middle of each window: y, x.
      centered: offsets count from the middle of the image, not from its corner.
      normalized: offsets are parts of height and width, not pixels.
      uniform_noise: uniform noise, not normal.
      name: name of the node.
    """
    return crop.extract_glimpse(
        input, size, offsets, centered=centered, normalized=normalized, uniform_noise=uniform_noise, name=name
    )


def extract_image_patches(
    images: Any,
    ksizes: Sequence[int] | None = None,
    strides: int | Sequence[int] | None = None,
    rates: Sequence[int] | None = None,
    padding: str | None = None,
    name: str | None = None,
    sizes: Sequence[int] | None = None,
) -> Tensor:
    """What a window over images sees, along the channels.

    Args:
      images: [batch, height, width, channels].
      ksizes: the window: four numbers, those of batch and channels are 1.
      strides: how far it moves: four numbers.
      rates: how far its elements are apart: four numbers.
      padding: "SAME" or "VALID".
      name: name of the node.
      sizes: another name of `ksizes`.
    """
    ksizes = renamed("sizes", sizes, "ksizes", ksizes)
    return extract_patches(images, ksizes, strides, rates, padding, name)


def extract_patches(
    images: Any, sizes: Any, strides: Any, rates: Any, padding: Any, name: str | None = None
) -> Tensor:
    """What a window over images sees, along the channels.

    Args:
      images: [batch, height, width, channels].
      sizes: the window: four numbers, those of batch and channels are 1.
      strides: how far it moves: four numbers.
      rates: how far its elements are apart: four numbers.
      padding: "SAME" or "VALID".
      name: name of the node.
    """
    return patches.extract_image_patches(
        images, ksizes=sizes, strides=strides, rates=rates, padding=padding, name=name
    )


def extract_volume_patches(
    input: Any, ksizes: Any, strides: Any, padding: str, name: str | None = None
) -> Tensor:
    """What a window over volumes sees, along the channels.

    Args:
      input: [batch, planes, height, width, channels].
      ksizes: the window: five numbers, those of batch and channels are 1.
      strides: how far it moves: five numbers.
      padding: "SAME" or "VALID".
      name: name of the node.
    """
    return patches.extract_volume_patches(input, ksizes=ksizes, strides=strides, padding=padding, name=name)
