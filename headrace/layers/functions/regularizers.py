"""Losses that weights add: sums of their sizes and squares."""

from __future__ import annotations

from typing import Any

from headrace.layers import ops
from headrace.layers.engine.config import floatx
from headrace.layers.engine.registry import Family, serialize_keras_object


class Regularizer:
    """A function from a tensor to a loss."""

    def __call__(self, x: Any) -> Any:
        return 0.0

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """A regularizer from what `get_config` returned."""
        return cls(**config)


class L1L2(Regularizer):
    """l1 times the sum of sizes, and l2 times the sum of squares.

    Args:
      l1, l2: what the two count.
    """

    def __init__(self, l1: float = 0.0, l2: float = 0.0) -> None:
        self.l1, self.l2 = float(l1), float(l2)

    def __call__(self, x: Any) -> Any:
        if not self.l1 and not self.l2:
            return ops.constant(0.0, floatx())
        loss: Any = 0.0
        if self.l1:
            loss += ops.reduce_sum(self.l1 * ops.abs(x))
        if self.l2:
            loss += ops.reduce_sum(self.l2 * ops.square(x))
        return loss

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal one."""
        return {"l1": self.l1, "l2": self.l2}


def l1(l: float = 0.01) -> L1L2:
    """The sum of sizes, times `l`."""
    return L1L2(l1=l)


def l2(l: float = 0.01) -> L1L2:
    """The sum of squares, times `l`."""
    return L1L2(l2=l)


def l1_l2(l1: float = 0.01, l2: float = 0.01) -> L1L2:
    """Both."""
    return L1L2(l1=l1, l2=l2)


_family = Family("regularizer", lambda: {"L1L2": L1L2, "l1": l1(), "l2": l2(), "l1_l2": l1_l2()})


def serialize(regularizer: Any) -> Any:
    """A regularizer's class and arguments."""
    return serialize_keras_object(regularizer)


def deserialize(config: Any, custom_objects: Any = None) -> Any:
    """The regularizer that `serialize` described."""
    return _family.deserialize(config, custom_objects)


def get(identifier: Any) -> Any:
    """A regularizer from itself, its name or its configuration."""
    return _family.get(identifier)
