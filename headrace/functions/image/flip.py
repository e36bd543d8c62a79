"""Images mirrored and turned: tf.image.flip_left_right, rot90, transpose ..."""

from __future__ import annotations

from typing import Any

from headrace.core import dtypes
from headrace.core.families import documented
from headrace.functions.array.array import reshape, shape
from headrace.functions.control.case import case
from headrace.functions.control.cond import cond
from headrace.functions.image.checks import checked_image
from headrace.functions.math.cast import cast
from headrace.functions.math.math import equal, round_
from headrace.functions.random.random import random_uniform
from headrace.functions.values.structure import name_scope
from headrace.graph.tensor import Tensor
from headrace.ops.array.reverse import reverse_v2
from headrace.ops.declaration import array
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.math import comparison
from headrace.ops.math.arithmetic import floor_mod

RANKS = "'image' must have either 3 or 4 dimensions."


def _same_shape(image: Tensor, result: Tensor) -> Tensor:
    result.set_shape([None, None, None] if image.shape.rank is None else image.shape)
    return result


def _flip(image: Any, axis: int, scope: str) -> Tensor:
    with name_scope(None, scope, [image]):
        tensor = checked_image(image)
        if tensor.shape.rank in (None, 3):
            return _same_shape(tensor, reverse_v2(tensor, [axis]))
        if tensor.shape.rank == 4:
            return reverse_v2(tensor, [axis + 1])
        raise ValueError(RANKS)


def flip_left_right(image: Any) -> Tensor:
    """Images mirrored, left to right.

    Args:
      image: [height, width, channels] or [batch, height, width, channels].

    Raises:
      ValueError: another rank.
    """
    return _flip(image, 1, "flip_left_right")


def flip_up_down(image: Any) -> Tensor:
    """Images mirrored, top to bottom.

    Args:
      image: [height, width, channels] or [batch, height, width, channels].

    Raises:
      ValueError: another rank.
    """
    return _flip(image, 0, "flip_up_down")


def _random_flip(image: Any, axis: int, seed: int | None, scope: str) -> Tensor:
    with name_scope(None, scope, [image]) as inner:
        tensor: Any = checked_image(image)
        if tensor.shape.rank in (None, 3):
            drawn = random_uniform([], 0, 1.0, seed=seed)
            result = cond(
                comparison.less(drawn, 0.5), lambda: reverse_v2(tensor, [axis]), lambda: tensor, name=inner
            )
            return _same_shape(tensor, result)
        if tensor.shape.rank != 4:
            raise ValueError(RANKS)
        count: Any = shape(tensor)[0]
        drawn = random_uniform([count], 0, 1.0, seed=seed)
        flips = cast(round_(reshape(drawn, [count, 1, 1, 1])), tensor.dtype)
        flipped = reverse_v2(tensor, [axis + 1])
        found: Tensor = flips * flipped + (1 - flips) * tensor
        return found


_OF_FLIPS = """
    Args:
      image: [height, width, channels] or [batch, height, width, channels].
      seed: seed of the op (see `tf.set_random_seed`).

    Raises:
      ValueError: another rank.
"""


@documented(_OF_FLIPS)
def random_flip_left_right(image: Any, seed: int | None = None) -> Tensor:
    """Images mirrored left to right, each with probability one half."""
    return _random_flip(image, 1, seed, "random_flip_left_right")


@documented(_OF_FLIPS)
def random_flip_up_down(image: Any, seed: int | None = None) -> Tensor:
    """Images mirrored top to bottom, each with probability one half."""
    return _random_flip(image, 0, seed, "random_flip_up_down")


def transpose(image: Any, name: str | None = None) -> Tensor:
    """Images with height and width exchanged.

    Args:
      image: [height, width, channels] or [batch, height, width, channels].
      name: name of the scope.

    Raises:
      ValueError: another rank.
    """
    with name_scope(name, "transpose", [image]):
        tensor = checked_image(image)
        if tensor.shape.rank in (None, 3):
            return array.transpose(tensor, [1, 0, 2], name=name)
        if tensor.shape.rank == 4:
            return array.transpose(tensor, [0, 2, 1, 3], name=name)
        raise ValueError(RANKS)


def rot90(image: Any, k: Any = 1, name: str | None = None) -> Tensor:
    """Images turned counter-clockwise by quarters.

    Args:
      image: [height, width, channels] or [batch, height, width, channels].
      k: how many quarters.
      name: name of the scope.

    Raises:
      ValueError: another rank.
    """
    with name_scope(name, "rot90", [image, k]) as scope:
        tensor = checked_image(image)
        turns = convert_to_tensor(k, dtypes.int32, name="k")
        turns.shape.assert_has_rank(0)
        turns = floor_mod(turns, 4)
        if tensor.shape.rank not in (None, 3, 4):
            raise ValueError(RANKS)
        lead = 1 if tensor.shape.rank == 4 else 0
        order = [*range(lead), lead + 1, lead, lead + 2]
        quarters = (
            lambda: array.transpose(reverse_v2(tensor, [lead + 1]), order),
            lambda: reverse_v2(tensor, [lead, lead + 1]),
            lambda: reverse_v2(array.transpose(tensor, order), [lead + 1]),
        )
        cases = [(equal(turns, n), turn) for n, turn in enumerate(quarters, 1)]
        result: Tensor = case(cases, default=lambda: tensor, exclusive=True, name=scope)
        ends = tensor.shape.sizes if tensor.shape.rank is not None else (None,) * 3
        result.set_shape([*ends[:lead], None, None, ends[-1]])
        return result
