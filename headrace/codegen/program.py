"""Program: one region for concrete shapes, ready to run.

`run(arrays)` binds the addresses of the inputs, makes one native call, and hands out the outputs:
new arrays each time, so what was returned never changes.  Several threads may run one program at
once; each uses a frame (arena and tables) of its own.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from headrace.codegen import native, threads
from headrace.codegen.kernel_ir import Tensor
from headrace.codegen.stages import Check, Update
from headrace.codegen.stages import memory as memory_of
from headrace.core.errors import InternalError, InvalidArgumentError, ResourceExhaustedError, at

Array = np.ndarray[Any, Any]


class CheckFailed(InvalidArgumentError):
    """A value is outside what an op accepts.  No variable has changed."""


@dataclass(slots=True, eq=False)
class Entry:
    """Words of one entry: kind and length, `head`, the places of its arrays, `tail`."""

    kind: int
    head: list[int]
    places: list[tuple[Any, Any]]  # (tensor, is written) or ("scratch", offset)
    tail: list[int]
    pairs: list[int] = field(default_factory=list)
    keep: list[Any] = field(default_factory=list)
    uses_team: bool = False
    check: int = -1
    name: str = ""
    instantiate: Callable[[], tuple[list[int], list[int], Any]] | None = None  # per frame

    def words(self) -> tuple[list[int], Any]:
        head, tail, kept = self.head, self.tail, None
        if self.instantiate is not None:
            head, tail, kept = self.instantiate()
        body = [*head, *self.pairs, *tail]
        return [self.kind, len(body) + 2, *body], kept


@dataclass(frozen=True, slots=True)
class CheckInfo:
    check: Check
    bad: tuple[int, int]
    value: tuple[int, int] | None


class Frame:
    """The memory of one run."""

    def __init__(self, program: Program) -> None:
        try:
            self.arena = np.empty(program.arena_bytes + 64, np.uint8)
        except MemoryError as error:
            raise ResourceExhaustedError(None, None, program.too_large()) from error
        start = self.arena.ctypes.data
        self.bases = (ctypes.c_int64 * program.base_count)()
        self.bases[0] = start + (-start % 64)
        self.bases[program.first_constant] = program.constants.ctypes.data
        words: list[int] = []
        self.keep: list[Any] = []
        widest = 4
        for entry in program.entries:
            found, kept = entry.words()
            words += found
            self.keep.append(kept)
            widest = max(widest, len(entry.pairs))
        self.words = np.array(words or [0], np.int64)
        self.scratch = (ctypes.c_int64 * widest)()
        self.status = (ctypes.c_int64 * 2)()
        bound = program.first_constant - 1
        self.objects = (ctypes.c_int64 * max(bound, 1))()
        self.bound = bound
        self.call = (
            self.words.ctypes.data,
            len(program.entries),
            ctypes.addressof(self.bases),
            ctypes.addressof(native.runtime_table()),
            ctypes.addressof(self.scratch),
            ctypes.addressof(self.status),
            ctypes.addressof(self.objects),
            bound if program.reads_objects else 0,
        )

    def bind(self, arrays: list[Array], reads_objects: bool) -> None:
        """Name the arrays of this run; they must live until it ends."""
        if reads_objects:
            self.objects[: self.bound] = [id(a) for a in arrays]
        else:
            self.bases[1 : self.bound + 1] = [a.ctypes.data for a in arrays]

    def scalar(self, place: tuple[int, int]) -> int:
        """An int64 in the frame's memory."""
        return ctypes.c_int64.from_address(self.bases[place[0]] + place[1]).value


class Program:
    """Bases: 0 is the arena, then inputs, new values of variables, fresh outputs, constants."""

    def __init__(
        self,
        inputs: list[Tensor],
        constants: Array,
        updates: list[Update],
        in_place: dict[Tensor, bool],
        fresh: list[Tensor],
        outputs: list[Tensor],
        entries: list[Entry],
        checks: list[CheckInfo],
        arena_bytes: int,
    ) -> None:
        self.inputs, self.constants, self.entries, self.checks = inputs, constants, entries, checks
        self.updates, self.in_place, self.arena_bytes = updates, in_place, arena_bytes
        self.first_constant = 1 + len(inputs) + len(updates) + len(fresh)
        self.base_count = self.first_constant + 1
        self.uses_team = any(e.uses_team for e in entries)
        self.fresh = [(t.shape, t.dtype.numpy) for t in fresh]
        numbers = {t: i for i, t in enumerate(inputs)}
        # Per update: its variable's place among the inputs, may it be in place, is it partial.
        self.writes = [(numbers[u.variable], in_place[u.variable], _is_partial(u)) for u in updates]
        self.results = [_source_of(t, inputs, updates, fresh) for t in outputs]
        self.run_native = native.runner()
        self.reads_objects = native.data_at_offset()
        self._frames: list[Frame] = []

    def run(
        self, arrays: list[Array], is_free: Sequence[bool] = ()
    ) -> tuple[list[Array], list[Array]]:
        """Outputs, and the new values of updated variables.  The arrays must have the inputs'
        shapes and types and be contiguous; `is_free` says per update whether the old value may
        go."""
        try:
            frame = self._frames.pop()
        except IndexError:
            frame = Frame(self)
        bound = list(arrays)
        news: list[Array] = []
        for k, (number, may, is_partial) in enumerate(self.writes):
            new = arrays[number]
            if not (may and is_free and is_free[k]):
                new = new.copy() if is_partial else np.empty_like(new)
                if is_partial and may:
                    bound[number] = new
            news.append(new)
        fresh = [np.empty(shape, dtype) for shape, dtype in self.fresh]
        bound += news
        bound += fresh
        frame.bind(bound, self.reads_objects)
        self.call(frame)
        self._frames.append(frame)
        return [make(arrays, news, fresh) for make in self.results], news

    def call(self, frame: Frame) -> None:
        if not self.entries:
            return
        frame.status[1] = 0
        if self.uses_team:
            with threads.team:
                code = self.run_native(*frame.call)
        else:
            code = self.run_native(*frame.call)
        if code:
            raise self.failure(code, frame)

    def failure(self, code: int, frame: Frame) -> BaseException:
        entry = self.entries[frame.status[0]]
        if code != native.FAILED_CHECK:
            return InternalError(None, None, f"native code failed with {code}")
        info = self.checks[entry.check]
        place = frame.scalar(info.bad)
        index = np.unravel_index(place, info.check.shape) if info.check.shape else ()
        text = info.check.message.replace("{at}", f"[{','.join(map(str, index))}]" if index else "")
        text = text.replace("{extent}", str(info.check.extent))
        if info.value is not None:
            text = text.replace("{value}", str(frame.scalar(info.value)))
        self._frames.append(frame)
        error = CheckFailed(None, None, text)
        return error if info.check.node is None else at(error, info.check.node)

    def too_large(self) -> str:
        return f"a program needs {self.arena_bytes} bytes for its intermediate values"


def _is_partial(update: Update) -> bool:
    """Only some elements are written, so a new buffer starts as a copy of the old one."""
    from headrace.codegen.stages import Scatter

    source = update.value.source
    return isinstance(source, Scatter) and source.into is update.variable


def _source_of(
    tensor: Tensor, inputs: list[Tensor], updates: list[Update], fresh: list[Tensor]
) -> Callable[[Sequence[Array], list[Array], list[Array]], Array]:
    """How an output is found: among the inputs, the new values or the fresh arrays."""
    root = memory_of(tensor)
    shape = None if root.shape == tensor.shape else tensor.shape

    def shaped(array: Array) -> Array:
        return array if shape is None else array.reshape(shape)

    for k, u in enumerate(updates):
        if u.value is root:
            return lambda arrays, news, made, k=k: shaped(news[k])  # type: ignore[misc]
    for k, t in enumerate(fresh):
        if t is root:
            return lambda arrays, news, made, k=k: shaped(made[k])  # type: ignore[misc]
    for k, t in enumerate(inputs):
        if t is root:
            return lambda arrays, news, made, k=k: shaped(arrays[k])  # type: ignore[misc]
    assert root.value is not None, root
    value = np.ascontiguousarray(root.value, root.dtype.numpy).reshape(tensor.shape)
    return lambda arrays, news, made: value
