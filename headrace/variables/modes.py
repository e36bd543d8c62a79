"""How a variable behaves under replication: when copies are brought together, and how."""

from __future__ import annotations

from enum import Enum
from typing import Any


class VariableSynchronization(Enum):
    """When the copies of a replicated variable are brought together."""

    AUTO = 0  # the distribution strategy decides
    NONE = 1  # there is one copy
    ON_WRITE = 2  # at every update
    ON_READ = 3  # when the value is read or saved


class VariableAggregation(Enum):
    """How updates of a replicated variable are combined."""

    NONE = 0
    SUM = 1
    MEAN = 2
    ONLY_FIRST_REPLICA = 3
    ONLY_FIRST_TOWER = 3  # the name before TF 1.13


class VariableAggregationV2(Enum):
    """The same, as `tf.compat.v2` shows it; equal to the members of VariableAggregation."""

    NONE = 0
    SUM = 1
    MEAN = 2
    ONLY_FIRST_REPLICA = 3

    def __hash__(self) -> int:
        return hash(self.value)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, (VariableAggregation, VariableAggregationV2)):
            return bool(self.value == other.value)
        return False


def checked_modes(
    synchronization: Any, aggregation: Any, trainable: bool | None, name: Any
) -> tuple[VariableSynchronization, Any, bool]:
    """The modes with their defaults filled in.  A variable synchronised on read is not trained."""
    if aggregation is None:
        aggregation = VariableAggregation.NONE
    elif not isinstance(aggregation, (VariableAggregation, VariableAggregationV2)):
        try:
            aggregation = VariableAggregation(aggregation)
        except ValueError:
            raise ValueError(
                f"Invalid variable aggregation mode: {aggregation} for variable: {name}"
            ) from None
    if synchronization is None:
        synchronization = VariableSynchronization.AUTO
    try:
        synchronization = VariableSynchronization(synchronization)
    except ValueError:
        raise ValueError(
            f"Invalid variable synchronization mode: {synchronization} for variable: {name}"
        ) from None
    if trainable is None:
        trainable = synchronization is not VariableSynchronization.ON_READ
    return synchronization, aggregation, trainable
