"""Drawing boxes [y1, x1, y2, x2] (0 to 1) into images."""

from __future__ import annotations

import numpy as np

from headrace.core.dtypes import float16, float32
from headrace.core.errors import require
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import with_rank, with_rank_at_least, with_size
from headrace.ops.declaration.signature import Type

HALVES = Type((float32, float16), default=float32)
# Yellow, blue, red, lime, purple, olive, maroon, navy, aqua, fuchsia; opaque.
COLORS = np.array(
    [
        [1, 1, 0, 1],
        [0, 0, 1, 1],
        [1, 0, 0, 1],
        [0, 1, 0, 1],
        [0.5, 0, 0.5, 1],
        [0.5, 0.5, 0, 1],
        [0.5, 0, 0, 1],
        [0, 0, 0.5, 1],
        [0, 1, 1, 1],
        [1, 0, 1, 1],
    ],
    np.float32,
)
DEPTHS = "Channel depth should be either 1 (GRY), 3 (RGB), or 4 (RGBA)"


def draw_shape(images, boxes):
    images, boxes = with_rank(images, 4), with_rank(boxes, 3)
    require(images.dim(3) in (None, 1, 3, 4), DEPTHS)
    with_size(boxes.dim(2), 4)
    return images


def draw(images, boxes, colors):
    """Lines one pixel wide; a side outside of the image is not drawn."""
    require(images.ndim == 4, "The rank of the images should be 4")
    require(boxes.ndim == 3, "The rank of the boxes tensor should be 3")
    require(len(images) == len(boxes), "The batch sizes should be the same")
    depth = images.shape[3]
    require(depth in (1, 3, 4), DEPTHS)
    require(
        boxes.shape[2] == 4,
        f"The size of the third dimension of the box must be 4. Received: {boxes.shape[2]}",
    )
    canvas = images.copy()
    height, width = images.shape[1:3]
    ends = np.trunc(boxes.astype(np.float32) * np.array([height - 1, width - 1] * 2, np.float32)).astype(int)
    for picture, places in zip(canvas, ends):
        for number, (top, left, bottom, right) in enumerate(places):
            inverted = top > bottom or left > right
            if inverted or top >= height or left >= width or bottom < 0 or right < 0:
                continue
            color = colors[number % len(colors), :depth]
            rows, columns = slice(max(top, 0), bottom + 1), slice(max(left, 0), right + 1)
            for row in (top, bottom):
                if 0 <= row < height:
                    picture[row, columns] = color
            for column in (left, right):
                if 0 <= column < width:
                    picture[rows, column] = color
    return canvas


@op("DrawBoundingBoxes", "images: T, boxes: float32 -> output: T", T=HALVES, shape=draw_shape)
def draw_bounding_boxes(images, boxes):
    """Images with boxes [batch, boxes, 4] drawn into them, in ten colours in turn."""
    colors = COLORS.copy()
    if images.ndim == 4 and images.shape[3] == 1:
        colors[:, 0] = 1
    return draw(images, boxes, colors)


@op(
    "DrawBoundingBoxesV2",
    "images: T, boxes: float32, colors: float32 -> output: T",
    T=HALVES,
    shape=lambda images, boxes, colors: with_rank_at_least(images, 3),
)
def draw_bounding_boxes_v2(images, boxes, colors):
    """DrawBoundingBoxes in these colours [colors, 4]; with none of them, in the usual ones."""
    require(colors.ndim == 2, f"colors must be a 2-D matrix{list(colors.shape)}")
    if not colors.size:
        return draw_bounding_boxes.reference(images, boxes)
    require(
        images.ndim == 4 and colors.shape[1] >= images.shape[3],
        f"colors must have equal or more channels than the image provided: {list(colors.shape)}",
    )
    return draw(images, boxes, colors)


BOXES = np.array(
    [[[0.1, 0.2, 0.8, 0.9], [-0.5, 0.4, 0.5, 1.7], [0.9, 0.2, 0.1, 0.4], [2, 2, 3, 3]]], np.float32
)


@draw_bounding_boxes.samples
def _(rng):
    for depth in (1, 3, 4):
        yield Sample(rng.uniform(size=(1, 7, 9, depth)).astype(np.float32), BOXES)
    yield Sample(np.zeros((0, 7, 9, 3), np.float32), BOXES[:0], note="empty")
    yield ErrorSample(np.zeros((1, 7, 9, 2), np.float32), BOXES, raises="Channel depth")


@draw_bounding_boxes_v2.samples
def _(rng):
    x = rng.uniform(size=(1, 7, 9, 3)).astype(np.float32)
    yield Sample(x, BOXES, rng.uniform(size=(2, 4)).astype(np.float32))
    yield Sample(x, BOXES, np.zeros((0, 4), np.float32), note="usual colours")
