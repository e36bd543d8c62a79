"""How alike two images are, and how rough one is: tf.image.psnr, ssim, total_variation, sobel_edges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.families import documented
from headrace.functions.array.array import identity, reshape, shape, shape_n, size, zeros
from headrace.functions.array.checks import Assert
from headrace.functions.array.stacking import concat, stack, unstack
from headrace.functions.array.tiling import pad
from headrace.functions.control.cond import cond
from headrace.functions.image.color import convert_image_dtype
from headrace.functions.math.cast import cast
from headrace.functions.math.math import equal, not_equal, pow_, range_
from headrace.functions.math.reduce import reduce_all, reduce_any, reduce_mean, reduce_prod, reduce_sum
from headrace.functions.nn.atrous import depthwise_conv2d
from headrace.functions.nn.pool import avg_pool
from headrace.functions.nn.softmax import softmax
from headrace.functions.values.structure import name_scope
from headrace.graph.defaults import get_default_graph
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor
from headrace.ops.array.constant import constant
from headrace.ops.declaration import array
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.math import arithmetic, exponential
from headrace.ops.math.comparison import greater_equal
from headrace.ops.nn import activation

_SCALE_WEIGHTS = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)  # Wang et al. 2003


def _compatible(a: Tensor, b: Tensor) -> tuple[Any, Any, list[Node]]:
    """The shapes of two images, and assertions that they can be compared."""
    first, second = a.shape.with_rank_at_least(3), b.shape.with_rank_at_least(3)
    if first.rank is not None and second.rank is not None:
        first[-3:].assert_is_compatible_with(second[-3:])
        for m, n in zip(reversed(first.sizes[:-3]), reversed(second.sizes[:-3])):
            if not (m in (1, None) or n in (1, None) or m == n):
                raise ValueError(f"Two images are not compatible: {first} and {second}")
    sizes: Any = shape_n([a, b])
    x, y = sizes
    return (
        x,
        y,
        [
            Assert(greater_equal(size(x), 3), [x, y], summarize=10),
            Assert(reduce_all(equal(x[-3:], y[-3:])), [x, y], summarize=10),
        ],
    )


def psnr(a: Any, b: Any, max_val: Any, name: str | None = None) -> Tensor:
    """The ratio of peak signal to noise between images, in decibels.

    Args:
      a: images [..., height, width, channels].
      b: images of that shape.
      max_val: the range of their values: 255 for uint8, 1 for floats.
      name: name of the scope.

    Returns:
      float32 [...].
    """
    with name_scope(name, "PSNR", [a, b]):
        a, b = convert_to_tensor(a), convert_to_tensor(b)
        peak = convert_image_dtype(cast(max_val, a.dtype), dtypes.float32)
        a, b = (convert_image_dtype(x, dtypes.float32) for x in (a, b))
        error = reduce_mean(arithmetic.squared_difference(a, b), [-3, -2, -1])
        ratio = arithmetic.sub(
            20 * exponential.log(peak) / exponential.log(10.0),
            np.float32(10 / np.log(10)) * exponential.log(error),
            name="psnr",
        )
        checks = _compatible(a, b)[2]
        with get_default_graph().control_dependencies(checks):
            return identity(ratio)


# -- structural similarity --------------------------------------------------------------------------
def _similarity(x: Any, y: Any, blur: Any, peak: Any, k1: float, k2: float) -> tuple[Any, Any]:
    """Luminance, and contrast with structure (Wang et al. 2004), where blur takes local means."""
    c1, c2 = (k1 * peak) ** 2, (k2 * peak) ** 2
    mean_x, mean_y = blur(x), blur(y)
    both = mean_x * mean_y * 2.0
    squares = exponential.square(mean_x) + exponential.square(mean_y)
    luminance = (both + c1) / (squares + c1)
    together = blur(x * y) * 2.0
    apart = blur(exponential.square(x) + exponential.square(y))
    return luminance, (together - both + c2) / (apart - squares + c2)


def _gaussian(side: Tensor, sigma: Tensor) -> Tensor:
    """A Gaussian filter [side, side, 1, 1] that sums to 1."""
    at: Any = cast(range_(side), sigma.dtype)
    at -= cast(side - 1, sigma.dtype) / 2.0
    power: Any = exponential.square(at) * (-0.5 / exponential.square(sigma))
    power = reshape(power, [1, -1]) + reshape(power, [-1, 1])
    return reshape(softmax(reshape(power, [1, -1])), [side, side, 1, 1])


def _ssim_per_channel(
    x: Any, y: Any, peak: Any, filter_size: Any, filter_sigma: Any, k1: float, k2: float
) -> tuple[Tensor, Tensor]:
    side = constant(filter_size, dtype=dtypes.int32)
    sigma = constant(filter_sigma, dtype=x.dtype)
    sizes: Any = shape_n([x, y])
    checks = [Assert(reduce_all(greater_equal(s[-3:-1], side)), [s, side], summarize=8) for s in sizes]
    with get_default_graph().control_dependencies(checks):
        x = identity(x)
    kernel = array.tile(_gaussian(side, sigma), stack([1, 1, sizes[0][-1], 1]))

    def blur(z: Any) -> Tensor:
        full: Any = shape(z)
        rows = reshape(z, concat([[-1], full[-3:]], 0))
        found = depthwise_conv2d(rows, kernel, [1, 1, 1, 1], "VALID")
        return reshape(found, concat([full[:-3], shape(found)[1:]], 0))

    luminance, contrast = _similarity(x, y, blur, peak, k1, k2)
    axes = constant([-3, -2], dtype=dtypes.int32)
    return reduce_mean(luminance * contrast, axes), reduce_mean(contrast, axes)


_SIMILARITY = """
    Args:
      img1: images [..., height, width, channels].
      img2: images of that shape.
      max_val: the range of their values.{more}
      filter_size: side of the Gaussian window.
      filter_sigma: its width.
      k1: keeps the first denominator away from 0.
      k2: keeps the second denominator away from 0.

    Returns:
      float32 [...].
    """
_WEIGHTS = "\n  power_factors: the weight of each scale; each halves height and width once more."


@documented(_SIMILARITY, more="")
def ssim(
    img1: Any,
    img2: Any,
    max_val: Any,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
) -> Tensor:
    """The structural similarity of images (Wang et al. 2004): 1 for equal ones."""
    (img1, img2), _, peak = _compared(img1, img2, max_val)
    found = _ssim_per_channel(img1, img2, peak, filter_size, filter_sigma, k1, k2)[0]
    return reduce_mean(found, [-1])


def _compared(img1: Any, img2: Any, max_val: Any) -> tuple[list[Tensor], list[Any], Tensor]:
    """Two images as float32, behind assertions that they can be compared; their shapes; the largest value."""
    img1 = convert_to_tensor(img1, name="img1")
    img2 = convert_to_tensor(img2, name="img2")
    *shapes, checks = _compatible(img1, img2)
    with get_default_graph().control_dependencies(checks):
        img1 = identity(img1)
    peak = convert_image_dtype(cast(max_val, img1.dtype), dtypes.float32)
    return [convert_image_dtype(x, dtypes.float32) for x in (img1, img2)], shapes, peak


@documented(_SIMILARITY, more=_WEIGHTS)
def ssim_multiscale(
    img1: Any,
    img2: Any,
    max_val: Any,
    power_factors: Sequence[float] = _SCALE_WEIGHTS,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
) -> Tensor:
    """The structural similarity of images at several scales (Wang et al. 2003)."""
    with name_scope(None, "MS-SSIM", [img1, img2]):
        images, shapes, peak = _compared(img1, img2, max_val)
        heads, tails = [s[:-3] for s in shapes], [s[-3:] for s in shapes]
        contrasts = []
        for k in range(len(power_factors)):
            with name_scope(None, f"Scale{k}", images):
                if k > 0:
                    images, tails = _halved(images, heads, tails)
                found, contrast = _ssim_per_channel(
                    images[0], images[1], peak, filter_size, filter_sigma, k1, k2
                )
                contrasts.append(activation.relu(contrast))
        contrasts[-1] = activation.relu(found)  # luminance counts at the last scale alone
        each = pow_(stack(contrasts, axis=-1), power_factors)
        return reduce_mean(reduce_prod(each, [-1]), [-1])


def _halved(images: list[Any], heads: list[Any], tails: list[Any]) -> tuple[list[Any], list[Any]]:
    """Images at half their height and width, and their new inner shapes."""
    flat = [reshape(x, concat([[-1], t], 0)) for x, t in zip(images, tails)]
    odd: Any = tails[0] % constant([2, 2, 1], dtype=dtypes.int32)

    def mirrored() -> list[Tensor]:
        pads = pad(array.expand_dims(odd, -1), [[1, 0], [1, 0]])
        return [pad(x, pads, mode="SYMMETRIC") for x in flat]

    even = cond(reduce_any(not_equal(odd, 0)), mirrored, lambda: flat)
    small = [avg_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "VALID") for x in even]
    inner: list[Any] = [s[1:] for s in shape_n(small)]
    return [reshape(x, concat([h, t], 0)) for x, h, t in zip(small, heads, inner)], inner


# -- roughness --------------------------------------------------------------------------------------
def total_variation(images: Any, name: str | None = None) -> Tensor:
    """The sum of absolute differences between neighbouring pixels.

    Args:
      images: [height, width, channels] or [batch, height, width, channels].
      name: name of the scope.

    Returns:
      A number, or one per image.

    Raises:
      ValueError: another rank.
    """
    with name_scope(name, "total_variation"):
        images = convert_to_tensor(images)
        count = images.shape.rank
        if count not in (3, 4):
            raise ValueError("'images' must be either 3 or 4-dimensional.")
        down = images[..., 1:, :, :] - images[..., :-1, :, :]
        across = images[..., 1:, :] - images[..., :-1, :]
        axes = None if count == 3 else [1, 2, 3]
        total: Any = reduce_sum(arithmetic.abs_(down), axis=axes)
        result: Tensor = total + reduce_sum(arithmetic.abs_(across), axis=axes)
        return result


def image_gradients(image: Any) -> tuple[Tensor, Tensor]:
    """The differences to the next row and to the next column; 0 in the last ones.

    Args:
      image: [batch, height, width, channels].

    Returns:
      (dy, dx).

    Raises:
      ValueError: another rank.
    """
    if image.shape.rank != 4:
        raise ValueError(f"image_gradients expects a 4D tensor [batch_size, h, w, d], not {image.shape}.")
    full = shape(image)
    batch, height, width, depth = unstack(full)
    down = image[:, 1:, :, :] - image[:, :-1, :, :]
    across = image[:, :, 1:, :] - image[:, :, :-1, :]
    last_row = zeros(stack([batch, 1, width, depth]), image.dtype)
    last_column = zeros(stack([batch, height, 1, depth]), image.dtype)
    return (reshape(concat([down, last_row], 1), full), reshape(concat([across, last_column], 2), full))


def sobel_edges(image: Any) -> Tensor:
    """Sobel's edge filters.

    Args:
      image: floats [batch, height, width, channels].

    Returns:
      [batch, height, width, channels, 2]: slopes down and across.
    """
    full: Any = shape(image)
    kernels = np.array([[[-1, -2, -1], [0, 0, 0], [1, 2, 1]], [[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]]])
    filters = constant(kernels.transpose(1, 2, 0)[:, :, None], dtype=image.dtype)
    filters = array.tile(filters, stack([1, 1, full[-1], 1]), name="sobel_filters")
    padded = pad(image, [[0, 0], [1, 1], [1, 1], [0, 0]], mode="REFLECT")
    found = depthwise_conv2d(padded, filters, [1, 1, 1, 1], "VALID")
    edges = reshape(found, concat([full, [2]], 0))
    edges.set_shape(image.shape.concatenate([2]))
    return edges
