"""Functions in a layer's configuration: by name and module, or, a lambda, by its code."""

from __future__ import annotations

import base64
import marshal
import sys
import types
from collections.abc import Callable
from typing import Any


def dumped(key: str, function: Callable[..., Any]) -> dict[str, Any]:
    """Entries `key`, `key`_type and `key`_module of a configuration."""
    if isinstance(function, types.LambdaType):
        cells = function.__closure__
        closure = None if cells is None else tuple(cell.cell_contents for cell in cells)
        code = base64.b64encode(marshal.dumps(function.__code__)).decode("ascii")
        held: Any = (code, function.__defaults__, closure)
        kind = "lambda"
    elif callable(function):
        held, kind = function.__name__, "function"
    else:
        raise ValueError(f"Unrecognized function type for input: {type(function)}")
    return {key: held, f"{key}_type": kind, f"{key}_module": function.__module__}


def loaded(key: str, config: dict[str, Any], custom_objects: Any = None) -> Any:
    """The function that `dumped` described, taken out of the configuration; None if none is there."""
    if key not in config:
        return None
    held, kind = config.pop(key), config.pop(f"{key}_type")
    module = sys.modules.get(config.pop(f"{key}_module", None) or "")
    names = dict(vars(module)) if module is not None else {}
    names |= custom_objects or {}
    if kind == "lambda":
        return _function(held, names)
    if kind != "function":
        raise TypeError("Unknown function type:", kind)
    if callable(held):
        return held
    if held not in names:
        raise ValueError(f"Unknown function in wrapper: {held}")
    return names[held]


def _function(held: Any, names: dict[str, Any]) -> Callable[..., Any]:
    text, defaults, closure = held
    code = marshal.loads(base64.b64decode(text))
    cells = None if closure is None else tuple(types.CellType(value) for value in closure)
    defaults = None if defaults is None else tuple(defaults)
    return types.FunctionType(code, {"__builtins__": __builtins__, **names}, None, defaults, cells)
