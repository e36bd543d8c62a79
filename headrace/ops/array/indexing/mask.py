"""Selection by a mask of booleans."""

from __future__ import annotations

from typing import Any

from headrace.graph.defaults import get_default_graph
from headrace.graph.tensor import Tensor
from headrace.ops.array import concat, reshape
from headrace.ops.array.indexing import gather, where
from headrace.ops.declaration.constants import constant_value
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.math import reduce


def boolean_mask(tensor: Any, mask: Any, name: str = "boolean_mask", axis: Any = None) -> Tensor:
    """The elements of `tensor` where `mask` is true, as rows.

    Args:
      tensor: a tensor of rank N.
      mask: a boolean tensor of known rank K <= N, whose shape is that of K dimensions of `tensor`.
      name: name of the scope.
      axis: the first of those K dimensions; 0 if not given.

    Returns:
      A tensor of rank N - K + 1: the K dimensions became one.

    Raises:
      ValueError: shapes do not match, or the rank of the mask is not known or 0.

    Example:
      >>> tf.boolean_mask([0, 1, 2, 3], [True, False, True, False])   # [0, 2]
    """
    graph = get_default_graph()
    for value in (tensor, mask):
        if isinstance(value, Tensor) and not graph.building_function:
            graph = value.graph
            break
    with graph.as_default(), graph.name_scope(name or "boolean_mask"):
        return _selected(convert_to_tensor(tensor, name="tensor"), convert_to_tensor(mask, name="mask"), axis)


def _selected(tensor: Tensor, mask: Tensor, axis: Any) -> Tensor:
    rank = mask.shape.rank
    if rank == 0:
        raise ValueError("mask cannot be scalar.")
    if rank is None:
        raise ValueError(
            "Number of mask dimensions must be specified: a mask of shape [None] will do, one of "
            "unknown rank will not."
        )
    at = 0 if axis is None else axis
    if isinstance(at, Tensor):
        static = constant_value(at)
        at = at if static is None else int(static)
    known = not isinstance(at, Tensor)
    if not isinstance(at, Tensor):
        at = int(at)
        tensor.shape[at : at + rank].assert_is_compatible_with(mask.shape)
    sizes = reshape.shape_of(tensor)
    count = reduce.prod(sizes[at : at + rank], [0])
    flat = reshape.reshape(
        tensor, concat.concat_v2([sizes[:at], reshape.reshape(count, [1]), sizes[at + rank :]], 0)
    )
    if known:
        first = tensor.shape[at : at + rank].num_elements()
        before, after = tensor.shape[:at], tensor.shape[at + rank :]
        flat.set_shape(before.concatenate([first]).concatenate(after))
    places = reshape.squeeze(where.where(reshape.reshape(mask, [-1])), [1])
    return gather.gather_v2(flat, places, at)
