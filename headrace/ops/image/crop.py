"""CropAndResize: boxes cut out of images and brought to one size; glimpses; and the gradients.

A box is [y1, x1, y2, x2], where 0 is the first row or column of the image and 1 the last.
"""

from __future__ import annotations

import numpy as np

from headrace.core.dtypes import float16, float32, float64, int8, int16, int32, int64, uint8, uint16
from headrace.core.errors import OutOfRangeError, require
from headrace.ops.array import reshape
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import merge_sizes, with_rank, with_size
from headrace.ops.declaration.signature import String, Type
from headrace.ops.image.resize import sized_image
from headrace.ops.nn.convolution.conv_geometry import sizes_shape

PIXELS = (uint8, uint16, int8, int16, int32, int64, float16, float32, float64)
METHOD = {"method": String("bilinear", "nearest", default="bilinear")}
F = np.float32


# -- geometry -----------------------------------------------------------------------------------
def check_boxes(boxes, box_ind, batch):
    if not (boxes.size == 0 and box_ind.size == 0):
        require(boxes.ndim == 2, f"boxes must be 2-D{list(boxes.shape)}")
        require(boxes.shape[1] == 4, "boxes must have 4 columns")
        require(box_ind.ndim == 1, f"box_index must be 1-D{list(box_ind.shape)}")
        require(len(boxes) == len(box_ind), "box_index has incompatible shape")
    if ((box_ind < 0) | (box_ind >= batch)).any():
        raise OutOfRangeError(None, None, "box_index has values outside [0, batch_size)")


def positions(start, end, size, count):
    """Where `count` samples between start and end lie in an image of this size: (boxes, count)."""
    last = F(size - 1)
    if count == 1:
        return (F(0.5) * (start + end) * last)[:, None]
    step = (end - start) * last / F(count - 1)
    return (start * last)[:, None] + np.arange(count, dtype=F) * step[:, None]


class Grid:
    """Where the pixels of the crops are in the images."""

    def __init__(self, boxes, box_ind, image_size, crop_size):
        y1, x1, y2, x2 = boxes.astype(F).reshape(-1, 4).T
        self.y = positions(y1, y2, image_size[0], crop_size[0])
        self.x = positions(x1, x2, image_size[1], crop_size[1])
        rows = (self.y >= 0) & (self.y <= image_size[0] - 1)
        columns = (self.x >= 0) & (self.x <= image_size[1] - 1)
        self.inside = (rows[:, :, None] & columns[:, None, :])[..., None]
        # Outside nothing is read; index 0 is as good as any.
        self.y, self.x = np.where(rows, self.y, 0), np.where(columns, self.x, 0)
        self.image = box_ind[:, None, None]

    def corners(self):
        """((image, row, column), weight) of the four neighbours."""
        top, left = np.floor(self.y), np.floor(self.x)
        for row, down in ((top, 1 - (self.y - top)), (np.ceil(self.y), self.y - top)):
            for column, across in ((left, 1 - (self.x - left)), (np.ceil(self.x), self.x - left)):
                weight = (down[:, :, None] * across[:, None, :])[..., None]
                yield self.at(row, column), weight

    def closest(self):
        return self.at(np.floor(self.y + F(0.5)), np.floor(self.x + F(0.5)))

    def at(self, row, column):
        return self.image, row.astype(int)[:, :, None], column.astype(int)[:, None, :]


# -- CropAndResize ------------------------------------------------------------------------------
def crop_shape(image, boxes, box_ind, crop_size):
    image, boxes = with_rank(image, 4), with_rank(boxes, 2)
    count = merge_sizes(boxes.dim(0), with_rank(box_ind, 1).dim(0))
    with_size(boxes.dim(1), 4)
    return sized_image(count, crop_size, image.dim(3))


@op(
    "CropAndResize",
    "image: T, boxes: float32, box_ind: int32, crop_size: int32 -> crops: float32",
    shape=crop_shape,
    attrs={"T": PIXELS} | METHOD | {"extrapolation_value": 0.0},
)
def crop_and_resize(image, boxes, box_ind, crop_size, *, method, extrapolation_value):
    """Box i of image box_ind[i], resized to crop_size; extrapolation_value outside of the image."""
    require(image.ndim == 4, f"input image must be 4-D{list(image.shape)}")
    require(0 not in image.shape[1:3], "image dimensions must be positive")
    check_boxes(boxes, box_ind, len(image))
    require(crop_size.ndim == 1, f"crop_size must be 1-D{list(crop_size.shape)}")
    require(len(crop_size) == 2, f"crop_size must have two elements{list(crop_size.shape)}")
    require(crop_size.min() > 0, "crop dimensions must be positive")
    crops = np.empty((len(boxes), *crop_size.tolist(), image.shape[3]), F)  # refused now, not after much work
    grid = Grid(boxes, box_ind, image.shape[1:3], crop_size.tolist())
    if method == "nearest":
        found = image[grid.closest()].astype(F)
    else:
        found = sum(image[at].astype(F) * weight for at, weight in grid.corners())
    crops[...] = np.where(grid.inside, found, F(extrapolation_value))
    return crops


@crop_and_resize.gradient
def _(node, dy):
    image, boxes, box_ind, _ = node.inputs
    dimage = None
    if image.dtype.base in (float16, float32, float64):
        size = list(image.shape.sizes) if image.shape.is_full else reshape.shape_of(image)
        dimage = crop_and_resize_grad_image(
            dy, boxes, box_ind, size, T=image.dtype.base, method=node.attrs["method"]
        )
    # Nearest neighbours have no slope; that of bilinear sampling stands for it.
    return dimage, crop_and_resize_grad_boxes(dy, image, boxes, box_ind), None, None


BOXES = np.array([[0, 0, 1, 1], [0.1, 0.2, 0.7, 0.9], [0.8, 0.1, 0.2, 0.6], [-0.5, 0.3, 0.5, 1.4]], F)
INDICES = np.array([0, 1, 1, 0], np.int32)
CROPS = ((3, 4), (1, 2), (6, 1))


@crop_and_resize.samples
def _(rng):
    image = rng.uniform(size=(2, 5, 6, 2)).astype(F)
    for size in CROPS:
        for method in ("bilinear", "nearest"):
            yield Sample(
                image,
                BOXES,
                INDICES,
                np.array(size, np.int32),
                method=method,
                extrapolation_value=-1.0,
                grad=False,
            )
    size = np.array([2, 2], np.int32)
    yield Sample(image, BOXES[:0], INDICES[:0], size, note="no boxes", grad=False)
    yield ErrorSample(image, BOXES, INDICES + 1, size, raises="outside \\[0, batch_size\\)")
    yield ErrorSample(image, BOXES, INDICES, size * 0, raises="crop dimensions must be positive")


def check_grads(grads, boxes, box_ind, batch):
    require(grads.ndim == 4, f"grads image must be 4-D{list(grads.shape)}")
    require(0 not in grads.shape[1:3], "grads dimensions must be positive")
    check_boxes(boxes, box_ind, batch)
    require(len(grads) == len(box_ind), "boxes and grads have incompatible shape")


@op(
    "CropAndResizeGradImage",
    "grads: float32, boxes: float32, box_ind: int32, image_size: int32 -> output: T",
    shape=lambda grads, boxes, box_ind, image_size: sizes_shape(image_size, 4),
    attrs={"T": Type((float32, float16, float64))} | METHOD,
)
def crop_and_resize_grad_image(grads, boxes, box_ind, image_size, *, method):
    """The gradient of CropAndResize with respect to images of this size."""
    require(image_size.ndim == 1, f"image_size must be 1-D{list(image_size.shape)}")
    require(len(image_size) == 4, f"image_size must have 4 elements{list(image_size.shape)}")
    batch, height, width, depth = (int(n) for n in image_size)
    check_grads(grads, boxes, box_ind, batch)
    require(height > 0 and width > 0, "image dimensions must be positive")
    require(grads.shape[3] == depth, "image_size and grads are incompatible")
    grid = Grid(boxes, box_ind, (height, width), grads.shape[1:3])
    grads = np.where(grid.inside, grads, 0)
    dimage = np.zeros((batch, height, width, depth), F)
    if method == "nearest":
        np.add.at(dimage, grid.closest(), grads)
    else:
        for at, weight in grid.corners():
            np.add.at(dimage, at, grads * weight)
    return dimage


@crop_and_resize_grad_image.samples
def _(rng):
    for size in CROPS:
        dy = rng.normal(size=(4, *size, 2)).astype(F)
        for method in ("bilinear", "nearest"):
            yield Sample(
                dy, BOXES, INDICES, np.array([2, 5, 6, 2], np.int32), method=method, T=float32, grad=False
            )


@op(
    "CropAndResizeGradBoxes",
    "grads: float32, image: T, boxes: float32, box_ind: int32 -> output: float32",
    shape=lambda grads, image, boxes, box_ind: boxes.plain(),
    attrs={"T": PIXELS, "method": String("bilinear", default="bilinear")},
)
def crop_and_resize_grad_boxes(grads, image, boxes, box_ind):
    """The gradient of bilinear CropAndResize with respect to the boxes."""
    require(image.ndim == 4, f"input image must be 4-D{list(image.shape)}")
    require(0 not in image.shape[1:3], "image dimensions must be positive")
    check_grads(grads, boxes, box_ind, len(image))
    require(image.shape[3] == grads.shape[3], "image, grads depth differ")
    size, crop = image.shape[1:3], grads.shape[1:3]
    grid = Grid(boxes, box_ind, size, crop)
    (tl, tr, bl, br) = (image[at].astype(F) for at, _ in grid.corners())
    y_share = (grid.y - np.floor(grid.y))[:, :, None, None]
    x_share = (grid.x - np.floor(grid.x))[:, None, :, None]
    grads = np.where(grid.inside, grads, 0)
    dy = (((1 - x_share) * (bl - tl) + x_share * (br - tr)) * grads).sum(axis=(2, 3))
    dx = (((1 - y_share) * (tr - tl) + y_share * (br - bl)) * grads).sum(axis=(1, 3))
    y1, y2 = _ends(dy, size[0], crop[0])
    x1, x2 = _ends(dx, size[1], crop[1])
    return np.stack([y1, x1, y2, x2], 1)


def _ends(slope, size, count):
    """What the slopes at `count` positions mean for the two ends of a box."""
    if count == 1:
        half = slope.sum(axis=1) * F(0.5 * (size - 1))
        return half, half
    along = np.arange(count, dtype=F) * F((size - 1) / (count - 1))
    return (slope * (size - 1 - along)).sum(axis=1), (slope * along).sum(axis=1)


@crop_and_resize_grad_boxes.samples
def _(rng):
    image = rng.uniform(size=(2, 5, 6, 2)).astype(F)
    for size in CROPS:
        yield Sample(rng.normal(size=(4, *size, 2)).astype(F), image, BOXES, INDICES, grad=False)


# -- glimpses -----------------------------------------------------------------------------------
def glimpse_shape(input, size, offsets, *, uniform_noise, noise):
    input, offsets = with_rank(input, 4), with_rank(offsets, 2)
    batch = merge_sizes(input.dim(0), offsets.dim(0))
    with_size(offsets.dim(1), 2)
    require(
        not uniform_noise or noise in ("", "uniform"),
        "The uniform_noise and noise should not be specified at the same time",
    )
    return sized_image(batch, size, input.dim(3))


@op(
    "ExtractGlimpse",
    "input: float32, size: int32, offsets: float32 -> glimpse: float32",
    shape=glimpse_shape,
    centered=True,
    normalized=True,
    uniform_noise=True,
    noise="uniform",
)
def extract_glimpse(input, size, offsets, *, centered, normalized, uniform_noise, noise):
    """A window of this size around an offset in each image; noise where there is no image."""
    require(
        input.ndim == 4, f"input must be 4-dimensional (batch_size, height, width, depth){list(input.shape)}"
    )
    require(size.shape == (2,), f"input must be a vector of size 2 (height, width){list(size.shape)}")
    require(offsets.ndim == 2, f"input must be a matrix{list(offsets.shape)}")
    require(len(offsets) == len(input), f"first dimension should be batch{list(offsets.shape)}")
    require(offsets.shape[1] == 2, f"second dimension should be of size 2 (y,x){list(offsets.shape)}")
    noise = noise or ("uniform" if uniform_noise else "gaussian")
    require(noise in NOISES, f"The noise could only be uniform, gaussian, or zero, got{noise}")
    np.empty((len(input), *size.tolist(), input.shape[3]), F)  # refused now, not after much work
    at, seen = [], []
    for axis in (0, 1):
        extent, wanted = input.shape[1 + axis], int(size[axis])
        corner = offsets[:, axis].astype(F) * (F(extent) if normalized else F(1))
        if centered:
            corner = corner / F(2) + F(extent / 2)
        index = np.trunc(corner - F(wanted / 2)).astype(int)[:, None] + np.arange(wanted)
        seen.append((index >= 0) & (index < extent))
        at.append(np.where(seen[-1], index, 0))
    image = np.arange(len(input))[:, None, None]
    found = input[image, at[0][:, :, None], at[1][:, None, :]]
    inside = (seen[0][:, :, None] & seen[1][:, None, :])[..., None]
    return found if inside.all() else np.where(inside, found, NOISES[noise](input, found.shape))


def _uniform(images, shape):
    low, high = (f(axis=(1, 2, 3), keepdims=True) for f in (images.min, images.max))
    return low + np.random.default_rng().random(shape, dtype=F) * (high - low)


def _gaussian(images, shape):
    low, high, mean, spread = (
        f(axis=(1, 2), keepdims=True) for f in (images.min, images.max, images.mean, images.std)
    )
    drawn = mean + np.random.default_rng().standard_normal(shape, dtype=F) * spread
    return np.clip(drawn, low, high)


NOISES = {"uniform": _uniform, "gaussian": _gaussian, "zero": lambda images, shape: F(0)}


@extract_glimpse.samples
def _(rng):
    x = rng.uniform(size=(2, 5, 6, 2)).astype(F)
    offsets = np.array([[0.1, -0.2], [0.9, 0.9]], F)
    for centered in (True, False):
        for normalized in (True, False):
            yield Sample(
                x,
                np.array([3, 2], np.int32),
                offsets,
                centered=centered,
                normalized=normalized,
                uniform_noise=False,
                noise="zero",
            )
    yield ErrorSample(x, np.array([3, 2], np.int32), offsets, noise="zero", raises="at the same time")
