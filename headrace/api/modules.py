"""Modules at the places of TensorFlow's: `python.ops.math_ops`, `core.framework.graph_pb2`, `keras.layers`.

`find` gives what is here: a public namespace, an internal module by its table (api/internal), protoc's
module of a message, a module of ours.  `stand_in` also gives an `Absent` for a name that TensorFlow 1.15
has and Headrace lacks.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from headrace.api import absent, internal, recorded
from headrace.api.absent import Absent
from headrace.api.namespace import Namespace
from headrace.api.raw_ops import RENAMED
from headrace.core.modules import late
from headrace.ops.declaration import catalog
from headrace.ops.declaration.declare import snake_case

compat_v2 = late("headrace.api.compat_v2")
proto = late("headrace.formats.proto")
raw_ops = late("headrace.api.raw_ops")
wheel = late("headrace.api.wheel")


class InternalModule(ModuleType):
    """A module of TF 1.15 that is not public: its names are those of its table."""

    def __init__(self, place: str, text: str) -> None:
        super().__init__(f"headrace.{place}")
        folder = _ROOT.joinpath(*place.split("."))
        self.__path__: list[str] = [str(folder)] if folder.is_dir() else []
        self._place, self._names = place, internal.Names(text)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        value = self._find(name)
        setattr(self, name, value)
        return value

    def _find(self, name: str) -> Any:
        if name in self._names.found:
            place, there = self._names.found[name]
            return getattr(_space(place), there)
        # A module is a module though a function has the same word: python.ops.gradients.
        child = f"{self._place}.{name}"
        if find(child) is not None:
            return importlib.import_module(f"headrace.{child}")
        if self._is_generated and name[:1].isupper() and recorded.is_name(child):
            return getattr(raw_ops, name)
        if name.lstrip("_") in self._ops:
            return _generated(self.__name__, name, self._ops[name.lstrip("_")])
        if not recorded.is_name(child):  # what the module defines itself hides what it includes
            for place in reversed(self._names.included):
                if name in dir(included := find(place)):
                    return getattr(included, name)
        if self._place.split(".")[0] == "contrib":
            if (module := wheel.module(child)) is not None:
                return module
            with contextlib.suppress(AttributeError):
                return wheel.name(self._place, name)
        raise absent.error(self, self._place, name)

    @property
    def _is_generated(self) -> bool:
        """Made from the ops' declarations: each is there as a function, and as the one of tf.raw_ops."""
        return self._place.rpartition(".")[2].startswith("gen_")

    @property
    def _ops(self) -> dict[str, str]:
        return _function_names(tuple(self._names.ops))

    def __setattr__(self, name: str, value: Any) -> None:
        if not isinstance(value, Absent) and not self._hides(name, value):
            super().__setattr__(name, value)

    def _hides(self, name: str, value: Any) -> bool:
        """A module that was imported does not hide a function of its package."""
        own = isinstance(value, ModuleType) and value.__name__ == f"{self.__name__}.{name}"
        return own and name in vars(self).get("_names", _NONE).found

    def __dir__(self) -> list[str]:
        included = {name for place in self._names.included for name in dir(find(place))}
        own = (name for name in vars(self) if not name.startswith("_"))
        hidden = recorded.names("internal").get(self._place, {}) if included else {}
        return sorted({*self._names.found, *self._ops, *(included - hidden.keys()), *own})

    def __repr__(self) -> str:
        return f"<module {self.__name__!r}>"


_ROOT = Path(__file__).parent.parent
_NONE = internal.Names("")


def _space(place: str) -> Any:
    """Where a table looks: a namespace of tf, or a module of ours."""
    if place.startswith("headrace."):
        return importlib.import_module(place)
    space: Any = sys.modules["headrace"]
    for word in place.split(".") if place else ():
        space = getattr(space, word)
    return space


@cache
def _function_names(ops: tuple[str, ...]) -> dict[str, str]:
    return {snake_case(op): op for op in ops}


def _generated(module: str, name: str, op: str) -> Callable[..., Any]:
    return catalog.find(op).as_function(module, name, RENAMED.get(op))


# -- what is where --------------------------------------------------------------------------------
@cache
def find(place: str) -> ModuleType | None:
    """The module at a place below `tensorflow.`, or None."""
    words = place.split(".")
    if words[:2] == ["compat", "v1"]:
        return find(".".join(words[2:])) if words[2:] else sys.modules["headrace"]
    if words[:2] == ["compat", "v2"]:
        second: ModuleType | None = compat_v2.space(".".join(words[2:]))
        return second
    found = sys.modules.get(f"headrace.{place}")
    if isinstance(found, Namespace):
        return found
    tables = internal.modules()
    if place in tables:
        whole = internal.Names(tables[place]).whole
        return importlib.import_module(whole) if whole else InternalModule(place, tables[place])
    if any(known.startswith(f"{place}.") for known in tables):
        return InternalModule(place, "")
    return _messages(place) or _public_module(place)


def _messages(place: str) -> ModuleType | None:
    """core.framework.graph_pb2: the messages of tensorflow/core/framework/graph.proto."""
    if not place.startswith("core"):
        return None

    path = f"tensorflow/{place.replace('.', '/')}"
    if any(known.startswith(f"{path}/") for known in proto.paths()):
        return InternalModule(place, "")
    file = f"{path.removesuffix('_pb2')}.proto"
    if not path.endswith("_pb2") or file not in proto.paths():
        return None
    module = ModuleType(f"headrace.{place}")
    module.__dict__.update(proto.contents(file))
    return module


def _public_module(place: str) -> ModuleType | None:
    """A public name that is a module of ours: tf.errors, tf.raw_ops."""
    parent, _, name = place.rpartition(".")
    space = find(parent) if parent else sys.modules["headrace"]
    if not isinstance(space, Namespace) or name not in space._homes:
        return None
    value = getattr(space, name)
    return value if isinstance(value, ModuleType) else None


@cache
def stand_in(place: str) -> ModuleType | None:
    """What `import tensorflow.PLACE` gives: what is here, or something that says that it is not."""
    found = find(place)
    if found is not None:
        return found
    parent, _, name = place.rpartition(".")
    space = stand_in(parent) if parent else sys.modules["headrace"]
    is_absent = recorded.is_name(place) and name not in dir(space)
    if is_absent or isinstance(space, Absent):  # of absent modules, not all names are recorded
        return Absent(f"headrace.{place}", place)
    return None


def missing(place: str) -> ModuleNotFoundError | None:
    """The error for a name that TensorFlow has not either, where another one was probably meant."""
    parent, _, name = place.rpartition(".")
    space = stand_in(parent) if parent else sys.modules["headrace"]
    if space is None or name.startswith("_") or name in dir(space):
        return None
    near = absent.nearest(space, parent, name)
    if near is None:
        return None
    # Without the argument `name`: `from ... import` hides errors that name what it tries.
    return ModuleNotFoundError(f"no module or name {absent.shown(place)}. Did you mean {near}?")
