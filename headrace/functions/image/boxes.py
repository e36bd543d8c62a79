"""Boxes in images: tf.image.non_max_suppression, draw_bounding_boxes, sample_distorted_bounding_box."""

from __future__ import annotations

from typing import Any

from headrace.core import dtypes
from headrace.core.families import takes
from headrace.functions.values.structure import name_scope
from headrace.graph.tensor import Tensor
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.image import boxes as image_boxes
from headrace.ops.image import sample, suppression, suppression_combined

NONE = float("-inf")  # a threshold that no score is below


def _suppressing(
    boxes: Any, scores: Any, max_output_size: Any, iou_threshold: Any = 0.5, score_threshold: Any = NONE
) -> None:
    """What the functions below take first."""


def _converted(options: dict[str, Any]) -> dict[str, Any]:
    """The options with their thresholds as tensors of those names."""
    words = (word for word in ("iou_threshold", "score_threshold", "soft_nms_sigma") if word in options)
    return options | {word: convert_to_tensor(options[word], name=word) for word in words}


@takes(_suppressing, name=None)
def non_max_suppression(name: str | None, **options: Any) -> Tensor:
    """The best boxes without much overlap.

    Args:
      boxes: floats [boxes, 4]: two opposite corners, y1, x1, y2, x2.
      scores: floats [boxes].
      max_output_size: how many to keep at most.
      iou_threshold: how much two kept boxes may overlap, intersection over union.
      score_threshold: scores must be above it.
      name: name of the scope.

    Returns:
      int32: indices of the kept boxes, best first.
    """
    with name_scope(name, "non_max_suppression"):
        return suppression.non_max_suppression_v3(**_converted(options))


@takes(_suppressing, soft_nms_sigma=0.0, name=None)
def non_max_suppression_with_scores(name: str | None, **options: Any) -> tuple[Tensor, Tensor]:
    """`non_max_suppression` that may lower scores of similar boxes instead of dropping them.

    Args:
      boxes, scores, ...: as of `non_max_suppression`.
      soft_nms_sigma: how softly scores fall with overlap; 0: boxes are dropped.
      name: name of the scope.

    Returns:
      (indices of the kept boxes, their scores).
    """
    with name_scope(name, "non_max_suppression_with_scores"):
        found = suppression.non_max_suppression_v5(**_converted(options), pad_to_max_output_size=False)
        return found[0], found[1]


@takes(_suppressing, pad_to_max_output_size=False, name=None)
def non_max_suppression_padded(name: str | None, **options: Any) -> Any:
    """`non_max_suppression`, filled up with zeros, and how many boxes are kept.

    Args:
      boxes, scores, ...: as of `non_max_suppression`.
      pad_to_max_output_size: fill up to max_output_size.
      name: name of the scope.

    Returns:
      (indices, how many of them are valid).
    """
    with name_scope(name, "non_max_suppression_padded"):
        return suppression.non_max_suppression_v4(**_converted(options))


def non_max_suppression_with_overlaps(
    overlaps: Any,
    scores: Any,
    max_output_size: Any,
    overlap_threshold: Any = 0.5,
    score_threshold: Any = NONE,
    name: str | None = None,
) -> Tensor:
    """`non_max_suppression` by a matrix of overlaps.

    Args:
      overlaps: float32 [boxes, boxes].
      scores: float32 [boxes].
      max_output_size: how many to keep at most.
      overlap_threshold: how much two kept boxes may overlap.
      score_threshold: scores must be above it.
      name: name of the scope.

    Returns:
      int32: indices of the kept boxes, best first.
    """
    with name_scope(name, "non_max_suppression_overlaps"):
        most = convert_to_tensor(overlap_threshold, name="overlap_threshold")
        return suppression.non_max_suppression_with_overlaps(
            overlaps, scores, max_output_size, most, score_threshold
        )


def combined_non_max_suppression(
    boxes: Any,
    scores: Any,
    max_output_size_per_class: Any,
    max_total_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = NONE,
    pad_per_class: bool = False,
    clip_boxes: bool = True,
    name: str | None = None,
) -> Any:
    """`non_max_suppression` per class and image, then the best of all classes.

    Args:
      boxes: float32 [batch, boxes, 1 or classes, 4].
      scores: float32 [batch, boxes, classes].
      max_output_size_per_class: how many to keep of a class at most.
      max_total_size: how many to keep of an image at most.
      iou_threshold: how much two kept boxes of a class may overlap.
      score_threshold: scores must be above it.
      pad_per_class: fill up to max_output_size_per_class * classes if that is less.
      clip_boxes: clip boxes to 0 and 1.
      name: name of the scope.

    Returns:
      (boxes, scores, classes, how many are valid), per image.
    """
    with name_scope(name, "combined_non_max_suppression"):
        overlap = convert_to_tensor(iou_threshold, dtypes.float32, name="iou_threshold")
        least = convert_to_tensor(score_threshold, dtypes.float32, name="score_threshold")
        return suppression_combined.combined_non_max_suppression(
            boxes,
            scores,
            max_output_size_per_class,
            max_total_size,
            overlap,
            least,
            pad_per_class,
            clip_boxes,
        )


def draw_bounding_boxes(images: Any, boxes: Any, name: str | None = None, colors: Any = None) -> Tensor:
    """Boxes drawn into images.

    Args:
      images: floats [batch, height, width, channels] with 1, 3 or 4 channels.
      boxes: float32 [batch, boxes, 4]: y1, x1, y2, x2 from 0 to 1.
      name: name of the node.
      colors: float32 [colors, 4], used in turn.
    """
    if colors is None:
        return image_boxes.draw_bounding_boxes(images, boxes, name=name)
    return image_boxes.draw_bounding_boxes_v2(images, boxes, colors, name=name)


def sample_distorted_bounding_box(
    image_size: Any,
    bounding_boxes: Any,
    seed: int | None = None,
    seed2: int | None = None,
    min_object_covered: Any = 0.1,
    aspect_ratio_range: Any = None,
    area_range: Any = None,
    max_attempts: int | None = None,
    use_image_if_no_bounding_boxes: bool | None = None,
    name: str | None = None,
) -> Any:
    """A random part of an image that shows enough of an object.

    Args:
      image_size: [3]: height, width, channels.
      bounding_boxes: float32 [batch, boxes, 4]: objects, y1, x1, y2, x2 from 0 to 1.
      seed: first seed of the op.
      seed2: second seed of the op.
      min_object_covered: which part of an object must be seen.
      aspect_ratio_range: two numbers: the least and largest ratio of width to height.
      area_range: two numbers: the least and largest part of the image.
      max_attempts: how often to try before the whole image is taken.
      use_image_if_no_bounding_boxes: without boxes, the image is the object; else it is an error.
      name: name of the scope.

    Returns:
      (begin, size) for `tf.slice`, and the part as a box [1, 1, 4].
    """
    with name_scope(name, "sample_distorted_bounding_box"):
        return sample.sample_distorted_bounding_box_v2(
            image_size,
            bounding_boxes,
            min_object_covered,
            seed=seed,
            seed2=seed2,
            aspect_ratio_range=aspect_ratio_range,
            area_range=area_range,
            max_attempts=max_attempts,
            use_image_if_no_bounding_boxes=use_image_if_no_bounding_boxes,
            name=name,
        )
