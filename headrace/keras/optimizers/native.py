"""tf.train's optimizers in Keras' training."""

from __future__ import annotations

from typing import Any

from headrace.layers import ops
from headrace.layers.engine.weight_values import read_weights, track


class TFOptimizer:
    """An optimizer of tf.train as Keras calls it.

    Args:
      optimizer: the optimizer.
      iterations: a variable that counts updates.
    """

    def __init__(self, optimizer: Any, iterations: Any = None) -> None:
        self.optimizer, self._iterations = optimizer, iterations

    @property
    def iterations(self) -> Any:
        """How many updates there have been."""
        if self._iterations is None:
            with ops.init_scope(), ops.name_scope("TFOptimizer"):
                self._iterations = ops.Variable(
                    ops.constant(0, "int64"), name="iterations", trainable=False, use_resource=True
                )
            track(self._iterations)
        return self._iterations

    def get_gradients(self, loss: Any, params: Any) -> list[Any]:
        """The gradients of a loss by variables."""
        return [gradient for gradient, _ in self.optimizer.compute_gradients(loss, params)]

    def get_updates(self, loss: Any, params: Any) -> list[Any]:
        """Nodes that make a loss smaller, once."""
        counter = self.iterations
        if not params:
            return [counter.assign_add(1)]
        pairs = self.optimizer.compute_gradients(loss, params)
        update = self.optimizer.apply_gradients(pairs, global_step=counter)
        for variable in self.optimizer.variables():
            track(variable)
        return [update]

    def apply_gradients(self, grads_and_vars: Any) -> Any:
        """Update variables by their gradients."""
        return self.optimizer.apply_gradients(list(grads_and_vars), global_step=self.iterations)

    @property
    def weights(self) -> list[Any]:
        raise NotImplementedError

    def get_weights(self) -> list[Any]:
        """The values of the variables."""
        return read_weights(self.optimizer.variables())

    def get_config(self) -> dict[str, Any]:
        raise NotImplementedError

    def from_config(self, config: Any) -> Any:
        raise NotImplementedError
