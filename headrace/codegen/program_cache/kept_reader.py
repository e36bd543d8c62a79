"""Bytes of codegen.program_cache.kept_writer -> a program.

Addresses are found anew: kernels are linked by another thread while this one makes oneDNN's primitives, and
a third touches the arena.  A hash has said that the bytes are what was written; here everything that native
code relies on is looked at once more: kinds, lengths, places within their arrays.  What does not
fit, or is not there any more, raises Unreadable: then the program is made as if nothing had been kept.
"""

from __future__ import annotations

import json
from concurrent.futures import Future
from functools import partial
from itertools import pairwise
from math import prod

import numpy as np

from headrace.codegen.machine import cache, threads
from headrace.codegen.machine.refusals import Declined
from headrace.codegen.onednn import onednn_api as dnn
from headrace.codegen.onednn.recipes import Reader, Unreadable, demand
from headrace.codegen.program import native
from headrace.codegen.program.arenas import ARENAS
from headrace.codegen.program.memory import ALIGNMENT
from headrace.codegen.program.packed_weights import Packing
from headrace.codegen.program.program import (
    CheckInfo,
    Entry,
    Face,
    Interface,
    Label,
    NativeProgram,
    Result,
    Specialized,
)
from headrace.codegen.program_cache.kept_keys import Json
from headrace.codegen.program_cache.kept_writer import ADDRESSES, nodes_of
from headrace.codegen.regions.regions import Region
from headrace.core.dtypes import NDArray, as_dtype

WORD = 1 << 63
# Words of `head` (without addresses), and arrays; None: as many as the entry says.
_FORMS: dict[int, tuple[int | None, int | None]] = {
    native.KERNEL: (4, None), native.EXECUTE: (0, None), native.REPEAT: (0, None),
    native.SGEMM: (9, 3), native.CHECK: (0, 1), native.FILL: (1, 1), native.JUMP: (2, 0),
    native.UNLESS: (2, 1), native.LEA: (0, 2), native.SWAP: (0, 2), native.COPY: (1, 2),
    native.CELL: (6, 4), native.PUSH: (2, 3), native.POP: (1, 3), native.ROW: (3, 2),
    native.FORK: (None, 0), native.LIMIT: (3, 1),
}  # fmt: skip
_CALLS = (native.EXECUTE, native.REPEAT)
_JUMPS = (native.JUMP, native.UNLESS, native.FORK)


def read(data: bytes, region: Region) -> Specialized:
    """Raises Unreadable; Declined where that is what was kept."""
    line, _, rest = data.partition(b"\n")
    try:
        text = json.loads(line)
    except (ValueError, RecursionError):
        raise Unreadable from None
    return _Reader(text, rest, region).specialized()


class _Reader:
    """`objects` and `addresses` are what rows and kernels became."""

    objects: Reader
    addresses: list[int]
    identities: list[str]

    def __init__(self, text: Json, arrays: bytes, region: Region) -> None:
        demand(isinstance(text, dict))
        self.text, self.region, self.nodes = text, region, nodes_of(region)
        self.keys = list(region.variables)
        sizes = whole(text.get("arrays"))
        demand(sum(sizes) == len(arrays))
        ends = np.cumsum([0, *sizes])
        self.arrays = [arrays[a:b] for a, b in pairwise(ends)]

    def specialized(self) -> Specialized:
        """The program in the file.  Kernels are linked by another thread meanwhile.  Everything is
        checked (`demand`): a file may be damaged, and a wrong offset would be a wild pointer."""
        get = self.text.get
        if "declined" in self.text:
            raise self.refusal(get("declined"), get("asked"))
        self.identities = listed(get("kernels"))
        demand(all(isinstance(k, str) for k in self.identities))
        arena = number(part(get("program"), "arena"))
        with ARENAS.expecting(arena + ALIGNMENT):
            linked = cache.later(partial(_linked, self.identities))
            self.objects = Reader(get("rows"))
            self.addresses = _addresses(linked)
            program = self.program(get("program"))
            program.packing = self.packing(get("packing"), program)
        outputs = [
            self.key(p[0]) if isinstance(p, list) and p else number(p, len(program.results) - 1)
            for p in listed(get("outputs"))
        ]
        demand(len(outputs) == len(self.region.outputs))
        variables, updated = ([self.key(k) for k in listed(get(name))] for name in ("variables", "updated"))
        packed = len(program.inputs) - len(self.region.inputs) - len(variables)
        demand(packed == (len(program.packing.program.results) if program.packing else 0))
        demand(len(updated) == len(program.writes))
        return Specialized(program, variables, updated, outputs)

    def refusal(self, reasons: Json, asked: Json) -> Declined:
        demand(isinstance(reasons, dict) and all(isinstance(r, str) for r in reasons.values()))
        most = {n.name: len(n.inputs) - 1 for n in self.region.nodes}
        demand(bool(reasons) and reasons.keys() <= most.keys())
        demand(isinstance(asked, dict) and asked.keys() <= reasons.keys())
        places = {name: [number(p, most[name]) for p in listed(asked[name])] for name in asked}
        return Declined(reasons, asked=places)

    def key(self, place: Json) -> Json:
        return self.keys[number(place, len(self.keys) - 1)]

    def packing(self, text: Json, program: NativeProgram) -> Json:
        if text is None:
            return None
        demand(isinstance(text, list) and len(text) == 2)
        places = whole(text[1])
        first = self.program(text[0])
        demand(all(p < len(program.inputs) for p in places) and len(places) == len(first.inputs))
        given = program.inputs[len(program.inputs) - len(first.results) :]
        demand(given == [(r.shape, r.dtype) for r in first.results])
        demand([program.inputs[p] for p in places] == first.inputs)
        return Packing(first, places)

    def program(self, text: Json) -> NativeProgram:
        """A program whose numbers agree with one another: every result, update and place is within
        what it names."""
        get = partial(part, text)
        sides = Interface(
            [face(f) for f in listed(get("inputs"))],
            [update(u) for u in listed(get("writes"))],
            [face(f) for f in listed(get("fresh"))],
            [self.result(r) for r in listed(get("results"))],
        )
        counts = {"inputs": len(sides.inputs), "news": len(sides.writes), "fresh": len(sides.fresh)}
        demand(all(r.number < counts.get(r.group, 1) for r in sides.results))
        demand(all(w[0] < len(sides.inputs) for w in sides.writes))
        rows, arena = listed(get("entries")), number(get("arena"))
        moving, growing = (number(get(name), 4 * len(rows)) for name in ("moving", "growing"))
        constants = _aligned(self.array(get("constants")))
        bases = _sizes(sides, arena, constants.nbytes, moving + growing)
        made = _Entries(self, bases, rows, growing)
        checks = [made.check(c) for c in listed(get("checks"))]
        entries = made.all(len(checks))
        demand(isinstance(get("largest"), str))
        return NativeProgram(sides, constants, entries, checks, arena, moving, growing, get("largest"))

    def array(self, place: Json) -> bytes:
        return self.arrays[number(place, len(self.arrays) - 1)]

    def result(self, text: Json) -> Result:
        demand(isinstance(text, list) and len(text) == 5)
        group, place, *rest, constant = text
        demand(group in ("inputs", "news", "fresh", "constant"))
        shape, dtype = face(rest)
        value = None
        demand((constant is None) == (group != "constant"))
        if constant is not None:
            data = self.array(constant)
            demand(len(data) == prod(shape) * dtype.itemsize)
            value = np.frombuffer(data, dtype).reshape(shape).copy()
        return Result(group, number(place), shape, dtype, value)


def _sizes(sides: Interface, arena: int, constants: int, unknown: int) -> list[int | None]:
    """How large what each base points to is; what entries set is not known."""
    faces = [*sides.inputs, *(sides.inputs[w[0]] for w in sides.writes), *sides.fresh]
    sizes = [prod(shape) * dtype.itemsize for shape, dtype in faces]
    return [arena, *sizes, constants, *[None] * unknown]


class _Entries:
    """The entries of one program."""

    def __init__(self, reader: _Reader, sizes: list[int | None], rows: list[Json], growing: int) -> None:
        self.reader, self.sizes, self.rows, self.growing = reader, sizes, rows, growing

    def all(self, checks: int) -> list[Entry]:
        entries = [self.entry(row) for row in self.rows]
        demand(all(e.check < checks for e in entries))
        for entry, row in zip(entries, self.rows):
            if entry.kind == native.LIMIT:
                entry.limits = self.limits(entries, row[6].get("limits"))
        return entries

    def limits(self, entries: list[Entry], text: Json) -> tuple[Entry, int]:
        demand(isinstance(text, list) and len(text) == 2)
        other = entries[number(text[0], len(entries) - 1)]
        demand(other.kind in ADDRESSES)
        most = len(other.params) if other.kind == native.KERNEL else 2 + len(other.head)
        return other, number(text[1], most - 1)

    def check(self, text: Json) -> CheckInfo:
        demand(isinstance(text, list) and len(text) == 6)
        shape, message, extent, node, bad, value = text
        demand(isinstance(message, str) and type(extent) is int)
        nodes = self.reader.nodes
        found = None if node is None else nodes[number(node, len(nodes) - 1)]
        place = None if value is None else self.place(value, 8)
        return CheckInfo(tuple(whole(shape)), message, extent, found, self.place(bad, 8), place)

    def place(self, pair: Json, nbytes: int = 0) -> tuple[int, int]:
        """A base and an offset with at least `nbytes` behind it."""
        base, offset = whole(pair, 2)
        size = self.sizes[number(base, len(self.sizes) - 1)]
        demand(size is None or offset + nbytes <= size)
        return base, offset

    def entry(self, row: Json) -> Entry:
        """One entry, with as many words and arrays as its kind has, each array inside of its base."""
        demand(isinstance(row, list) and len(row) == 7)
        demand(type(row[0]) is int and row[0] in _FORMS)
        kind, head, pairs, name, stores, uses_team, more = row
        demand(isinstance(name, str) and isinstance(more, dict) and isinstance(uses_team, bool))
        demand(isinstance(stores, list) and all(isinstance(s, str) for s in stores))
        demand(isinstance(head, list) and all(type(n) is int and -WORD <= n < WORD for n in head))
        words, arrays = _FORMS[kind]
        pairs = whole(pairs)
        demand(words is None or len(head) == words)
        demand(len(pairs) % 2 == 0 and (arrays is None or len(pairs) == 2 * arrays))
        filled = head[0] if kind in (native.FILL, native.COPY) else 0
        demand(filled >= 0)
        for at in range(0, len(pairs), 2):
            self.place(pairs[at : at + 2], filled)
        made = Entry(kind, head, [], [], pairs, stores, uses_team=uses_team, name=name)
        self.details(made, more)
        return made

    def details(self, made: Entry, more: dict[str, Json]) -> None:
        """What an entry of its kind has besides."""
        kind, last = made.kind, len(self.rows)
        demand(kind not in _JUMPS or "jump" in more)
        if kind == native.KERNEL:
            self.kernel(made, more)
        elif kind in _CALLS:
            self.call(made, more.get("call"))
        elif kind == native.SGEMM:
            made.head.insert(0, _product())
            demand(0 < made.head[9] <= threads.MOST)
        elif kind == native.CHECK:
            made.check = number(more.get("check"))
        if "jump" in more:
            demand(kind in (*_JUMPS, native.CELL))
            made.jump = Label(number(more["jump"], last))
        if kind == native.FORK:
            places = whole(more.get("branches"))
            demand(places == sorted(places) and len(places) > 1 and places[-1] <= last)
            made.branches = [Label(at) for at in places]
            demand(len(made.head) == 5 + 2 * len(places) and made.head[4] == len(places) - 1)
            demand(0 < made.head[2] <= threads.count())
        if "grows" in more:
            demand(kind == native.PUSH)
            made.grows = number(more["grows"], self.growing - 1)

    def kernel(self, made: Entry, more: dict[str, Json]) -> None:
        addresses, identities = self.reader.addresses, self.reader.identities
        place = number(more.get("kernel"), len(addresses) - 1)
        params = listed(more.get("params"))
        demand(all(type(n) is int and -WORD <= n < WORD for n in params))
        work, team, grain, count = made.head
        demand(work >= 0 and 0 < team <= threads.count() and grain > 0)
        demand(len(made.pairs) == 2 * count)
        made.head = [addresses[place], 0, *made.head]
        made.params, made.kernel = params, identities[place]

    def call(self, made: Entry, text: Json) -> None:
        """A primitive of oneDNN with its arguments, each as large as the library says now."""
        demand(isinstance(text, list) and len(text) == 3)
        row, given, team = text
        primitive = self.reader.objects.at(row)
        demand(isinstance(primitive, dnn.Handle) and primitive.recipe[0] == "primitive")
        demand(0 < number(team) <= threads.count())
        skipped = 2 if made.kind == native.REPEAT else 0
        arguments = []
        demand(len(made.pairs) == skipped + 2 * len(listed(given)))
        for at, argument in enumerate(given):
            demand(isinstance(argument, list) and len(argument) == 2)
            demand(isinstance(argument[0], str) and argument[0] in dnn.ARG)
            layout = self.reader.objects.at(argument[1])
            demand(isinstance(layout, dnn.Layout))
            # Another library, or another setting of it, may want more room than there is.
            self.place(made.pairs[skipped + 2 * at : skipped + 2 * at + 2], layout.nbytes)
            arguments.append((argument[0], layout))
        made.instantiate = dnn.Call(primitive, arguments, team)


# -- addresses -----------------------------------------------------------------------------------
def _linked(identities: list[str]) -> list[int | None]:
    return [cache.known_address(identity) for identity in identities]


def _addresses(linked: Future[list[int | None]]) -> list[int]:
    try:
        found = linked.result()
    except RuntimeError:  # LLVM's word for an object that it cannot link
        raise Unreadable from None
    demand(None not in found)
    return [a for a in found if a is not None]


def _product() -> int:
    """The library's product of matrices."""
    lib = dnn.library()
    demand(lib is not None)
    return native.address_of(lib.dnnl_sgemm)  # type: ignore[union-attr]


# -- plain data ----------------------------------------------------------------------------------
def number(value: Json, most: int = WORD - 1) -> int:
    demand(type(value) is int and 0 <= value <= most)
    found: int = value
    return found


def listed(value: Json) -> list[Json]:
    demand(isinstance(value, list))
    found: list[Json] = value
    return found


def whole(value: Json, count: int | None = None) -> list[int]:
    found = listed(value)
    demand(count is None or len(found) == count)
    return [number(n) for n in found]


def part(value: Json, name: str) -> Json:
    demand(isinstance(value, dict))
    return value.get(name)


def face(value: Json) -> Face:
    demand(isinstance(value, list) and len(value) == 2 and isinstance(value[1], str))
    try:
        dtype = as_dtype(value[1]).numpy
    except TypeError:
        raise Unreadable from None
    demand(not dtype.hasobject)
    return tuple(whole(value[0])), dtype


def update(value: Json) -> tuple[int, bool, bool]:
    demand(isinstance(value, list) and len(value) == 3)
    place, may, is_partial = value
    demand(isinstance(may, bool) and isinstance(is_partial, bool))
    return number(place), may, is_partial


def _aligned(data: bytes) -> NDArray:
    """The constants where vectors can be loaded from."""
    room = np.empty(len(data) + ALIGNMENT, np.uint8)
    start = -room.ctypes.data % ALIGNMENT
    found = room[start : start + len(data)]
    found[:] = np.frombuffer(data, np.uint8)
    return found
