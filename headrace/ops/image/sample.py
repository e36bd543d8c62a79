"""Random parts of images: SampleDistortedBoundingBox, and the old RandomCrop op.

A crop is drawn until it has an allowed area and shape and covers enough of one of the objects.
"""

from __future__ import annotations

import numpy as np

from headrace.core.dtypes import float32, float64, int8, int16, int32, int64, uint8
from headrace.core.errors import FailedPreconditionError, require
from headrace.core.shapes import make_shape
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import with_rank, with_size
from headrace.ops.declaration.signature import Floats
from headrace.ops.declaration.traits import DIFFERENT_EACH_TIME, STATEFUL
from headrace.ops.random.philox import reserve
from headrace.ops.random.word_stream import WordStream

F = np.float32
SIZES = (uint8, int8, int16, int32, int64)
SEEDS = {"T": SIZES, "seed": 0, "seed2": 0}
RANGES = {
    "aspect_ratio_range": Floats([0.75, 1.3300000429153442]),
    "area_range": Floats([0.05000000074505806, 1.0]),
    "max_attempts": 100,
    "use_image_if_no_bounding_boxes": False,
}
RANDOM = {STATEFUL, DIFFERENT_EACH_TIME}


def sampled_shape(image_size, bounding_boxes, *min_object_covered):
    with_size(with_rank(image_size, 1).dim(0), 3)
    with_size(with_rank(bounding_boxes, 3).dim(2), 4)
    for one in min_object_covered:
        with_rank(one, 0)
    return [make_shape((3,)), make_shape((3,)), make_shape((1, 1, 4))]


# -- one attempt --------------------------------------------------------------------------------
def random_crop(width, height, areas, ratio, stream):
    """(left, top, right, bottom) of a crop with this ratio of width to height; None if there is
    none with an allowed area.  Sizes are rounded, so areas are met by trial, as TF does."""
    if ratio <= 0 or width <= 0 or height <= 0 or areas[0] > areas[1]:
        return None
    low, high = (F(F(a * F(width)) * F(height)) for a in areas)
    rows, most = (int(np.rint(np.sqrt(F(a / ratio)))) for a in (low, high))
    if np.rint(F(most) * ratio) > width:
        most = int((width + 0.5 - F(1e-7)) / ratio)
    most = min(most, height)
    if rows < most:
        rows += stream.below(most - rows + 1)
    else:
        rows = most
    columns = int(np.rint(F(rows) * ratio))
    for wrong, step in ((lambda a: a < low, 1), (lambda a: a > high, -1)):
        if wrong(F(columns * rows)):
            rows += step
            columns = int(np.rint(F(rows) * ratio))
    area = F(columns * rows)
    if area < low or area > high or not (0 < columns <= width and 0 < rows <= height):
        return None
    top = stream.below(height - rows) if rows < height else 0
    left = stream.below(width - columns) if columns < width else 0
    return left, top, left + columns, top + rows


def area_of(box):
    return F((box[2] - box[0]) * (box[3] - box[1]))


def covers(crop, objects, minimum):
    """Does the crop show enough of an object?  What has no pixel does not count."""
    if area_of(crop) < 1:
        return False
    for one in objects:
        if area_of(one) < 1:
            continue
        shared = (*np.maximum(crop[:2], one[:2]), *np.minimum(crop[2:], one[2:]))
        seen = 0 if shared[0] > shared[2] or shared[1] > shared[3] else area_of(shared)
        if seen / area_of(one) >= minimum:
            return True
    return False


# -- the ops ------------------------------------------------------------------------------------
def check_ranges(aspect_ratio_range, area_range, max_attempts):
    ratio, area = (", ".join(f"{x:g}" for x in r) for r in (aspect_ratio_range, area_range))
    require(len(aspect_ratio_range) == 2, "Aspect ratio range field must specify 2 dimensions")
    require(min(aspect_ratio_range) > 0, f"Aspect ratio range must be non-negative: [{ratio}]")
    require(len(area_range) == 2, "Area range field must specify 2 dimensions")
    require(min(area_range) > 0, f"Area range must be non-negative: [{area}]")
    require(max(area_range) <= 1, f"Area range must be less then or equal to 1.0: [{area}]")
    require(max_attempts > 0, f"Max attempts must be non-negative: {max_attempts}")


def check_inputs(image_size, boxes, covered):
    require(image_size.ndim == 1, f"image_size must be 1-dimensional{list(image_size.shape)}")
    require(len(image_size) == 3, f"image_size must contain 3 elements{list(image_size.shape)}")
    require(
        boxes.ndim == 3, f"input boxes must be 3-dimensional [batch, num_boxes, coords]: {list(boxes.shape)}"
    )
    require(boxes.shape[2] == 4, f"bounding boxes must have shape [4] or [*, 4], got {list(boxes.shape)}")
    require(covered >= 0, f"Min object covered must be non-negative: {covered:g}")
    for bad in boxes[(boxes < 0) | (boxes > 1)]:
        require(False, f"All bounding box coordinates must be in [0.0, 1.0]: {bad:g}")


def sample(
    ctx,
    image_size,
    boxes,
    covered,
    *,
    seed,
    seed2,
    aspect_ratio_range,
    area_range,
    max_attempts,
    use_image_if_no_bounding_boxes,
):
    """The part that both ops choose; `covered` is the least part of one of the objects that is in it."""
    check_ranges(aspect_ratio_range, area_range, max_attempts)
    check_inputs(image_size, boxes, covered)
    height, width = int(image_size[0]), int(image_size[1])
    image = (0, 0, width, height)
    scale = np.array([height, width] * 2, F)
    objects = [(b[1], b[0], b[3], b[2]) for b in (boxes.reshape(-1, 4) * scale).astype(int)]
    if not objects:
        require(
            use_image_if_no_bounding_boxes,
            "No bounding boxes provided as input. One must enable use_image_if_no_bounding_boxes "
            "if you wish to not provide any bounding boxes.",
        )
        objects = [image]
    stream = WordStream(reserve(ctx, seed, seed2, max_attempts))
    low, high = (F(r) for r in aspect_ratio_range)
    limits = [F(a) for a in area_range]
    chosen = image
    for _ in range(max_attempts):
        ratio = F(stream.float32() * F(high - low)) + low
        crop = random_crop(width, height, limits, ratio, stream)
        if crop is not None and covers(crop, objects, covered):
            chosen = crop
            break
    left, top, right, bottom = chosen
    corners = np.array([top, left, bottom, right], F) / scale
    # Size -1 means: all channels.
    return (np.array([top, left, 0]), np.array([bottom - top, right - left, -1]), corners.reshape(1, 1, 4))


@op(
    "SampleDistortedBoundingBox",
    "image_size: T, bounding_boxes: float32 -> begin: T, size: T, bboxes: float32",
    shape=sampled_shape,
    traits=RANDOM,
    attrs=SEEDS | {"min_object_covered": 0.10000000149011612} | RANGES,
)
def sample_distorted_bounding_box(ctx, image_size, bounding_boxes, *, T, min_object_covered, **attrs):
    """A random part of an image, as begin and size for Slice, and as a box."""
    return sample(ctx, image_size, bounding_boxes, F(min_object_covered), **attrs)


@op(
    "SampleDistortedBoundingBoxV2",
    "image_size: T, bounding_boxes: float32, min_object_covered: float32 -> begin: T, size: T, "
    "bboxes: float32",
    shape=sampled_shape,
    traits=RANDOM,
    attrs=SEEDS | RANGES,
)
def sample_distorted_bounding_box_v2(ctx, image_size, bounding_boxes, min_object_covered, *, T, **attrs):
    """SampleDistortedBoundingBox with min_object_covered as an input."""
    shape = list(min_object_covered.shape)
    require(min_object_covered.ndim == 0, f"min_object_covered must be 0-D, got shape {shape}")
    return sample(ctx, image_size, bounding_boxes, F(min_object_covered), **attrs)


BOXES = np.array([[[0.1, 0.2, 0.5, 0.9], [0.3, 0.3, 0.9, 0.6]]], F)


def cases():
    size = np.array([40, 60, 3], np.int32)
    yield size, BOXES, {"seed": 3, "seed2": 7}
    yield size.astype(np.int64), BOXES[:, :0], {"use_image_if_no_bounding_boxes": True}
    yield size, BOXES, {"aspect_ratio_range": [9.0, 10.0], "area_range": [0.99, 1.0]}


@sample_distorted_bounding_box.samples
def _(rng):
    for size, boxes, chosen in cases():
        yield Sample(size, boxes, **chosen)
    yield ErrorSample(size, boxes * 2, raises="must be in \\[0.0, 1.0\\]")
    yield ErrorSample(size, boxes[:, :0], raises="No bounding boxes provided")


@sample_distorted_bounding_box_v2.samples
def _(rng):
    for size, boxes, chosen in cases():
        yield Sample(size, boxes, F(0.5), **chosen)
    yield ErrorSample(size, boxes, F(-1), raises="Min object covered must be non-negative")


# -- RandomCrop ---------------------------------------------------------------------------------
def random_crop_shape(image, size):
    image = with_rank(image, 3)
    with_size(with_rank(size, 1).dim(0), 2)
    return make_shape((*(size.as_sizes or (None, None)), image.dim(2)))


@op(
    "RandomCrop",
    "image: T, size: int64 -> output: T",
    T=(uint8, int8, int16, int32, int64, float32, float64),
    seed=0,
    seed2=0,
    traits=RANDOM,
    shape=random_crop_shape,
    deprecated=(8, "Random crop is now pure Python"),
)
def random_crop_op(ctx, image, size, *, seed, seed2):
    """A part of this size, anywhere in the image."""
    require(image.ndim == 3, f"input must be 3-dimensional{list(image.shape)}")
    require(size.ndim == 1, f"shape_t must be 1-dimensional{list(size.shape)}")
    require(len(size) == 2, f"shape_t must have two elements{list(size.shape)}")
    height, width = image.shape[:2]
    rows, columns = int(size[0]), int(size[1])
    _fit("width", width, columns)
    _fit("height", height, rows)
    stream = WordStream(reserve(ctx, seed, seed2, 1))
    left = stream.word() % (width - columns + 1) if width > columns else 0
    top = stream.word() % (height - rows + 1) if height > rows else 0
    return image[top : top + rows, left : left + columns]


def _fit(name, extent, target):
    if not 0 <= target <= extent:
        message = f"{name} must be >= target_{name}: {name} = {extent}, target_{name} = {target}"
        raise FailedPreconditionError(None, None, message)


@random_crop_op.samples
def _(rng):
    yield Sample(rng.normal(size=(5, 6, 3)), np.array([2, 3]), seed=1, seed2=2)
    yield ErrorSample(rng.normal(size=(5, 6, 3)), np.array([9, 3]), raises="height must be")
