"""Tensors with beams: repeated for each, gathered along, and put in order after the search."""

from __future__ import annotations

import logging
from typing import Any

from headrace.contrib.seq2seq.attention import size_of
from headrace.core import dtypes
from headrace.core.shapes import Shape
from headrace.functions.array.array import expand_dims, reshape, shape, transpose
from headrace.functions.array.checks import Assert
from headrace.functions.array.indexing import gather, gather_nd, sequence_mask, where
from headrace.functions.array.stacking import concat, stack
from headrace.functions.control.tensor_array import TensorArray
from headrace.functions.math.cast import cast
from headrace.functions.math.math import equal, range_
from headrace.functions.math.reduce import reduce_max
from headrace.functions.platform.scopes import control_dependencies
from headrace.functions.values import nest
from headrace.functions.values.structure import name_scope
from headrace.graph.tensor import Tensor
from headrace.ops.array.tile import tile
from headrace.ops.declaration.constants import constant_value
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.math import logical
from headrace.ops.nn.sequences.beam_search import gather_tree


def tile_batch(t: Any, multiplier: int, name: str | None = None) -> Any:
    """Every member of a batch, so many times in a row: a, a, b, b, ...

    Args:
      t: a structure of tensors [batch, ...].
      multiplier: how many times, such as the width of a beam.
      name: of the scope.

    Returns: the structure, of tensors [batch * multiplier, ...].

    Raises:
      ValueError: the rank of a tensor is not known, or zero.
    """
    with name_scope(name, "tile_batch", [*nest.flatten(t), multiplier]):
        return nest.map_structure(lambda part: _repeated(part, multiplier), t)


def _repeated(t: Any, times: int) -> Tensor:
    t = convert_to_tensor(t, name="t")
    known = t.shape
    if not known.rank:
        raise ValueError("t must have statically known rank")
    sizes = shape(t)
    multiples = [1] * (known.rank + 1)
    multiples[1] = times
    rows = tile(expand_dims(t, 1), multiples)
    result: Tensor = reshape(rows, concat(([sizes[0] * times], sizes[1:]), 0))
    batch = known.dim(0)
    result.set_shape(Shape([None if batch is None else batch * times]).concatenate(known[1:]))
    return result


def gathered(
    indices: Tensor, source: Tensor, batch_size: Any, width: Any, flat: list[Any], name: str | None = None
) -> Tensor:
    """What each member's indices choose among its `width` entries.

    Args:
      indices: [batch, beams].
      source: [batch, width, ...].
      batch_size: a tensor or number.
      width: of an entry's range; a tensor or number.
      flat: the shape in which entries of all members are one axis: [-1], or [batch * width, -1].
      name: of the scope.
    """
    with name_scope(name, "tensor_gather_helper"):
        starts = expand_dims(range_(batch_size) * width, 1)
        chosen = gather(reshape(source, flat), reshape(indices + starts, [-1]))
        axes = 2 if flat == [-1] else None  # the entries are numbers, or have axes of their own
        result: Tensor = reshape(chosen, shape(source)[:axes], name="output")
        result.set_shape(Shape([known_size(batch_size)]).concatenate(source.shape[1:axes]))
        return result


def gathered_state(indices: Tensor, source: Any, batch_size: Any, width: int) -> Any:
    """A part of a cell's state, moved with its beams.  Arrays and what has no depth stay."""
    if isinstance(source, TensorArray):
        return source
    check_rank(source)
    if source.shape.rank < 2:
        return source
    return gathered(indices, source, batch_size, width, [batch_size * width, -1])


def gather_tree_from_array(t: Any, parent_ids: Any, sequence_length: Any) -> Tensor:
    """A stacked array whose beams are put in the order of the search.

    Args:
      t: [time, batch, beam, ...] or [time, batch * beam, ...].
      parent_ids: [time, batch, beam], where each beam came from.
      sequence_length: [batch, beam].
    """
    parent_ids, t = convert_to_tensor(parent_ids), convert_to_tensor(t)
    sequence_length = convert_to_tensor(sequence_length)
    time, batch, width = (size_of(parent_ids, axis) for axis in range(3))
    own = tile(reshape(range_(width), [1, 1, -1]), [time, batch, 1])
    longest = cast(reduce_max(sequence_length, axis=1), dtypes.int32)
    order: Tensor = gather_tree(own, parent_ids, longest, width + 1)
    inside = transpose(sequence_mask(sequence_length, maxlen=time), perm=[2, 0, 1])
    order = where(inside, order, own)  # a beam that has ended stays where it is
    at_time = tile(reshape(range_(time), [-1, 1, 1]), [1, batch, width])
    at_batch = tile(reshape(range_(batch), [1, -1, 1]), [time, 1, width])
    places = stack([at_time, at_batch, order], -1)
    return reshape(gather_nd(reshape(t, [time, batch, width, -1]), places), shape(t))


def sorted_array(t: Any, parent_ids: Tensor, sequence_length: Tensor, batch_size: Any, width: int) -> Any:
    """An array of the state, stacked, its beams in order; other parts as they are."""
    if not isinstance(t, TensorArray):
        return t
    element = t.element_shape
    if not element.rank:
        logging.getLogger("headrace").warning(
            "The beams of TensorArray %s of the cell's state are not put in order: its elements, of "
            "shape %s, are not known to have a dimension for them.",
            t.handle.name,
            element,
        )
        return t
    if not splits_statically(element, known_size(batch_size), width):
        return t
    stacked = t.stack()
    with control_dependencies([check_splits(stacked, batch_size, width)]):
        return gather_tree_from_array(stacked, parent_ids, sequence_length)


def splits_statically(element: Shape, batch: int | None, width: int) -> bool:
    """Can elements be [batch, beam, -1], as far as is known?"""
    first = element.dim(0)
    second = element.dim(1) if (element.rank or 0) >= 2 else None
    if batch is None or first is None:
        return True
    if first == batch * width or (first == batch and second in (None, width)):
        return True
    logging.getLogger("headrace").warning(
        "The beams of a TensorArray are not put in order: elements of shape %s are not %s. "
        "With reorder_tensor_arrays=False nobody tries.",
        element,
        Shape([batch, width, None]),
    )
    return False


def check_splits(t: Tensor, batch_size: Any, width: int) -> Any:
    """Refuses, when it runs, a stacked array whose elements can not be [batch, beam, -1]."""
    message = (
        f"The beams of {t.name} can not be put in order: its elements are not [batch_size, beam_size, "
        "-1]. With reorder_tensor_arrays=False nobody tries."
    )
    sizes = shape(t)
    fits = equal(sizes[1], batch_size * width)
    if t.shape.rank != 2:
        split = logical.logical_and(equal(sizes[1], batch_size), equal(sizes[2], width))
        fits = logical.logical_or(fits, split)
    return Assert(fits, [message])


def check_rank(t: Tensor) -> None:
    if t.shape.rank is None:
        raise ValueError(f"Expected tensor ({t}) to have known rank, but ndims == None.")


def known_size(size: Any) -> Any:
    """A number, or None for a tensor whose value is not known."""
    value = constant_value(size) if isinstance(size, Tensor) else size
    return None if value is None else int(value)
