"""tensorflow.python.tf2: is TF 2's behaviour on?  Programs may ask for it; graphs stay TF 1's."""

from __future__ import annotations

import os

_forced: bool | None = None


def enable() -> None:
    """Say yes from now on."""
    global _forced
    _forced = True


def disable() -> None:
    """Say no from now on."""
    global _forced
    _forced = False


def enabled() -> bool:
    return os.environ.get("TF2_BEHAVIOR", "0") != "0" if _forced is None else _forced
