"""`import tensorflow` means headrace: a finder that makes modules of that name out of our namespaces.

`tensorflow.nn` is `headrace.nn`; a module below `tensorflow.python`, `.core` or `.contrib` that has no
namespace of its own offers public names by their last part (`tensorflow.python.ops.math_ops.reduce_sum`),
and messages (`tensorflow.core.framework.graph_pb2.GraphDef`).  `tinyflow` is the same interface under
its teaching name.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from headrace.version import TF_VERSION

_ROOTS = ("tensorflow", "tinyflow")
# Modules whose home is not found by their name alone.
_HOMES = {
    "tensorflow.examples.tutorials.mnist.input_data": "headrace.datasets",
    "tensorflow.contrib.learn.python.learn.datasets.mnist": "headrace.datasets",
    "tensorflow.python.tools.freeze_graph": "headrace.tools.freeze_graph",
    "tensorflow.python.tools.strip_unused_lib": "headrace.tools.strip_unused",
    "tensorflow.python.tools.optimize_for_inference_lib": "headrace.tools.optimize_for_inference",
    "tensorflow.python.tools.inspect_checkpoint": "headrace.tools.inspect_checkpoint",
    "tensorflow.tools.graph_transforms": "headrace.tools.transforms.transform_graph",
    "tinyflow.datasets": "headrace.datasets",
}
# Where a bare name is looked for, after the root.
_ORDER = (
    "",
    "nn",
    "math",
    "train",
    "layers",
    "losses",
    "metrics",
    "data",
    "image",
    "linalg",
    "strings",
)


class Module(ModuleType):
    """A module whose names are public names of headrace."""

    def __init__(self, name: str, target: Any) -> None:
        super().__init__(name)
        self.__path__: list[str] = []
        self.__file__ = f"<headrace as {name}>"
        self._target = target

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            if name == "__version__":
                return TF_VERSION
            raise AttributeError(name)
        value = _find(self._target, self.__name__, name)
        setattr(self, name, value)
        return value

    def __dir__(self) -> list[str]:
        return dir(self._target) if self._target is not None else []


def _find(target: Any, module: str, name: str) -> Any:
    if target is not None:
        try:
            return getattr(target, name)
        except AttributeError:
            if module in _ROOTS:
                raise
    child = f"{module}.{name}"
    if _target_of(child) is not None:
        return importlib.import_module(child)
    import headrace

    for place in _ORDER:
        space: Any = headrace
        for part in place.split(".") if place else ():
            space = getattr(space, part, None)
        if space is not None and hasattr(space, name):
            return getattr(space, name)
    if "_pb2" in module:
        from headrace.formats import proto

        if hasattr(proto, name):
            return getattr(proto, name)
    raise AttributeError(f"module {module!r} has no attribute {name!r}")


def _target_of(name: str) -> Any:
    """The namespace that a module name stands for, or None."""
    import headrace

    if name in _HOMES:
        return importlib.import_module(_HOMES[name])
    words = name.split(".")[1:]
    if words[:2] == ["compat", "v1"]:
        words = words[2:]
    if words[:1] == ["python"]:
        return _by_last_word(words)
    space: Any = headrace
    for word in words:
        space = getattr(space, word, None)
        if space is None:
            return _by_last_word(words)
    return space


def _by_last_word(words: Sequence[str]) -> Any:
    """tensorflow.python.platform.gfile -> tf.gfile, tensorflow.python.keras.layers -> tf.keras.layers."""
    import headrace

    for start in range(len(words)):
        space: Any = headrace
        for word in words[start:]:
            space = getattr(space, word, None)
            if space is None:
                break
        if isinstance(space, ModuleType):
            return space
    return None


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds `tensorflow` and everything below it."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        if fullname.partition(".")[0] not in _ROOTS:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: Any) -> ModuleType:
        if _is_internal(spec.name):
            return Module(spec.name, _target_of(spec.name))
        found = _target_of(spec.name)
        if found is None:
            raise ModuleNotFoundError(f"No module named {spec.name!r}", name=spec.name)
        return Module(spec.name, found)

    def exec_module(self, module: ModuleType) -> None:
        if module.__name__ in _ROOTS:
            module.__dict__["VERSION"] = TF_VERSION
            module.__dict__["__version__"] = TF_VERSION


def _is_internal(name: str) -> bool:
    """Modules that TF has without a public namespace: their names are found one by one."""
    return name.split(".")[1:2] in (["python"], ["core"], ["contrib"], ["examples"], ["tools"])


_finder = Finder()


def install() -> None:
    """From now on, `import tensorflow` and `import tinyflow` give headrace."""
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
