"""tf.app.flags: absl's, as in TF 1.15, where absl is installed; else our own (own_flags.py).

    flags.DEFINE_integer("steps", 100, "how many")     # --steps=5, --steps 5, -steps=5
    flags.FLAGS.steps

The command line is read when a flag is first asked for, or by tf.app.run.
"""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

_PLACE = "headrace.functions.platform"
_source = importlib.import_module(
    f"{_PLACE}.{'own_flags' if importlib.util.find_spec('absl') is None else 'absl_flags'}"
)


def __getattr__(name: str) -> Any:
    if name.startswith("__") and name.endswith("__"):
        raise AttributeError(name)
    return getattr(_source, name)


def __dir__() -> list[str]:
    return [name for name in dir(_source) if not name.startswith("_")]
