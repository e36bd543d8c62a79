"""Gradient descent, plain and with a proximal step."""

from __future__ import annotations

from typing import Any

from headrace.functions.math.cast import cast
from headrace.ops.declaration.indexed_slices import IndexedSlices
from headrace.ops.state import update
from headrace.ops.state.scatter_update import RESOURCE_SCATTER
from headrace.train.optimizers.base import Optimizer
from headrace.train.optimizers.rule import Number


class GradientDescentOptimizer(Optimizer):
    """var -= learning_rate * gradient."""

    _numbers = (Number("alpha", "_learning_rate", "_learning_rate_tensor", "learning_rate"),)

    def __init__(self, learning_rate: Any, use_locking: bool = False, name: str = "GradientDescent") -> None:
        """Args:
        learning_rate: a number, a tensor, or a function that returns one.
        use_locking: kept for compatibility; updates are always atomic here.
        name: name of the optimizer's scope.
        """
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._learning_rate_tensor: Any = None

    def _rule(self) -> Any:
        return update.gradient_descent

    def _rate(self, dtype: Any) -> Any:
        return cast(self._learning_rate_tensor, dtype)

    def _apply_sparse_duplicate_indices(self, grad: Any, var: Any) -> Any:
        values = grad.values * self._rate(var.dtype.base_dtype)
        delta = IndexedSlices(values, grad.indices, grad.dense_shape)
        return var.scatter_sub(delta, use_locking=self._use_locking)

    def _resource_apply_sparse_duplicate_indices(self, grad: Any, var: Any, indices: Any) -> Any:
        return RESOURCE_SCATTER["add"](var.handle, indices, -grad * self._rate(grad.dtype))


class ProximalGradientDescentOptimizer(Optimizer):
    """Gradient descent with l1 and l2 regularisation by a proximal step."""

    _numbers = (
        Number("alpha", "_learning_rate", "_learning_rate_tensor", "learning_rate"),
        Number(
            "l1",
            "_l1_regularization_strength",
            "_l1_regularization_strength_tensor",
            "l1_regularization_strength",
        ),
        Number(
            "l2",
            "_l2_regularization_strength",
            "_l2_regularization_strength_tensor",
            "l2_regularization_strength",
        ),
    )

    def __init__(
        self,
        learning_rate: Any,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "ProximalGradientDescent",
    ) -> None:
        """Args:
        learning_rate: a number or a tensor.
        l1_regularization_strength: at least 0.
        l2_regularization_strength: at least 0.
        use_locking: kept for compatibility; updates are always atomic here.
        name: name of the optimizer's scope.
        """
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._l1_regularization_strength = l1_regularization_strength
        self._l2_regularization_strength = l2_regularization_strength

    def _rule(self) -> Any:
        return update.proximal_gradient_descent
