"""The same programs on TensorFlow, in a process of its own (tests.tensorflow_peer)."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.state.programs import Program
from tests.tensorflow_peer import tensorflow

# Every program has a graph of its own.  Rewriting graphs would change who shares memory with whom.
_RUNNER = """
import logging
logging.disable(logging.WARNING)
v1.disable_v2_behavior()
v1.disable_resource_variables()
from tensorflow.python.framework.function import Defun
NOTES = []

def note(x):
    NOTES.append(None)
    return np.asarray(x + len(NOTES) % 4).astype(x.dtype)

FUNCTIONS = {
    "note": note,
    "halve": lambda x: np.asarray(x / 2).astype(x.dtype),
    "negate": lambda x: np.asarray(-x),
    "unchanged": lambda x: x,
}

def run(program):
    config = v1.ConfigProto(device_count={"CPU": 3})
    config.operation_timeout_in_ms = 10000  # loops over several devices, one turn at a time, may hang
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    names = {"tf": v1, "np": np, "Defun": Defun, **FUNCTIONS}
    with v1.Graph().as_default():
        exec(program["build"], names)
        start, state = v1.global_variables_initializer(), v1.global_variables()
        sessions = [v1.Session(config=config) for _ in range(program["sessions"])]
        for session in sessions:
            session.run(start)
        results = []
        NOTES.clear()
        for one in program["runs"]:
            fetches = [eval(f, names) for f in one["fetches"]]
            feeds = {eval(k, names): eval(v, names) for k, v in one["feeds"]}
            session = sessions[one["session"]]
            values = session.run(fetches, feeds) + session.run(state)
            results.append([plain(v) for v in values])
        for session in sessions:
            session.close()
        return results

def plain(value):
    if value is None:
        return None
    array = np.asarray(value)
    return [array.dtype.name, list(array.shape), array.ravel().tolist()]

results = []
for program in json.load(open("programs.json")):
    try:
        results.append(run(program))
    except Exception as error:
        results.append(f"{type(error).__name__}: {error}")
print(json.dumps(results))
"""


def run_all(folder: Any, programs: Sequence[Program]) -> list[Any]:
    """Per program: the results of its runs, or the text of an error."""
    (folder / "programs.json").write_text(
        json.dumps([dataclasses.asdict(p) | {"build": p.build} for p in programs])
    )
    found = tensorflow(folder, _RUNNER)
    return [f if isinstance(f, str) else [[_array(v) for v in run] for run in f] for f in found]


def _array(value: Any) -> Any:
    if value is None:
        return None
    dtype, shape, numbers = value
    return np.array(numbers, dtype).reshape(shape)


def is_refused(program: Program, got: Any) -> bool:
    """Some programs on several devices TensorFlow does not place, or hangs in their loops."""
    errors = ("InvalidArgumentError", "DeadlineExceededError")
    return isinstance(got, str) and got.startswith(errors) and any(s.device for s in program.statements)
