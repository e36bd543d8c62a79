"""Sums of many tensors, and running sums along an axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.core.families import documented, named
from headrace.core.shapes import UNKNOWN, as_shape
from headrace.functions.values.structure import name_scope
from headrace.graph.tensor import Tensor
from headrace.ops.array import source
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.declaration.declare import Op
from headrace.ops.declaration.indexed_slices import IndexedSlices
from headrace.ops.math import add_n as sums
from headrace.ops.math import cumulative


def _summands(inputs: Any, message: str) -> list[Any]:
    if not isinstance(inputs, (list, tuple)) or not inputs:
        raise ValueError(message)
    return [x if isinstance(x, IndexedSlices) else convert_to_tensor(x) for x in inputs]


def add_n(inputs: Any, name: str | None = None) -> Tensor:
    """The sum of tensors of one shape and type.

    Args:
      inputs: a list of `Tensor` or `IndexedSlices`.
      name: name of the node.

    Returns:
      The sum.

    Raises:
      ValueError: the list is empty, or shapes differ.

    Example:
      >>> tf.add_n([tf.constant([1, 2]), tf.constant([3, 4])])       # 4 6
    """
    tensors = _summands(
        inputs, "inputs must be a list of at least one Tensor/IndexedSlices with the same dtype and shape"
    )
    if len(tensors) == 1:
        only = convert_to_tensor(tensors[0])
        return source.identity(only, name=name) if name else only
    return sums.add_n(tensors, name=name)


def accumulate_n(inputs: Any, shape: Any = None, tensor_dtype: Any = None, name: str | None = None) -> Tensor:
    """The sum of tensors of one shape and type, which need not exist at the same time.

    Args:
      inputs: a list of `Tensor`.
      shape: their shape, where it does not follow from them.
      tensor_dtype: their type, to be checked.
      name: name of the node.

    Returns:
      The sum.

    Raises:
      ValueError: shapes or types differ.
    """
    message = "inputs must be a list of at least one Tensor with the same dtype and shape"
    tensors = _summands(inputs, message)
    if not all(isinstance(x, Tensor) and x.dtype == tensors[0].dtype for x in tensors):
        raise ValueError(message)
    whole = UNKNOWN if shape is None else as_shape(shape)
    for x in tensors:
        whole = whole.merge_with(x.shape)
    if tensor_dtype is not None and tensor_dtype != tensors[0].dtype:
        raise TypeError(f"tensor_dtype is {tensor_dtype}, but input is of type {tensors[0].dtype}")
    if len(tensors) == 1:
        return tensors[0] if name is None else source.identity(tensors[0], name=name)
    return sums.accumulate_n_v2(tensors, shape=whole, name=name)


def _running(build: Op, name: str, what: str, kind: str, results: str) -> Callable[..., Tensor]:
    """Running totals along an axis; the node is called as the op is."""

    @named(
        name,
        f"""Running {what}.

    Args:
      x: a `Tensor` of {kind}.
      axis: the axis.
      exclusive: leave the current element out.
      reverse: run from the end.
      name: name of the node.

    Returns:
      The {results}, of the shape of `x`.
    """,
    )
    def function(
        x: Any, axis: Any = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
    ) -> Tensor:
        with name_scope(name, build.name, [x]) as scope:
            result: Tensor = build(convert_to_tensor(x, name="x"), axis, exclusive, reverse, name=scope)
            return result

    return function


cumsum = documented("""
    Example:
      >>> tf.cumsum([1, 2, 3])                        # 1 3 6
      >>> tf.cumsum([1, 2, 3], exclusive=True)        # 0 1 3
""")(_running(cumulative.cumsum, "cumsum", "sums along an axis", "numbers", "sums"))
cumprod = _running(cumulative.cumprod, "cumprod", "products along an axis", "numbers", "products")
cumulative_logsumexp = _running(
    cumulative.cumulative_logsumexp,
    "cumulative_logsumexp",
    "log(sum(exp(x))) along an axis, without overflow",
    "floats",
    "values",
)
