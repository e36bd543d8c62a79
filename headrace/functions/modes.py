"""Modes that a program may ask for: graphs are the only one here."""

from __future__ import annotations

from typing import Any, NoReturn

from headrace.core.errors import UnimplementedError


def executing_eagerly() -> bool:
    """Do operations run as they are called?  Never here: they build a graph."""
    return False


def _refused(what: str) -> NoReturn:
    raise UnimplementedError(None, None, f"{what} is not available: programs build and run graphs")


def enable_eager_execution(
    config: Any = None, device_policy: Any = None, execution_mode: Any = None
) -> None:
    """Ask for imperative mode, which is refused."""
    _refused("eager execution")


def disable_eager_execution() -> None:
    """Stay with graphs."""


def enable_v2_behavior() -> None:
    """Ask for TF 2's behaviour, which is refused."""
    _refused("the behaviour of TensorFlow 2")


def disable_v2_behavior() -> None:
    """Stay with TF 1's behaviour."""


def enable_v2_tensorshape() -> None:
    """Ask for shapes whose entries are plain numbers, which is refused."""
    _refused("TensorFlow 2's TensorShape")


def disable_v2_tensorshape() -> None:
    """Stay with shapes whose entries are Dimensions."""


def enable_tensor_equality() -> None:
    """Ask for `==` that compares values, which is refused."""
    _refused("comparison of tensors by value")


def disable_tensor_equality() -> None:
    """Stay with `==` that compares identity."""


def enable_control_flow_v2() -> None:
    """Ask for conditionals and loops made of functions, which is refused."""
    _refused("control flow made of functions")


def disable_control_flow_v2() -> None:
    """Stay with Switch, Merge and frames."""


def control_flow_v2_enabled() -> bool:
    """Are conditionals and loops made of functions?  No."""
    return False
