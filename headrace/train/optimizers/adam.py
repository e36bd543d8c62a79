"""Adam (Kingma and Ba) and Adadelta (Zeiler)."""

from __future__ import annotations

from typing import Any

from headrace.functions.control.grouping import group
from headrace.functions.control.init_scope import init_scope
from headrace.functions.math.cast import cast
from headrace.graph.defaults import get_default_graph
from headrace.ops.math.exponential import sqrt
from headrace.ops.state import update
from headrace.ops.state.scatter_update import RESOURCE_SCATTER
from headrace.train.optimizers.base import Optimizer
from headrace.train.optimizers.rule import Number
from headrace.variables.update import assign, assign_sub, scatter_add


class AdamOptimizer(Optimizer):
    """Steps from bias-corrected averages of the gradient (m) and of its square (v).

    A sparse gradient counts as zero where it has no rows: all rows of m, v and the variable move.
    """

    _numbers = (
        Number("lr", "_lr", "_lr_t", "learning_rate"),
        Number("beta1", "_beta1", "_beta1_t", "beta1"),
        Number("beta2", "_beta2", "_beta2_t", "beta2"),
        Number("epsilon", "_epsilon", "_epsilon_t", "epsilon"),
    )

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "Adam",
    ) -> None:
        """Args:
        learning_rate: a number, a tensor, or a function that returns one.
        beta1: how much of the average of gradients is kept in a step.
        beta2: how much of the average of squared gradients is kept in a step.
        epsilon: keeps the divisor above zero.
        use_locking: kept for compatibility; updates are always atomic here.
        name: name of the optimizer's scope and slots.
        """
        super().__init__(use_locking, name)
        self._lr, self._beta1, self._beta2, self._epsilon = learning_rate, beta1, beta2, epsilon
        self._lr_t = self._beta1_t = self._beta2_t = self._epsilon_t = None

    def _get_beta_accumulators(self) -> tuple[Any, Any]:
        """beta1 and beta2 to the power of the number of steps."""
        with init_scope():
            graph = get_default_graph()
            return (
                self._get_non_slot_variable("beta1_power", graph=graph),
                self._get_non_slot_variable("beta2_power", graph=graph),
            )

    def _create_slots(self, var_list: list[Any]) -> None:
        # One device for the powers, whatever order the variables come in.
        first = min(var_list, key=lambda v: v.name)
        for value, name in ((self._beta1, "beta1_power"), (self._beta2, "beta2_power")):
            self._create_non_slot_variable(self._call_if_callable(value), name, first)
        for v in var_list:
            self._zeros_slot(v, "m", self._name)
            self._zeros_slot(v, "v", self._name)

    def _rule(self) -> Any:
        return update.adam

    def _slot_order(self) -> tuple[str, ...]:
        return ("m", "v")

    def _inputs(self, var: Any, dtype: Any) -> dict[str, Any]:
        power1, power2 = self._get_beta_accumulators()
        powers = {"beta1_power": cast(power1, dtype), "beta2_power": cast(power2, dtype)}
        return powers | super()._inputs(var, dtype)

    def _apply_sparse_shared(self, grad: Any, var: Any, indices: Any, scatter_add: Any) -> Any:
        number = self._inputs(var, var.dtype.base_dtype)
        rate = number["lr"] * sqrt(1 - number["beta2_power"]) / (1 - number["beta1_power"])
        m = self._decayed("m", var, number["beta1"], grad * (1 - number["beta1"]), indices, scatter_add)
        v = self._decayed(
            "v", var, number["beta2"], grad * grad * (1 - number["beta2"]), indices, scatter_add
        )
        root = sqrt(v)
        step = rate * m / (root + number["epsilon"])
        done = assign_sub(var, step, use_locking=self._use_locking)
        return group(done, m, v)

    def _decayed(self, name: str, var: Any, beta: Any, rows: Any, indices: Any, scatter_add: Any) -> Any:
        """slot = slot * beta, then rows added."""
        slot = self.get_slot(var, name)
        faded = assign(slot, slot * beta, use_locking=self._use_locking)
        with get_default_graph().control_dependencies([faded]):
            return scatter_add(slot, indices, rows)

    def _apply_sparse(self, grad: Any, var: Any) -> Any:
        return self._apply_sparse_shared(
            grad.values,
            var,
            grad.indices,
            lambda x, i, v: scatter_add(x, i, v, use_locking=self._use_locking),
        )

    def _resource_scatter_add(self, x: Any, i: Any, v: Any) -> Any:
        done = RESOURCE_SCATTER["add"](x.handle, i, v)
        with get_default_graph().control_dependencies([done]):
            return x.value()

    def _resource_apply_sparse(self, grad: Any, var: Any, indices: Any) -> Any:
        return self._apply_sparse_shared(grad, var, indices, self._resource_scatter_add)

    def _finish(self, update_ops: list[Any], name_scope: str) -> Any:
        graph = get_default_graph()
        with graph.control_dependencies(update_ops):
            power1, power2 = self._get_beta_accumulators()
            with graph.colocate_with(power1.op):
                raised = [
                    power.assign(power * beta, use_locking=self._use_locking)
                    for power, beta in ((power1, self._beta1_t), (power2, self._beta2_t))
                ]
        return group(*update_ops, *raised, name=name_scope)


class AdadeltaOptimizer(Optimizer):
    """Step sizes from decaying averages of squared gradients and of squared updates."""

    _numbers = (
        Number("lr", "_lr", "_lr_t", "lr"),
        Number("rho", "_rho", "_rho_t", "rho"),
        Number("epsilon", "_epsilon", "_epsilon_t", "epsilon"),
    )

    def __init__(
        self,
        learning_rate: Any = 0.001,
        rho: Any = 0.95,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "Adadelta",
    ) -> None:
        """Args:
        learning_rate: a number, a tensor, or a function that returns one; 1 in the paper.
        rho: how much of the averages is kept in a step.
        epsilon: keeps roots and divisors above zero.
        use_locking: kept for compatibility; updates are always atomic here.
        name: name of the optimizer's scope and slots.
        """
        super().__init__(use_locking, name)
        self._lr, self._rho, self._epsilon = learning_rate, rho, epsilon

    def _create_slots(self, var_list: list[Any]) -> None:
        for v in var_list:
            self._zeros_slot(v, "accum", self._name)
            self._zeros_slot(v, "accum_update", self._name)

    def _rule(self) -> Any:
        return update.adadelta

    def _slot_order(self) -> tuple[str, ...]:
        return ("accum", "accum_update")
