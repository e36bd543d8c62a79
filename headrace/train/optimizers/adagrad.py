"""Adagrad (Duchi et al.), with a proximal step, and by dual averaging."""

from __future__ import annotations

from typing import Any

from headrace.functions.array import array
from headrace.functions.math.cast import cast
from headrace.graph.defaults import get_default_graph
from headrace.ops.array.constant import constant
from headrace.ops.array.fill import fill
from headrace.ops.array.source import identity
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.state import update
from headrace.train.optimizers.base import Optimizer
from headrace.train.optimizers.rule import Number
from headrace.variables.initializers.initializers import Constant

_RATE = Number("lr", "_learning_rate", "_learning_rate_tensor", "learning_rate")
_L1 = Number(
    "l1", "_l1_regularization_strength", "_l1_regularization_strength_tensor", "l1_regularization_strength"
)
_L2 = Number(
    "l2", "_l2_regularization_strength", "_l2_regularization_strength_tensor", "l2_regularization_strength"
)


def _positive(name: str, value: Any) -> Any:
    if value <= 0.0:
        raise ValueError(f"{name} must be positive: {value}")
    return value


class AdagradOptimizer(Optimizer):
    """The step of each coordinate shrinks with the sum of its squared gradients."""

    _numbers = (_RATE,)

    def __init__(
        self,
        learning_rate: Any,
        initial_accumulator_value: float = 0.1,
        use_locking: bool = False,
        name: str = "Adagrad",
    ) -> None:
        """Args:
        learning_rate: a number, a tensor, or a function that returns one.
        initial_accumulator_value: what the sum starts with; positive.
        use_locking: kept for compatibility; updates are always atomic here.
        name: name of the optimizer's scope and slots.
        """
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._initial_accumulator_value = _positive("initial_accumulator_value", initial_accumulator_value)

    def _create_slots(self, var_list: list[Any]) -> None:
        for v in var_list:
            dtype = v.dtype.base_dtype
            initial: Any = Constant(self._initial_accumulator_value, dtype=dtype)
            if not v.get_shape().is_fully_defined():
                initial = self._init_constant_op(v, dtype)
            self._get_or_make_slot_with_initializer(
                v, initial, v.get_shape(), dtype, "accumulator", self._name
            )

    def _init_constant_op(self, v: Any, dtype: Any) -> Any:
        return lambda: cast(fill(array.shape(v), self._initial_accumulator_value), dtype)

    def _rule(self) -> Any:
        return update.adagrad

    def _slot_order(self) -> tuple[str, ...]:
        return ("accumulator",)


class ProximalAdagradOptimizer(Optimizer):
    """Adagrad with l1 and l2 regularisation by a proximal step."""

    _numbers = (_RATE, _L1, _L2)

    def __init__(
        self,
        learning_rate: Any,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "ProximalAdagrad",
    ) -> None:
        """Args:
        learning_rate: a number or a tensor.
        initial_accumulator_value: what the sum of squares starts with; positive.
        l1_regularization_strength: at least 0.
        l2_regularization_strength: at least 0.
        use_locking: kept for compatibility; updates are always atomic here.
        name: name of the optimizer's scope and slots.
        """
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._initial_accumulator_value = _positive("initial_accumulator_value", initial_accumulator_value)
        self._l1_regularization_strength = l1_regularization_strength
        self._l2_regularization_strength = l2_regularization_strength

    def _create_slots(self, var_list: list[Any]) -> None:
        for v in var_list:
            with get_default_graph().colocate_with(v.op):
                initial = constant(self._initial_accumulator_value, v.dtype.base_dtype, v.get_shape())
            self._get_or_make_slot(v, initial, "accumulator", self._name)

    def _rule(self) -> Any:
        return update.proximal_adagrad

    def _slot_order(self) -> tuple[str, ...]:
        return ("accumulator",)


class AdagradDAOptimizer(Optimizer):
    """Adagrad by dual averaging: for sparse linear models, whose unseen features stay at zero."""

    _numbers = (_RATE,)

    def __init__(
        self,
        learning_rate: Any,
        global_step: Any,
        initial_gradient_squared_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "AdagradDA",
    ) -> None:
        """Args:
        learning_rate: a number or a tensor.
        global_step: the variable that counts steps.
        initial_gradient_squared_accumulator_value: what the sum of squares starts with; positive.
        l1_regularization_strength: at least 0.
        l2_regularization_strength: at least 0.
        use_locking: kept for compatibility; updates are always atomic here.
        name: name of the optimizer's scope and slots.
        """
        super().__init__(use_locking, name)
        self._learning_rate, self._global_step = learning_rate, global_step
        self._initial_gradient_squared_accumulator_value = _positive(
            "initial_gradient_squared_accumulator_value", initial_gradient_squared_accumulator_value
        )
        self._l1_regularization_strength = l1_regularization_strength
        self._l2_regularization_strength = l2_regularization_strength

    def _create_slots(self, var_list: list[Any]) -> None:
        for v in var_list:
            dtype, shape = v.dtype.base_dtype, v.get_shape()
            with get_default_graph().colocate_with(v.op):
                zeros = constant(0.0, dtype, shape)
                squares = constant(self._initial_gradient_squared_accumulator_value, dtype, shape)
            self._get_or_make_slot(v, zeros, "gradient_accumulator", self._name)
            self._get_or_make_slot(v, squares, "gradient_squared_accumulator", self._name)

    def _prepare(self) -> None:
        super()._prepare()
        rate: Any = self._learning_rate_tensor  # type: ignore[attr-defined]
        with get_default_graph().colocate_with(rate.op):
            self._global_step_on_worker: Any = identity(self._global_step) + 1

    def _inputs(self, var: Any, dtype: Any) -> dict[str, Any]:
        with get_default_graph().device(var.device):
            step = identity(self._global_step_on_worker)
        return super()._inputs(var, dtype) | {
            "l1": convert_to_tensor(self._l1_regularization_strength, dtype),
            "l2": convert_to_tensor(self._l2_regularization_strength, dtype),
            "global_step": step,
        }

    def _rule(self) -> Any:
        return update.adagrad_da

    def _slot_order(self) -> tuple[str, ...]:
        return ("gradient_accumulator", "gradient_squared_accumulator")
