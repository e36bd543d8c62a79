"""Follow the regularised leader (McMahan et al.)."""

from __future__ import annotations

from typing import Any

from headrace.graph.defaults import get_default_graph
from headrace.ops.array.constant import constant
from headrace.ops.state import update_ftrl
from headrace.train.optimizers.base import Optimizer
from headrace.train.optimizers.rule import Number


def _number(input: str, name: str) -> Number:
    return Number(input, f"_{name}", f"_{name}_tensor", name)


class FtrlOptimizer(Optimizer):
    """FTRL-Proximal, with the online l2 penalty and, if asked for, one on the magnitude.

    With l1 regularisation it gives sparse models.
    """

    _numbers = (
        _number("lr", "learning_rate"),
        _number("l1", "l1_regularization_strength"),
        _number("l2", "l2_regularization_strength"),
        _number("l2_shrinkage", "l2_shrinkage_regularization_strength"),
        _number("lr_power", "learning_rate_power"),
    )

    def __init__(
        self,
        learning_rate: Any,
        learning_rate_power: float = -0.5,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "Ftrl",
        accum_name: str | None = None,
        linear_name: str | None = None,
        l2_shrinkage_regularization_strength: float = 0.0,
    ) -> None:
        """Args:
        learning_rate: a number or a tensor.
        learning_rate_power: how the rate falls during training; at most 0 (0 is a fixed rate).
        initial_accumulator_value: what the sum of squares starts with; at least 0.
        l1_regularization_strength: at least 0.
        l2_regularization_strength: at least 0; a stabilisation penalty.
        use_locking: kept for compatibility; updates are always atomic here.
        name: name of the optimizer's scope and slots.
        accum_name: name of the slot of the sum of squares, if not the optimizer's.
        linear_name: name of the slot of the linear terms, if not the optimizer's.
        l2_shrinkage_regularization_strength: at least 0; a penalty on the magnitude.

        Raises:
          ValueError: an argument is out of its range.
        """
        super().__init__(use_locking, name)
        if learning_rate_power > 0.0:
            raise ValueError(f"learning_rate_power {learning_rate_power:f} needs to be negative or zero")
        for what, value in (
            ("initial_accumulator_value", initial_accumulator_value),
            ("l1_regularization_strength", l1_regularization_strength),
            ("l2_regularization_strength", l2_regularization_strength),
            ("l2_shrinkage_regularization_strength", l2_shrinkage_regularization_strength),
        ):
            if value < 0.0:
                raise ValueError(f"{what} {value:f} needs to be positive or zero")
        self._learning_rate, self._learning_rate_power = learning_rate, learning_rate_power
        self._initial_accumulator_value = initial_accumulator_value
        self._l1_regularization_strength = l1_regularization_strength
        self._l2_regularization_strength = l2_regularization_strength
        self._l2_shrinkage_regularization_strength = l2_shrinkage_regularization_strength
        self._accum_name, self._linear_name = accum_name, linear_name

    def _create_slots(self, var_list: list[Any]) -> None:
        for v in var_list:
            with get_default_graph().colocate_with(v.op):
                initial = constant(self._initial_accumulator_value, v.dtype.base_dtype, v.get_shape())
                self._get_or_make_slot(v, initial, "accum", self._accum_name or self._name)
                self._zeros_slot(v, "linear", self._linear_name or self._name)

    def _rule(self) -> Any:
        return update_ftrl.ftrl_v2 if self._l2_shrinkage_regularization_strength > 0.0 else update_ftrl.ftrl

    def _slot_order(self) -> tuple[str, ...]:
        return ("accum", "linear")
