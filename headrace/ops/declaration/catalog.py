"""Where the declarations are.  Families load when one of their ops is used; `load_all` loads them all."""

from __future__ import annotations

import importlib
import pkgutil

import headrace.ops
from headrace.core.errors import NotFoundError
from headrace.ops.declaration.declare import REGISTRY, Op

_loaded = False


def load_all() -> None:
    """Import every module of ops/, so that the registry is complete."""
    global _loaded
    if _loaded:
        return
    for module in pkgutil.walk_packages(headrace.ops.__path__, "headrace.ops."):
        importlib.import_module(module.name)
    _loaded = True


def find(name: str) -> Op:
    """The op of this name; the rest of the families load only if it is not there yet."""
    if name not in REGISTRY:
        load_all()
    if name not in REGISTRY:
        raise NotFoundError(
            None,
            None,
            f"Op type not registered '{name}'. Make sure the Op and Kernel are registered in the "
            "binary running in this process.",
        )
    return REGISTRY[name]
