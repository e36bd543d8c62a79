"""The names of TF 1.15, nothing else: tables by family, resolved on first use.

A family's table says which module has which public names:

    NAMES = {"headrace.functions.math.reduce": "{,math.}reduce_sum {,math.}reduce_mean all=reduce_all"}

A word is a public name below `tf.` (braces give several places); the internal name is its last part,
or what stands behind "=" ("." for the module itself).
"""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any

from headrace.api import packages
from headrace.api.namespace import Home, Namespace, expand

FAMILIES = (
    "framework", "gradients", "values.math", "values.array", "values.linalg", "values.signal", "learning.nn",
    "values.image", "values.random", "variables", "learning.train", "values.string", "values.sparse",
    "values.quantized", "session", "control_flow", "data", "io", "learning.layers", "learning.losses",
    "learning.metrics", "learning.columns", "learning.summary", "lookup", "distributions",
    "distributed", "saved_model",
    "platform", "contrib", "contrib_layers", "eager", "learning.keras", "learning.estimator",
)  # fmt: skip


def fill(root: Any) -> None:
    """Give the package `root` its public names and namespaces."""
    homes: dict[str, dict[str, Home]] = {"": {}}
    known: dict[tuple[str, str], Home] = {}
    for family in FAMILIES:
        table = importlib.import_module(f"headrace.api.tables.{family}").NAMES
        for module, text in table.items():
            for place, name, internal in expand(text):
                public = (f"{root.__name__}.{place}".rstrip("."), name)
                home = known.setdefault((module, internal), Home(module, internal, public))
                homes.setdefault(place, {})[name] = home
    spaces: dict[str, Any] = {"": root}
    for place in sorted(homes):
        _space(spaces, place)._homes.update(homes[place])
    packages.attach(root)


@cache
def public_places() -> dict[str, list[str]]:
    """Where a public name is found, by its last word."""
    places: dict[str, list[str]] = {}
    for family in FAMILIES:
        for text in importlib.import_module(f"headrace.api.tables.{family}").NAMES.values():
            for place, name, _ in expand(text):
                places.setdefault(name, []).append(place)
    return places


def _space(spaces: dict[str, Any], place: str) -> Any:
    if place not in spaces:
        parent, _, name = place.rpartition(".")
        owner = _space(spaces, parent)
        space = Namespace(f"{owner.__name__}.{name}")
        space.attach(owner, name)
        spaces[place] = space
    return spaces[place]
