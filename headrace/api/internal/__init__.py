"""TF 1.15's internal modules: which names a program finds there, and what they are here.

    MODULES = {"python.layers.core": "layers/ Dense dense fully_connected=dense"}

The text of a module is read word by word:

    layers/             what follows is found in tf.layers; "/" is tf itself, "headrace.x.y/" a module of ours
    dense               a name, of the same name there
    new=old             a name that is called otherwise there
    *python.ops.nn_ops  all names of another module, as after `from ... import *`
    @MatMul             an op as a generated function: mat_mul, and _mat_mul
    =headrace.datasets  the whole module is this one of ours

One table per module, so that one word in two modules is what it is in each: `conv2d` in
python.layers.convolutional is tf.layers.conv2d, in python.ops.nn_ops tf.nn.conv2d.
"""

from __future__ import annotations

import importlib
from functools import cache

FILES = (
    "columns",
    "contrib",
    "distributions",
    "framework",
    "generated",
    "keras",
    "layers",
    "ops",
    "ops_packages",
    "platform",
    "training",
    "util",
)


@cache
def modules() -> dict[str, str]:
    """The text of every module, by its path below `tensorflow.`."""
    tables = [importlib.import_module(f"{__name__}.{name}").MODULES for name in FILES]
    return {place: text for table in tables for place, text in table.items()}


class Names:
    """The words of a module, sorted by kind."""

    def __init__(self, text: str) -> None:
        self.found: dict[str, tuple[str, str]] = {}  # name -> (place, name there)
        self.ops: list[str] = []
        self.included: list[str] = []
        self.whole: str | None = None
        place = ""
        for word in text.split():
            if word.endswith("/"):
                place = word[:-1]
            elif word[0] == "*":
                self.included.append(word[1:])
            elif word[0] == "@":
                self.ops.append(word[1:])
            elif word[0] == "=":
                self.whole = word[1:]
            else:
                name, _, there = word.partition("=")
                self.found[name] = (place, there or name)
