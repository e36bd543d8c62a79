"""oneDNN's objects as plain data, and again as objects: for programs that are kept on disk.

A table of rows; each says how one object is made, from numbers, words and the objects of earlier rows.
So nothing of the library's own memory is written down, and a library that refuses a row makes an error
instead of a wrong object.
"""

from __future__ import annotations

from typing import Any

from headrace.codegen import onednn_api as dnn
from headrace.codegen import threads

Row = list[Any]


class Writer:
    """The rows that some objects need, each once."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self._numbers: dict[Any, int] = {}
        self._kept: list[Any] = []  # so that an id names one object

    def number(self, made: Any) -> int:
        """The row of an object that has a recipe."""
        known = self._numbers.get(id(made))
        if known is None:
            row = [self.plain(part) for part in made.recipe]
            # Layouts are found anew in every description that is asked: equal ones are one.
            name = repr(row)
            known = self._numbers.get(name)
            if known is None:
                known = len(self.rows)
                self.rows.append(row)
            self._numbers[id(made)] = self._numbers[name] = known
            self._kept.append(made)
        return known

    def plain(self, part: Any) -> Any:
        """Numbers and words as they are; an object as {row: number}."""
        if part is None or isinstance(part, (int, float, str)):
            return part
        if isinstance(part, tuple):
            return [self.plain(p) for p in part]
        return {"row": self.number(part)}


class Reader:
    """The objects of a table.  They are made in its order, on this thread."""

    def __init__(self, rows: list[Row]) -> None:
        self.made: list[Any] = []
        with threads.limited_to(threads.count()):
            for word, *parts in rows:
                self.made.append(_MAKERS[word](*map(self._object, parts)))

    def _object(self, part: Any) -> Any:
        if isinstance(part, dict):
            return self.made[part["row"]]
        return tuple(map(self._object, part)) if isinstance(part, list) else part


def _described(team: int, kind: str, *args: Any) -> dnn.Description:
    _use(team)
    return dnn.described(kind, *args)


def _use(team: int) -> None:
    library = threads.libgomp()
    if library is not None:
        library.omp_set_num_threads(team)


def _primitive(description: dnn.Description) -> dnn.Handle:
    _use(description.recipe[1])
    return description.primitive()


_MAKERS: dict[str, Any] = {
    "dims": dnn.dims,
    "engine": dnn.engine,
    "strided": dnn.strided,
    "tagged": dnn.tagged,
    "attributes": dnn.attributes,
    "described": _described,
    "part": dnn.Description.layout,
    "primitive": _primitive,
}
