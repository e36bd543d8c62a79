"""Resizing images: nearest neighbour, bilinear, bicubic, area; and the gradients.

align_corners puts the corner pixels of input and output on each other; half_pixel_centers takes a
pixel for the square around its centre; without either, output i is input i * scale.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core.dtypes import FLOATS, bfloat16, float16, float32, float64, int8, int32, named, uint8
from headrace.core.errors import require
from headrace.core.shapes import make_shape
from headrace.ops.array import reshape
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.emit import Decline
from headrace.ops.declaration.precision import widen, widest
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import with_rank, with_size
from headrace.ops.image.resample import Taps, apply, apply_back, area, cubic, linear, lowered, nearest

PIXELS = named("int8 uint8 int16 uint16 int32 int64 float16 float32 float64")
PIXELS_AND_BFLOAT = (*PIXELS[:6], bfloat16, *PIXELS[6:])
OPTIONS: dict[str, Any] = {"align_corners": False, "half_pixel_centers": False}


# -- what they share ----------------------------------------------------------------------------
def sized_image(batch, size, channels):
    """The shape (batch, height, width, channels), where an input holds height and width."""
    with_size(with_rank(size, 1).dim(0), 2)
    height, width = size.as_sizes or (None, None)
    return make_shape((batch, height, width, channels))


def resize_shape(images, size):
    images = with_rank(images, 4)
    return sized_image(images.dim(0), size, images.dim(3))


def check_centers(align_corners, half_pixel_centers):
    require(
        not (half_pixel_centers and align_corners),
        "If half_pixel_centers is True, align_corners must be False.",
    )


def checked_size(images, size):
    """Height and width to resize to, after TF's checks."""
    require(images.ndim == 4, f"input must be 4-dimensional{list(images.shape)}")
    require(size.ndim == 1, f"shape_t must be 1-dimensional{list(size.shape)}")
    require(len(size) == 2, f"shape_t must have two elements{list(size.shape)}")
    require(size.min() > 0, "output dimensions must be positive")
    require(images.shape[3] > 0, "image must have at least one channel")
    require(0 not in images.shape[1:3], "input image must be of non-zero size")
    height, width = int(size[0]), int(size[1])
    require(
        len(images) * height * width * images.shape[3] < 1 << 63,
        f"Encountered overflow when multiplying {height} with {width}",
    )
    np.empty((len(images), height, width, images.shape[3]), np.float32)  # refused now, not after much work
    return height, width


def check_grads(grads, original):
    require(grads.ndim == 4, f"input_grad must be 4-dimensional{list(grads.shape)}")
    require(original.ndim == 4, f"original_image must be 4-dimensional{list(original.shape)}")
    require(0 not in grads.shape[1:3], "resized dimensions must be positive")
    require(0 not in original.shape[1:3], "original dimensions must be positive")
    require(
        grads.shape[0] == original.shape[0] and grads.shape[3] == original.shape[3],
        f"grads {list(grads.shape)} do not belong to images {list(original.shape)}",
    )


def lower_forward(taps):
    """The compiled rule, where `taps(inputs, outputs, **options)` says what a pixel is made of."""

    def rule(e, images, size, **options):
        if size.value is None or 0 in images.shape:
            raise Decline("the size is not known, or there is nothing")
        check_centers(options["align_corners"], options.get("half_pixel_centers", False))
        chosen = {name: options[name] for name in OPTIONS if name in options}
        height, width = checked_size(np.broadcast_to(0, images.shape), size.value)
        rows, columns = (taps(n, m, **chosen) for n, m in zip(images.shape[1:3], (height, width)))
        return lowered(e, images, rows, columns)

    return rule


def lower_backward(taps):
    def rule(e, grads, original, **options):
        if 0 in original.shape or 0 in grads.shape or len(original.shape) != 4:
            raise Decline("there is nothing, or these are no images")
        if len(grads.shape) != 4 or grads.shape[::3] != original.shape[::3]:
            raise Decline("shapes that do not fit")
        if original.dtype is float64:
            raise Decline("sums in float64")
        check_centers(options["align_corners"], options["half_pixel_centers"])
        chosen = {name: options[name] for name in OPTIONS}
        rows, columns = (taps(n, m, **chosen).back(n) for n, m in zip(original.shape[1:3], grads.shape[1:3]))
        dx = lowered(e, grads, rows, columns)
        return e.compute(dx.shape, lambda *i: e.cast(dx[i], original.dtype))

    return rule


def options(node):
    return {name: node.attrs[name] for name in OPTIONS if name in node.attrs}


def modes():
    yield {}
    yield {"align_corners": True}
    yield {"half_pixel_centers": True}


SIZES = ((3, 4), (7, 9), (1, 1), (5, 6))


def forward_samples(rng, more=({},)):
    x = rng.uniform(0, 9, size=(2, 5, 6, 2))
    for mode in more:
        for size in SIZES:
            yield Sample(x, np.array(size, np.int32), **mode, tolerance=1e-3, grad=False)
        yield Sample(x.astype(np.uint8), np.array([7, 3], np.int32), **mode, grad=False)
        yield Sample(x[:, :1], np.array([3, 4], np.int32), **mode, note="one row", grad=False)
        yield Sample(x[:, :, :1], np.array([3, 4], np.int32), **mode, note="one column", grad=False)
    yield Sample(x[:0], np.array([2, 3], np.int32), note="empty", grad=False)
    yield ErrorSample(x, np.array([0, 3], np.int32), raises="output dimensions must be positive")
    yield ErrorSample(x[..., :0], np.array([5, 6], np.int32), raises="at least one channel")
    if {"half_pixel_centers": True} in more:
        crossed = {"align_corners": True, "half_pixel_centers": True}
        for size in SIZES:
            yield ErrorSample(x, np.array(size, np.int32), **crossed, raises="align_corners must be False")
    yield ErrorSample(x[0], np.array([2, 3], np.int32), raises="must be rank 4 but is rank 3")
    yield ErrorSample(x, np.array([2], np.int32), raises="Dimension must be 2 but is 1")


def backward_samples(rng):
    for mode in modes():
        for size in SIZES:
            dy = rng.normal(size=(2, *size, 2)).astype(np.float32)
            yield Sample(dy, rng.normal(size=(2, 5, 6, 2)).astype(np.float32), **mode, grad=False)


# -- bilinear -----------------------------------------------------------------------------------
@op(
    "ResizeBilinear",
    "images: T, size: int32 -> resized_images: float32",
    shape=resize_shape,
    T=PIXELS_AND_BFLOAT,
    **OPTIONS,
)
def resize_bilinear(images, size, *, align_corners, half_pixel_centers):
    """Images in another size; a pixel is mixed from its four neighbours."""
    check_centers(align_corners, half_pixel_centers)
    height, width = checked_size(images, size)
    if images.shape[1:3] == (height, width):
        return images.astype(np.float32)
    rows = linear(images.shape[1], height, align_corners, half_pixel_centers)
    columns = linear(images.shape[2], width, align_corners, half_pixel_centers)
    return apply(widen(images), rows, columns)


@resize_bilinear.gradient
def _(node, dy):
    return resize_bilinear_grad(dy, node.inputs[0], **options(node)), None


@resize_bilinear.lower
def _(e, images, size, **options):
    if size.value is not None and images.shape[1:3] == tuple(size.value) and 0 not in images.shape:
        check_centers(options["align_corners"], options["half_pixel_centers"])
        return e.compute(images.shape, lambda *i: e.cast(images[i], float32))
    return lower_forward(linear)(e, images, size, **options)


resize_bilinear.samples(lambda rng: forward_samples(rng, modes()))


@op(
    "ResizeBilinearGrad",
    "grads: float32, original_image: T -> output: T",
    shape=lambda grads, original: original.plain(),
    T=FLOATS,
    **OPTIONS,
)
def resize_bilinear_grad(grads, original_image, *, align_corners, half_pixel_centers):
    """The gradient of ResizeBilinear with respect to its images."""
    check_centers(align_corners, half_pixel_centers)
    check_grads(grads, original_image)
    height, width = original_image.shape[1:3]
    rows = linear(height, grads.shape[1], align_corners, half_pixel_centers)
    columns = linear(width, grads.shape[2], align_corners, half_pixel_centers)
    return apply_back(grads, rows, columns, height, width, widen(original_image).dtype)


resize_bilinear_grad.lower(lower_backward(linear))
resize_bilinear_grad.samples(backward_samples)


# -- bicubic ------------------------------------------------------------------------------------
@op(
    "ResizeBicubic",
    "images: T, size: int32 -> resized_images: float32",
    shape=resize_shape,
    T=PIXELS,
    **OPTIONS,
)
def resize_bicubic(images, size, *, align_corners, half_pixel_centers):
    """Images in another size; a pixel is mixed from sixteen neighbours."""
    check_centers(align_corners, half_pixel_centers)
    height, width = checked_size(images, size)
    rows = cubic(images.shape[1], height, align_corners, half_pixel_centers)
    columns = cubic(images.shape[2], width, align_corners, half_pixel_centers)
    return apply(widen(images), rows, columns)


@resize_bicubic.gradient
def _(node, dy):
    if node.inputs[0].dtype.base not in (float32, float64):
        return None, None
    return resize_bicubic_grad(dy, node.inputs[0], **options(node)), None


resize_bicubic.lower(lower_forward(cubic))
resize_bicubic.samples(lambda rng: forward_samples(rng, modes()))


@op(
    "ResizeBicubicGrad",
    "grads: float32, original_image: T -> output: T",
    shape=lambda grads, original: original.plain(),
    T=(float32, float64),
    **OPTIONS,
)
def resize_bicubic_grad(grads, original_image, *, align_corners, half_pixel_centers):
    """The gradient of ResizeBicubic with respect to its images."""
    check_centers(align_corners, half_pixel_centers)
    check_grads(grads, original_image)
    height, width = original_image.shape[1:3]
    rows = cubic(height, grads.shape[1], align_corners, half_pixel_centers)
    columns = cubic(width, grads.shape[2], align_corners, half_pixel_centers)
    wide = original_image.dtype
    return apply_back(grads.astype(wide), rows, columns, height, width, wide)


resize_bicubic_grad.lower(lower_backward(cubic))
resize_bicubic_grad.samples(backward_samples)


# -- nearest ------------------------------------------------------------------------------------
@op(
    "ResizeNearestNeighbor",
    "images: T, size: int32 -> resized_images: T",
    shape=resize_shape,
    T=PIXELS,
    **OPTIONS,
)
def resize_nearest_neighbor(images, size, *, align_corners, half_pixel_centers):
    """Images in another size; a pixel is that which is nearest."""
    check_centers(align_corners, half_pixel_centers)
    height, width = checked_size(images, size)
    rows = nearest(images.shape[1], height, align_corners, half_pixel_centers)
    columns = nearest(images.shape[2], width, align_corners, half_pixel_centers)
    return images[:, rows[:, None], columns]


@resize_nearest_neighbor.gradient
def _(node, dy):
    image = node.inputs[0]
    space = image.shape.sizes[1:3] if image.shape.rank is not None else (None,)
    size = list(space) if None not in space else reshape.shape_of(image)[1:3]
    return resize_nearest_neighbor_grad(dy, size, **options(node)), None


@resize_nearest_neighbor.lower
def _(e, images, size, *, align_corners, half_pixel_centers):
    if size.value is None or 0 in images.shape:
        raise Decline("the size is not known, or there is nothing")
    check_centers(align_corners, half_pixel_centers)
    wanted = checked_size(np.broadcast_to(0, images.shape), size.value)
    places = [
        e.known(nearest(n, m, align_corners, half_pixel_centers)) for n, m in zip(images.shape[1:3], wanted)
    ]

    def pixel(n, y, x, c):
        at = [e.max(e.min(p[k], m - 1), 0) for p, k, m in zip(places, (y, x), images.shape[1:3])]
        return images[(n, *at, c)]

    return e.compute((images.shape[0], *wanted, images.shape[3]), pixel)


resize_nearest_neighbor.samples(lambda rng: forward_samples(rng, modes()))


@op(
    "ResizeNearestNeighborGrad",
    "grads: T, size: int32 -> output: T",
    shape=resize_shape,
    T=(uint8, int8, int32, float16, float32, float64),
    **OPTIONS,
)
def resize_nearest_neighbor_grad(grads, size, *, align_corners, half_pixel_centers):
    """The gradient of ResizeNearestNeighbor with respect to images of this size."""
    require(grads.ndim == 4, f"input must be 4-dimensional{list(grads.shape)}")
    require(size.ndim == 1, f"shape_t must be 1-dimensional{list(size.shape)}")
    require(len(size) == 2, f"shape_t must have two elements{list(size.shape)}")
    require(size.min() > 0, "shape_t's elements must be positive")
    height, width = int(size[0]), int(size[1])
    rows = nearest(height, grads.shape[1], align_corners, half_pixel_centers)
    columns = nearest(width, grads.shape[2], align_corners, half_pixel_centers)
    dx = np.zeros((len(grads), height, width, grads.shape[3]), widest(grads).dtype)
    np.add.at(dx, (slice(None), rows[:, None], columns), grads)
    return dx


@resize_nearest_neighbor_grad.lower
def _(e, grads, size, *, align_corners, half_pixel_centers):
    if size.value is None or 0 in grads.shape or size.value.min() <= 0:
        raise Decline("the size is not known, or there is nothing")
    if grads.dtype is not float32:
        raise Decline("sums of this type")
    rows, columns = (
        Taps.of_places(nearest(int(n), m, align_corners, half_pixel_centers)).back(int(n))
        for n, m in zip(size.value, grads.shape[1:3])
    )
    return lowered(e, grads, rows, columns)


@resize_nearest_neighbor_grad.samples
def _(rng):
    for mode in modes():
        for size in SIZES:
            dy = rng.normal(size=(2, *size, 2))
            yield Sample(dy, np.array([5, 6], np.int32), **mode, grad=False)


# -- area ---------------------------------------------------------------------------------------
@op(
    "ResizeArea",
    "images: T, size: int32 -> resized_images: float32",
    shape=resize_shape,
    T=PIXELS,
    align_corners=False,
)
def resize_area(images, size, *, align_corners):
    """Images in another size; a pixel is the mean of what it covers."""
    height, width = checked_size(images, size)
    rows = area(images.shape[1], height, align_corners)
    columns = area(images.shape[2], width, align_corners)
    return apply(widen(images), rows, columns)


resize_area.lower(lower_forward(area))
resize_area.samples(lambda rng: forward_samples(rng, ({}, {"align_corners": True})))
