"""Parts of tensors: tf.slice, tf.strided_slice, and Python's []."""

from __future__ import annotations

from typing import Any

from headrace.functions.array.array import ones_like
from headrace.graph.tensor import Tensor
from headrace.ops.array.slices.strided_slice import assignable, getitem
from headrace.ops.array.slices.strided_slice import strided_slice as build
from headrace.ops.declaration import array

__all__ = ["getitem", "slice_", "strided_slice"]


def slice_(input_: Any, begin: Any, size: Any, name: str | None = None) -> Tensor:
    """A block of a tensor.

    Args:
      input_: a tensor.
      begin: an integer vector, where the block begins.
      size: an integer vector, its sizes; -1 reaches to the end of the dimension.
      name: name of the node.

    Example:
      >>> tf.slice([[1, 2, 3], [4, 5, 6]], [0, 1], [2, -1])       # [[2, 3], [5, 6]]
    """
    return array.slice_(input_, begin, size, name=name)


def strided_slice(
    input_: Any,
    begin: Any,
    end: Any,
    strides: Any = None,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
    var: Any = None,
    name: str | None = None,
) -> Tensor:
    """What Python's `[]` does, with the index in vectors and masks.

    Args:
      input_: a tensor.
      begin: where each range begins.
      end: before which place it ends.
      strides: its steps, not 0; all 1 if not given.
      begin_mask: bit i: range i begins at the first element.
      end_mask: bit i: range i goes up to the last element.
      ellipsis_mask: bit i: entry i stands for all dimensions that are not named.
      new_axis_mask: bit i: entry i is a new dimension of size 1.
      shrink_axis_mask: bit i: entry i is a single index; its dimension is gone.
      var: the variable that `input_` was read from; makes the result assignable.
      name: name of the node.
    """
    if strides is None:
        strides = ones_like(begin)
    masks = {
        "begin_mask": begin_mask,
        "end_mask": end_mask,
        "ellipsis_mask": ellipsis_mask,
        "new_axis_mask": new_axis_mask,
        "shrink_axis_mask": shrink_axis_mask,
    }
    out: Tensor = build(input_, begin, end, strides, **masks, name=name)
    return assignable(out, var, (begin, end, strides), masks, name)
