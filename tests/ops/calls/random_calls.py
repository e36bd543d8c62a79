"""Random calls of single ops: the ops' own samples, changed a little.

    for call in calls(op, seed=3, count=10): ...

A change is another element type, size, rank, attribute, other numbers, ties, NaN and infinities, other
indices, constants in place of feeds, shapes that the graph does not know.  Most changed calls are
accepted, some are refused: whoever answers them, reference, compiled code or TensorFlow, must say the
same.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.dtypes import DType, as_dtype, resource
from headrace.ops.declaration.declare import Op
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.traits import BLOCKING, CONTROL_FLOW, DIFFERENT_EACH_TIME, ELEMENTWISE, HOST

# What an op that takes any type is tried with.
USUAL = (
    dtypes.float32, dtypes.float64, dtypes.float16, dtypes.bfloat16, dtypes.int8, dtypes.int32,
    dtypes.int64, dtypes.uint8, dtypes.complex64, dtypes.complex128, dtypes.bool_, dtypes.string,
)  # fmt: skip
INDICES = {dtypes.uint8, dtypes.int16, dtypes.int32, dtypes.int64}
SPECIAL = (np.nan, np.inf, -np.inf, -0.0, 0.0, 1.0, -1.0, 0.5, 2.5, 1e-3, 1e4)
SIZES = (0, 1, 2, 3, 5, 8, 17)
MOST = 1 << 14  # elements of an input
HUGE = 1 << 22  # and of an output, if somebody asked for its shape
Rng = np.random.Generator


@dataclass
class Call:
    """An op and what it is called with; `changes` says how it came from a sample."""

    op: Op
    inputs: list[Any]
    attrs: dict[str, Any]
    constants: set[int] = field(default_factory=set)  # positions of inputs that the graph knows
    is_hidden: bool = False  # the graph knows no shapes
    changes: list[str] = field(default_factory=list)

    def arrays(self) -> Iterator[tuple[int, int | None, np.ndarray]]:
        """(position, place in the list there, array)"""
        for i, value in enumerate(self.inputs):
            if isinstance(value, list):
                yield from ((i, j, x) for j, x in enumerate(value))
            else:
                yield i, None, value

    def put(self, i: int, j: int | None, array: np.ndarray) -> None:
        if j is None:
            self.inputs[i] = array
        else:
            self.inputs[i] = [array if k == j else x for k, x in enumerate(self.inputs[i])]

    def is_index(self, i: int) -> bool:
        """Whether an input holds sizes, axes or places."""
        arg = self.op.signature.inputs[i]
        if arg.type_attr is None:
            return arg.dtype in (dtypes.int32, dtypes.int64)
        allowed = self.op.signature.attrs[arg.type_attr].allowed
        return bool(allowed) and set(allowed) <= INDICES

    def __str__(self) -> str:
        shown = repr(Sample(*self.inputs, **self.attrs))
        known = f" constants={sorted(self.constants)}" if self.constants else ""
        hidden = " hidden" if self.is_hidden else ""
        return f"{self.op.name}({shown}){known}{hidden} [{' '.join(self.changes)}]"


def is_callable(op: Op) -> bool:
    """Whether calls of an op by itself have a meaning, and the same one every time."""
    if op.sample_rule is None or op.traits & {HOST, BLOCKING, DIFFERENT_EACH_TIME, CONTROL_FLOW}:
        return False
    takes_state = any(a.is_ref or a.dtype is resource for a in op.signature.inputs)
    return takes_state or not op.is_stateful


def calls(op: Op, seed: int, count: int) -> Iterator[Call]:
    number = zlib.crc32(op.name.encode())
    assert op.sample_rule is not None
    samples = [s for s in op.sample_rule(np.random.default_rng(number)) if type(s) is Sample]
    rng = np.random.default_rng([seed, number])
    for _ in range(count if samples else 0):
        sample = samples[rng.integers(len(samples))]
        call = Call(op, [_own(x) for x in sample.inputs], dict(sample.attrs))
        for _ in range(rng.integers(1, 4)):
            name = str(rng.choice(list(CHANGES)))
            CHANGES[name](call, rng)
            call.changes.append(name)
        if not _may_be_huge(call):
            yield call


def refused_calls(op: Op) -> Iterator[Call]:
    """The samples of an op that it refuses, with the graph knowing little, and much."""
    assert op.sample_rule is not None
    for sample in op.sample_rule(np.random.default_rng(zlib.crc32(op.name.encode()))):
        if isinstance(sample, ErrorSample):
            inputs = [_own(x) for x in sample.inputs]
            yield Call(op, inputs, dict(sample.attrs), is_hidden=True, changes=["refused"])
            known = set(range(1, len(inputs)))
            yield Call(op, inputs, dict(sample.attrs), known, changes=["refused"])


def _may_be_huge(call: Call) -> bool:
    """Whether a vector of indices would, as a shape, be that of an array which no memory holds."""
    vectors = (x for i, _, x in call.arrays() if call.is_index(i) and x.ndim == 1)
    return any(np.prod(np.maximum(np.abs(x), 1.0)) > HUGE for x in vectors)


def _own(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_own(x) for x in value]
    array = np.array(value)
    return array.astype(object) if array.dtype.kind in "SU" else array


def _chosen(call: Call, rng: Rng, index: bool) -> tuple[int, int | None, np.ndarray] | None:
    found = [a for a in call.arrays() if call.is_index(a[0]) == index and a[2].size]
    return found[rng.integers(len(found))] if found else None


# -- types ---------------------------------------------------------------------------------------
def other_type(call: Call, rng: Rng) -> None:
    """Another type where the signature says T, and in the attributes that named the old one."""
    signature = call.op.signature
    names = [n for n, a in signature.attrs.items() if a.kind == "type"]
    if not names:
        return
    name = names[rng.integers(len(names))]
    allowed = [d for d in signature.attrs[name].allowed or USUAL if d in USUAL]
    if not allowed:
        return
    new, old = allowed[rng.integers(len(allowed))], None
    for i, j, array in list(call.arrays()):
        if signature.inputs[i].type_attr == name:
            old = as_dtype(array.dtype)
            call.put(i, j, as_type(array, new))
    if old is None and name in call.attrs:
        call.attrs[name] = new
    for i, arg in enumerate(signature.inputs):
        if arg.dtype is resource and old is as_dtype(call.inputs[i].dtype):
            call.inputs[i] = as_type(call.inputs[i], new)
    for key, value in call.attrs.items():
        if value is old and key != name:
            call.attrs[key] = new


def as_type(array: np.ndarray, dtype: DType) -> np.ndarray:
    """The nearest values of a type: numbers that do not fit are cut, text is what numbers look like."""
    if as_dtype(array.dtype) is dtype:
        return array
    if dtype is dtypes.string:
        words = [str(x)[:6].encode() for x in array.reshape(-1).tolist()]
        out = np.empty(len(words), object)
        out[:] = words
        return out.reshape(array.shape)
    if array.dtype == object:
        return np.zeros(array.shape, dtype.numpy)
    if array.dtype.kind == "c" and dtype.kind != "c":
        array = array.real
    if dtype.is_integer:
        low = 0 if dtype.kind == "u" else -100
        array = np.clip(np.nan_to_num(np.rint(array.astype(np.float64))), low, 100)
    with np.errstate(all="ignore"):
        return np.asarray(array > 0) if dtype is dtypes.bool_ else array.astype(dtype.numpy)


# -- shapes --------------------------------------------------------------------------------------
def other_size(call: Call, rng: Rng) -> None:
    """One size becomes another wherever it stands: in shapes and, perhaps, in vectors of sizes."""
    sizes = sorted({n for _, _, x in call.arrays() for n in x.shape})
    if not sizes:
        return
    old, new = sizes[rng.integers(len(sizes))], SIZES[rng.integers(len(SIZES))]
    for i, j, array in list(call.arrays()):
        if call.is_index(i) and array.ndim < 2 and rng.random() < 0.5:
            array = np.where(array == old, array.dtype.type(new), array)
        for axis, n in enumerate(array.shape):
            if n == old and array.size // max(n, 1) * new <= MOST:
                array = resized(array, axis, new)
        call.put(i, j, array)


def resized(array: np.ndarray, axis: int, size: int) -> np.ndarray:
    """Along an axis, as many elements as wanted: the first ones, again and again."""
    if array.shape[axis]:
        return np.take(array, np.arange(size) % array.shape[axis], axis)
    shape = [size if k == axis else n for k, n in enumerate(array.shape)]
    return np.full(shape, b"", object) if array.dtype == object else np.zeros(shape, array.dtype)


def other_rank(call: Call, rng: Rng) -> None:
    """One leading dimension more, or less, of one input or of all that are no indices."""
    chosen = [a for a in call.arrays() if not call.is_index(a[0])]
    if chosen and rng.random() < 0.5:
        chosen = [chosen[rng.integers(len(chosen))]]
    is_more, copies = rng.random() < 0.5, int(rng.integers(0, 4))
    for i, j, array in chosen:
        if is_more:
            call.put(i, j, np.broadcast_to(array, (copies, *array.shape)).copy())
        elif array.ndim and array.shape[0]:
            call.put(i, j, np.asarray(array[0], array.dtype))


def broadcast(call: Call, rng: Rng) -> None:
    """A dimension of one input becomes 1."""
    found = _chosen(call, rng, index=False)
    if found is not None and found[2].ndim:
        i, j, array = found
        call.put(i, j, resized(array, int(rng.integers(array.ndim)), 1))


# -- values --------------------------------------------------------------------------------------
def other_values(call: Call, rng: Rng) -> None:
    found = _chosen(call, rng, index=False)
    if found is None or found[2].dtype.kind not in "fciuV":
        return
    i, j, array = found
    drawn = rng.normal(size=array.shape) * 10.0 ** rng.integers(-2, 3)
    call.put(i, j, as_type(drawn, as_dtype(array.dtype)))


def ties(call: Call, rng: Rng) -> None:
    found = _chosen(call, rng, index=False)
    if found is not None:
        i, j, array = found
        few = array.reshape(-1)[rng.integers(0, array.size, 2)]
        call.put(i, j, few[rng.integers(0, 2, array.size)].reshape(array.shape))


def special_values(call: Call, rng: Rng) -> None:
    found = _chosen(call, rng, index=False)
    if found is None:
        return
    i, j, array = found
    kind = as_dtype(array.dtype)
    changed = array.copy()
    if kind.is_floating or kind.is_complex:
        drawn = as_type(rng.choice(SPECIAL, size=array.shape), kind)
        changed = np.where(rng.random(array.shape) < 0.3, drawn, array)
    elif kind.is_integer and ELEMENTWISE in call.op.traits:  # elsewhere they may be sizes
        info = np.iinfo(array.dtype)
        ends = np.array([info.min, info.max, 0, 1], array.dtype)
        changed = np.where(rng.random(array.shape) < 0.3, rng.choice(ends, array.shape), array)
    call.put(i, j, np.asarray(changed, array.dtype))


def other_indices(call: Call, rng: Rng) -> None:
    """Mixed up, sorted, repeated, or moved: they may leave the array."""
    found = _chosen(call, rng, index=True)
    if found is None:
        return
    i, j, array = found
    flat = array.reshape(-1)
    match rng.integers(5):
        case 0:
            flat = rng.permutation(flat)
        case 1:
            flat = np.sort(rng.choice(flat, flat.size))
        case 2:
            flat = rng.choice(flat, flat.size)
        case 3:
            flat = flat + rng.integers(-2, 3)
        case _:
            flat = np.where(np.arange(flat.size) == rng.integers(flat.size), rng.integers(-3, 4), flat)
    call.put(i, j, flat.astype(array.dtype).reshape(array.shape))


# -- the rest ------------------------------------------------------------------------------------
def other_attribute(call: Call, rng: Rng) -> None:
    signature = call.op.signature
    names = [n for n in signature.free if signature.attrs[n].kind in ("bool", "int", "float", "string")]
    names = [n for n in names if not n.startswith(("seed", "shared", "container"))]
    if not names:
        return
    name = names[rng.integers(len(names))]
    spec = signature.attrs[name]
    value = call.attrs.get(name, spec.default)
    if spec.kind == "bool" and isinstance(value, bool):
        call.attrs[name] = not value
    elif spec.kind == "int" and isinstance(value, int):
        call.attrs[name] = int(rng.choice([value - 1, value + 1, 0, 1, 2]))
    elif spec.kind == "float" and isinstance(value, float):
        call.attrs[name] = float(rng.choice([value * 2, value / 2, -value, 0.0, 0.5, 1.0]))
    elif spec.kind == "string" and spec.allowed:
        call.attrs[name] = str(rng.choice(list(spec.allowed)))


def some_constants(call: Call, rng: Rng) -> None:
    call.constants |= {i for i in range(len(call.inputs)) if rng.random() < 0.5}


def hidden_shapes(call: Call, rng: Rng) -> None:
    call.is_hidden = True


CHANGES: dict[str, Callable[[Call, Rng], None]] = {
    f.__name__: f
    for f in (
        other_type,
        other_size,
        other_rank,
        broadcast,
        other_values,
        ties,
        special_values,
        other_indices,
        other_attribute,
        some_constants,
        hidden_shapes,
    )
}
