"""Blocks of space in the batch or in the depth: tf.space_to_batch, tf.depth_to_space ..."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.families import documented
from headrace.functions.array.array import zeros
from headrace.functions.array.stacking import stack
from headrace.functions.values.old_names import renamed
from headrace.functions.values.structure import name_scope
from headrace.graph.tensor import Tensor
from headrace.ops.array import space
from headrace.ops.declaration.constants import constant_value
from headrace.ops.declaration.convert import convert_to_tensor


def required_space_to_batch_paddings(
    input_shape: Any, block_shape: Any, base_paddings: Any = None, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Paddings that make sizes divisible by blocks, and the crops that undo them.

    Args:
      input_shape: integers [n], the sizes.
      block_shape: integers [n], the blocks.
      base_paddings: integers [n, 2], the least paddings; zeros if not given.
      name: name of the scope.

    Returns:
      (paddings, crops), both [n, 2], for `space_to_batch_nd` and `batch_to_space_nd`.

    Raises:
      ValueError: shapes do not match.
    """
    with name_scope(name, "required_space_to_batch_paddings", [input_shape, block_shape]):
        sizes: Any = convert_to_tensor(input_shape, dtypes.int32, "input_shape")
        blocks: Any = convert_to_tensor(block_shape, dtypes.int32, "block_shape")
        blocks.shape.assert_is_fully_defined()
        blocks.shape.assert_has_rank(1)
        count = blocks.shape.sizes[0]
        if count == 0:
            return zeros([0, 2], dtypes.int32), zeros([0, 2], dtypes.int32)
        sizes.shape.assert_is_compatible_with([count])
        if base_paddings is None:
            base: Any = zeros([count, 2], dtypes.int32)
        else:
            base = convert_to_tensor(base_paddings, dtypes.int32, "base_paddings")
            base.shape.assert_is_compatible_with([count, 2])
        known = [constant_value(t) for t in (blocks, sizes, base)]
        if all(k is not None for k in known):
            blocks, sizes, base = known
        start, end = base[:, 0], base[:, 1]
        extra = (blocks - (sizes + start + end) % blocks) % blocks
        end = end + extra
        paddings = stack([[start[i], end[i]] for i in range(count)], name="paddings")
        crops = stack([[0, extra[i]] for i in range(count)], name="crops")
        return paddings, crops


def space_to_batch(
    input: Any, paddings: Any, block_size: int | None = None, name: str | None = None, block_shape: Any = None
) -> Tensor:
    """Square blocks of images, moved into the batch.

    Args:
      input: a tensor [batch, height, width, depth].
      paddings: integers [2, 2], zeros before and after height and width.
      block_size: the side of a block.
      name: name of the node.
      block_shape: another name of `block_size`.
    """
    side = renamed("block_shape", block_shape, "block_size", block_size)
    out: Tensor = space.space_to_batch_nd(input, np.array([side, side], np.int64), paddings, name=name)
    out.set_shape(out.shape.with_rank(4))
    return out


def batch_to_space(
    input: Any, crops: Any, block_size: int | None = None, name: str | None = None, block_shape: Any = None
) -> Tensor:
    """Batches, moved back into square blocks of images.

    Args:
      input: a tensor [batch, height, width, depth].
      crops: integers [2, 2], what to cut off before and after height and width.
      block_size: the side of a block.
      name: name of the node.
      block_shape: another name of `block_size`.
    """
    side = renamed("block_shape", block_shape, "block_size", block_size)
    out: Tensor = space.batch_to_space_nd(input, np.array([side, side], np.int64), crops, name=name)
    out.set_shape(out.shape.with_rank(4))
    return out


_OF_DEPTH = """
    Args:
      input: images in `data_format`.
      block_size: the side of a block, 2 or more.
      name: name of the node.
      data_format: "NHWC", "NCHW" or "NCHW_VECT_C".
"""


@documented(_OF_DEPTH)
def space_to_depth(input: Any, block_size: int, name: str | None = None, data_format: str = "NHWC") -> Tensor:
    """The places inside each block of an image become channels."""
    return space.space_to_depth(input, block_size, data_format, name=name)


@documented(_OF_DEPTH)
def depth_to_space(input: Any, block_size: int, name: str | None = None, data_format: str = "NHWC") -> Tensor:
    """Channels become places inside blocks of an image."""
    return space.depth_to_space(input, block_size, data_format, name=name)
