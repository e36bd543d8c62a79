"""tf.map_fn: a function of every row, as a loop over tensor arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.core import hooks
from headrace.core.shapes import Dimension, Shape
from headrace.functions.array.array import shape
from headrace.functions.control.tensor_array import TensorArray
from headrace.functions.control.while_loop import while_loop
from headrace.functions.sparse.tensor import SparseTensor
from headrace.functions.values import nest
from headrace.functions.values.structure import name_scope
from headrace.graph.tensor import Tensor
from headrace.ops.array.constant import constant
from headrace.ops.declaration.convert import convert_to_tensor


def map_fn(
    fn: Callable[[Any], Any],
    elems: Any,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    name: str | None = None,
) -> Any:
    """`fn` of every row of `elems`, stacked.

    Args:
      fn: takes one argument of the structure of `elems`, and returns one of the structure of
        `dtype`, or of `elems` where that is not given.
      elems: a tensor, or a nested structure of tensors with equal first dimensions.
      dtype: the type, or structure of types, that `fn` returns, if they differ from those of
        `elems`.
      parallel_iterations: how many calls may overlap; 10 if not given.
      back_prop: gradients may be asked for.
      swap_memory: accepted; everything is in main memory already.
      infer_shape: the results of all calls have one shape.
      name: a scope for the nodes.

    Returns: a tensor or a structure of tensors: row i is `fn` of row i.

    Raises:
      TypeError: `fn` is not callable, its result has another structure than `dtype`, or `elems` is
        a SparseTensor.
      ValueError: `elems` has a scalar.

    Example:
      >>> tf.map_fn(lambda x: (x, -x), tf.constant([1, 2]), dtype=(tf.int32, tf.int32))
    """
    if not callable(fn):
        raise TypeError("fn must be callable.")
    if isinstance(elems, SparseTensor):
        raise TypeError(
            "map_fn takes no SparseTensor: apply fn to its values, or map over them, and make "
            "SparseTensor(x.indices, new_values, x.dense_shape)"
        )
    flat = flattened(elems, elems)
    with name_scope(name, "map", flat), hooks.cached_reads.value():
        flat = [convert_to_tensor(elem, name="elem") for elem in flat]
        types = packed(elems, [t.dtype for t in flat]) if dtype is None else dtype
        count = _count(flat)
        sources = [TensorArray(t.dtype, count, False).unstack(t) for t in flat]
        start = constant(0)
        results = [TensorArray(t, count, False, infer_shape=infer_shape) for t in flattened(types, types)]

        def step(i: Tensor, results: Sequence[TensorArray]) -> Any:
            value = fn(packed(elems, [source.read(i) for source in sources]))
            nest.assert_same_structure(types, value)
            rows = flattened(types, value)
            written = [out.write(i, row) for out, row in zip(results, rows)]
            return i + 1, written

        _, results = while_loop(
            lambda i, _: i < count,
            step,
            (start, results),
            maximum_iterations=count,
            parallel_iterations=parallel_iterations or 10,
            back_prop=back_prop,
            swap_memory=swap_memory,
        )
        return packed(types, stacked(results, flat))


def flattened(structure: Any, value: Any) -> list[Any]:
    """The leaves of a value of a structure, which may be a single tensor."""
    return nest.flatten(value) if nest.is_sequence(structure) else [value]


def packed(structure: Any, flat: Sequence[Any]) -> Any:
    return nest.pack_sequence_as(structure, flat) if nest.is_sequence(structure) else flat[0]


def _count(flat: Sequence[Tensor]) -> Any:
    first = flat[0].shape
    if first.rank == 0:
        raise ValueError(
            "elems must be a 1+ dimensional Tensor, not a scalar"
            if len(flat) == 1
            else "elements in elems must be 1+ dimensional Tensors, not scalars"
        )
    return (first.dim(0) if first.rank else None) or shape(flat[0])[0]


def stacked(results: Sequence[TensorArray], elems: Sequence[Tensor]) -> list[Tensor]:
    """The arrays as tensors of as many rows as `elems` have, which must agree on it."""
    count = Dimension(None)
    for elem in elems:
        count = count.merge_with(elem.shape.with_rank_at_least(1)[0])
    found = [result.stack() for result in results]
    for tensor in found:
        tensor.set_shape(Shape([count]).concatenate(tensor.shape[1:]))
    return found
