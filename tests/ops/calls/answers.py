"""What a call of an op is answered with: values, variables and gradients, or an error; and whether two
answers are the same."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import headrace as tf
from headrace.codegen.machine.faults import CompilerFault
from headrace.core.dtypes import as_dtype, resource
from headrace.ops.declaration.declare import GRADIENTS
from tests.ops.calls.random_calls import Call

# How far apart numbers may be, measured by the largest number of their array.
LOOSE = {"float64": 1e-9, "float32": 2e-5, "float16": 6e-3, "bfloat16": 4e-2}


@dataclass
class Answer:
    """Arrays by what they are, or the class and the words of an error; gradients, if they were wanted."""

    arrays: dict[str, Any] = field(default_factory=dict)
    error: str = ""
    message: str = ""
    gradients: Answer | None = None


@contextmanager
def mode(compile: str) -> Iterator[None]:
    before = os.environ.get("HEADRACE_COMPILE")
    os.environ["HEADRACE_COMPILE"] = compile
    try:
        yield
    finally:
        if before is None:
            del os.environ["HEADRACE_COMPILE"]
        else:
            os.environ["HEADRACE_COMPILE"] = before


def answer(call: Call, compile: str, with_gradients: bool = False) -> Answer:
    """The call in a graph of its own: by the reference (`compile` is "0") or compiled ("always")."""
    with mode(compile), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Converting sparse IndexedSlices")
        return _caught(lambda: _Built(call).answer(with_gradients))


def _caught(run: Callable[[], Answer]) -> Answer:
    try:
        return run()
    except (tf.errors.OpError, ValueError, TypeError, OverflowError) as error:
        return Answer(error=_class(error), message=str(error))
    except (LookupError, NotImplementedError, CompilerFault) as error:
        return Answer(error=type(error).__name__, message=str(error))


def _class(error: BaseException) -> str:
    """What a user catches: what is refused while building may be a ValueError or a TypeError."""
    if isinstance(error, (ValueError, TypeError, OverflowError)):
        return "InvalidArgumentError"
    return type(error).__name__


class _Built:
    def __init__(self, call: Call) -> None:
        self.call, self.graph, self.variables = call, tf.Graph(), []
        self.feeds: dict[Any, Any] = {}
        with self.graph.as_default():
            call.op(*(self.argument(i, v) for i, v in enumerate(call.inputs)), **call.attrs)
        self.node = self.graph.get_operations()[-1]

    def argument(self, i: int, value: Any) -> Any:
        if isinstance(value, list):
            return [self.argument(i, x) for x in value]
        arg = self.call.op.signature.inputs[i]
        if arg.is_ref or arg.dtype is resource:
            variable = tf.Variable(value, trainable=False, use_resource=not arg.is_ref)
            self.variables.append(variable)
            return variable._ref() if arg.is_ref else variable.handle
        if i in self.call.constants:
            return tf.constant(value, as_dtype(value.dtype))
        tensor = tf.placeholder(as_dtype(value.dtype), None if self.call.is_hidden else value.shape)
        self.feeds[tensor] = value
        return tensor

    def answer(self, with_gradients: bool) -> Answer:
        found = Answer()
        outputs = [t for t in self.node.outputs if t.dtype.base_dtype.kind not in "rv"]
        with tf.Session(graph=self.graph) as session:
            session.run([v.initializer for v in self.variables])
            values = session.run(outputs if outputs else self.node, self.feeds)
            for k, value in enumerate(values or []):
                found.arrays[f"output {k}"] = as_array(value)
            for k, variable in enumerate(self.variables):
                found.arrays[f"variable {k}"] = as_array(session.run(variable.value()))
            if with_gradients and GRADIENTS.get(self.call.op.name) is not None:
                found.gradients = _caught(lambda: self.gradients(session, outputs, values or []))
        return found

    def gradients(self, session: Any, outputs: Any, values: Any) -> Answer:
        """Of what is fed, with arbitrary gradients of the outputs."""
        rng, found = np.random.default_rng(1), Answer()
        xs = [t for t in self.feeds if t.dtype.is_floating or t.dtype.is_complex]
        pairs = [(t, v) for t, v in zip(outputs, values) if t.dtype.base_dtype.kind in "fc"]
        if not xs or not pairs:
            return found
        with self.graph.as_default():
            dys = [tf.constant(weights(rng, v), t.dtype.base_dtype) for t, v in pairs]
            made = tf.gradients([t for t, _ in pairs], xs, grad_ys=dys)
            named = {f"gradient {k}": tf.convert_to_tensor(g) for k, g in enumerate(made) if g is not None}
        for name, value in session.run(named, self.feeds).items():
            found.arrays[name] = np.asarray(value)
        return found


def weights(rng: np.random.Generator, value: Any) -> np.ndarray:
    array = np.asarray(value)
    drawn = rng.normal(size=array.shape)
    return np.asarray(drawn * (1 - 0.5j) if array.dtype.kind == "c" else drawn).astype(array.dtype)


def as_array(value: Any) -> np.ndarray:
    """What a session gives; text as objects, whatever its length."""
    array = np.asarray(value)
    return array.astype(object) if array.dtype.kind in "SU" else array


# -- comparison ----------------------------------------------------------------------------------
@dataclass
class Difference:
    """One part of two answers that is not the same: an array, or whether the call is refused."""

    part: str  # "output 0", "variable 1", "gradient 0"; "refusal"
    text: str
    found: np.ndarray | None = None
    wanted: np.ndarray | None = None
    refusals: tuple[str, str] = ("", "")  # what each says who refuses the call


def difference(found: Answer, wanted: Answer) -> str:
    """The first difference in words; nothing where the answers are the same."""
    return next((f"{d.part}: {d.text}" for d in differences(found, wanted)), "")


def differences(found: Answer, wanted: Answer) -> Iterator[Difference]:
    if found.error or wanted.error:
        if found.error != wanted.error:
            yield Difference(
                "refusal",
                f"{_said(found)} for {_said(wanted)}",
                refusals=tuple(a.message or a.error for a in (found, wanted)),
            )
        return
    for name in sorted(found.arrays.keys() | wanted.arrays.keys()):
        mine, theirs = found.arrays.get(name), wanted.arrays.get(name)
        if mine is None or theirs is None:
            text = "nothing for an array" if mine is None else "an array for nothing"
        else:
            text = _apart(mine, theirs)
        if text:
            yield Difference(name, text, mine, theirs)
    if found.gradients is not None and wanted.gradients is not None:
        yield from differences(found.gradients, wanted.gradients)


def _said(answer: Answer) -> str:
    return f"{answer.error}: {answer.message.splitlines()[0][:150]}" if answer.error else "an answer"


def _apart(found: np.ndarray, wanted: np.ndarray) -> str:
    if found.dtype != wanted.dtype or found.shape != wanted.shape:
        return f"{found.dtype}{list(found.shape)} for {wanted.dtype}{list(wanted.shape)}"
    if found.dtype.kind == "c":
        scale = _scale(wanted)
        parts = ((found.real, wanted.real), (found.imag, wanted.imag))
        return "".join(_far(x, y, LOOSE[x.dtype.name] * scale) for x, y in parts)
    if found.dtype.name not in LOOSE:
        return "" if np.array_equal(found, wanted) else f"{_few(found)} for {_few(wanted)}"
    return _far(found, wanted, LOOSE[found.dtype.name] * _scale(wanted))


def _scale(wanted: np.ndarray) -> float:
    """The largest number; differences that come of 1 - x are measured by the 1."""
    size = np.abs(wanted if wanted.dtype.kind == "c" else wanted.astype(np.float64))
    return float(max(size[np.isfinite(size)].max(initial=0.0), 1e-3))


def _far(found: np.ndarray, wanted: np.ndarray, most: float) -> str:
    x, y = found.astype(np.float64), wanted.astype(np.float64)
    with np.errstate(invalid="ignore"):
        close = (np.abs(x - y) <= most) | (x == y) | (np.isnan(x) & np.isnan(y))
    return "" if close.all() else f"{_few(x[~close])} for {_few(y[~close])}"


def _few(array: np.ndarray) -> str:
    return np.array2string(array.reshape(-1)[:4], separator=",")
