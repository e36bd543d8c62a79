"""The words of a program's entries as one array: each instance copies it and adds its own addresses.

Where entries stand, which words address others, and which a library fills in, is the same for all sizes of a
program (`Form`); so a program with open sizes computes the words alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np

from headrace.codegen.program import native
from headrace.core.dtypes import NDArray
from headrace.core.records import record
from headrace.core.sizes import Whole

if TYPE_CHECKING:
    from headrace.codegen.program.program import Entry

CALL_HEAD = 5  # words of a library call before its pairs: see program/native_calls.py
CALL_BYTES = 1 << 14  # of a call's primitive and memory objects, about
TABLE = 3  # the word of a kernel's entry that addresses its parameters
Words: TypeAlias = "tuple[list[int], list[int], object]"  # head, tail, and what must live as long


class Call(Protocol):
    """Of a library: makes its words for each instance."""

    @property
    def count(self) -> int: ...  # words of the tail
    @property
    def team(self) -> int: ...
    def __call__(self) -> Words: ...


@record
class Limit:
    """An entry, by its first word, that writes a word of another one: of its parameters, if it has some."""

    start: int
    other: int
    word: int
    params: tuple[int, int] | None


@record
class Form:
    """Where everything is among the words."""

    starts: list[int]
    pairs: list[int]  # of each entry: where its arrays are named
    tables: NDArray  # words that address parameters
    first: NDArray  # the number of the first parameter of each
    calls: list[tuple[int, int]]  # where the head and the tail of a library's words go
    limits: list[Limit]
    widest: int  # arrays of an entry, as words
    sets: int  # of scratch, one for each thread that walks entries


@dataclass(slots=True)
class Image:
    """Words without the addresses that only an instance knows."""

    form: Form
    words: NDArray
    params: NDArray  # of all kernels
    calls: Sequence[Call]
    uses_team: bool

    @property
    def nbytes(self) -> int:
        return self.words.nbytes + self.params.nbytes + len(self.calls) * CALL_BYTES

    def __post_init__(self) -> None:
        form = self.form
        self.words[form.tables] = self.params.ctypes.data + 8 * form.first


def image(entries: Sequence[Entry]) -> Image:
    form, words, params = flattened(entries)
    calls = [e.instantiate for e in entries if e.instantiate is not None]
    uses_team = any(e.uses_team for e in entries)
    return Image(form, _array(words), _array(params), calls, uses_team)


def _array(numbers: list[Whole]) -> NDArray:
    return np.array(numbers or [0], np.int64)


def flattened(entries: Sequence[Entry]) -> tuple[Form, list[Whole], list[Whole]]:
    """The form; the words and the parameters, which may be open sizes."""
    words: list[Whole] = []
    params: list[Whole] = []
    starts: list[int] = []
    pairs: list[int] = []
    tables: list[tuple[int, int]] = []
    calls: list[tuple[int, int]] = []
    widest, sets = 4, 1
    for entry in entries:
        start = len(words)
        starts.append(start)
        head, tail = entry.head, entry.tail
        if entry.instantiate is not None:
            taken = entry.instantiate.count
            head, tail = [0] * CALL_HEAD, [0] * taken
            calls.append((start + 2, start + 2 + CALL_HEAD + len(entry.pairs)))
        if entry.kind == native.KERNEL:
            tables.append((start + TABLE, len(params)))
            params += entry.params
        pairs.append(start + 2 + len(head))
        words += [entry.kind, 2 + len(head) + len(entry.pairs) + len(tail), *head, *entry.pairs, *tail]
        widest = max(widest, len(entry.pairs))
    places = [*starts, len(words)]
    for entry, start in zip(entries, starts):
        if entry.jump is not None:
            words[start + 2 : start + 4] = [places[entry.jump.at], entry.jump.at]
        if entry.branches:
            named = [n for label in entry.branches for n in (places[label.at], label.at)]
            words[start + 7 : start + 7 + len(named)] = named
            words[start + 5], sets = widest, max(sets, int(words[start + 4]))
    found = np.array(tables, np.int64).reshape(-1, 2)
    form = Form(
        starts, pairs, found[:, 0], found[:, 1], calls, _limits(entries, starts, tables), widest, sets
    )
    return form, words, params


def _limits(
    entries: Sequence[Entry], starts: Sequence[int], tables: Sequence[tuple[int, int]]
) -> list[Limit]:
    own, first = {id(e): s for e, s in zip(entries, starts)}, dict(tables)
    found = []
    for entry, start in zip(entries, starts):
        if entry.limits is not None:
            other, word = entry.limits
            at = own[id(other)]
            begin = first.get(at + TABLE)
            params = None if begin is None else (begin, begin + len(other.params))
            found.append(Limit(start, at, word, params))
    return found
