"""The weights of a layer: variables, made by `add_weight`, trained or not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.dtypes import DTypeLike, as_dtype
from headrace.core.fields import reads
from headrace.layers.engine.contributions import Contributions
from headrace.layers.engine.identifiers import get_initializer
from headrace.layers.engine.weight_values import read_weights, track, write_weights
from headrace.variables.initializers.initializers import GlorotUniform, Zeros
from headrace.variables.modes import VariableAggregation, VariableSynchronization
from headrace.variables.variable import Variable


class Weights(Contributions):
    """The part of Layer that keeps its variables."""

    built: bool
    trainable: Any
    dtype: Any
    _keeps_own_weights = True  # in variables that Keras initialises
    _type: str | None
    _trainable_weights: list[Any]
    _non_trainable_weights: list[Any]

    @property
    def trainable_weights(self) -> list[Any]:
        """The weights to train: none where the layer is not trained."""
        if not self.trainable:
            return []
        return [*self._trainable_weights, *self._of_parts("trainable_weights")]

    @property
    def non_trainable_weights(self) -> list[Any]:
        if self.trainable:
            return [*self._non_trainable_weights, *self._of_parts("non_trainable_weights")]
        return [*self._trainable_weights, *self._non_trainable_weights, *self._of_parts("weights")]

    @property
    def weights(self) -> list[Any]:
        """All variables: first those that are trained."""
        return self.trainable_weights + self.non_trainable_weights

    variables: Any = reads("weights", "The same as `weights`.")
    trainable_variables: Any = reads("trainable_weights")
    non_trainable_variables: list[Any] = reads("non_trainable_weights")

    def add_weight(
        self,
        name: str | None = None,
        shape: Any = None,
        dtype: DTypeLike | None = None,
        initializer: Any = None,
        regularizer: Callable[..., Any] | None = None,
        trainable: bool | None = None,
        constraint: Callable[..., Any] | None = None,
        partitioner: Callable[..., Any] | None = None,
        use_resource: bool | None = None,
        synchronization: Any = VariableSynchronization.AUTO,
        aggregation: Any = VariableAggregation.NONE,
        **kwargs: Any,
    ) -> Any:
        """Make a variable of the layer.

        Args:
          name: its name.
          shape: its shape; default a scalar.
          dtype: element type; default that of the layer, else float32.
          initializer: an initializer or its name; default Glorot's, zeros for integers.
          regularizer: function from the variable to a loss.
          trainable: is it to be trained?  Default True unless it is synchronised on read.
          constraint: function that optimizers apply to the new value.
          partitioner: cuts the variable into parts.
          use_resource: a variable by handle?
          synchronization: when copies in a replicated program are brought together.
          aggregation: how updates in a replicated program are combined.
          **kwargs: `getter`, the function that makes it; `collections`, where to add it.

        Returns:
          The variable.
        """
        for key in kwargs:
            if key not in ("getter", "collections", "experimental_autocast"):
                raise TypeError("Unknown keyword argument:", key)
        kind = as_dtype(dtype or self.dtype or dtypes.float32)
        if self._type is None:
            self._type = kind.base_dtype.name
        trainable = is_trained(trainable, synchronization)
        variable = kwargs.get("getter", make_variable)(
            name=name,
            shape=() if shape is None else shape,
            dtype=kind,
            initializer=self._initializer_of(initializer, name, kind),
            trainable=trainable,
            constraint=constraint,
            partitioner=partitioner,
            use_resource=use_resource,
            collections=kwargs.get("collections"),
            synchronization=synchronization,
            aggregation=aggregation,
        )
        if self._keeps_own_weights:
            track(variable)
        if regularizer is not None:
            inside = variable.name.partition(":")[0]
            self._handle_weight_regularization(inside, variable, regularizer)
        (self._trainable_weights if trainable else self._non_trainable_weights).append(variable)
        return variable

    def add_variable(self, *args: Any, **kwargs: Any) -> Any:
        """The old name of `add_weight`."""
        return self.add_weight(*args, **kwargs)

    def _initializer_of(self, initializer: Any, name: str | None, dtype: Any) -> Any:
        found = get_initializer(initializer)
        if found is not None:
            return found
        if dtype.is_floating:
            return GlorotUniform()
        if dtype.is_integer or dtype.is_bool:
            return Zeros()
        raise ValueError(
            f"An initializer for variable {name} of type {dtype.base_dtype} is required for layer {self.name}"
        )

    def count_params(self) -> int:
        """How many numbers the weights hold together."""
        if not self.built:
            raise ValueError(
                f"You tried to call `count_params` on {self.name}, but the layer isn't built. You "
                f"can build it manually via: `{self.name}.build(batch_input_shape)`."
            )
        return int(sum(np.prod(weight.shape.as_list()) for weight in self.weights))

    def get_weights(self) -> list[Any]:
        """The values of the weights."""
        return read_weights(self.weights)

    def set_weights(self, weights: Any) -> None:
        """Give the weights new values: a list of arrays, as `get_weights` returns."""
        write_weights(self.name, self.weights, weights)


def is_trained(trainable: bool | None, synchronization: Any) -> bool:
    if synchronization != VariableSynchronization.ON_READ:
        return True if trainable is None else trainable
    if trainable:
        raise ValueError(
            "Synchronization value can be set to VariableSynchronization.ON_READ only for "
            "non-trainable variables. You have specified trainable=True and "
            "synchronization=VariableSynchronization.ON_READ."
        )
    return False


def make_variable(
    name: str | None,
    shape: Any,
    dtype: Any,
    initializer: Any,
    partitioner: Callable[..., Any] | None = None,
    use_resource: bool | None = None,
    **options: Any,
) -> Any:
    """A variable named by the name scopes around, not shared by name: Keras' way."""
    from_value = not callable(initializer)
    return Variable(
        initial_value=initializer if from_value else lambda: initializer(shape, dtype=dtype),
        name=name,
        dtype=None if from_value else dtype.base_dtype,
        use_resource=True if use_resource is None else use_resource,
        shape=shape or None,
        **options,
    )
