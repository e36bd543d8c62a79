"""What tf.image's functions ask of images: rank, sizes above 0, conditions on sizes.

A condition on numbers is checked at once; one on tensors becomes an assertion that others wait for.
"""

from __future__ import annotations

from typing import Any

from headrace.core.shapes import Shape
from headrace.functions.array.array import rank, shape
from headrace.functions.array.checks import Assert, assert_equal, assert_greater_equal, assert_positive
from headrace.functions.array.stacking import unstack
from headrace.functions.control.grouping import with_dependencies
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor
from headrace.ops.declaration import array
from headrace.ops.declaration.convert import convert_to_tensor

POSITIVE = "all dims of 'image.shape' must be > 0"


def is_tensor(value: Any) -> bool:
    return isinstance(value, Tensor) or hasattr(value, "_as_graph_element")


def check(condition: Any, message: str) -> list[Node]:
    """Refuse a false condition with ValueError; assert one that is not known yet."""
    if is_tensor(condition):
        return [Assert(condition, [message])]
    if not condition:
        raise ValueError(message)
    return []


def sizes_of(image: Tensor, count: int) -> list[Any]:
    """The sizes of an image: numbers where they are known, else scalars."""
    if image.shape.is_full:
        return list(image.shape.sizes)
    known = image.shape.with_rank(count).sizes
    found = unstack(shape(image), count)
    return [k if k is not None else f for k, f in zip(known, found)]


def check_image(image: Tensor, least: int = 3) -> list[Node]:
    """Assertions that an image has at least three dimensions, none of them 0."""
    known: Shape = image.shape.with_rank(least) if image.shape.rank is None else image.shape
    if known.rank is not None and known.rank < least:
        raise ValueError("'image' must be at least three-dimensional.")
    if 0 in known.sizes:
        raise ValueError(f"{POSITIVE}: {known}")
    if known.is_full:
        return []
    return [
        assert_positive(shape(image), [f"{POSITIVE}."]),
        assert_greater_equal(rank(image), least, message="'image' must be at least three-dimensional."),
    ]


def checked_image(image: Any) -> Tensor:
    """The image, once it is known to be one."""
    tensor = convert_to_tensor(image, name="image")
    result: Tensor = with_dependencies(check_image(tensor), tensor)
    return result


def checked_grayscale(images: Any) -> Tensor:
    """Images with one channel."""
    tensor = convert_to_tensor(images, name="images")
    last = "Last dimension of a grayscale image should be size 1."
    few = "A grayscale image must be at least two-dimensional."
    known = tensor.shape.with_rank(2) if tensor.shape.rank is None else tensor.shape
    if known.rank is not None and known.rank < 2:
        raise ValueError(few)
    if known.is_full:
        if known.sizes[-1] != 1:
            raise ValueError(last)
        return tensor
    channels: Any = shape(tensor)[-1]
    checks = [assert_equal(channels, 1, message=last), assert_greater_equal(rank(tensor), 3, message=few)]
    result: Tensor = with_dependencies(checks, tensor)
    return result


def as_batch(image: Any) -> tuple[Tensor, bool]:
    """A batch of images, and whether it was one; a single image becomes a batch of one."""
    tensor = convert_to_tensor(image, name="image")
    if tensor.shape.rank == 4:
        return tensor, True
    if tensor.shape.rank not in (None, 3):
        raise ValueError("'image' must have either 3 or 4 dimensions.")
    unknown = tensor.shape.rank is None
    tensor = array.expand_dims(tensor, 0)
    if unknown:
        tensor.set_shape([None] * 4)
    return tensor, False


def from_batch(images: Tensor, is_batch: bool) -> Tensor:
    return images if is_batch else array.squeeze(images, [0])
