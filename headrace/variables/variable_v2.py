"""tf.compat.v2.Variable: a variable by handle, whose arguments have TF 2's order."""

from __future__ import annotations

from typing import Any

from headrace.variables.modes import VariableAggregation, VariableSynchronization
from headrace.variables.variable import Variable


class _Kind(type):
    """Calling it makes a variable; every variable is an instance."""

    def __call__(
        cls,
        initial_value: Any = None,
        trainable: bool | None = None,
        validate_shape: bool = True,
        caching_device: Any = None,
        name: str | None = None,
        variable_def: Any = None,
        dtype: Any = None,
        import_scope: str | None = None,
        constraint: Any = None,
        synchronization: Any = VariableSynchronization.AUTO,
        aggregation: Any = VariableAggregation.NONE,
        shape: Any = None,
    ) -> Any:
        return Variable(
            initial_value=initial_value,
            trainable=True if trainable is None else trainable,
            validate_shape=validate_shape,
            caching_device=caching_device,
            name=name,
            variable_def=variable_def,
            dtype=dtype,
            import_scope=import_scope,
            constraint=constraint,
            synchronization=synchronization,
            aggregation=aggregation,
            shape=shape,
            use_resource=True,
        )

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Variable)


class VariableV2(metaclass=_Kind):
    """State that outlives a step, by handle."""

    SaveSliceInfo = Variable.SaveSliceInfo
