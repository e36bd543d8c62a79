"""Hostile calls of every op, made from declarations and samples, in a process that may die of them.

python -m tests.ops.hostile MODE FIRST LAST STEP   runs calls FIRST, FIRST + STEP, ... below LAST

Each call must end with a result or with an error that was foreseen.  Before a call its number goes to
standard output: who watches knows which one a process died of.
"""

from __future__ import annotations

import faulthandler
import os
import sys
import tempfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import headrace as tf
from headrace.core.dtypes import DType, as_dtype, resource
from headrace.ops.array.source import placeholder
from headrace.ops.declaration.declare import Op
from headrace.ops.declaration.samples import Sample
from headrace.ops.declaration.signature import REQUIRED, Arg, Attr
from tests.ops.declared import ops, samples

SECONDS = 60  # for one call, on a machine that has other work
MEMORY = 6 << 30  # bytes of address space; most of it is what libraries reserve
GUESSES = 12  # calls of an op without samples
# They end the process, or wait for somebody, by their meaning.
LEFT_OUT = frozenset(("Abort",))


@dataclass(frozen=True)
class Call:
    op: Op
    inputs: tuple[Any, ...]
    attrs: dict[str, Any]
    note: str

    def __repr__(self) -> str:
        return f"{self.op.name}: {self.note}"


# -- what is wrong with one array ------------------------------------------------------------------
def spoilt(array: np.ndarray[Any, Any]) -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
    """The array with another shape, or with other elements."""
    for axis in range(array.ndim):
        yield f"nothing along {axis}", array.take([], axis)
        yield f"one less along {axis}", array.take(range(array.shape[axis] - 1), axis)
        if array.shape[axis]:
            yield f"one more along {axis}", array.take([*range(array.shape[axis]), 0], axis)
    yield "one axis more", array[None]
    if array.ndim and array.size:
        yield "one axis less", array[0]
        yield "a scalar", array.reshape(-1)[0]
    for value in _values(array.dtype):
        yield f"all {value}", np.full(array.shape, value, array.dtype)
        if array.size > 1:
            changed = array.copy()
            changed.reshape(-1)[-1] = value
            yield f"last {value}", changed


def _values(dtype: np.dtype[Any]) -> list[Any]:
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        found = {-1, 0, 1, 7, 2**31 - 1, -(2**31), 2**40, 2**62, int(info.max), int(info.min)}
        return sorted(v for v in found if info.min <= v <= info.max)
    if dtype.kind in "fc":
        return [0, -1, np.nan, np.inf, float(np.finfo(dtype).max)]
    return [b"", b"\xff\x00%s"] if dtype.kind == "O" else []


def spoilt_attr(attr: Attr, value: Any) -> list[Any]:
    match attr.element:
        case "int":
            few: list[Any] = [0, -1, 2**31 - 1, -(2**63), 2**63 - 1]
        case "float":
            few = [0.0, float("nan"), float("inf"), -1.0]
        case "string":
            few = ["", "no such"]
        case "shape":
            few = [None, [], [0], [2**40, 2**40], [None]]
        case "bool":
            few = [not value] if isinstance(value, bool) else []
        case _:
            return []
    if not attr.is_list:
        return few
    held = list(value) if isinstance(value, (list, tuple)) else []
    return [[], *([*held[:-1], v] for v in few), [*held, *few[:1]], held[:-1]]


# -- calls -----------------------------------------------------------------------------------------
def calls() -> Iterator[Call]:
    """All of them, always in the same order."""
    known = set()
    for _, op, sample in samples():
        if op.name not in LEFT_OUT:
            known.add(op.name)
            yield from _around(op, sample)
    for op in ops():
        if op.name not in known | LEFT_OUT:
            yield from _guessed(op)


def _around(op: Op, sample: Sample) -> Iterator[Call]:
    """A sample with one thing wrong."""
    for i, value in enumerate(sample.inputs):
        name = op.signature.inputs[i].name
        for place, array in enumerate(value if isinstance(value, (list, tuple)) else [value]):
            for note, bad in spoilt(_plain(array)):
                inputs = list(sample.inputs)
                if isinstance(value, (list, tuple)):
                    inputs[i] = [*value[:place], bad, *value[place + 1 :]]
                else:
                    inputs[i] = bad
                yield Call(op, tuple(inputs), sample.attrs, f"{sample!r}: {name} {note}")
    for name, attr in op.signature.attrs.items():
        if name not in op.signature.inferred:
            for bad in spoilt_attr(attr, sample.attrs.get(name, attr.default)):
                attrs = sample.attrs | {name: bad}
                yield Call(op, sample.inputs, attrs, f"{sample!r}: {name} = {bad!r}")


def _plain(value: Any) -> np.ndarray[Any, Any]:
    array = np.asarray(value)
    return array.astype(object) if array.dtype.kind in "SU" else array


MANY = 20  # operands in a list, whatever the attribute says
SHAPES = [(), (0,), (1,), (2,), (3,), (2, 2), (1, 3), (0, 2), (2, 0), (1, 2, 2, 1), (2, 3, 4)]


def _guessed(op: Op) -> Iterator[Call]:
    """Arrays and attributes of the declared types, otherwise at random."""
    rng = np.random.default_rng(zlib.crc32(op.name.encode()))
    for number in range(GUESSES):
        attrs = {n: _attr(rng, a) for n, a in op.signature.attrs.items() if a.default is REQUIRED}
        attrs |= {n: _attr(rng, a) for n, a in op.signature.attrs.items() if rng.random() < 0.2}
        inputs = []
        for arg in op.signature.inputs:
            made = [_array(rng, d) for d in _types(arg, attrs, op)]
            inputs.append(made if arg.is_list else made[0])
        given = {n: v for n, v in attrs.items() if n not in op.signature.inferred}
        yield Call(op, tuple(inputs), given, f"guess {number}")


def _attr(rng: np.random.Generator, attr: Attr) -> Any:
    def one() -> Any:
        if attr.allowed:
            return attr.allowed[int(rng.integers(len(attr.allowed)))]
        match attr.element:
            case "int":
                return int(rng.choice([0, 1, 1, 2, 2, 3, -1, 2**31 - 1]))
            case "float":
                return float(rng.choice([0.0, 0.5, 1.0, np.nan, -1.0]))
            case "string":
                return str(rng.choice(["", "a", "NHWC", "SAME"]))
            case "bool":
                return bool(rng.integers(2))
            case "type":
                return [tf.float32, tf.int32, tf.string, tf.int64][int(rng.integers(4))]
            case "shape":
                return [None, [], [2], [None, 2]][int(rng.integers(4))]
            case "tensor":
                return np.float32([1, 2])
        return "no_such_function"

    return [one() for _ in range(int(rng.integers(4)))] if attr.is_list else one()


def _types(arg: Arg, attrs: dict[str, Any], op: Op) -> list[DType]:
    if arg.dtype is not None:
        return [arg.dtype] * (min(int(attrs.setdefault(arg.number_attr, 2)), MANY) if arg.number_attr else 1)
    if arg.list_attr:
        types: list[DType] = attrs.setdefault(arg.list_attr, [tf.float32, tf.int32])
        return types
    spec = op.signature.attrs[arg.type_attr or ""]
    first = (spec.allowed or (tf.float32,))[0] if spec.default is REQUIRED else spec.default
    chosen = attrs.setdefault(arg.type_attr, first)
    return [chosen] * (min(int(attrs.setdefault(arg.number_attr, 2)), 3) if arg.number_attr else 1)


def _array(rng: np.random.Generator, dtype: DType) -> Any:
    shape = SHAPES[int(rng.integers(len(SHAPES)))]
    dtype = dtype.base
    if dtype.kind in "rv":
        return np.float32(rng.integers(3, size=shape))  # the value of a variable, or nonsense
    if dtype.kind == "s":
        return np.full(shape, rng.choice([b"", b"a", b"1", b"\x08\x01"]), object)
    scale = rng.choice([1, 3, 100, 2**31 - 1])
    with np.errstate(all="ignore"):
        return (rng.normal(size=shape) * scale).astype(dtype.numpy)


# -- a call, run -----------------------------------------------------------------------------------
def outcome(call: Call, is_static: bool) -> str | None:
    """None, or what should not have happened."""
    options = tf.RunOptions(timeout_in_ms=2000)
    with tf.Graph().as_default(), np.errstate(all="ignore"):
        feeds: dict[Any, Any] = {}
        variables: list[Any] = []
        try:
            arguments = [
                _argument(a, v, is_static, feeds, variables)
                for a, v in zip(call.op.signature.inputs, call.inputs)
            ]
            made = call.op(*arguments, **call.attrs)
            node = made if isinstance(made, tf.Operation) else tf.get_default_graph()._ordered[-1]
        except (ValueError, TypeError, OverflowError, tf.errors.OpError) as error:
            return _unforeseen(error)
        with tf.Session() as session:
            try:
                session.run([v.initializer for v in variables])
                for _ in range(2):
                    session.run(node, feeds, options=options)
            except (ValueError, TypeError, OverflowError, tf.errors.OpError) as error:
                return _unforeseen(error)
            except Exception as error:
                return f"{type(error).__name__}: {error}"
    return None


def _unforeseen(error: Exception) -> str | None:
    """Of an unknown error, which is what becomes of any exception that no kernel should raise."""
    if isinstance(error, tf.errors.UnknownError) and not isinstance(error.__cause__, OSError):
        return str(error)
    return None


def _argument(arg: Arg, value: Any, is_static: bool, feeds: dict[Any, Any], variables: list[Any]) -> Any:
    if isinstance(value, list):
        return [_argument_of(arg, v, is_static, feeds, variables) for v in value]
    return _argument_of(arg, value, is_static, feeds, variables)


def _argument_of(arg: Arg, value: Any, is_static: bool, feeds: dict[Any, Any], variables: list[Any]) -> Any:
    if arg.is_ref or arg.dtype is resource:
        made = tf.Variable(value, trainable=False, use_resource=not arg.is_ref, validate_shape=False)
        variables.append(made)
        return made._ref() if arg.is_ref else made.handle
    array = np.asarray(value)
    dtype = as_dtype(array.dtype) if arg.dtype is None else arg.dtype.base
    tensor = placeholder(dtype=dtype, shape=list(array.shape) if is_static else None)
    feeds[tensor] = array
    return tensor


def main(mode: str, first: int, last: int, step: int) -> None:
    os.environ["HEADRACE_COMPILE"] = mode
    os.environ["HEADRACE_FAULTS"] = "raise"
    limit()
    os.chdir(tempfile.mkdtemp())  # ops that write files
    for number, call in enumerate(calls()):
        if number >= last:
            break
        if number < first or (number - first) % step:
            continue
        print(number, flush=True)
        for is_static in (False, True):
            faulthandler.dump_traceback_later(SECONDS, exit=True)
            found = outcome(call, is_static)
            faulthandler.cancel_dump_traceback_later()
            if found is not None:
                shown = found.replace("\n", " ")[:300]
                print(
                    f"{number} BAD {call!r} ({'known' if is_static else 'hidden'} shapes): {shown}",
                    flush=True,
                )


def limit() -> None:
    try:
        import resource as system

        system.setrlimit(system.RLIMIT_AS, (MEMORY, MEMORY))
        system.setrlimit(system.RLIMIT_CORE, (0, 0))
    except (ImportError, ValueError):
        pass
    faulthandler.enable()


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:5]))
