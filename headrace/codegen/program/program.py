"""NativeProgram: one region for concrete shapes, ready to run.

`run(arrays)` binds the addresses of the inputs, makes one native call, and hands out the outputs:
new arrays each time, so what was returned never changes.  `run_checked` does the same in less time
where all variables may change in place; then native code checks the arrays.  Several threads may
run one program at once; each uses an instance (arena and tables) of its own.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from headrace.codegen.machine import threads
from headrace.codegen.machine.refusals import NEVER, Cancel, CheckFailed
from headrace.codegen.program import native
from headrace.codegen.program.arenas import ARENAS, LARGE
from headrace.codegen.program.image import Call, Image, image
from headrace.codegen.program.instance import Instance
from headrace.codegen.program.memory import ALIGNMENT
from headrace.core.dtypes import NDArray, NDType
from headrace.core.errors import InternalError, ResourceExhaustedError, at
from headrace.core.interrupts import noted
from headrace.core.records import record
from headrace.plan.plan import PlanNode

if TYPE_CHECKING:
    from headrace.codegen.ir.kernel_ir import Array
    from headrace.codegen.program.packed_weights import Packing

Key = tuple[Hashable, ...]  # names a variable (codegen.regions)


@dataclass(slots=True, eq=False)
class Label:
    """A place in a program: before entry `at`."""

    at: int = -1


@record
class Scratch:
    """A part of the memory that an instruction has for itself, while it runs."""

    offset: int


Place: TypeAlias = "tuple[Array, bool] | Scratch"  # an array, and whether it is written


@dataclass(slots=True, eq=False)
class Entry:
    """Words of one entry: kind and length, `head`, the places of its arrays, `tail`."""

    kind: int
    head: list[int]
    places: list[Place]
    tail: list[int]
    pairs: list[int] = field(default_factory=list)
    stores: list[str] = field(default_factory=list)  # names of the values that it writes
    params: list[int] = field(default_factory=list)  # of a kernel
    uses_team: bool = False
    check: int = -1
    name: str = ""
    jump: Label | None = None  # the first two words of `head` say where this is
    branches: list[Label] = field(default_factory=list)  # of a fork: where each begins, and the end
    kernel: str = ""  # the identity of the kernel at the first word of `head`
    code: Future[int] | None = None  # that word, while it is compiled
    limits: tuple[Entry, int] | None = None  # the first word of `head` addresses this word
    grows: int = -1  # a push on a stack without a limit: its number
    instantiate: Call | None = None


@record
class CheckInfo:
    """A check, with (base, offset) of its numbers (see codegen.ir.stages)."""

    shape: tuple[int, ...]
    message: str
    extent: int
    node: PlanNode | None
    bad: tuple[int, int]
    value: tuple[int, int] | None


Face = tuple[tuple[int, ...], NDType]  # shape and type of an array that goes in or out


@record
class Interface:
    """What goes into a program and comes out of it."""

    inputs: list[Face]
    # Per update: its variable's place among the inputs, may it be in place, is it partial.
    writes: list[tuple[int, bool, bool]]
    fresh: list[Face]
    results: list[Result]


class NativeProgram:
    """Bases: 0 is the arena, then inputs, new values of variables, fresh outputs, constants, then
    `moving` ones, which entries set, and `growing` stacks."""

    def __init__(
        self,
        interface: Interface,
        constants: NDArray,
        entries: list[Entry],
        checks: list[CheckInfo],
        arena_bytes: int,
        moving: int = 0,
        growing: int = 0,
        largest: str = "",
        made: Image | None = None,
    ) -> None:
        """What is decided once for all runs: the numbers of bases, whether the arena is borrowed for each
        run (large) or owned by instances, whether the team is needed."""
        self.inputs, self.writes, self.fresh = interface.inputs, interface.writes, interface.fresh
        self.results = interface.results
        self.constants, self.entries, self.checks = constants, entries, checks
        self.image = made or image(entries)
        self.arena_bytes, self.moving, self.growing = arena_bytes, moving, growing
        self.first_constant = 1 + len(self.inputs) + len(self.writes) + len(self.fresh)
        self.first_growing = self.first_constant + 1 + moving
        self.base_count = self.first_growing + growing
        self.is_large = arena_bytes >= LARGE
        self.largest = largest  # names and sizes, for the message when memory runs out
        self.uses_team = self.image.uses_team
        self.is_small = not (self.is_large or self.uses_team)
        self.run_native = native.runner()
        self.reads_objects = native.reads_objects()
        # Whether `run_checked` serves it.
        self.is_plain = self.reads_objects and all(may for _, may, _ in self.writes)
        self.spec = self._spec()
        self.packing: Packing | None = None  # makes the last inputs from others (codegen.convolution.packing)
        self._instances: list[Instance] = []
        self.pattern: object = None  # the program with open sizes that it comes from, for people
        self.sizes: tuple[int, ...] = ()  # what those are

    @property
    def nbytes(self) -> int:
        """The memory that it keeps, about: of one instance, and of what a library made for its calls."""
        own = 0 if self.is_large else self.arena_bytes
        return own + 2 * self.image.nbytes + self.constants.nbytes

    def _spec(self) -> NDArray:
        """What `run_checked` demands of the inputs (see codegen.program.native)."""
        words = [number for number, _, _ in self.writes]
        changed = set(words)
        needed = native.CONTIGUOUS | native.ALIGNED
        for i, (shape, dtype) in enumerate(self.inputs):
            flags, count = needed, 1 << 62
            if i in changed:
                flags, count = flags | native.OWNED | native.WRITABLE, native.holders()
            words += [len(shape), id(dtype), flags, count, *shape]
        return np.array(words or [0], np.int64)

    def run(
        self,
        arrays: list[NDArray],
        is_free: Sequence[bool] = (),
        cancel: Cancel = NEVER,
        times: NDArray | None = None,
    ) -> tuple[list[NDArray], list[NDArray]]:
        """Outputs, and the new values of updated variables.  The arrays must have the inputs'
        shapes and types and be contiguous; `is_free` says per update whether the old value may
        go.  Ends early with `cancel.reason` once that is not None.  Adds to `times` the ticks that
        each entry takes."""
        if self.packing is not None:
            arrays = [*arrays, *self.packing.arrays(arrays)]
        try:
            instance = self._instances.pop()
        except IndexError:
            instance = Instance(self)
        bound = list(arrays)
        news: list[NDArray] = []
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
        if times is not None:
            instance.table[11] = times.ctypes.data
        try:
            if self.reads_objects:
                self.call(instance, bound, native.PLAIN, cancel)
            else:
                instance.bind(bound)
                self.call(instance, bound, native.RESUME, cancel)
        finally:
            instance.table[11] = 0
        self._instances.append(instance)
        return [r.find(arrays, news, fresh) for r in self.results], news

    def run_checked(self, arrays: list[NDArray], cancel: Cancel) -> bool:
        """Run with variables changed in place; the fresh outputs are appended to `arrays`.  False
        where the arrays are not what the program was made for, or somebody else holds a variable:
        then nothing has happened.  Who calls holds no references but the list's."""
        if self.packing is not None:
            arrays += self.packing.arrays(arrays)
        try:
            instance = self._instances.pop()
        except IndexError:
            instance = Instance(self)
        for shape, dtype in self.fresh:
            arrays.append(np.empty(shape, dtype))
        if self.is_small:
            code = self.run_native(instance.address, id(arrays), native.CHECKED)
            fits = code == native.OK or self.after(code, instance, cancel)
        else:
            fits = self.call(instance, arrays, native.CHECKED, cancel)
        self._instances.append(instance)
        return fits

    def call(self, instance: Instance, arrays: list[NDArray], how: int, cancel: Cancel) -> bool:
        if not self.is_large:
            return self.execute(instance, arrays, how, cancel)
        try:
            arena = ARENAS.take(self.arena_bytes + ALIGNMENT)
        except (MemoryError, ValueError, OverflowError) as error:  # NumPy's words for "too large"
            raise ResourceExhaustedError(None, None, self.too_large()) from error
        instance.lend(arena)
        try:
            return self.execute(instance, arrays, how, cancel)
        finally:
            instance.lend(None)
            ARENAS.give(arena)

    def execute(self, instance: Instance, arrays: list[NDArray], how: int, cancel: Cancel) -> bool:
        if self.uses_team:
            code = self.with_team(instance, arrays, how, cancel)
        else:
            code = self.run_native(instance.address, id(arrays), how)
        return self.after(code, instance, cancel)

    def after(self, code: int, instance: Instance, cancel: Cancel) -> bool:
        """Go on where native code returned before its end; whether the arrays were as expected."""
        code = self.resumed(self.grown(code, instance), instance, cancel)
        if code == native.OK:
            return True
        if code == native.MISFIT:
            return False
        raise self.failure(code, instance, cancel)

    def resumed(self, code: int, instance: Instance, cancel: Cancel, gives_way: bool = False) -> int:
        """Go on after pauses; with `gives_way` only until another program waits for the cores."""
        if code != native.PAUSED:
            return code
        with noted() as ctrl_c:
            while code == native.PAUSED and cancel.reason is None and not ctrl_c.is_pressed:
                if gives_way and threads.team.is_wanted:
                    break
                code = self.go(instance, None, native.RESUME)
            if ctrl_c.is_pressed:
                raise KeyboardInterrupt
        return code

    def go(self, instance: Instance, where: int | None, how: int) -> int:
        """Until it pauses or ends; stacks grow on the way."""
        return self.grown(self.run_native(instance.address, where, how), instance)

    def grown(self, code: int, instance: Instance) -> int:
        while code == native.FULL:
            try:
                instance.grow(self)
            except MemoryError as error:
                raise ResourceExhaustedError(None, None, self.too_large()) from error
            code = self.run_native(instance.address, None, native.RESUME)
        return code

    def with_team(self, instance: Instance, arrays: list[NDArray], how: int, cancel: Cancel) -> int:
        """All cores, for a while at a time: others have their turn where this program pauses."""
        where: int | None = id(arrays)
        while True:
            threads.team.acquire(cancel)
            try:
                code = self.go(instance, where, how)
                code = self.resumed(code, instance, cancel, gives_way=True)
            finally:
                threads.team.release()
            if code != native.PAUSED or cancel.reason is not None:
                return code
            how, where = native.RESUME, None

    def failure(self, code: int, instance: Instance, cancel: Cancel) -> BaseException:
        """The exception for a code that native code returned.  The instance can be used again, except
        after an error of a library, whose state is not known."""
        if code == native.PAUSED:
            self._instances.append(instance)
            assert cancel.reason is not None  # without one, the run would have gone on
            return cancel.reason
        entry = self.entries[instance.number]
        if code == native.REFUSED:
            self._instances.append(instance)
            return CheckFailed(None, None, f"{entry.name}: refused")
        if code != native.FAILED_CHECK:
            return InternalError(None, None, f"native code failed with {code}")
        info = self.checks[entry.check]
        place = instance.scalar(info.bad)
        index = np.unravel_index(place, info.shape) if info.shape else ()
        text = info.message.replace("{at}", f"[{','.join(map(str, index))}]" if index else "")
        text = text.replace("{extent}", str(info.extent))
        if info.value is not None:
            text = text.replace("{value}", str(instance.scalar(info.value)))
        self._instances.append(instance)
        error = CheckFailed(None, None, text)
        return error if info.node is None else at(error, info.node)

    def new_times(self) -> NDArray:
        """Ticks of the processor per entry, for `run` to add to."""
        return np.zeros(len(self.entries) + 1, np.int64)

    def too_large(self) -> str:
        return (
            f"OOM: a program needs {self.arena_bytes} bytes for its intermediate values; the "
            f"largest are {self.largest}"
        )


@record
class Result:
    """Where an output is: array `number` of a group, or a constant."""

    group: str  # inputs, news, fresh or constant
    number: int
    shape: tuple[int, ...]
    dtype: NDType
    constant: NDArray | None = None

    @property
    def is_few(self) -> bool:
        """A constant of few integers: perhaps sizes."""
        value = self.constant
        return value is not None and value.dtype.kind in "iu" and value.size <= 64

    def find(self, arrays: list[NDArray], news: list[NDArray], fresh: list[NDArray]) -> NDArray:
        if self.constant is not None:
            return self.constant
        array = {"inputs": arrays, "news": news, "fresh": fresh}[self.group][self.number]
        return array if array.shape == self.shape else self.shown(array)

    def shown(self, array: NDArray) -> NDArray:
        """The array's memory as this result sees it."""
        return (array if array.dtype == self.dtype else array.view(self.dtype)).reshape(self.shape)


@dataclass(slots=True)
class Specialized:
    """A program and how the region's values map to it."""

    program: NativeProgram
    variables: list[Key]  # in the order of the program's last inputs
    updated: list[Key]
    outputs: list[int | Key]  # a place in the program's outputs, or a variable
