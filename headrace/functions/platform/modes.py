"""Modes.  Eager execution is switched on in `headrace.eager`; TF 2's other ways are not taken."""

from __future__ import annotations

from headrace.graph.defaults import get_default_graph


def executing_eagerly() -> bool:
    """Do operations run as they are called, instead of building a graph?"""
    return get_default_graph().runs_at_once


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
