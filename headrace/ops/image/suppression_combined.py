"""CombinedNonMaxSuppression: suppression per class, then the best of all classes, for a batch."""

from __future__ import annotations

import numpy as np

from headrace.core.errors import require
from headrace.core.shapes import make_shape
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import merge_sizes, scalar_value, with_rank, with_size
from headrace.ops.image.suppression import f32, overlaps


def combined_shape(boxes, scores, per_class, total, iou_threshold, score_threshold, *, pad_per_class):
    boxes, scores = with_rank(boxes, 4), with_rank(scores, 3)
    for one in (iou_threshold, score_threshold):
        with_rank(one, 0)
    batch = merge_sizes(boxes.dim(0), scores.dim(0))
    merge_sizes(boxes.dim(1), scores.dim(1))
    with_size(boxes.dim(3), 4)
    require(
        boxes.dim(2) in (None, 1) or scores.dim(2) in (None, boxes.dim(2)),
        "third dimension of boxes must be either 1 or equal to the third dimension of scores",
    )
    total, each = scalar_value(total), scalar_value(per_class)
    require(total is None or total > 0, "max_total_size should be > 0 ")
    size = total
    if pad_per_class:
        require(
            each is None or each > 0, "max_output_size_per_class must be > 0 if pad_per_class is set to true "
        )
        known = None not in (total, each, scores.dim(2))
        size = min(total, each * scores.dim(2)) if known else None
    row = make_shape((batch, size))
    return [make_shape((batch, size, 4)), row, row, make_shape((batch,))]


@op(
    "CombinedNonMaxSuppression",
    "boxes: float32, scores: float32, max_output_size_per_class: int32, max_total_size: int32, "
    "iou_threshold: float32, score_threshold: float32 -> nmsed_boxes: float32, "
    "nmsed_scores: float32, nmsed_classes: float32, valid_detections: int32",
    pad_per_class=False,
    clip_boxes=True,
    shape=combined_shape,
)
def combined_non_max_suppression(
    boxes,
    scores,
    max_output_size_per_class,
    max_total_size,
    iou_threshold,
    score_threshold,
    *,
    pad_per_class,
    clip_boxes,
):
    """Boxes [batch, boxes, 1 or classes, 4] and scores [batch, boxes, classes]: the best boxes
    of every image with scores and classes, filled up with zeros, and how many there are."""
    per_class, total = int(max_output_size_per_class), int(max_total_size)
    _check(boxes, scores, per_class, total, float(iou_threshold))
    classes = scores.shape[2]
    size = min(total, per_class * classes) if pad_per_class else total
    out = (
        np.zeros((len(boxes), size, 4), np.float32),
        np.zeros((len(boxes), size), np.float32),
        np.zeros((len(boxes), size), np.float32),
        np.zeros(len(boxes), np.int32),
    )
    for image in range(len(boxes)):
        found = []
        for kind in range(classes):
            places = boxes[image, :, kind if boxes.shape[2] > 1 else 0]
            marks = scores[image, :, kind]
            chosen = _choose(places, marks, per_class, float(iou_threshold), float(score_threshold))
            found += [(-marks[i], kind, i, places[i]) for i in chosen]
        found.sort(key=lambda row: row[0])
        out[3][image] = count = min(len(found), size)
        for at, (mark, kind, _, place) in enumerate(found[:count]):
            out[0][image, at] = np.clip(place, 0, 1) if clip_boxes else place
            out[1][image, at], out[2][image, at] = -mark, kind
    return out


def _check(boxes, scores, per_class, total, iou_threshold):
    require(boxes.ndim == 4, f"boxes must be 4-D{list(boxes.shape)}")
    require(scores.ndim == 3, f"scores must be 3-D{list(scores.shape)}")
    require(
        boxes.shape[2] in (1, scores.shape[2]), "third dimension of boxes must be either 1 or num classes"
    )
    require(boxes.shape[3] == 4, "boxes must have 4 columns")
    require(scores.shape[1] == boxes.shape[1], "scores has incompatible shape")
    require(per_class > 0, "max_size_per_class must be positive")
    require(total > 0, "max_total_size must be > 0")
    require(0 <= iou_threshold <= 1, "iou_threshold must be in [0, 1]")


def _choose(boxes, scores, limit, threshold, score_threshold):
    """Unlike NonMaxSuppression, an overlap equal to the threshold is still allowed."""
    chosen: list[int] = []
    for i in np.argsort(-scores, kind="stable"):
        if len(chosen) == limit or not scores[i] > score_threshold:
            break
        if not (overlaps(boxes, i, np.array(chosen, int)) > threshold).any():
            chosen.append(int(i))
    return chosen


@combined_non_max_suppression.samples
def _(rng):
    corner = rng.uniform(0, 0.6, size=(2, 9, 3, 2))
    boxes = np.concatenate([corner, corner + rng.uniform(0.1, 0.6, size=corner.shape)], 3)
    boxes = boxes.astype(np.float32)
    scores = rng.permutation(54).reshape(2, 9, 3).astype(np.float32) / 54
    limits = (f32(0.3), f32(0.2))
    for q in (3, 1):
        yield Sample(boxes[:, :, :q], scores, np.int32(4), np.int32(7), *limits)
    yield Sample(boxes, scores, np.int32(2), np.int32(9), *limits, pad_per_class=True, clip_boxes=False)
    yield ErrorSample(
        boxes[:, :, :2], scores, np.int32(4), np.int32(7), *limits, raises="third dimension of boxes"
    )
