"""Names that are not here: what an error says of them, and what stands for one that is imported.

A name that TensorFlow 1.15 has and Headrace lacks is an error by name as soon as somebody asks for it.
A program may import such a name and never use it: it then gets an `Absent`, which says the same at its
first use.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any, NoReturn

from headrace.api import recorded
from headrace.core.modules import late

api = late("headrace.api")
wheel = late("headrace.api.wheel")


def shown(place: str) -> str:
    """How a program writes it: tf.nn.relu, tensorflow.python.ops.math_ops."""
    inside = place.split(".")[0] in ("python", "core", "tools", "examples") or ".python" in place
    return f"tensorflow.{place}" if inside else f"tf.{place}"


def sentence(place: str) -> str:
    """What is said of a name of TensorFlow 1.15."""
    where = wheel.advice(place) if place.startswith("contrib.") else "docs/compatibility.md"
    return f"{shown(place)} is TensorFlow 1.15's and not in Headrace yet ({where})"


def message(space: Any, place: str, name: str) -> str:
    """Why `name` is not found in the module `space`, which stands at `place`."""
    whole = f"{place}.{name}".lstrip(".")
    if recorded.is_name(whole):
        return sentence(whole)
    near = nearest(space, place, name)
    text = f"module {space.__name__!r} has no attribute {name!r}"
    return f"{text}. Did you mean {near}?" if near else text


def error(space: Any, place: str, name: str) -> AttributeError:
    """The error for a name that is asked for and not found."""
    # With `obj`, Python would add a guess of its own to the text.
    return AttributeError(message(space, place, name), name=name, obj=None)


def nearest(space: Any, place: str, name: str) -> str | None:
    """The present name that was probably meant: written alike here, or the same somewhere else."""
    import difflib

    here = {known.lower(): known for known in dir(space) if not known.startswith("_")}
    alike = difflib.get_close_matches(name.lower(), here, n=1, cutoff=0.8)
    if alike:
        return shown(f"{place}.{here[alike[0]]}".lstrip("."))

    places = api.public_places().get(name, ())
    return shown(f"{min(places, key=len)}.{name}".lstrip(".")) if places else None


class Module(ModuleType):
    """A module that is made for a name of TensorFlow's.  `_target` is what is behind it."""

    _target: ModuleType | None = None

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__dict__["__path__"] = []


class Absent(Module):
    """Stands for a module, class or function of TensorFlow 1.15 that a program imports and Headrace
    lacks.  Importing it is not using it; any use says what it is."""

    def __init__(self, name: str, place: str) -> None:
        super().__init__(name)
        self.__dict__["_place"] = place

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(sentence(self._place))

    __call__ = __mro_entries__ = __instancecheck__ = __subclasscheck__ = _refuse
    __getitem__ = __iter__ = __len__ = __contains__ = __enter__ = __exit__ = _refuse

    def __getattr__(self, name: str) -> NoReturn:
        if name == "__all__":  # from ... import *
            raise ImportError(sentence(self._place))
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        below = f"{self._place}.{name}"
        known = recorded.is_module(self._place) or recorded.is_name(below)
        raise AttributeError(sentence(below if known else self._place), name=name, obj=None)

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("__"):  # the import system's own
            super().__setattr__(name, value)
        elif not isinstance(value, Absent):
            self._refuse()

    def __dir__(self) -> list[str]:
        return []

    def __repr__(self) -> str:
        return f"<{sentence(self._place)}>"
