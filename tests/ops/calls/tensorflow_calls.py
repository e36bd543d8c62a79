"""TensorFlow's answers to calls of single ops, from a process of its own (tests.tensorflow_peer)."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np

from headrace.core.dtypes import DType, as_dtype, resource
from headrace.core.shapes import Shape
from tests.ops.calls.answers import Answer, as_array
from tests.ops.calls.random_calls import Call
from tests.tensorflow_peer import tensorflow

# Writes an answer for every call that it comes to: one that ends the process is the last.
PROGRAM = """
import pickle

v1.disable_eager_execution()
calls = pickle.load(open("calls", "rb"))
config = v1.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
config.graph_options.rewrite_options.disable_meta_optimizer = True


def attribute(v):
    if isinstance(v, tuple):
        kind, value = v
        return getattr(tf, value) if kind == "type" else v1.make_tensor_proto(value)
    return [attribute(x) for x in v] if isinstance(v, list) else v


def run(call):
    variables, feeds = [], {}

    def made(kind, dtype, array):
        if kind != "tensor":
            v = v1.Variable(array, trainable=False, use_resource=kind == "handle")
            variables.append(v)
            return v.handle if kind == "handle" else v._ref()
        if call["constant"][len(names)]:
            return tf.constant(array, dtype)
        p = v1.placeholder(dtype, None if call["hidden"] else array.shape)
        feeds[p] = array.copy()  # some kernels write into what is fed
        return p

    def gradients(session, outputs, values):
        rng, pairs = np.random.default_rng(1), []
        for t, v in zip(outputs, values):
            if t.dtype.base_dtype.is_floating or t.dtype.base_dtype.is_complex:
                drawn = rng.normal(size=v.shape)
                drawn = drawn * (1 - 0.5j) if v.dtype.kind == "c" else drawn
                pairs.append((t, tf.constant(np.asarray(drawn).astype(v.dtype), t.dtype.base_dtype)))
        xs = [x for x in feeds if x.dtype.is_floating or x.dtype.is_complex]
        if not xs or not pairs:
            return {}
        made = tf.gradients([t for t, _ in pairs], xs, grad_ys=[dy for _, dy in pairs])
        named = {f"gradient {k}": tf.convert_to_tensor(g) for k, g in enumerate(made) if g is not None}
        return {k: np.asarray(v) for k, v in session.run(named, feeds).items()}

    names = {}
    with tf.Graph().as_default() as graph:
        for name, value in call["inputs"]:
            names[name] = [made(*x) for x in value] if isinstance(value, list) else made(*value)
        attrs = {k: attribute(v) for k, v in call["attrs"].items()}
        getattr(tf.raw_ops, call["op"])(**names, **attrs)
        node = graph.get_operations()[-1]
        outputs = [t for t in node.outputs if t.dtype.base_dtype not in (tf.resource, tf.variant)]
        with v1.Session(config=config) as session:
            session.run([v.initializer for v in variables])
            values = session.run(outputs if outputs else node, feeds) or []
            arrays = {f"output {k}": np.asarray(v) for k, v in enumerate(values)}
            for k, v in enumerate(variables):
                arrays[f"variable {k}"] = np.asarray(session.run(v.value()))
            return arrays, attempt(gradients, session, outputs, [np.asarray(v) for v in values])


def attempt(function, *args):
    try:
        return function(*args)
    except Exception as error:
        return type(error).__name__, str(error)


for number in range(FIRST, len(calls)):
    with open(f"answer{number}", "wb") as file:
        pickle.dump(attempt(run, calls[number]), file)
print(json.dumps(len(calls)))
"""
# What a newer TensorFlow, or one for this machine, does not have.
MISSING = (
    "No OpKernel was registered",
    "has no attribute",
    "not in list of allowed values",
    "unexpected keyword",
    "missing required",
    "is not available in GraphDef version",
    "Should not specify value for inferred",
    "has constraint on attr",
)


def answers(calls: list[Call], folder: Path) -> list[Answer | None]:
    """One for each call; None where TensorFlow has none to give."""
    (folder / "calls").write_bytes(pickle.dumps([_plain(c) for c in calls]))
    first = 0
    while first < len(calls):
        try:
            tensorflow(folder, PROGRAM.replace("FIRST", str(first)))
        except AssertionError:
            done = sum(1 for _ in folder.glob("answer*"))
            first = max(done, first + 1)
        else:
            break
    return [_read(folder / f"answer{number}") for number in range(len(calls))]


def _read(path: Path) -> Answer | None:
    data = path.read_bytes() if path.exists() else b""
    if not data:
        return None  # it ended the process
    found = pickle.loads(data)
    if not isinstance(found[0], dict):
        return _answer(found)
    whole = _answer(found[0])
    assert whole is not None
    whole.gradients = _answer(found[1])
    return whole


def _answer(found: Any) -> Answer | None:
    """Arrays by name, or the class and words of an error; nothing where something is missing."""
    if isinstance(found, dict):
        return Answer({name: as_array(value) for name, value in found.items()})
    kind, message = found
    if kind in ("UnimplementedError", "AttributeError", "LookupError") or any(m in message for m in MISSING):
        return None
    message = message.partition("\nNode: ")[2].partition("\n")[2] or message
    return Answer(error="refused", message=f"{kind}: {message}")


def _plain(call: Call) -> dict[str, Any]:
    args = call.op.signature.inputs
    inputs = []
    for i, value in enumerate(call.inputs):
        one = [_item(args[i], x) for x in value] if isinstance(value, list) else _item(args[i], value)
        inputs.append((args[i].name, one))
    return {
        "op": call.op.name,
        "inputs": inputs,
        "hidden": call.is_hidden,
        "attrs": {k: _attribute(v) for k, v in call.attrs.items()},
        "constant": [i in call.constants for i in range(len(inputs))],
    }


def _item(arg: Any, array: np.ndarray) -> tuple[str, str, np.ndarray]:
    kind = "reference" if arg.is_ref else "handle" if arg.dtype is resource else "tensor"
    return kind, as_dtype(array.dtype).name, array


def _attribute(value: Any) -> Any:
    if isinstance(value, DType):
        return "type", value.name
    if isinstance(value, Shape):
        return None if value.rank is None else list(value.sizes)
    if isinstance(value, np.ndarray):
        return "tensor", value
    if isinstance(value, (list, tuple)):
        return [_attribute(v) for v in value]
    return value
