"""Accumulators of gradients as Python objects."""

from __future__ import annotations

from typing import Any

from headrace.core.dtypes import DType, DTypeLike, as_dtype, int64, resource
from headrace.core.fields import reads
from headrace.core.shapes import UNKNOWN, as_shape
from headrace.functions.math.cast import cast
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.declaration.indexed_slices import IndexedSlices
from headrace.ops.queues import accumulator as ops


class ConditionalAccumulatorBase:
    """Adds up gradients of the current step; gives them when enough have arrived."""

    def __init__(self, dtype: Any, shape: Any, accumulator_ref: Tensor) -> None:
        """Args:
        dtype: type of the gradients.
        shape: their shape, or None.
        accumulator_ref: the handle of the accumulator.
        """
        self._dtype: DType = dtype
        self._shape = UNKNOWN if shape is None else as_shape(shape)
        self._accumulator_ref = accumulator_ref
        self._name = accumulator_ref.op.name.split("/")[-1]

    accumulator_ref: Tensor = reads("_accumulator_ref", "The handle of the accumulator.")
    name: str = reads("_name", "The name of the accumulator's node, without its scope.")
    dtype: Any = reads("_dtype", "Type of the gradients.")

    def num_accumulated(self, name: str | None = None) -> Tensor:
        """How many gradients were added.

        Args:
          name: name of the node.
        """
        count = self._op("accumulator_num_accumulated")
        result: Tensor = count(self._accumulator_ref, name=name or f"{self._name}_NumAccumulated")
        return result

    def set_global_step(self, new_global_step: Any, name: str | None = None) -> Node:
        """A node that says which step it is; gradients of older ones are dropped.

        Args:
          new_global_step: the step.
          name: name of the node.
        """
        step = cast(convert_to_tensor(new_global_step), int64)
        result: Node = self._op("accumulator_set_global_step")(self._accumulator_ref, step, name=name)
        return result

    def _op(self, name: str) -> Any:
        by_handle = self._accumulator_ref.dtype == resource
        return getattr(ops, f"resource_{name}" if by_handle else name)


class ConditionalAccumulator(ConditionalAccumulatorBase):
    """Adds up tensors of one shape."""

    def __init__(
        self,
        dtype: DTypeLike,
        shape: Any = None,
        shared_name: str | None = None,
        name: str = "conditional_accumulator",
        reduction_type: str = "MEAN",
    ) -> None:
        """Args:
        dtype: type of the gradients.
        shape: their shape.
        shared_name: the name under which other nodes find the same accumulator.
        name: name of the node.
        reduction_type: "MEAN" or "SUM".
        """
        handle = ops.resource_conditional_accumulator(
            dtype=dtype, shape=shape, shared_name=shared_name, name=name, reduction_type=reduction_type
        )
        super().__init__(dtype, shape, handle)

    def apply_grad(self, grad: Any, local_step: Any = 0, name: str | None = None) -> Node:
        """A node that adds a gradient, unless its step is older than the accumulator's.

        Args:
          grad: the gradient.
          local_step: the step it was computed at.
          name: name of the node.
        """
        grad = convert_to_tensor(grad, self._dtype)
        grad.shape.assert_is_compatible_with(self._shape)
        step = cast(convert_to_tensor(local_step), int64)
        result: Node = ops.resource_accumulator_apply_gradient(
            self._accumulator_ref, local_step=step, gradient=grad, name=name
        )
        return result

    def take_grad(self, num_required: Any, name: str | None = None) -> Tensor:
        """The mean or sum, when enough gradients were added; then it starts anew, one step later.

        Args:
          num_required: how many are enough.
          name: name of the node.
        """
        taken: Tensor = ops.resource_accumulator_take_gradient(
            self._accumulator_ref, num_required, dtype=self._dtype, name=name
        )
        taken.set_shape(self._shape)
        return taken


class SparseConditionalAccumulator(ConditionalAccumulatorBase):
    """Adds up gradients that are rows with indices."""

    def __init__(
        self,
        dtype: DTypeLike,
        shape: Any = None,
        shared_name: str | None = None,
        name: str = "sparse_conditional_accumulator",
        reduction_type: str = "MEAN",
    ) -> None:
        """Args:
        dtype: type of the gradients.
        shape: their shape, as dense tensors.
        shared_name: the name under which other nodes find the same accumulator.
        name: name of the node.
        reduction_type: "MEAN" or "SUM".
        """
        handle = ops.sparse_conditional_accumulator(
            dtype=dtype, shape=shape, shared_name=shared_name, name=name, reduction_type=reduction_type
        )
        super().__init__(as_dtype(dtype), shape, handle)

    def apply_indexed_slices_grad(self, grad: Any, local_step: Any = 0, name: str | None = None) -> Node:
        """As `apply_grad`, for an IndexedSlices.

        Args:
          grad: the gradient.
          local_step: the step it was computed at.
          name: name of the node.
        """
        return self.apply_grad(grad.indices, grad.values, grad.dense_shape, local_step, name)

    def apply_grad(
        self,
        grad_indices: Any,
        grad_values: Any,
        grad_shape: Any = None,
        local_step: Any = 0,
        name: str | None = None,
    ) -> Node:
        """A node that adds rows of a gradient, unless its step is older than the accumulator's.

        Args:
          grad_indices: indices of the rows.
          grad_values: the rows.
          grad_shape: shape of the whole, if known.
          local_step: the step it was computed at.
          name: name of the node.
        """
        step = cast(convert_to_tensor(local_step), int64)
        return ops.sparse_accumulator_apply_gradient(
            self._accumulator_ref,
            local_step=step,
            gradient_indices=cast(grad_indices, int64),
            gradient_values=grad_values,
            gradient_shape=cast([] if grad_shape is None else grad_shape, int64),
            has_known_shape=grad_shape is not None,
            name=name,
        )

    def take_grad(self, num_required: Any, name: str | None = None) -> Any:
        """Indices, rows and shape of the mean or sum, when enough gradients were added.

        Args:
          num_required: how many are enough.
          name: name of the node.
        """
        return ops.sparse_accumulator_take_gradient(
            self._accumulator_ref, num_required, dtype=self._dtype, name=name
        )

    def take_indexed_slices_grad(self, num_required: Any, name: str | None = None) -> IndexedSlices:
        """As `take_grad`, as an IndexedSlices.

        Args:
          num_required: how many are enough.
          name: name of the node.
        """
        indices, values, shape = self.take_grad(num_required, name)
        return IndexedSlices(indices=indices, values=values, dense_shape=shape)
