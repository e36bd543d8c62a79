"""Names of layers: a class's name in snake case, numbered per graph."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

from headrace.graph.defaults import get_default_graph

_WORD = re.compile(r"(.)([A-Z][a-z0-9]+)")
_HUMP = re.compile(r"([a-z])([A-Z])")


def snake_case(name: str) -> str:
    """`BatchNormalization` as `batch_normalization`; names never begin with an underscore."""
    text = _HUMP.sub(r"\1_\2", _WORD.sub(r"\1_\2", name)).lower()
    return "private" + text if text.startswith("_") else text


def unique_object_name(
    name: str,
    name_uid_map: dict[Any, Any] | None = None,
    avoid_names: Iterable[str] | None = None,
    namespace: str = "",
    zero_based: bool = False,
) -> str:
    """`name` with the next number of the graph; from zero, the first one has none.

    Args:
      name: the name to number.
      name_uid_map: numbers in use, by (namespace, name); default those of the graph.
      avoid_names: names that must not come out.
      namespace: numbers of different namespaces do not meet.
      zero_based: dense, dense_1, ... in place of dense_1, dense_2, ...
    """
    counts = _counts() if name_uid_map is None else name_uid_map
    while True:
        number = counts[namespace, name]
        counts[namespace, name] = number + 1
        if zero_based:
            found = f"{name}_{number}" if number else name
        else:
            found = f"{name}_{number + 1}"
        if found not in (avoid_names or ()):
            return found


def _counts() -> Counter[tuple[str, str]]:
    counts: Counter[tuple[str, str]] = get_default_graph()._scoped.setdefault("layer_names", Counter())
    return counts


def forget_names() -> None:
    """Numbers begin anew in the default graph."""
    get_default_graph()._scoped.pop("layer_names", None)
