"""What is still there and behaves in another way: arguments that are refused now, methods that are gone."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

from headrace.aged.notes import note


def numpy(module: ModuleType) -> None:
    """np.array(copy=False) copies where it has to; rows of different lengths become an array of objects."""
    for name in ("array", "asarray", "asanyarray"):
        setattr(module, name, _lenient(getattr(module, name), name))


def _lenient(make: Callable[..., Any], name: str) -> Callable[..., Any]:
    @functools.wraps(make)
    def lenient(*args: Any, **kwargs: Any) -> Any:
        if kwargs.get("copy", True) is False:
            note(f"numpy.{name}(copy=False) that copies where it has to", "it does so here")
            kwargs["copy"] = None
        try:
            return make(*args, **kwargs)
        except ValueError as error:
            if "inhomogeneous" not in str(error) or len(args) > 1 or "dtype" in kwargs:
                raise
        note(f"numpy.{name} of rows of different lengths", "it is an array of objects here")
        return make(*args, **kwargs, dtype=object)

    return lenient


def yaml(module: ModuleType) -> None:
    """yaml.load(stream) without a loader loads plain data."""
    load = module.load

    @functools.wraps(load)
    def plain(stream: Any, Loader: Any = None) -> Any:
        if Loader is None:
            note("yaml.load without a Loader", "it is yaml.safe_load here")
            Loader = module.SafeLoader
        return load(stream, Loader)

    module.load = plain  # type: ignore[attr-defined]


def pandas(module: ModuleType) -> None:
    """DataFrame.append and Series.append."""

    def append(self: Any, other: Any, ignore_index: bool = False, **options: Any) -> Any:
        note("pandas.DataFrame.append", "it is pandas.concat here")
        others = other if isinstance(other, list | tuple) else [other]
        rows = [module.DataFrame([o]) if isinstance(o, dict) else o for o in others]
        return module.concat([self, *rows], ignore_index=ignore_index, **options)

    for kind in (module.DataFrame, module.Series):
        if not hasattr(kind, "append"):
            kind.append = append


class _Text(str):
    """Text that can be decoded once more, as h5py's attributes were octets."""

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        note("decode() of an attribute of an HDF5 file", "it is text already")
        return str(self)


def h5py(module: ModuleType) -> None:
    """Attributes of files give text that has `decode`."""
    attributes = importlib.import_module("h5py._hl.attrs").AttributeManager
    get = attributes.__getitem__

    @functools.wraps(get)
    def decodable(self: Any, name: Any) -> Any:
        value = get(self, name)
        if isinstance(value, str):
            return _Text(value)
        if getattr(getattr(value, "dtype", None), "kind", "") == "O":
            value = value.copy()
            flat = value.reshape(-1)
            flat[:] = [_Text(item) if type(item) is str else item for item in flat]
        return value

    attributes.__getitem__ = decodable


PATCHES: dict[str, Callable[[ModuleType], None]] = {
    "numpy": numpy,
    "yaml": yaml,
    "pandas": pandas,
    "h5py": h5py,
}
