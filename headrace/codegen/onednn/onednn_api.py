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
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from headrace.codegen.machine import threads
from headrace.codegen.program import native
from headrace.core import options

UNIMPLEMENTED = 3
MAX_DIMS = 12
MANY = 1024  # descriptors that are kept
FORMAT_ANY = 1
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

    __slots__ = ("_destroy", "keep", "pointer", "recipe")

    def __init__(self, pointer: int, destroy: str | None, *keep: object) -> None:
        self.pointer, self.keep = pointer, keep
        self.recipe: Recipe = ()
        self._destroy = getattr(_lib(), destroy) if destroy else None

    def __del__(self, pointer: type[ctypes.c_void_p] = ctypes.c_void_p) -> None:  # kept: modules may be gone
        if self._destroy is not None:
            self._destroy(pointer(self.pointer))

    @property
    def _as_parameter_(self) -> ctypes.c_void_p:
        return ctypes.c_void_p(self.pointer)


def _lib() -> ctypes.CDLL:
    found = library()
    assert found is not None, "oneDNN is not there"
    return found


def _made(function: str, destroy: str | None, *args: object, keep: tuple[object, ...] = ()) -> Handle:
    out = ctypes.c_void_p()
    check(getattr(_lib(), function)(ctypes.byref(out), *args), function)
    return Handle(out.value or 0, destroy, *keep)


class Dims:
    """Sizes as the library takes them."""

    def __init__(self, values: tuple[int, ...]) -> None:
        self._as_parameter_ = (ctypes.c_int64 * MAX_DIMS)(*values)
        self.recipe: Recipe = ("dims", values)


def dims(values: Sequence[int]) -> Dims:
    """Equal values give one and the same object, as layouts do: calls are known by them."""
    return _dims(tuple(values))


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


def stream() -> Handle:
    return _made("dnnl_stream_create", "dnnl_stream_destroy", engine(), IN_ORDER)


class Layout:
    """A memory descriptor: sizes, type, and where elements are."""

    def __init__(self, handle: Handle, recipe: Recipe) -> None:
        self.handle, self.recipe = handle, recipe

    @property
    def _as_parameter_(self) -> ctypes.c_void_p:
        return ctypes.c_void_p(self.handle.pointer)

    @property
    def nbytes(self) -> int:
        return int(_lib().dnnl_memory_desc_get_size(self))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Layout) and bool(_lib().dnnl_memory_desc_equal(self, other))

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


def strided(shape: Sequence[int], kind: str, strides: Sequence[int]) -> Layout:
    return _strided(tuple(shape), kind, tuple(strides))


@lru_cache(maxsize=MANY)
def _strided(shape: tuple[int, ...], kind: str, strides: tuple[int, ...]) -> Layout:
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
    return tagged(tuple(shape), kind, FORMAT_ANY)


def blocked(shape: Sequence[int], kind: str, block: int) -> Layout:
    """Images (batch, channels, rows, columns) with blocks of channels innermost."""
    return tagged(tuple(shape), kind, BLOCKED_TAGS[block])


@lru_cache(maxsize=MANY)
def tagged(shape: tuple[int, ...], kind: str, tag: int) -> Layout:
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

    @property
    def _as_parameter_(self) -> ctypes.c_void_p:
        return ctypes.c_void_p(self.handle.pointer)

    def layout(self, name: str, index: int = 0) -> Layout:
        found = _lib().dnnl_primitive_desc_query_md(self, MD[name], index)
        return Layout(Handle(found or 0, None, self.handle), ("part", self, name, index))

    def size(self, name: str) -> int:
        layout = self.layout(name)
        return layout.nbytes if layout.handle.pointer else 0

    @property
    def implementation(self) -> str:
        text = ctypes.c_char_p()
        check(_lib().dnnl_primitive_desc_query(self, IMPLEMENTATION, 0, ctypes.byref(text)), "implementation")
        return (text.value or b"").decode()

    def primitive(self) -> Handle:
        made = _made("dnnl_primitive_create", "dnnl_primitive_destroy", self, keep=(self.handle,))
        made.recipe = ("primitive", self)
        return made


def described(kind: str, *args: object) -> Description:
    """A descriptor for as many threads as this one would use now; equal ones are made once."""
    gomp = threads.libgomp()
    team = 0 if gomp is None else gomp.omp_get_max_threads()
    return _described(team, kind, *args)


@lru_cache(maxsize=MANY)
def _described(team: int, kind: str, *args: object) -> Description:
    return Description(team, kind, *args)


class Argument(ctypes.Structure):
    _fields_ = [("arg", ctypes.c_int), ("memory", ctypes.c_void_p)]


def memory(layout: Layout) -> Handle:
    """A memory object without memory: its address is set before each use."""
    return _made(
        "dnnl_memory_create",
        "dnnl_memory_destroy",
        layout,
        engine(),
        ctypes.c_void_p(0),
        keep=(layout.handle,),
    )


@dataclass(frozen=True, slots=True)
class Call:
    """A primitive with the layouts of its arguments.  Makes the words of an entry: memory objects and
    stream are an instance's own, since runs may overlap."""

    primitive: Handle
    arguments: list[tuple[str, Layout]]
    team: int

    def __call__(self) -> tuple[list[int], list[int], object]:
        memories = [memory(layout) for _, layout in self.arguments]
        table = (Argument * len(memories))()
        for slot, (name, _), held in zip(table, self.arguments, memories):
            slot.arg, slot.memory = ARG[name], held.pointer
        line, primitive = stream(), self.primitive
        head = [primitive.pointer, line.pointer, ctypes.addressof(table), self.team, len(memories)]
        return head, [m.pointer for m in memories], (memories, table, line, primitive)
