"""Named lists kept with a graph: variables, losses, summaries, ...  (`GraphKeys` has the standard names.)"""

from __future__ import annotations

import re
from typing import Any


class Collections:
    """The part of Graph that keeps collections."""

    _collections: dict[Any, list[Any]]

    def add_to_collection(self, name: Any, value: Any) -> None:
        self._check_not_finalized()
        self._collections.setdefault(name, []).append(value)

    def add_to_collections(self, names: Any, value: Any) -> None:
        names = (names,) if isinstance(names, str) else dict.fromkeys(names)
        for name in names:
            self.add_to_collection(name, value)

    def get_collection_ref(self, name: Any) -> list[Any]:
        """The list itself: changes to it are changes of the collection."""
        return self._collections.setdefault(name, [])

    def get_collection(self, name: Any, scope: str | None = None) -> list[Any]:
        """A copy, filtered by a regular expression on the items' names if `scope` is given."""
        items = self._collections.get(name, [])
        if scope is None:
            return list(items)
        wanted = re.compile(scope)
        return [x for x in items if hasattr(x, "name") and wanted.match(x.name)]

    def get_all_collection_keys(self) -> list[Any]:
        return [k for k in self._collections if isinstance(k, str)]

    def clear_collection(self, name: Any) -> None:
        self._check_not_finalized()
        self._collections.pop(name, None)

    @property
    def collections(self) -> list[Any]:
        return list(self._collections)

    def _check_not_finalized(self) -> None:
        raise NotImplementedError
