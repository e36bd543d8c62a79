"""oneDNN's objects as plain data, and again as objects: for programs that are kept on disk.

A table of rows; each says how one object is made, from numbers, words and the objects of earlier rows.
So nothing of the library's own memory is written down, and a library that refuses a row makes an error
instead of a wrong object.  What a row gives to the library is of the kinds that the function takes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.codegen.machine import threads
from headrace.codegen.onednn import onednn_api as dnn
from headrace.core.size_values import Numbers
from headrace.core.sizes import Size

Part = Any  # a number, a word, an object of the library, a tuple of parts; checked where it is read
Row = list[Part]


class Unreadable(Exception):
    """Data that is not what a writer of this version wrote."""


def demand(holds: bool) -> None:
    if not holds:
        raise Unreadable


class Writer:
    """The rows that some objects need, each once."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self._numbers: dict[int | str, int] = {}
        self._kept: list[object] = []  # so that an id names one object

    def number(self, made: Part) -> int:
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

    def plain(self, part: Part) -> Part:
        """Numbers and words as they are; an object as {row: number}."""
        if part is None or isinstance(part, (int, float, str)):
            return part
        if isinstance(part, tuple):
            return [self.plain(p) for p in part]
        return {"row": self.number(part)}


class Reader:
    """The objects of a table.  They are made in its order, on this thread.  Raises Unreadable where
    it is no such table, and LibraryError where the library refuses."""

    def __init__(self, rows: Part) -> None:
        self.made: list[Part] = []
        demand(isinstance(rows, list) and (not rows or dnn.library() is not None))
        with threads.limited_to(threads.count()):
            for row in rows:
                demand(isinstance(row, list) and bool(row) and isinstance(row[0], str))
                if row[0] not in _MAKERS:
                    raise Unreadable
                maker, wanted = _MAKERS[row[0]]
                parts = [self._object(part) for part in row[1:]]
                demand(len(parts) == len(wanted) or row[0] in _ANY_NUMBER)
                demand(all(kind_of(p) == kind for p, kind in zip(parts, wanted)))
                self.made.append(maker(*parts))

    def _object(self, part: Part) -> Part:
        if isinstance(part, dict):
            return self.at(part.get("row"))
        return tuple(map(self._object, part)) if isinstance(part, list) else part

    def at(self, number: Part) -> Part:
        demand(type(number) is int and 0 <= number < len(self.made))
        return self.made[number]


_OBJECTS = frozenset((dnn.Dims, dnn.Layout, dnn.Description, dnn.Handle))


def remade(made: Part, numbers: Numbers) -> Part:
    """An object as it is for other numbers: made by its recipe, if open sizes are in it."""
    kind = type(made)
    if kind is tuple:
        return tuple([remade(part, numbers) for part in made])
    if kind is Size:
        return numbers(made)
    if kind not in _OBJECTS or made.trace is None:
        return made
    found = numbers.memo.get(id(made))
    if found is None:
        word, *parts = made.recipe
        maker = _AGAIN.get(str(word)) or _MAKERS[str(word)][0]
        found = numbers.memo[id(made)] = maker(*[remade(part, numbers) for part in parts])
    return found


def remade_call(call: dnn.Call, numbers: Numbers) -> dnn.Call:
    team = numbers(call.team)
    with threads.limited_to(team):
        primitive = remade(call.primitive, numbers)
        arguments = [(name, remade(layout, numbers)) for name, layout in call.arguments]
    return dnn.Call(primitive, arguments, team)


def kind_of(made: Part) -> str:
    """What a part is, in the words of `_TAKES`."""
    match made:
        case None:
            return "none"
        case dnn.Layout():
            return "layout"
        case dnn.Description():
            return "description"
        case dnn.Dims():
            return "dims"
        case dnn.Handle():
            return str(made.recipe[0])
        case tuple():
            is_sizes = len(made) <= dnn.MAX_DIMS and all(type(n) is int for n in made)
            return "sizes" if is_sizes else "tuple"
    if type(made) is int and abs(made) >= 1 << 31:
        return "large"
    return type(made).__name__


# What the library's functions take to describe a primitive; "layout?" may be None.
_TAKES = {
    "matmul": "engine layout layout layout? layout attributes",
    "reorder": "layout engine layout engine attributes",
    "convolution_forward": "engine int int layout layout layout? layout" + 4 * " dims" + " attributes",
    "convolution_backward_data": (
        "engine int layout layout layout" + 4 * " dims" + " description attributes"
    ),
    "convolution_backward_weights": (
        "engine int layout layout layout? layout" + 4 * " dims" + " description attributes"
    ),
    "pooling_forward": "engine int int layout layout" + 5 * " dims" + " attributes",
    "pooling_backward": "engine int layout layout" + 5 * " dims" + " description attributes",
}


def _described(team: int = 0, kind: str = "", *args: Part) -> dnn.Description:
    wanted = _TAKES.get(kind, "").split()
    demand(len(wanted) == len(args) > 0 and 0 < team <= threads.MOST)
    for part, takes in zip(args, wanted):
        demand(kind_of(part) == takes.rstrip("?") or (part is None and takes.endswith("?")))
    _use(team)
    return dnn.described(kind, *args)


def _use(team: int) -> None:
    library = threads.libgomp()
    if library is not None:
        library.omp_set_num_threads(team)


def _primitive(description: dnn.Description) -> dnn.Handle:
    _use(description.team)
    return description.primitive()


def _strided(shape: tuple[int, ...], kind: str, strides: tuple[int, ...]) -> dnn.Layout:
    demand(kind in dnn.TYPES and len(shape) == len(strides))
    return dnn.strided(shape, kind, strides)


def _tagged(shape: tuple[int, ...], kind: str, tag: int) -> dnn.Layout:
    demand(kind in dnn.TYPES)
    return dnn.tagged(shape, kind, tag)


def _attributes(*post_ops: Part) -> dnn.Handle:
    demand(len(post_ops) == 1 and isinstance(post_ops[0], tuple))
    for post_op in post_ops[0]:
        demand(isinstance(post_op, tuple) and bool(post_op))
        words = tuple(map(kind_of, post_op[1:]))
        demand((post_op[0], words) in (("sum", ("float",)), ("relu", ()), ("add", ("layout",))))
    return dnn.attributes(post_ops[0])


def _part(description: dnn.Description, name: str, index: int) -> dnn.Layout:
    demand(name in dnn.MD)
    found = description.layout(name, index)
    demand(bool(found.handle.pointer))
    return found


# A row's first word -> who makes the object, and of what kinds its parts are.
_MAKERS: dict[str, tuple[Callable[..., Part], tuple[str, ...]]] = {
    "dims": (dnn.dims, ("sizes",)),
    "engine": (dnn.engine, ()),
    "strided": (_strided, ("sizes", "str", "sizes")),
    "tagged": (_tagged, ("sizes", "str", "int")),
    "attributes": (_attributes, ()),
    "described": (_described, ("int", "str")),
    "part": (_part, ("description", "str", "int")),
    "primitive": (_primitive, ("description",)),
}


def _described_again(team: int, kind: str, *args: Part) -> dnn.Description:
    _use(team)
    return dnn.described(kind, *args)


# What makes those again whose parts need no look: they are no data of a file.
_AGAIN: dict[str, Callable[..., Part]] = {
    "strided": dnn.strided,
    "tagged": dnn.tagged,
    "described": _described_again,
}
_ANY_NUMBER = ("described", "attributes")  # of parts: these look themselves
