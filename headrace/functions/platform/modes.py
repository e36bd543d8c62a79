"""Modes: graphs are the only one here, so whatever a program turns off is off."""

from __future__ import annotations


def executing_eagerly() -> bool:
    """Do operations run as they are called?  Never here: they build a graph."""
    return False


def disable_eager_execution() -> None:
    """Stay with graphs."""


def disable_v2_behavior() -> None:
    """Stay with TF 1's behaviour."""


def disable_v2_tensorshape() -> None:
    """Stay with shapes whose entries are Dimensions."""


def disable_tensor_equality() -> None:
    """Stay with `==` that compares identity."""


def disable_control_flow_v2() -> None:
    """Stay with Switch, Merge and frames."""


def control_flow_v2_enabled() -> bool:
    """Are conditionals and loops made of functions?  No."""
    return False
