"""Image files of any format: tf.image.decode_image, is_jpeg, adjust_jpeg_quality."""

from __future__ import annotations

from typing import Any

from headrace.core import dtypes
from headrace.core.dtypes import DTypeLike, as_dtype
from headrace.functions.array.checks import Assert
from headrace.functions.array.indexing import gather
from headrace.functions.control.cond import cond
from headrace.functions.image.checks import is_tensor
from headrace.functions.image.color import convert_image_dtype
from headrace.functions.math.math import equal, not_equal
from headrace.functions.random.random import random_uniform
from headrace.functions.strings.string import substr
from headrace.functions.values.structure import name_scope
from headrace.graph.defaults import get_default_graph
from headrace.graph.tensor import Tensor
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.image import codec as ops
from headrace.ops.math import logical


def is_jpeg(contents: Any, name: str | None = None) -> Tensor:
    """Are these the bytes of a JPEG file?

    Args:
      contents: a string.
      name: name of the node.

    Returns:
      A bool.
    """
    with name_scope(name, "is_jpeg"):
        return equal(substr(contents, 0, 3), b"\xff\xd8\xff", name=name)


def _is_png(contents: Any) -> Tensor:
    with name_scope(None, "is_png"):
        return equal(substr(contents, 0, 3), b"\x89PN")


def decode_image(
    contents: Any,
    channels: int | None = None,
    dtype: DTypeLike = dtypes.uint8,
    name: str | None = None,
    expand_animations: bool = True,
) -> Tensor:
    """An image from the bytes of a JPEG, PNG, GIF or BMP file.

    Args:
      contents: a string.
      channels: 1 for grey, 3 for RGB, 4 for RGBA; as in the file if not given.
      dtype: the type of the result; floats run from 0 to 1.
      name: name of the scope.
      expand_animations: GIFs give all frames [frames, height, width, 3], not just the first.

    Returns:
      [height, width, channels], or frames of a GIF.

    Raises:
      ValueError: so many channels are not possible.
    """
    with name_scope(name, "decode_image"):
        if channels not in (None, 0, 1, 3, 4):
            raise ValueError("channels must be in (None, 0, 1, 3, 4)")
        kind, count = as_dtype(dtype), channels or 0
        start = substr(contents, 0, 3)

        def decode_bmp() -> Tensor:
            found = equal(substr(contents, 0, 2), "BM", name="is_bmp")
            known = Assert(found, ["Unable to decode bytes as JPEG, PNG, GIF, or BMP"])
            fits = not_equal(count, 1, name="check_channels")
            right = Assert(fits, ["Channels must be in (None, 0, 3) when decoding BMP images"])
            with get_default_graph().control_dependencies([known, right]):
                return convert_image_dtype(ops.decode_bmp(contents), kind)

        def decode_gif() -> Tensor:
            fits = logical.logical_and(
                not_equal(count, 1, name="check_gif_channels"), not_equal(count, 4, name="check_gif_channels")
            )
            right = Assert(fits, ["Channels must be in (None, 0, 3) when decoding GIF images"])
            with get_default_graph().control_dependencies([right]):
                frames = convert_image_dtype(ops.decode_gif(contents), kind)
                return frames if expand_animations else gather(frames, 0)

        def decode_png() -> Tensor:
            bits = dtypes.uint8 if kind == dtypes.uint8 else dtypes.uint16
            return convert_image_dtype(ops.decode_png(contents, count, dtype=bits), kind)

        def decode_jpeg() -> Tensor:
            fits = not_equal(count, 4, name="check_jpeg_channels")
            right = Assert(fits, ["Channels must be in (None, 0, 1, 3) when decoding JPEG images"])
            with get_default_graph().control_dependencies([right]):
                return convert_image_dtype(ops.decode_jpeg(contents, count), kind)

        def gif_or_bmp() -> Any:
            return cond(equal(start, b"GIF", name="is_gif"), decode_gif, decode_bmp, name="cond_gif")

        def png_or_other() -> Any:
            return cond(_is_png(contents), decode_png, gif_or_bmp, name="cond_png")

        result: Tensor = cond(is_jpeg(contents), decode_jpeg, png_or_other, name="cond_jpeg")
        return result


def adjust_jpeg_quality(image: Any, jpeg_quality: Any, name: str | None = None) -> Tensor:
    """An image with the traces of JPEG compression.

    Args:
      image: [height, width, 1 or 3].
      jpeg_quality: 0 to 100.
      name: name of the scope.
    """
    with name_scope(name, "adjust_jpeg_quality", [image]):
        image = convert_to_tensor(image, name="image")
        pixels = convert_image_dtype(image, dtypes.uint8)
        if not is_tensor(jpeg_quality):
            jpeg_quality = convert_to_tensor(jpeg_quality, dtype=dtypes.int32)
        packed = ops.encode_jpeg_variable_quality(pixels, jpeg_quality)
        return convert_image_dtype(ops.decode_jpeg(packed), image.dtype.base)


def random_jpeg_quality(
    image: Any, min_jpeg_quality: int, max_jpeg_quality: int, seed: int | None = None
) -> Tensor:
    """`adjust_jpeg_quality` at a random quality.

    Args:
      image: [height, width, 1 or 3].
      min_jpeg_quality: the least quality, 0 to 100.
      max_jpeg_quality: above the largest quality, 0 to 100.
      seed: seed of the op (see `tf.set_random_seed`).

    Raises:
      ValueError: the qualities are outside of that, or in the wrong order.
    """
    if not 0 <= min_jpeg_quality <= 100 or not 0 <= max_jpeg_quality <= 100:
        raise ValueError("jpeg encoding range must be between 0 and 100.")
    if min_jpeg_quality >= max_jpeg_quality:
        raise ValueError("`min_jpeg_quality` must be less than `max_jpeg_quality`.")
    quality = random_uniform([], min_jpeg_quality, max_jpeg_quality, seed=seed, dtype=dtypes.int32)
    return adjust_jpeg_quality(image, quality)
