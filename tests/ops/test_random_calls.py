"""Single ops, called at random: reference and compiled code give the same answers, and so does TensorFlow
where it is installed (HEADRACE_TF_PYTHON).

HEADRACE_SEED=7 pytest tests/ops/test_random_calls.py     other calls
HEADRACE_CALLS=50 pytest tests/ops/test_random_calls.py   so many of every op
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
import pytest

from headrace.core.dtypes import as_dtype
from headrace.ops.declaration.declare import REGISTRY, Op
from tests.ops import tensorflow_calls
from tests.ops.answers import Answer, answer, difference
from tests.ops.declared import ops
from tests.ops.random_calls import Call, calls, is_callable
from tests.tensorflow_peer import needs_tensorflow

pytestmark = pytest.mark.native

SEED = int(os.environ.get("HEADRACE_SEED", "0"))
COUNT = int(os.environ.get("HEADRACE_CALLS", "2"))
GROUPS = 24
DOCUMENT = Path(__file__).parents[2] / "docs" / "differences.md"


def compiled() -> list[Op]:
    return [op for op in ops() if is_callable(op) and (op.lower_rule or op.library_rules)]


def report(found: list[str], seed: int, who: str) -> str:
    return f"HEADRACE_SEED={seed}: {who}\n" + "\n".join(found)


# -- reference and compiled code -------------------------------------------------------------------
def is_finite(call: Call) -> bool:
    numbers = (x for _, _, x in call.arrays() if as_dtype(x.dtype).kind in "fc")
    return all(np.isfinite(x.astype(np.complex128)).all() for x in numbers)


def is_left_to_the_library(call: Call) -> bool:
    """A library pads channels and windows with zeros, and zero times infinity is NaN: which places
    of a convolution, or of a maximum, NaN reaches is its own (docs/differences.md)."""
    return bool(call.op.library_rules) and not is_finite(call)


def disagreements(chosen: list[Op], seed: int, count: int) -> list[str]:
    found = []
    for op in chosen:
        for number, call in enumerate(calls(op, seed, count)):
            if is_left_to_the_library(call):
                continue
            with_gradients = (number + seed) % 2 == 0
            wanted = answer(call, "0", with_gradients)
            text = difference(answer(call, "always", with_gradients), wanted)
            if text:
                found.append(f"{call}\n    {text}")
    return found


@pytest.mark.parametrize("group", range(GROUPS))
def test_reference_and_compiled_code_agree(group):
    found = disagreements(compiled()[group::GROUPS], SEED, COUNT)
    assert not found, report(found, SEED, "compiled code gives")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(SEED + 1, SEED + 11))
def test_reference_and_compiled_code_agree_in_many_calls(seed):
    found = disagreements(compiled(), seed, 20)
    assert not found, report(found, seed, "compiled code gives")


def test_a_wrong_rule_is_found(monkeypatch):
    op = next(o for o in compiled() if o.name == "Cosh")
    monkeypatch.setattr(op, "lower_rule", lambda e, x: e.cosh(x) + 0.001)
    assert disagreements([op], SEED, 10)


# -- TensorFlow ----------------------------------------------------------------------------------
def listed() -> tuple[set[str], set[str]]:
    """The ops in the first column of the document's tables: TensorFlow's answers differ, and why.
    Those that differ anyhow, and those that differ with NaN and infinities only."""
    before, _, after = DOCUMENT.read_text().partition("## Only with NaN and infinities")
    return _names(before), _names(after)


def _names(text: str) -> set[str]:
    rows = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    return {name for row in rows for name in re.findall(r"`(\w+)`", row)}


def test_listed_ops_are_declared():
    ops()
    assert set.union(*listed()) <= set(REGISTRY)


@needs_tensorflow
@pytest.mark.parametrize("group", range(8))
def test_tensorflow_agrees(group, tmp_path):
    always, strange = listed()
    chosen = [op for op in ops() if is_callable(op) and op.name not in always]
    made = [c for op in chosen[group::8] for c in calls(op, SEED, COUNT)]
    made = [c for c in made if c.op.name not in strange or is_finite(c)]
    found = []
    for call, theirs in zip(made, tensorflow_calls.answers(made, tmp_path)):
        if theirs is None:  # no such op or kernel, or it ends the process
            continue
        text = difference(_outputs(answer(call, "0")), theirs)
        if text:
            found.append(f"{call}\n    {text}")
    assert not found, report(found, SEED, "TensorFlow does not give")


def _outputs(found: Answer) -> Answer:
    """Errors are errors: TensorFlow's classes are those of a newer version."""
    return Answer(found.arrays, "refused" if found.error else "", found.message)
