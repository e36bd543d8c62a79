"""Learning rates as functions of the step, by name."""

from __future__ import annotations

from typing import Any

from headrace.layers.engine.registry import Family, serialize_keras_object
from headrace.train.schedules import schedules

_family = Family("decay", lambda: vars(schedules))


def serialize(learning_rate_schedule: Any) -> Any:
    """A schedule's class and arguments."""
    return serialize_keras_object(learning_rate_schedule)


def deserialize(config: Any, custom_objects: Any = None) -> Any:
    """The schedule that `serialize` described."""
    return _family.deserialize(config, custom_objects)
