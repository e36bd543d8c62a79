"""Optimizers that follow the gradient: with momentum, or scaled by what it was before."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.keras.optimizers.base import Optimizer
from headrace.layers import ops
from headrace.layers.engine.config import epsilon as default_epsilon
from headrace.ops.state import update, update_ftrl
from headrace.ops.state.scatter_update import RESOURCE_SCATTER
from headrace.variables.initializers.initializers import Constant


def apply(
    rule: Any, states: list[Any], gradient: Any, numbers: dict[str, Any], indices: Any, **options: Any
) -> Any:
    """The op of a rule, on variables and their slots; on rows, if `indices` are given."""
    arguments: list[Any] = [state.handle for state in states]
    for place, name in enumerate(rule.inputs):
        arguments.append(gradient if place == rule.gradient else numbers[name])
        if place == rule.gradient and indices is not None:
            arguments.append(indices)
    return rule.op(True, indices is not None)(*arguments, use_locking=True, **options)


def checked_momentum(momentum: Any) -> bool:
    """Is there any?"""
    if isinstance(momentum, int | float) and (momentum < 0 or momentum > 1):
        raise ValueError("`momentum` must be between [0, 1].")
    return isinstance(momentum, ops.Tensor) or callable(momentum) or momentum > 0


class _Ruled(Optimizer):
    """Optimizers whose update is one op: subclasses say which, on which slots, with which numbers.

    `_numbers` gives the op's inputs from the hyperparameters of these names.
    """

    _numbers: dict[str, str] = {}
    _rule_slots: tuple[str, ...] = ()

    def _set_rate(self, learning_rate: Any, kwargs: dict[str, Any]) -> None:
        self._set_hyper("learning_rate", kwargs.get("lr", learning_rate))
        self._set_hyper("decay", self._initial_decay)

    def _rule(self) -> Any:
        raise NotImplementedError

    def _options(self) -> dict[str, Any]:
        return {}

    def _prepare_local(self, var_device: Any, var_dtype: Any, apply_state: Any) -> None:
        super()._prepare_local(var_device, var_dtype, apply_state)
        found = apply_state[var_device, var_dtype]
        for place, name in self._numbers.items():
            found[place] = ops.identity(self._get_hyper(name, var_dtype))
        if hasattr(self, "epsilon"):
            found["epsilon"] = ops.constant(self.epsilon, var_dtype)
        found["lr"] = found["alpha"] = found["lr_t"]

    def _applied(self, gradient: Any, variable: Any, indices: Any, apply_state: Any) -> Any:
        numbers = self._numbers_for(variable, apply_state)
        states = [variable, *(self.get_slot(variable, name) for name in self._rule_slots)]
        return apply(self._rule(), states, gradient, numbers, indices, **self._options())

    def _resource_apply_dense(self, grad: Any, handle: Any, apply_state: Any = None) -> Any:
        return self._applied(grad, handle, None, apply_state)

    def _resource_apply_sparse(self, grad: Any, handle: Any, indices: Any, apply_state: Any = None) -> Any:
        return self._applied(grad, handle, indices, apply_state)

    def set_weights(self, weights: Any) -> None:
        """Give the variables these values; the older optimizers had no counter before the others."""
        if len(self.weights) == len(weights) + 1:
            weights = [np.array(0), *weights]
        super().set_weights(weights)


class SGD(_Ruled):
    """Steps along the gradient, with momentum.

    Args:
      learning_rate: a number or a schedule.
      momentum: how much of the last step is kept.
      nesterov: look ahead?
      name: name of its scope.
      **kwargs: `clipnorm`, `clipvalue`, `decay`, `lr`.
    """

    _numbers = {"momentum": "momentum"}

    def __init__(
        self,
        learning_rate: Any = 0.01,
        momentum: Any = 0.0,
        nesterov: bool = False,
        name: str = "SGD",
        **kwargs: Any,
    ) -> None:
        super().__init__(name, **kwargs)
        self._set_rate(learning_rate, kwargs)
        self._momentum = checked_momentum(momentum)
        self._set_hyper("momentum", momentum)
        self.nesterov = nesterov
        if self._momentum:
            self._rule_slots = ("momentum",)

    def _create_slots(self, var_list: list[Any]) -> None:
        self._add_slots(var_list, *self._rule_slots)

    def _rule(self) -> Any:
        return update.keras_momentum if self._momentum else update.gradient_descent

    def _options(self) -> dict[str, Any]:
        return {"use_nesterov": self.nesterov} if self._momentum else {}

    def _resource_apply_sparse_duplicate_indices(
        self, grad: Any, handle: Any, indices: Any, **kwargs: Any
    ) -> Any:
        if self._momentum:
            return super()._resource_apply_sparse_duplicate_indices(grad, handle, indices, **kwargs)
        rate = self._numbers_for(handle, kwargs.get("apply_state"))["lr_t"]
        return RESOURCE_SCATTER["add"](handle.handle, indices, -grad * rate)

    def get_config(self) -> dict[str, Any]:
        return self._hyper_config("momentum", nesterov=self.nesterov)


class Adagrad(_Ruled):
    """Steps divided by the root of the sum of squared gradients (Duchi and others 2011).

    Args:
      learning_rate: a number or a schedule.
      initial_accumulator_value: what the sums start from.
      epsilon: is added to the divisor.
      name: name of its scope.
      **kwargs: `clipnorm`, `clipvalue`, `decay`, `lr`.
    """

    _rule_slots = ("accumulator",)

    def __init__(
        self,
        learning_rate: Any = 0.001,
        initial_accumulator_value: float = 0.1,
        epsilon: float | None = 1e-7,
        name: str = "Adagrad",
        **kwargs: Any,
    ) -> None:
        if initial_accumulator_value < 0.0:
            raise ValueError(f"initial_accumulator_value must be non-negative: {initial_accumulator_value}")
        super().__init__(name, **kwargs)
        self._set_rate(learning_rate, kwargs)
        self._initial_accumulator_value = initial_accumulator_value
        self.epsilon = epsilon or default_epsilon()

    def _create_slots(self, var_list: list[Any]) -> None:
        self._add_slots(var_list, "accumulator", initializer=Constant(self._initial_accumulator_value))

    def _rule(self) -> Any:
        return update.adagrad_v2

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        return super().from_config({"initial_accumulator_value": 0.0} | config, custom_objects)

    def get_config(self) -> dict[str, Any]:
        start = self._initial_accumulator_value
        return self._hyper_config(initial_accumulator_value=start, epsilon=self.epsilon)


class Adadelta(_Ruled):
    """Steps in the units of the variable (Zeiler 2012).

    Args:
      learning_rate: a number or a schedule.
      rho: how much of the averages is kept.
      epsilon: is added under the roots.
      name: name of its scope.
      **kwargs: `clipnorm`, `clipvalue`, `decay`, `lr`.
    """

    _rule_slots = ("accum_grad", "accum_var")
    _numbers = {"rho": "rho"}

    def __init__(
        self,
        learning_rate: Any = 0.001,
        rho: Any = 0.95,
        epsilon: float | None = 1e-7,
        name: str = "Adadelta",
        **kwargs: Any,
    ) -> None:
        super().__init__(name, **kwargs)
        self._set_rate(learning_rate, kwargs)
        self._set_hyper("rho", rho)
        self.epsilon = epsilon or default_epsilon()

    def _create_slots(self, var_list: list[Any]) -> None:
        self._add_slots(var_list, *self._rule_slots)

    def _rule(self) -> Any:
        return update.adadelta

    def get_config(self) -> dict[str, Any]:
        return self._hyper_config("rho", epsilon=self.epsilon)


class Ftrl(_Ruled):
    """Follow the regularized leader (McMahan and others 2013).

    Args:
      learning_rate: a number or a schedule.
      learning_rate_power: how the rate falls, not positive.
      initial_accumulator_value: what the sums of squares start from.
      l1_regularization_strength, l2_regularization_strength: of the weights.
      name: name of its scope.
      l2_shrinkage_regularization_strength: of the gradient.
      **kwargs: `clipnorm`, `clipvalue`, `decay`, `lr`.
    """

    _rule_slots = ("accumulator", "linear")
    _numbers = {
        "lr_power": "learning_rate_power",
        "l1": "l1_regularization_strength",
        "l2": "l2_regularization_strength",
    }

    def __init__(
        self,
        learning_rate: Any = 0.001,
        learning_rate_power: float = -0.5,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        name: str = "Ftrl",
        l2_shrinkage_regularization_strength: float = 0.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(name, **kwargs)
        not_negative = {
            "initial_accumulator_value": initial_accumulator_value,
            "l1_regularization_strength": l1_regularization_strength,
            "l2_regularization_strength": l2_regularization_strength,
            "l2_shrinkage_regularization_strength": l2_shrinkage_regularization_strength,
        }
        for key, value in not_negative.items():
            if value < 0.0:
                raise ValueError(f"{key} {value:f} needs to be positive or zero")
        if learning_rate_power > 0.0:
            raise ValueError(f"learning_rate_power {learning_rate_power:f} needs to be negative or zero")
        self._set_rate(learning_rate, kwargs)
        self._set_hyper("learning_rate_power", learning_rate_power)
        self._set_hyper("l1_regularization_strength", l1_regularization_strength)
        self._set_hyper("l2_regularization_strength", l2_regularization_strength)
        self._initial_accumulator_value = initial_accumulator_value
        self._l2_shrinkage_regularization_strength = l2_shrinkage_regularization_strength

    def _create_slots(self, var_list: list[Any]) -> None:
        for variable in var_list:
            self.add_slot(variable, "accumulator", Constant(self._initial_accumulator_value))
            self.add_slot(variable, "linear")

    def _prepare_local(self, var_device: Any, var_dtype: Any, apply_state: Any) -> None:
        super()._prepare_local(var_device, var_dtype, apply_state)
        shrinkage = ops.constant(self._l2_shrinkage_regularization_strength, var_dtype)
        apply_state[var_device, var_dtype]["l2_shrinkage"] = shrinkage

    def _rule(self) -> Any:
        return update_ftrl.ftrl_v2 if self._l2_shrinkage_regularization_strength > 0.0 else update_ftrl.ftrl

    def get_config(self) -> dict[str, Any]:
        return self._hyper_config(
            "learning_rate_power",
            "l1_regularization_strength",
            "l2_regularization_strength",
            initial_accumulator_value=self._initial_accumulator_value,
            l2_shrinkage_regularization_strength=self._l2_shrinkage_regularization_strength,
        )


class RMSprop(_Ruled):
    """Steps divided by the root of an average of squared gradients (Hinton).

    Args:
      learning_rate: a number or a schedule.
      rho: how much of the averages is kept.
      momentum: how much of the last step is kept.
      epsilon: is added to the divisor.
      centered: subtract the square of the average gradient?
      name: name of its scope.
      **kwargs: `clipnorm`, `clipvalue`, `decay`, `lr`.
    """

    _numbers = {"rho": "rho", "momentum": "momentum"}

    def __init__(
        self,
        learning_rate: Any = 0.001,
        rho: Any = 0.9,
        momentum: Any = 0.0,
        epsilon: float | None = 1e-7,
        centered: bool = False,
        name: str = "RMSprop",
        **kwargs: Any,
    ) -> None:
        super().__init__(name, **kwargs)
        self._set_rate(learning_rate, kwargs)
        self._set_hyper("rho", rho)
        self._momentum = checked_momentum(momentum)
        self._set_hyper("momentum", momentum)
        self.epsilon, self.centered = epsilon or default_epsilon(), centered
        self._rule_slots = ("mg", "rms", "momentum") if centered else ("rms", "momentum")

    def _create_slots(self, var_list: list[Any]) -> None:
        self._add_slots(var_list, "rms")
        if self._momentum:
            self._add_slots(var_list, "momentum")
        if self.centered:
            self._add_slots(var_list, "mg")

    def _rule(self) -> Any:
        return update.centered_rms_prop if self.centered else update.rms_prop

    def _resource_apply_dense(self, grad: Any, handle: Any, apply_state: Any = None) -> Any:
        if self._momentum:
            return super()._resource_apply_dense(grad, handle, apply_state)
        n = self._numbers_for(handle, apply_state)

        def averaged(slot: str, value: Any) -> Any:
            kept = self.get_slot(handle, slot)
            return kept.assign(n["rho"] * kept + (1.0 - n["rho"]) * value)

        spread = averaged("rms", ops.square(grad))
        if self.centered:
            spread = spread - ops.square(averaged("mg", grad))
        return handle.assign(handle - n["lr_t"] * grad / (ops.sqrt(spread) + n["epsilon"]))

    def _resource_apply_sparse(self, grad: Any, handle: Any, indices: Any, apply_state: Any = None) -> Any:
        if self._momentum:
            return super()._resource_apply_sparse(grad, handle, indices, apply_state)
        n = self._numbers_for(handle, apply_state)

        def averaged(slot: str, value: Any) -> Any:
            kept = self.get_slot(handle, slot)
            with ops.control_dependencies([kept.assign(kept * n["rho"])]):
                return self._resource_scatter_add(kept, indices, value * (1.0 - n["rho"]))

        moved = averaged("rms", grad * grad)
        done, spread = [moved], ops.gather(moved, indices)
        if self.centered:
            done.append(averaged("mg", grad))
            spread = spread - ops.square(ops.gather(done[-1], indices))
        step = -n["lr_t"] * grad / (ops.sqrt(spread) + n["epsilon"])
        return grouped(self._resource_scatter_add(handle, indices, step), *done)

    def get_config(self) -> dict[str, Any]:
        return self._hyper_config("rho", "momentum", epsilon=self.epsilon, centered=self.centered)


def grouped(*done: Any) -> Any:
    """A node that waits for all; in eager mode all is done."""
    return None if ops.executing_eagerly() else ops.group(*done)
