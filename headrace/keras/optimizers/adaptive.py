"""Adam and its relatives: averages of the gradient and of its size."""

from __future__ import annotations

from typing import Any

from headrace.keras.optimizers.base import Optimizer
from headrace.keras.optimizers.descent import apply, grouped
from headrace.layers import ops
from headrace.layers.engine.config import epsilon as default_epsilon
from headrace.ops.state import update
from headrace.train.schedules.schedules import LearningRateSchedule


class _Moments(Optimizer):
    """What they share: two averages, and how much of each is kept."""

    def __init__(
        self, learning_rate: Any, beta_1: Any, beta_2: Any, epsilon: float | None, name: str, **kwargs: Any
    ) -> None:
        super().__init__(name, **kwargs)
        self._set_hyper("learning_rate", kwargs.get("lr", learning_rate))
        self._set_hyper("decay", self._initial_decay)
        self._set_hyper("beta_1", beta_1)
        self._set_hyper("beta_2", beta_2)
        self.epsilon = epsilon or default_epsilon()

    def _create_slots(self, var_list: list[Any]) -> None:
        self._add_slots(var_list, "m", "v")

    def _prepare_local(self, var_device: Any, var_dtype: Any, apply_state: Any) -> None:
        super()._prepare_local(var_device, var_dtype, apply_state)
        found = apply_state[var_device, var_dtype]
        step = ops.cast(self.iterations + 1, var_dtype)
        for number in ("1", "2"):
            beta = ops.identity(self._get_hyper("beta_" + number, var_dtype))
            found["beta" + number], found[f"beta{number}_power"] = beta, ops.pow(beta, step)
        found |= {"epsilon": ops.constant(self.epsilon, var_dtype), "lr": found["lr_t"]}

    def _averaged(self, slot: Any, indices: Any, kept: Any, value: Any) -> Any:
        """All rows of a slot fade, and some take in a value."""
        with ops.control_dependencies([slot.assign(slot * kept)]):
            return self._resource_scatter_add(slot, indices, value * (1 - kept))

    def get_config(self) -> dict[str, Any]:
        return self._hyper_config("beta_1", "beta_2", epsilon=self.epsilon)


class Adam(_Moments):
    """Steps from bias-corrected averages of the gradient and of its square (Kingma and Ba 2014).

    Args:
      learning_rate: a number or a schedule.
      beta_1, beta_2: how much of the averages is kept.
      epsilon: is added to the divisor.
      amsgrad: divide by the largest average so far (Reddi and others 2018)?
      name: name of its scope.
      **kwargs: `clipnorm`, `clipvalue`, `decay`, `lr`.
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_1: Any = 0.9,
        beta_2: Any = 0.999,
        epsilon: float | None = 1e-7,
        amsgrad: bool = False,
        name: str = "Adam",
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate, beta_1, beta_2, epsilon, name, **kwargs)
        self.amsgrad = amsgrad

    def _create_slots(self, var_list: list[Any]) -> None:
        self._add_slots(var_list, *self._states())

    def _states(self) -> tuple[str, ...]:
        return ("m", "v", "vhat") if self.amsgrad else ("m", "v")

    def _resource_apply_dense(self, grad: Any, handle: Any, apply_state: Any = None) -> Any:
        rule = update.adam_with_amsgrad if self.amsgrad else update.adam
        states = [handle, *(self.get_slot(handle, name) for name in self._states())]
        return apply(rule, states, grad, self._numbers_for(handle, apply_state), None)

    def _resource_apply_sparse(self, grad: Any, handle: Any, indices: Any, apply_state: Any = None) -> Any:
        n = self._numbers_for(handle, apply_state)
        m = self._averaged(self.get_slot(handle, "m"), indices, n["beta1"], grad)
        v = self._averaged(self.get_slot(handle, "v"), indices, n["beta2"], grad * grad)
        done = [m, v]
        if self.amsgrad:
            largest = self.get_slot(handle, "vhat")
            v = largest.assign(ops.maximum(largest, v))
            done.append(v)
        rate = n["lr_t"] * ops.sqrt(1 - n["beta2_power"]) / (1 - n["beta1_power"])
        return grouped(handle.assign_sub(rate * m / (ops.sqrt(v) + n["epsilon"])), *done)

    def set_weights(self, weights: Any) -> None:
        """Give the variables these values; the older Adam had a third slot in any case."""
        count = (len(self.weights) - 1) // 2
        if len(weights) == 3 * count + 1:
            weights = weights[: len(self.weights)]
        super().set_weights(weights)

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {"amsgrad": self.amsgrad}


class Adamax(_Moments):
    """Adam with the largest gradient in place of the average square.

    Args:
      learning_rate: a number or a schedule.
      beta_1, beta_2: how much of the averages is kept.
      epsilon: is added to the divisor.
      name: name of its scope.
      **kwargs: `clipnorm`, `clipvalue`, `decay`, `lr`.
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_1: Any = 0.9,
        beta_2: Any = 0.999,
        epsilon: float | None = 1e-7,
        name: str = "Adamax",
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate, beta_1, beta_2, epsilon, name, **kwargs)

    def _resource_apply_dense(self, grad: Any, handle: Any, apply_state: Any = None) -> Any:
        states = [handle, self.get_slot(handle, "m"), self.get_slot(handle, "v")]
        return apply(update.adamax, states, grad, self._numbers_for(handle, apply_state), None)

    def _resource_apply_sparse(self, grad: Any, handle: Any, indices: Any, apply_state: Any = None) -> Any:
        n = self._numbers_for(handle, apply_state)
        m, v = self.get_slot(handle, "m"), self.get_slot(handle, "v")
        m_rows = ops.gather(m, indices) * n["beta1"] + grad * (1 - n["beta1"])
        v_rows = ops.maximum(ops.gather(v, indices) * n["beta2"], ops.abs(grad))
        step = -n["lr_t"] / (1 - n["beta1_power"]) * (m_rows / (v_rows + n["epsilon"]))
        with ops.control_dependencies([m_rows, v_rows, step]):
            done = [self._resource_scatter_update(m, indices, m_rows)]
            done.append(self._resource_scatter_update(v, indices, v_rows))
            return grouped(self._resource_scatter_add(handle, indices, step), *done)


class Nadam(_Moments):
    """Adam that looks ahead (Dozat 2016).

    Args:
      learning_rate: a number.
      beta_1, beta_2: how much of the averages is kept.
      epsilon: is added to the divisor.
      name: name of its scope.
      **kwargs: `clipnorm`, `clipvalue`, `lr`, `schedule_decay` (of the momentum).
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_1: Any = 0.9,
        beta_2: Any = 0.999,
        epsilon: float | None = 1e-7,
        name: str = "Nadam",
        **kwargs: Any,
    ) -> None:
        kwargs["decay"] = kwargs.pop("schedule_decay", 0.004)
        if isinstance(kwargs.get("lr", learning_rate), LearningRateSchedule):
            raise ValueError(
                "The Nadam optimizer does not support tf.keras.optimizers.LearningRateSchedules as the "
                "learning "
                "rate."
            )
        super().__init__(learning_rate, beta_1, beta_2, epsilon, name, **kwargs)
        self._m_cache: Any = None

    def _create_slots(self, var_list: list[Any]) -> None:
        if self._m_cache is None:
            kind = var_list[0].dtype.base_dtype
            self._m_cache = self.add_weight(
                "momentum_cache", shape=[], dtype=kind, initializer="ones", trainable=False
            )
            self._weights.append(self._m_cache)
        super()._create_slots(var_list)

    def _prepare(self, var_list: list[Any]) -> Any:
        self._m_cache_read = ops.identity(self._m_cache)
        return super()._prepare(var_list)

    def _prepare_local(self, var_device: Any, var_dtype: Any, apply_state: Any) -> None:
        step = ops.cast(self.iterations + 1, var_dtype)
        beta_1, beta_2 = (ops.identity(self._get_hyper(name, var_dtype)) for name in ("beta_1", "beta_2"))
        base = ops.cast(0.96, var_dtype)

        def momentum(at: Any) -> Any:
            return beta_1 * (1.0 - 0.5 * ops.pow(base, self._initial_decay * at))

        now, then = momentum(step), momentum(step + 1)
        product = ops.cast(self._m_cache_read, var_dtype) * now
        if var_dtype is self._m_cache.dtype.base_dtype:
            product = ops.identity(self._m_cache.assign(product))
        apply_state[var_device, var_dtype] = {
            "lr_t": ops.identity(self._get_hyper("learning_rate", var_dtype)),
            "epsilon": ops.constant(self.epsilon, var_dtype),
            "beta1": beta_1,
            "beta2": beta_2,
            "now": now,
            "then": then,
            "product": product,
            "next_product": product * then,
            "correction": 1.0 - ops.pow(beta_2, step),
        }

    def _step(self, grad: Any, m: Any, v: Any, n: Any) -> Any:
        ahead = (1.0 - n["now"]) * grad / (1.0 - n["product"]) + n["then"] * m / (1.0 - n["next_product"])
        return n["lr_t"] * ahead / (ops.sqrt(v / n["correction"]) + n["epsilon"])

    def _resource_apply_dense(self, grad: Any, handle: Any, apply_state: Any = None) -> Any:
        n = self._numbers_for(handle, apply_state)
        m, v = self.get_slot(handle, "m"), self.get_slot(handle, "v")
        m_t = m.assign(n["beta1"] * m + (1 - n["beta1"]) * grad)
        v_t = v.assign(n["beta2"] * v + (1 - n["beta2"]) * ops.square(grad))
        return handle.assign(handle - self._step(grad, m_t, v_t, n))

    def _resource_apply_sparse(self, grad: Any, handle: Any, indices: Any, apply_state: Any = None) -> Any:
        n = self._numbers_for(handle, apply_state)
        m = self._averaged(self.get_slot(handle, "m"), indices, n["beta1"], grad)
        v = self._averaged(self.get_slot(handle, "v"), indices, n["beta2"], grad * grad)
        step = self._step(grad, ops.gather(m, indices), ops.gather(v, indices), n)
        return grouped(self._resource_scatter_add(handle, indices, -step), m, v)
