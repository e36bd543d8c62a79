"""Momentum, and RMSProp, which has it too."""

from __future__ import annotations

from typing import Any

from headrace.functions.array import array
from headrace.ops.state import update
from headrace.train.optimizers.base import Optimizer
from headrace.train.optimizers.rule import Number
from headrace.variables.initializers.initializers import Ones


class MomentumOptimizer(Optimizer):
    """accumulation = momentum * accumulation + gradient; var -= learning_rate * accumulation."""

    _numbers = (
        Number("lr", "_learning_rate", "_learning_rate_tensor", "learning_rate"),
        Number("momentum", "_momentum", "_momentum_tensor", "momentum"),
    )

    def __init__(
        self,
        learning_rate: Any,
        momentum: Any,
        use_locking: bool = False,
        name: str = "Momentum",
        use_nesterov: bool = False,
    ) -> None:
        """Args:
        learning_rate: a number, a tensor, or a function that returns one.
        momentum: likewise.
        use_locking: kept for compatibility; updates are always atomic here.
        name: name of the optimizer's scope and slots.
        use_nesterov: take the gradient's step from where the momentum leads (Sutskever et al.).
        """
        super().__init__(use_locking, name)
        self._learning_rate, self._momentum = learning_rate, momentum
        self._use_nesterov = use_nesterov

    def _create_slots(self, var_list: list[Any]) -> None:
        for v in var_list:
            self._zeros_slot(v, "momentum", self._name)

    def _rule(self) -> Any:
        return update.momentum

    def _slot_order(self) -> tuple[str, ...]:
        return ("momentum",)

    def _options(self) -> dict[str, Any]:
        return {"use_nesterov": self._use_nesterov}


class RMSPropOptimizer(Optimizer):
    """The gradient divided by the root of a decaying average of its square, with momentum."""

    _numbers = (
        Number("lr", "_learning_rate", "_learning_rate_tensor", "learning_rate"),
        Number("rho", "_decay", "_decay_tensor", "decay"),
        Number("momentum", "_momentum", "_momentum_tensor", "momentum"),
        Number("epsilon", "_epsilon", "_epsilon_tensor", "epsilon"),
    )

    def __init__(
        self,
        learning_rate: Any,
        decay: Any = 0.9,
        momentum: Any = 0.0,
        epsilon: Any = 1e-10,
        use_locking: bool = False,
        centered: bool = False,
        name: str = "RMSProp",
    ) -> None:
        """Args:
        learning_rate: a number, a tensor, or a function that returns one.
        decay: how much of the average is kept in a step.
        momentum: how much of the last step is kept.
        epsilon: keeps the divisor above zero.
        use_locking: kept for compatibility; updates are always atomic here.
        centered: divide by an estimate of the standard deviation instead.
        name: name of the optimizer's scope and slots.
        """
        super().__init__(use_locking, name)
        self._learning_rate, self._decay = learning_rate, decay
        self._momentum, self._epsilon, self._centered = momentum, epsilon, centered

    def _create_slots(self, var_list: list[Any]) -> None:
        for v in var_list:
            dtype = v.dtype.base_dtype
            known = v.get_shape().is_fully_defined()
            initial = Ones(dtype=dtype) if known else array.ones_like(v)
            self._get_or_make_slot_with_initializer(v, initial, v.get_shape(), dtype, "rms", self._name)
            if self._centered:
                self._zeros_slot(v, "mg", self._name)
            self._zeros_slot(v, "momentum", self._name)

    def _rule(self) -> Any:
        return update.centered_rms_prop if self._centered else update.rms_prop

    def _slot_order(self) -> tuple[str, ...]:
        return ("mg", "rms", "momentum") if self._centered else ("rms", "momentum")
