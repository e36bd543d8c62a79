"""oneDNN's C API through ctypes: descriptors, primitives, memory.  Loaded on first use.

Every handle is an object that frees it.  A call that does not succeed raises `Unsupported` (this
library cannot do it) or `LibraryError` (we asked wrongly).  What a primitive is made from says in
`recipe` how it was made itself: a word and its arguments, so that another process can make it again
(codegen.onednn.recipes).
"""

from __future__ import annotations

import ctypes
import ctypes.util
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from headrace.codegen.machine import threads
from headrace.codegen.program import native
from headrace.core import options
from headrace.core.modules import late
from headrace.core.records import record
from headrace.core.size_values import Numbers
from headrace.core.sizes import Size, Trace, hint, hints

recipes = late("headrace.codegen.onednn.recipes")

UNIMPLEMENTED = 3
MAX_DIMS = 12
MANY = 1024  # descriptors that are kept
FORMAT_ANY = 1
SCRATCH = 64  # bytes of scratch memory at least, where sizes are open
CPU, IN_ORDER, SCRATCHPAD_USER = 1, 1, 1
FORWARD_TRAINING, FORWARD_INFERENCE = 64, 96
CONVOLUTION_DIRECT, POOL_AVERAGE_INSIDE = 0x1, 0x3FF
RELU, BINARY_ADD = 0x20, 0x1FFF0

TYPES = {"f16": 1, "bf16": 2, "f32": 3, "i32": 4, "i8": 5, "u8": 6, "f64": 7}
IMPLEMENTATION = 8  # what to query
INNER_COUNT, INNER_SIZES, INNER_AXES = 263, 264, 265
BLOCKED_TAGS = {8: 102, 16: 78}  # of four dimensions, the second one in blocks
MD = {
    "src": 129,
    "diff_src": 130,
    "weights": 131,
    "diff_weights": 132,
    "dst": 133,
    "diff_dst": 134,
    "workspace": 135,
    "scratchpad": 136,
}
ARG = {"src": 1, "src_1": 2, "dst": 17, "weights": 33, "bias": 41, "mean": 49, "variance": 50,
       "scale": 51, "shift": 52, "workspace": 64, "scratchpad": 80, "diff_src": 129,
       "diff_dst": 145, "diff_weights": 161, "diff_bias": 169, "diff_scale": 255,
       "diff_shift": 256, "post_op": 32768}  # fmt: skip


PostOp = tuple[str] | tuple[str, "float | Layout"]  # its name, and what it takes
Recipe = tuple[object, ...]


class LibraryError(Exception):
    """oneDNN refused a call."""


class Unsupported(LibraryError):
    """oneDNN has no implementation of this."""


def path() -> str | None:
    """The library's file, wherever pip put it."""
    import importlib.metadata

    try:
        files = importlib.metadata.files("onednn-cpu-gomp") or []
    except importlib.metadata.PackageNotFoundError:
        return None
    for file in files:
        if file.name.startswith("libdnnl.so.3"):
            return str(file.locate())
    return None


@lru_cache(maxsize=1)
def library() -> ctypes.CDLL | None:
    """The loaded library, or None where the wheel or libgomp is missing."""
    found = path()
    if found is None or threads.libgomp() is None or "onednn" in options.without():
        return None
    try:
        lib = ctypes.CDLL(found)
    except OSError:
        return None
    lib.dnnl_memory_desc_get_size.restype = ctypes.c_size_t
    lib.dnnl_primitive_desc_query_md.restype = ctypes.c_void_p
    table = native.runtime_table()
    table[3] = native.address_of(lib.dnnl_memory_set_data_handle)
    table[4] = native.address_of(lib.dnnl_primitive_execute)
    threads.count()
    return lib


class _Version(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_int),
        ("minor", ctypes.c_int),
        ("patch", ctypes.c_int),
        ("hash", ctypes.c_char_p),
        ("cpu", ctypes.c_uint),
        ("gpu", ctypes.c_uint),
    ]


@lru_cache(maxsize=1)
def identity() -> str:
    """Which library this is: another one may choose other layouts."""
    lib = library()
    if lib is None:
        return ""
    lib.dnnl_version.restype = ctypes.POINTER(_Version)
    found, state = lib.dnnl_version().contents, os.stat(lib._name)
    numbers = [found.major, found.minor, found.patch, state.st_size, state.st_mtime_ns]
    return f"{(found.hash or b'').decode()} {numbers}"


def check(status: int, what: str) -> None:
    if status == UNIMPLEMENTED:
        raise Unsupported(what)
    if status:
        raise LibraryError(f"{what}: status {status}")


class Handle:
    """A pointer that is destroyed with its owner."""

    __slots__ = ("_as_parameter_", "_destroy", "keep", "pointer", "recipe", "trace")

    def __init__(self, pointer: int, destroy: str | None, *keep: object) -> None:
        self.pointer, self.keep = pointer, keep
        self._as_parameter_ = ctypes.c_void_p(pointer)
        self.recipe: Recipe = ()
        self.trace: Trace | None = None
        self._destroy = getattr(_lib(), destroy) if destroy else None

    def __del__(self, pointer: type[ctypes.c_void_p] = ctypes.c_void_p) -> None:  # kept: modules may be gone
        if self._destroy is not None:
            self._destroy(pointer(self.pointer))


def _lib() -> ctypes.CDLL:
    found = library()
    assert found is not None, "oneDNN is not there"
    return found


def _made(function: str, destroy: str | None, *args: object, keep: tuple[object, ...] = ()) -> Handle:
    out = ctypes.c_void_p()
    check(getattr(_lib(), function)(ctypes.byref(out), *args), function)
    return Handle(out.value or 0, destroy, *keep)


def _kept(make: Any, *args: Any) -> Any:
    """What `make` has made of equal arguments before.  What open sizes are in is their trace's own."""
    trace = trace_of(args)
    if trace is None:
        return make(*args)
    found = trace.made.get((make, args))
    if found is None:
        found = trace.made[make, args] = make.__wrapped__(*args)
    return found


def trace_of(part: object) -> Trace | None:
    """The trace of the open sizes in a recipe, or in what it is made of; None: it has none."""
    if isinstance(part, tuple):
        return next((t for p in part if (t := trace_of(p)) is not None), None)
    return part.trace if isinstance(part, (Dims, Layout, Description, Handle, Size)) else None


class Dims:
    """Sizes as the library takes them."""

    def __init__(self, values: tuple[int, ...]) -> None:
        self._as_parameter_ = (ctypes.c_int64 * MAX_DIMS)(*hints(values))
        self.recipe: Recipe = ("dims", values)
        self.trace = trace_of(values)


def dims(values: Sequence[int]) -> Dims:
    """Equal values give one and the same object, as layouts do: calls are known by them."""
    return _kept(_dims, tuple(values))  # type: ignore[no-any-return]


@lru_cache(maxsize=MANY)
def _dims(values: tuple[int, ...]) -> Dims:
    if len(values) > MAX_DIMS:
        raise Unsupported("too many dimensions")
    return Dims(values)


@lru_cache(maxsize=1)
def engine() -> Handle:
    made = _made("dnnl_engine_create", None, CPU, ctypes.c_size_t(0))
    made.recipe = ("engine",)
    return made


@lru_cache(maxsize=1)
def stream() -> Handle:
    """One for all: with one engine of the processor it has no state."""
    return _made("dnnl_stream_create", "dnnl_stream_destroy", engine(), IN_ORDER)


class Layout:
    """A memory descriptor: sizes, type, and where elements are."""

    def __init__(self, handle: Handle, recipe: Recipe) -> None:
        self.handle, self.recipe = handle, recipe
        self.trace = trace_of(recipe)
        self._as_parameter_ = handle._as_parameter_

    @property
    def now(self) -> int:
        return int(_lib().dnnl_memory_desc_get_size(self))

    @property
    def nbytes(self) -> int:
        if self.trace is None:
            return self.now
        key = "nbytes", id(self)
        if key not in self.trace.made:
            found = self.trace.late(self.now, lambda numbers: recipes.remade(self, numbers).now)
            self.trace.made[key] = found, self
        size: int = self.trace.made[key][0]
        return size

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Layout):
            return False
        answer = bool(_lib().dnnl_memory_desc_equal(self, other))
        trace = trace_of((self, other))
        if trace is not None and not (answer and _is_given(self, other)):
            self._note(other, answer, trace)
        return answer

    def _note(self, other: Layout, answer: bool, trace: Trace) -> None:
        """That the answer must be this for other sizes, once; both are kept, so that an id names one."""
        pair = "equal", *sorted((id(self), id(other)))
        if pair not in trace.made:
            trace.made[pair] = self, other
            holds = lambda at: (recipes.remade(self, at) == recipes.remade(other, at)) is answer
            trace.conditions.append(_or_refused(holds))

    __hash__ = object.__hash__

    @property
    def block(self) -> int:
        """Channels per block, where the layout is an image's with one level of blocks; else 0."""
        lib = _lib()
        count = ctypes.c_int()
        lib.dnnl_memory_desc_query(self, INNER_COUNT, ctypes.byref(count))
        if count.value != 1:
            return 0
        sizes, axes = (ctypes.POINTER(ctypes.c_int64)() for _ in range(2))
        lib.dnnl_memory_desc_query(self, INNER_SIZES, ctypes.byref(sizes))
        lib.dnnl_memory_desc_query(self, INNER_AXES, ctypes.byref(axes))
        return sizes[0] if axes[0] == 1 and sizes[0] in BLOCKED_TAGS else 0


def _or_refused(holds: Callable[[Numbers], bool]) -> Callable[[Numbers], bool]:
    """A condition that does not hold either where the library refuses."""

    def asked(numbers: Numbers) -> bool:
        try:
            return holds(numbers)
        except LibraryError:
            return False

    return asked


def _is_given(have: Layout, want: Layout) -> bool:
    """Whether a primitive wants the very layout that it was described with, whatever the sizes are."""
    return have.recipe[0] == "strided" and want.recipe[0] == "part" and id(have) in _parts(want.recipe[1])


def _parts(description: Any) -> list[int]:
    return [id(part) for part in description.recipe]


def strided(shape: Sequence[int], kind: str, strides: Sequence[int]) -> Layout:
    return _kept(_strided, tuple(shape), kind, tuple(strides))  # type: ignore[no-any-return]


def _demand_small(shape: tuple[int, ...]) -> None:
    """The library counts in 32 bits here and there: beyond them it may divide by zero."""
    if max(hints(shape), default=0) >= 1 << 31:
        raise Unsupported("a dimension of 2^31 or more")


@lru_cache(maxsize=MANY)
def _strided(shape: tuple[int, ...], kind: str, strides: tuple[int, ...]) -> Layout:
    _demand_small(shape)
    handle = _made(
        "dnnl_memory_desc_create_with_strides",
        "dnnl_memory_desc_destroy",
        len(shape),
        dims(shape),
        TYPES[kind],
        dims(strides),
    )
    return Layout(handle, ("strided", shape, kind, strides))


def any_layout(shape: Sequence[int], kind: str) -> Layout:
    """Let the library choose."""
    return _kept(tagged, tuple(shape), kind, FORMAT_ANY)  # type: ignore[no-any-return]


def blocked(shape: Sequence[int], kind: str, block: int) -> Layout:
    """Images (batch, channels, rows, columns) with blocks of channels innermost."""
    return _kept(tagged, tuple(shape), kind, BLOCKED_TAGS[block])  # type: ignore[no-any-return]


@lru_cache(maxsize=MANY)
def tagged(shape: tuple[int, ...], kind: str, tag: int) -> Layout:
    _demand_small(shape)
    handle = _made(
        "dnnl_memory_desc_create_with_tag",
        "dnnl_memory_desc_destroy",
        len(shape),
        dims(shape),
        TYPES[kind],
        tag,
    )
    return Layout(handle, ("tagged", shape, kind, tag))


def attributes(post_ops: Sequence[PostOp] = ()) -> Handle:
    """Scratch memory is ours; `post_ops` are ("sum", scale), ("relu",) or ("add", layout)."""
    return _attributes(tuple(post_ops))


@lru_cache(maxsize=MANY)
def _attributes(post_ops: tuple[PostOp, ...]) -> Handle:
    attr = _made("dnnl_primitive_attr_create", "dnnl_primitive_attr_destroy")
    lib = _lib()
    check(lib.dnnl_primitive_attr_set_scratchpad_mode(attr, SCRATCHPAD_USER), "scratchpad mode")
    if post_ops:
        chain = _made("dnnl_post_ops_create", "dnnl_post_ops_destroy")
        for name, *rest in post_ops:
            _append(lib, chain, name, *rest)
        check(lib.dnnl_primitive_attr_set_post_ops(attr, chain), "post-ops")
    attr.recipe = ("attributes", post_ops)
    return attr


def _append(lib: ctypes.CDLL, chain: Handle, name: str, given: float | Layout = 0.0) -> None:
    real = ctypes.c_float
    match name:
        case "sum":
            assert isinstance(given, float)
            check(lib.dnnl_post_ops_append_sum(chain, real(given), 0, 0), "sum post-op")
        case "relu":
            check(lib.dnnl_post_ops_append_eltwise(chain, RELU, real(0), real(0)), "relu post-op")
        case "add":
            check(lib.dnnl_post_ops_append_binary(chain, BINARY_ADD, given), "add post-op")


class Description:
    """A primitive descriptor: what to do, on which layouts."""

    def __init__(self, team: int, kind: str, *args: object) -> None:
        self.handle = _made(
            f"dnnl_{kind}_primitive_desc_create", "dnnl_primitive_desc_destroy", *args, keep=args
        )
        self.team = team
        self.recipe: Recipe = ("described", team, kind, *args)
        self.trace = trace_of(self.recipe)
        self._layouts: dict[tuple[str, int], Layout] = {}
        self._as_parameter_ = self.handle._as_parameter_

    def layout(self, name: str, index: int = 0) -> Layout:
        made = self._layouts.get((name, index))
        if made is None:
            found = _lib().dnnl_primitive_desc_query_md(self, MD[name], index)
            made = Layout(Handle(found or 0, None, self.handle), ("part", self, name, index))
            self._layouts[name, index] = made
        return made

    @property
    def scratch(self) -> int:
        """Bytes of scratch memory.  Where sizes are open there are always some: whether the library wants any
        changes with the sizes, and what it gets it need not use."""
        layout = self.layout("scratchpad")
        trace = self.trace
        if trace is None:
            return layout.now if layout.handle.pointer else 0
        key = "scratch", self
        if key not in trace.made:
            room = max(layout.now, SCRATCH)
            trace.made[key] = trace.late(
                room, lambda numbers: max(recipes.remade(layout, numbers).now, SCRATCH)
            )
        size: int = trace.made[key]
        return size

    @property
    def implementation(self) -> str:
        text = ctypes.c_char_p()
        check(_lib().dnnl_primitive_desc_query(self, IMPLEMENTATION, 0, ctypes.byref(text)), "implementation")
        return (text.value or b"").decode()

    def primitive(self) -> Handle:
        made = _made("dnnl_primitive_create", "dnnl_primitive_destroy", self, keep=(self.handle,))
        made.recipe, made.trace = ("primitive", self), self.trace
        return made


def described(kind: str, *args: object) -> Description:
    """A descriptor for as many threads as this one would use now; equal ones are made once."""
    gomp = threads.libgomp()
    team = 0 if gomp is None else gomp.omp_get_max_threads()
    made: Description = _kept(_described, _team[-1] if _team else team, kind, *args)
    return made


_team: list[int] = []


@contextmanager
def described_for(team: int) -> Iterator[None]:
    """Descriptors for so many threads, which may be an open number."""
    _team.append(team)
    try:
        with threads.limited_to(hint(team)):
            yield
    finally:
        _team.pop()


@lru_cache(maxsize=MANY)
def _described(team: int, kind: str, *args: object) -> Description:
    return Description(team, kind, *args)


class Argument(ctypes.Structure):
    _fields_ = [("arg", ctypes.c_int), ("memory", ctypes.c_void_p)]


class Memories:
    """Memory objects without memory: their addresses are set before each use."""

    def __init__(self, layouts: Sequence[Layout]) -> None:
        self.pointers = (ctypes.c_void_p * len(layouts))()
        self.layouts = layouts
        create, place = _creator(), ctypes.addressof(self.pointers)
        self._destroy = _lib().dnnl_memory_destroy
        where = engine().pointer
        for i, layout in enumerate(layouts):
            check(create(place + 8 * i, layout.handle.pointer, where, 0), "dnnl_memory_create")

    def __del__(self, pointer: type[ctypes.c_void_p] = ctypes.c_void_p) -> None:  # kept: modules may be gone
        for made in self.pointers:
            if made:
                self._destroy(pointer(made))


@lru_cache(maxsize=1)
def _creator() -> Any:
    """dnnl_memory_create, of plain numbers: a program has hundreds of memory objects."""
    kind = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 4)
    return kind(native.address_of(_lib().dnnl_memory_create))


@record
class Call:
    """A primitive with the layouts of its arguments.  Makes the words of an entry: memory objects and
    stream are an instance's own, since runs may overlap."""

    primitive: Handle
    arguments: list[tuple[str, Layout]]
    team: int

    @property
    def count(self) -> int:
        return len(self.arguments)

    def __call__(self) -> tuple[list[int], list[int], object]:
        memories = Memories([layout for _, layout in self.arguments])
        table = (Argument * self.count)()
        held: list[int] = list(memories.pointers)
        for slot, (name, _), memory in zip(table, self.arguments, held):
            slot.arg, slot.memory = ARG[name], memory
        line, primitive = stream(), self.primitive
        head = [primitive.pointer, line.pointer, ctypes.addressof(table), self.team, len(held)]
        return head, held, (memories, table, line, primitive)
