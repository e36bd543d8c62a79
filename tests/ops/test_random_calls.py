"""Single ops, called at random: reference and compiled code give the same answers, and so does TensorFlow
where it is installed (HEADRACE_TF_PYTHON).

HEADRACE_SEED=7 pytest tests/ops/test_random_calls.py     other calls
HEADRACE_CALLS=50 pytest tests/ops/test_random_calls.py   so many of every op
"""

from __future__ import annotations

import itertools
import os

import numpy as np
import pytest

from headrace.core.dtypes import as_dtype
from headrace.ops.declaration.declare import REGISTRY, Op
from tests.ops.calls import tensorflow_calls
from tests.ops.calls.answers import Answer, answer, difference, differences
from tests.ops.calls.conditions import Case, is_known
from tests.ops.calls.known_differences import entries, is_listed
from tests.ops.calls.random_calls import Call, calls, is_callable, refused_calls
from tests.ops.declared import ops
from tests.tensorflow_peer import needs_tensorflow

pytestmark = pytest.mark.native

SEED = int(os.environ.get("HEADRACE_SEED", "0"))
COUNT = int(os.environ.get("HEADRACE_CALLS", "2"))
GROUPS = 24


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


@pytest.mark.parametrize("group", range(4))
def test_compiled_code_refuses_what_the_reference_refuses(group):
    made = [call for op in compiled()[group::4] for call in refused_calls(op)]
    found = [(call, difference(answer(call, "always"), answer(call, "0"))) for call in made]
    assert not any(text for _, text in found), report([f"{c}\n    {t}" for c, t in found if t], 0, "compiled")


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
def test_what_is_listed_can_be_understood():
    ops()
    for entry in entries():
        strange = {o for o in entry.ops if "*" not in o} - set(REGISTRY)
        assert not strange, f"line {entry.line}: {sorted(strange)}"
        named = [o for o in REGISTRY if entry.names(o)]
        assert named, f"line {entry.line}"
        for name in named:
            attributes = set(REGISTRY[name].signature.attrs)
            for condition in itertools.chain(*entry.alternatives):
                assert condition, f"line {entry.line}"
                assert is_known(condition, attributes), f"line {entry.line}: {name}, {condition}"


@needs_tensorflow
@pytest.mark.parametrize("group", range(8))
def test_tensorflow_agrees(group, tmp_path):
    chosen = [op for op in ops() if is_callable(op)][group::8]
    made = [c for op in chosen for c in calls(op, SEED, COUNT)]
    found = []
    for call, theirs in zip(made, tensorflow_calls.answers(made, tmp_path)):
        if theirs is not None:  # no such op or kernel, or it ends the process
            found += unlisted(call, theirs)
    assert not found, report(found, SEED, "TensorFlow does not give")


def unlisted(call: Call, theirs: Answer) -> list[str]:
    """Differences from TensorFlow that docs/differences.md does not explain."""
    ours = answer(call, "0", with_gradients=theirs.gradients is not None)
    for each in (ours, ours.gradients):
        if each is not None and each.error:  # TensorFlow's classes are those of a newer version
            each.error = "refused"
    return [
        f"{call}\n    {each.part}: {each.text}"
        for each in differences(ours, theirs)
        if not is_listed(Case(call, each))
    ]
