"""Non-maximum suppression: of boxes that overlap, the one with the best score is kept.

Boxes are [y1, x1, y2, x2] by any two opposite corners.  Equal scores go by index.
"""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np

from headrace.core.dtypes import float16, float32
from headrace.core.errors import require
from headrace.core.shapes import SCALAR, make_shape
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.precision import widen
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import merge_sizes, scalar_value, with_rank, with_size
from headrace.ops.declaration.signature import Type

HALVES = Type((float16, float32), default=float32)
LOWEST = float(np.finfo(np.float32).min)


# -- the algorithm ------------------------------------------------------------------------------
def overlaps(boxes: Any, one: int, others: Any) -> Any:
    """Intersection over union of box `one` with others; 0 where a box has no area."""
    low, high = np.minimum(boxes[:, :2], boxes[:, 2:]), np.maximum(boxes[:, :2], boxes[:, 2:])
    area = (high - low).prod(axis=1)
    inner = np.minimum(high[one], high[others]) - np.maximum(low[one], low[others])
    shared = np.maximum(inner, 0).prod(axis=1)
    valid = (area[one] > 0) & (area[others] > 0)
    union = np.where(valid, area[one] + area[others] - shared, 1)
    return np.where(valid, shared / union, 0)


def suppress(scores, limit, threshold, score_threshold, similarity, sigma=0.0):
    """The chosen indices, best first, and their scores.

    `similarity(i, chosen)` compares one box with those chosen so far.  With sigma > 0, similar
    boxes are not dropped but lose score (soft suppression); hard suppression is decided by
    `threshold` alone.
    """
    require(limit >= 0, "output size must be non-negative")
    queue = [(-s, i, 0) for i, s in enumerate(scores.tolist()) if s > score_threshold]
    heapq.heapify(queue)
    chosen: list[int] = []
    kept: list[float] = []
    while len(chosen) < limit and queue:
        negative, i, begin = heapq.heappop(queue)
        score = before = -negative
        found = similarity(i, chosen[begin:])[::-1]  # the latest choice first
        hard = found >= threshold
        if hard.any():
            continue
        if sigma > 0:
            for s in found:
                score *= np.exp(-0.5 / sigma * s * s) if s <= threshold else 0.0
                if score <= score_threshold:
                    break
        if score == before:
            chosen.append(i)
            kept.append(before)
        elif score > score_threshold:
            heapq.heappush(queue, (-score, i, len(chosen)))
    return chosen, kept


def suppress_boxes(boxes, scores, limit, threshold, score_threshold=LOWEST, sigma=0.0):
    require(limit.ndim == 0, f"max_output_size must be 0-D, got shape {list(limit.shape)}")
    threshold, score_threshold = (
        scalar("iou_threshold", threshold),
        scalar("score_threshold", score_threshold),
    )
    require(0 <= threshold <= 1, "iou_threshold must be in [0, 1]")
    check_scores(boxes, scores)
    wide = widen(boxes)
    return suppress(
        widen(scores),
        int(limit),
        threshold,
        score_threshold,
        lambda i, chosen: overlaps(wide, i, np.array(chosen, int)),
        scalar("soft_nms_sigma", sigma),
    )


def scalar(name, value):
    if isinstance(value, np.ndarray):
        require(value.ndim == 0, f"{name} must be 0-D, got shape {list(value.shape)}")
    return float(value)


def check_scores(boxes, scores):
    require(boxes.ndim == 2, f"boxes must be 2-D{list(boxes.shape)}")
    require(boxes.shape[1] == 4, "boxes must have 4 columns")
    require(scores.ndim == 1, f"scores must be 1-D{list(scores.shape)}")
    require(len(scores) == len(boxes), "scores has incompatible shape")


def padded(values, limit, pad, dtype):
    """An array; filled up with zeros to `limit` if `pad`."""
    return np.array(values + [0] * ((int(limit) - len(values)) * pad), dtype)


# -- shapes -------------------------------------------------------------------------------------
def selection_shape(boxes, scores, *scalars):
    boxes, scores = with_rank(boxes, 2), with_rank(scores, 1)
    for one in scalars:
        with_rank(one, 0)
    merge_sizes(boxes.dim(0), scores.dim(0))
    with_size(boxes.dim(1), 4)
    return make_shape((None,))


def padded_shape(limit, pad_to_max_output_size):
    return make_shape((scalar_value(limit) if pad_to_max_output_size else None,))


def v4_shape(boxes, scores, limit, *thresholds, pad_to_max_output_size):
    selection_shape(boxes, scores, limit, *thresholds)
    return [padded_shape(limit, pad_to_max_output_size), SCALAR]


def v5_shape(boxes, scores, limit, *thresholds, pad_to_max_output_size):
    selection_shape(boxes, scores, limit, *thresholds)
    return [padded_shape(limit, pad_to_max_output_size)] * 2 + [SCALAR]


# -- the ops ------------------------------------------------------------------------------------
@op(
    "NonMaxSuppression",
    "boxes: float32, scores: float32, max_output_size: int32 -> selected_indices: int32",
    iou_threshold=0.5,
    shape=selection_shape,
)
def non_max_suppression(boxes, scores, max_output_size, *, iou_threshold):
    """Indices of the best boxes, at most max_output_size, without much overlap."""
    chosen = suppress_boxes(boxes, scores, max_output_size, iou_threshold)[0]
    return np.array(chosen, np.int32)


@op(
    "NonMaxSuppressionV2",
    "boxes: T, scores: T, max_output_size: int32, iou_threshold: T_threshold -> selected_indices: int32",
    T=HALVES,
    T_threshold=HALVES,
    shape=selection_shape,
)
def non_max_suppression_v2(boxes, scores, max_output_size, iou_threshold):
    """NonMaxSuppression with the threshold as an input."""
    chosen = suppress_boxes(boxes, scores, max_output_size, iou_threshold)[0]
    return np.array(chosen, np.int32)


@op(
    "NonMaxSuppressionV3",
    "boxes: T, scores: T, max_output_size: int32, iou_threshold: T_threshold, "
    "score_threshold: T_threshold -> selected_indices: int32",
    T=HALVES,
    T_threshold=HALVES,
    shape=selection_shape,
)
def non_max_suppression_v3(boxes, scores, max_output_size, iou_threshold, score_threshold):
    """NonMaxSuppressionV2 of the boxes whose scores exceed a threshold."""
    chosen = suppress_boxes(boxes, scores, max_output_size, iou_threshold, score_threshold)[0]
    return np.array(chosen, np.int32)


@op(
    "NonMaxSuppressionV4",
    "boxes: T, scores: T, max_output_size: int32, iou_threshold: T_threshold, "
    "score_threshold: T_threshold -> selected_indices: int32, valid_outputs: int32",
    T=HALVES,
    T_threshold=HALVES,
    pad_to_max_output_size=False,
    shape=v4_shape,
)
def non_max_suppression_v4(
    boxes, scores, max_output_size, iou_threshold, score_threshold, *, pad_to_max_output_size
):
    """NonMaxSuppressionV3, filled up to max_output_size if asked for, and how many are valid."""
    chosen = suppress_boxes(boxes, scores, max_output_size, iou_threshold, score_threshold)[0]
    indices = padded(chosen, max_output_size, pad_to_max_output_size, np.int32)
    return indices, np.int32(len(chosen))


@op(
    "NonMaxSuppressionV5",
    "boxes: T, scores: T, max_output_size: int32, iou_threshold: T, score_threshold: T, "
    "soft_nms_sigma: T -> selected_indices: int32, selected_scores: T, valid_outputs: int32",
    T=HALVES,
    pad_to_max_output_size=False,
    shape=v5_shape,
)
def non_max_suppression_v5(
    boxes, scores, max_output_size, iou_threshold, score_threshold, soft_nms_sigma, *, pad_to_max_output_size
):
    """NonMaxSuppressionV4 with soft suppression (Bodla et al. 2017), and the scores it leaves."""
    require(float(soft_nms_sigma) >= 0, "soft_nms_sigma must be non-negative.")
    chosen, kept = suppress_boxes(
        boxes, scores, max_output_size, iou_threshold, score_threshold, soft_nms_sigma
    )
    indices = padded(chosen, max_output_size, pad_to_max_output_size, np.int32)
    best = padded(kept, max_output_size, pad_to_max_output_size, scores.dtype)
    return indices, best, np.int32(len(chosen))


def overlaps_shape(overlaps, scores, *scalars):
    overlaps, scores = with_rank(overlaps, 2), with_rank(scores, 1)
    for one in scalars:
        with_rank(one, 0)
    merge_sizes(overlaps.dim(0), scores.dim(0))
    merge_sizes(overlaps.dim(0), overlaps.dim(1))
    return make_shape((None,))


@op(
    "NonMaxSuppressionWithOverlaps",
    "overlaps: float32, scores: float32, max_output_size: int32, overlap_threshold: float32, "
    "score_threshold: float32 -> selected_indices: int32",
    shape=overlaps_shape,
)
def non_max_suppression_with_overlaps(overlaps, scores, max_output_size, overlap_threshold, score_threshold):
    """NonMaxSuppression by a matrix of overlaps."""
    require(overlaps.ndim == 2, f"overlaps must be 2-D{list(overlaps.shape)}")
    require(overlaps.shape[0] == overlaps.shape[1], f"overlaps must be square{list(overlaps.shape)}")
    require(scores.ndim == 1, f"scores must be 1-D{list(scores.shape)}")
    require(len(scores) == len(overlaps), "scores has incompatible shape")
    chosen = suppress(
        scores,
        int(max_output_size),
        scalar("overlap_threshold", overlap_threshold),
        scalar("score_threshold", score_threshold),
        lambda i, others: overlaps[i, np.array(others, int)],
    )[0]
    return np.array(chosen, np.int32)


# -- samples ------------------------------------------------------------------------------------
def scene(rng):
    """Boxes in two clusters, with scores that all differ."""
    centers = rng.choice([0.3, 0.7], size=(12, 1)) + rng.normal(0, 0.05, size=(12, 2))
    sides = rng.uniform(0.1, 0.3, size=(12, 2))
    boxes = np.concatenate([centers - sides / 2, centers + sides / 2], 1).astype(np.float32)
    return boxes, (rng.permutation(12) / 12).astype(np.float32)


def f32(x):
    return np.float32(x)


@non_max_suppression.samples
def _(rng):
    boxes, scores = scene(rng)
    yield Sample(boxes, scores, np.int32(4))
    yield Sample(boxes[:0], scores[:0], np.int32(4), note="empty")
    yield ErrorSample(boxes, scores[1:], np.int32(4), raises="must be equal")
    yield ErrorSample(boxes, scores, np.int32(4), iou_threshold=2.0, raises="must be in \\[0, 1\\]")


@non_max_suppression_v2.samples
def _(rng):
    boxes, scores = scene(rng)
    for threshold in (0.0, 0.3, 1.0):
        yield Sample(boxes, scores, np.int32(9), f32(threshold))


@non_max_suppression_v3.samples
def _(rng):
    boxes, scores = scene(rng)
    yield Sample(boxes, scores, np.int32(9), f32(0.4), f32(0.5))


@non_max_suppression_v4.samples
def _(rng):
    boxes, scores = scene(rng)
    for pad in (False, True):
        yield Sample(boxes, scores, np.int32(9), f32(0.4), f32(0.2), pad_to_max_output_size=pad)


@non_max_suppression_v5.samples
def _(rng):
    boxes, scores = scene(rng)
    for sigma in (0.0, 0.5):
        for pad in (False, True):
            yield Sample(
                boxes,
                scores,
                np.int32(9),
                f32(0.6),
                f32(0.1),
                f32(sigma),
                pad_to_max_output_size=pad,
                grad=False,
            )


@non_max_suppression_with_overlaps.samples
def _(rng):
    matrix = rng.uniform(size=(8, 8))
    scores = (rng.permutation(8) / 8).astype(np.float32)
    yield Sample(((matrix + matrix.T) / 2).astype(np.float32), scores, np.int32(5), f32(0.6), f32(0.1))
