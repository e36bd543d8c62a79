"""The memory of one run of a program: the words that the native loop reads, the arena, stacks that grow."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

import numpy as np

from headrace.codegen.program import native
from headrace.codegen.program.image import CALL_HEAD, TABLE, Image
from headrace.codegen.program.memory import ALIGNMENT
from headrace.core.dtypes import NDArray

if TYPE_CHECKING:
    from headrace.codegen.program.program import NativeProgram


class Instance:
    """The memory of one run."""

    def __init__(self, program: NativeProgram) -> None:
        """Copy the words of all entries, with the addresses that only an instance knows: what libraries
        made for this run, scratch for each thread that walks entries."""
        self.bases = (ctypes.c_int64 * program.base_count)()
        self.arena: NDArray | None = None
        if not program.is_large:
            self.lend(np.empty(program.arena_bytes + ALIGNMENT, np.uint8))
        self.bases[program.first_constant] = program.constants.ctypes.data
        self.keep: list[object] = []
        self.stacks: dict[int, NDArray] = {}  # those without a limit
        image = program.image
        self.starts = image.form.starts  # of the entries, among the words
        self.words = image.words.copy()
        self.call_libraries(image)
        self.limit(image)
        self.scratch = (ctypes.c_int64 * (image.form.widest * image.form.sets))()
        start = self.words.ctypes.data
        self.table = (ctypes.c_int64 * len(native.INSTANCE))(
            start,
            len(program.entries),
            ctypes.addressof(self.bases),
            ctypes.addressof(native.runtime_table()),
            ctypes.addressof(self.scratch),
            program.spec.ctypes.data,
            len(program.inputs),
            len(program.writes),
            len(program.fresh),
            start,
            0,
            0,
        )
        self.address = ctypes.addressof(self.table)

    def call_libraries(self, image: Image) -> None:
        """What libraries make for this run."""
        for (first, last), call in zip(image.form.calls, image.calls):
            head, tail, kept = call()
            self.words[first : first + CALL_HEAD] = head
            self.words[last : last + len(tail)] = tail
            self.keep.append(kept)

    def limit(self, image: Image) -> None:
        """Tell entries that write words of others where those are: a kernel's, in parameters that
        are this instance's own."""
        for found in image.form.limits:
            place = self.words.ctypes.data + 8 * (found.other + found.word)
            if found.params is not None:
                first, last = found.params
                params = image.params[first:last].copy()
                self.keep.append(params)
                self.words[found.other + TABLE] = params.ctypes.data
                place = params.ctypes.data + 8 * found.word
            self.words[found.start + 2] = place

    def lend(self, arena: NDArray | None) -> None:
        """Give the instance its memory (or take it back)."""
        self.arena = arena
        start = 0 if arena is None else arena.ctypes.data
        self.bases[0] = start + (-start % ALIGNMENT)

    def grow(self, program: NativeProgram) -> None:
        """More room for the stack on which the last run stopped."""
        number = program.entries[self.number].grows
        start = self.starts[self.number]
        size, room = int(self.words[start + 2]), int(self.words[start + 3])
        room = max(2 * room, 16)
        new = np.empty(max(room * size, 1), np.uint8)
        old = self.stacks.get(number)
        if old is not None:
            new[: len(old)] = old
        self.stacks[number] = new
        self.bases[program.first_growing + number] = new.ctypes.data
        for entry, place in zip(program.entries, self.starts):
            if entry.grows == number:
                self.words[place + 3] = room

    def bind(self, arrays: list[NDArray]) -> None:
        """Name the arrays of this run where native code cannot read them off the list."""
        self.bases[1 : len(arrays) + 1] = [a.ctypes.data for a in arrays]
        self.table[9], self.table[10] = self.table[0], 0

    @property
    def number(self) -> int:
        """The entry at which the last run stopped."""
        return self.table[10]

    def scalar(self, place: tuple[int, int]) -> int:
        """An int64 in the instance's memory."""
        return ctypes.c_int64.from_address(self.bases[place[0]] + place[1]).value
