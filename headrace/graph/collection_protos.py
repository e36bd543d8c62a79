"""How items of a collection become messages in a MetaGraphDef, where a program has said so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Conversion(NamedTuple):
    """A message class, and functions item -> message and message -> item (None: not possible)."""

    message: Any
    to_proto: Callable[..., Any] | None
    from_proto: Callable[..., Any] | None


_CONVERSIONS: dict[str, Conversion] = {}


def register_proto_function(
    collection_name: str,
    proto_type: Any = None,
    to_proto: Callable[..., Any] | None = None,
    from_proto: Callable[..., Any] | None = None,
) -> None:
    """Say how the items of a collection are written and read.

    Args:
      collection_name: the collection.
      proto_type: the class of the messages.
      to_proto: item, export_scope -> message.
      from_proto: message, import_scope -> item.
    """
    for function in (to_proto, from_proto):
        if function is not None and not callable(function):
            raise TypeError("to_proto must be callable.")
    _CONVERSIONS[collection_name] = Conversion(proto_type, to_proto, from_proto)


def conversion(collection_name: str) -> Conversion | None:
    """What was registered for a collection."""
    return _CONVERSIONS.get(collection_name)
