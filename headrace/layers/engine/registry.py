"""Objects that have a name in a configuration: custom ones, and those of a table."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

_custom: dict[str, Any] = {}


def get_custom_objects() -> dict[str, Any]:
    """The dictionary of custom objects, by name; it may be changed."""
    return _custom


@contextmanager
def custom_object_scope(*args: dict[str, Any]) -> Iterator[None]:
    """Inside, these names stand for these objects.

    Args:
      *args: dictionaries from names to classes or functions.
    """
    before = dict(_custom)
    for objects in args:
        _custom.update(objects)
    try:
        yield
    finally:
        _custom.clear()
        _custom.update(before)


class CustomObjectScope:
    """The same as `custom_object_scope`, as a class."""

    def __init__(self, *args: dict[str, Any]) -> None:
        self.custom_objects = args

    def __enter__(self) -> CustomObjectScope:
        self._scope = custom_object_scope(*self.custom_objects)
        self._scope.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._scope.__exit__(*error)


def serialize_keras_object(instance: Any) -> Any:
    """A name, or class and arguments, from which `deserialize_keras_object` makes an equal object."""
    if instance is None:
        return None
    instance = inspect.unwrap(instance) if inspect.isfunction(instance) else instance
    if hasattr(instance, "get_config"):
        config = instance.get_config()
        return {"class_name": type(instance).__name__, "config": {k: _plain(v) for k, v in config.items()}}
    if hasattr(instance, "__name__"):
        return instance.__name__
    raise ValueError("Cannot serialize", instance)


def _plain(value: Any) -> Any:
    """Functions within a configuration are named."""
    return value.__name__ if inspect.isfunction(value) else value


def deserialize_keras_object(
    identifier: Any,
    module_objects: Mapping[str, Any] | None = None,
    custom_objects: Mapping[str, Any] | None = None,
    printable_module_name: str = "object",
) -> Any:
    """The object that a name, or class and arguments, describe.

    Args:
      identifier: a name, a dictionary with `class_name` and `config`, or a function, which is returned.
      module_objects: what names mean.
      custom_objects: what more names mean; they come first.
      printable_module_name: what kind of object it is, for errors.
    """
    if identifier is None:
        return None
    known = {**(module_objects or {}), **_custom, **(custom_objects or {})}
    if isinstance(identifier, dict):
        return _from_config(identifier, known, custom_objects, printable_module_name)
    if isinstance(identifier, str):
        found = known.get(identifier)
        if found is None:
            raise ValueError(f"Unknown {printable_module_name}:{identifier}")
        return found() if inspect.isclass(found) else found
    if inspect.isfunction(identifier):
        return identifier
    raise ValueError(f"Could not interpret serialized {printable_module_name}: {identifier}")


def _from_config(config: dict[str, Any], known: dict[str, Any], custom: Any, kind: str) -> Any:
    if "class_name" not in config or "config" not in config:
        raise ValueError(f"Improper config format: {config}")
    name = config["class_name"]
    cls = known.get(name)
    if cls is None:
        raise ValueError(f"Unknown {kind}: {name}")
    arguments = config["config"]
    if isinstance(arguments, dict):
        arguments = {key: _nested(value, known, custom) for key, value in arguments.items()}
    if not hasattr(cls, "from_config"):
        with custom_object_scope(dict(custom or {})):
            return cls(**arguments)
    if "custom_objects" in inspect.getfullargspec(cls.from_config).args:
        return cls.from_config(arguments, custom_objects={**_custom, **(custom or {})})
    with custom_object_scope(dict(custom or {})):
        return cls.from_config(arguments)


def _nested(value: Any, known: dict[str, Any], custom: Any) -> Any:
    """Objects within a configuration say themselves what they are."""
    if isinstance(value, dict) and "__passive_serialization__" in value:
        return deserialize_keras_object(value, known, custom)
    return value


class Family:
    """Functions and classes of one kind, by name: `get`, `serialize` and `deserialize` of a module.

    Args:
      kind: what they are, for errors.
      find: gives the dictionary of names, when it is first needed.
    """

    def __init__(self, kind: str, find: Callable[[], Mapping[str, Any]]) -> None:
        self.kind, self._find = kind, find
        self._known: Mapping[str, Any] | None = None

    def objects(self) -> Mapping[str, Any]:
        if self._known is None:
            self._known = self._find()
        return self._known

    def deserialize(self, config: Any, custom_objects: Any = None) -> Any:
        return deserialize_keras_object(config, self.objects(), custom_objects, self.kind)

    def get(self, identifier: Any) -> Any:
        """The object itself, or the one that a name or configuration describes; None for None."""
        if identifier is None:
            return None
        if isinstance(identifier, dict | str):
            return self.deserialize(identifier)
        if callable(identifier):
            return identifier
        raise ValueError(f"Could not interpret {self.kind} identifier: {identifier}")
