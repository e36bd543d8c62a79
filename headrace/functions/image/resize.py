"""Images in another size: tf.image.resize_images, resize_image_with_pad, resize_bilinear ..."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.core import dtypes
from headrace.core.families import named
from headrace.functions.control.grouping import with_dependencies
from headrace.functions.image.checks import as_batch, check, check_image, from_batch, sizes_of
from headrace.functions.image.crop import pad_to_bounding_box
from headrace.functions.math.cast import cast
from headrace.functions.math.math import round_
from headrace.functions.values.structure import name_scope
from headrace.graph.tensor import Tensor
from headrace.ops.declaration import array
from headrace.ops.declaration.constants import constant_value_as_shape
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.image import resize as ops
from headrace.ops.math import arithmetic
from headrace.ops.math.rounding import floor


class ResizeMethod:
    """How a pixel is made from others."""

    BILINEAR = 0
    NEAREST_NEIGHBOR = 1
    BICUBIC = 2
    AREA = 3


_METHODS: dict[Any, Any] = {
    0: ops.resize_bilinear,
    "bilinear": ops.resize_bilinear,
    1: ops.resize_nearest_neighbor,
    "nearest": ops.resize_nearest_neighbor,
    2: ops.resize_bicubic,
    "bicubic": ops.resize_bicubic,
    3: ops.resize_area,
    "area": ops.resize_area,
}


def resize_images(
    images: Any,
    size: Sequence[int] | Tensor,
    method: Any = ResizeMethod.BILINEAR,
    align_corners: bool = False,
    preserve_aspect_ratio: bool = False,
    name: str | None = None,
) -> Tensor:
    """Images in another size.

    Args:
      images: [height, width, channels] or [batch, height, width, channels].
      size: int32 [2], the new height and width.
      method: a `ResizeMethod`.
      align_corners: the corners of the old and new images are the same points.
      preserve_aspect_ratio: keep height to width, and do not exceed `size`.
      name: name of the scope.

    Returns:
      float32 images; in the type of the input for nearest neighbours, or where nothing changes.

    Raises:
      ValueError: another rank, another size, or another method.
    """

    def resize(x: Tensor, wanted: Any) -> Tensor:
        try:
            build = _METHODS[method]
        except (KeyError, TypeError):
            raise ValueError("Resize method is not implemented.") from None
        result: Tensor = build(x, wanted, align_corners=align_corners)
        return result

    with name_scope(name, "resize", [images, size]):
        tensor = convert_to_tensor(images, name="images")
        if tensor.shape.rank is None:
            raise ValueError("'images' contains no shape.")
        if tensor.shape.rank not in (3, 4):
            raise ValueError("'images' must have either 3 or 4 dimensions.")
        is_batch = tensor.shape.rank == 4
        batch = tensor if is_batch else array.expand_dims(tensor, 0)
        wanted = _wanted_size(size)
        if preserve_aspect_ratio:
            wanted = _scaled_size(batch, wanted)
        known = constant_value_as_shape(wanted).sizes
        if None not in known and batch.shape.sizes[1:3] == known:
            return from_batch(batch, is_batch)
        resized = resize(batch, wanted)
        resized.set_shape([None, *known, None])
        return from_batch(resized, is_batch)


def _wanted_size(size: Any) -> Tensor:
    try:
        wanted = convert_to_tensor(size, dtypes.int32, name="size")
    except (TypeError, ValueError):
        raise ValueError("'size' must be a 1-D int32 Tensor") from None
    if not wanted.shape.is_compatible_with([2]):
        raise ValueError("'size' must be a 1-D Tensor of 2 elements: new_height, new_width")
    return wanted


def _scaled_size(images: Tensor, wanted: Tensor) -> Tensor:
    """The largest size with the old ratio of height to width that does not exceed this one."""
    _, height, width, _ = sizes_of(images, 4)
    known = constant_value_as_shape(wanted).sizes
    old = [cast(n, dtypes.float32) for n in (height, width)]
    factors = [cast(n, dtypes.float32) / o for n, o in zip(known, old)]
    factor: Any = arithmetic.minimum(*factors)
    sizes = [cast(round_(factor * o), dtypes.int32) for o in old]
    return convert_to_tensor(sizes, dtypes.int32, name="size")


def resize_image_with_pad(
    image: Any,
    target_height: Any,
    target_width: Any,
    method: Any = ResizeMethod.BILINEAR,
    align_corners: bool = False,
) -> Tensor:
    """Images in another size, their ratio of height to width kept, zeros around them.

    Args:
      image: [height, width, channels] or [batch, height, width, channels].
      target_height: height of the result.
      target_width: width of the result.
      method: a `ResizeMethod`.
      align_corners: the corners of the old and new images are the same points.

    Raises:
      ValueError: a target is not positive, or another rank.
    """

    def resize(x: Tensor, wanted: Any) -> Tensor:
        return resize_images(x, wanted, method, align_corners=align_corners)

    return _with_pad(image, target_height, target_width, resize)


def _with_pad(
    image: Any, target_height: Any, target_width: Any, resize: Callable[[Tensor, Any], Tensor]
) -> Tensor:
    with name_scope(None, "resize_image_with_pad", [image]):
        images, is_batch = as_batch(image)
        checks = check_image(images)
        checks += check(target_width > 0, "target_width must be > 0.")
        checks += check(target_height > 0, "target_height must be > 0.")
        images = with_dependencies(checks, images)
        _, *old = sizes_of(images, 4)[:3]
        old = [cast(n, dtypes.float64) for n in old]
        new = [cast(n, dtypes.float64) for n in (target_height, target_width)]
        ratio: Any = arithmetic.maximum(old[1] / new[1], old[0] / new[0])
        exact = [o / ratio for o in old]
        sizes = [cast(floor(e), dtypes.int32) for e in exact]
        pads = [arithmetic.maximum(0, cast(floor((n - e) / 2), dtypes.int32)) for n, e in zip(new, exact)]
        resized = resize(images, sizes)
        padded = pad_to_bounding_box(resized, pads[0], pads[1], target_height, target_width)
        return from_batch(padded, is_batch)


# -- the ops --------------------------------------------------------------------------------------
def _resize(build: Any, name: str, pixel: str, returns: str = "") -> Callable[..., Tensor]:
    @named(
        name,
        f"""Images in another size; a pixel is {pixel}.

    Args:
      images: [batch, height, width, channels].
      size: int32 [2], the new height and width.
      align_corners: the corners of the old and new images are the same points.
      name: name of the node.
      half_pixel_centers: pixels are squares around their centres.{returns}
    """,
    )
    def function(
        images: Any,
        size: Sequence[int] | Tensor,
        align_corners: bool = False,
        name: str | None = None,
        half_pixel_centers: bool = False,
    ) -> Tensor:
        result: Tensor = build(images, size, align_corners, half_pixel_centers, name=name)
        return result

    return function


_FLOATS = "\n\n    Returns:\n      float32 images."
resize_bilinear = _resize(ops.resize_bilinear, "resize_bilinear", "mixed from its four neighbours", _FLOATS)
resize_bicubic = _resize(ops.resize_bicubic, "resize_bicubic", "mixed from sixteen neighbours", _FLOATS)
resize_nearest_neighbor = _resize(
    ops.resize_nearest_neighbor, "resize_nearest_neighbor", "that which is nearest"
)


def resize_area(images: Any, size: Any, align_corners: bool = False, name: str | None = None) -> Tensor:
    """Images in another size; a pixel is the mean of what it covers.

    Args:
      images: [batch, height, width, channels].
      size: int32 [2], the new height and width.
      align_corners: the corners of the old and new images are the same points.
      name: name of the node.

    Returns:
      float32 images.
    """
    return ops.resize_area(images, size, align_corners, name=name)
