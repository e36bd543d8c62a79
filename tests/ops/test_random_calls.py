"""Single ops, called at random: reference and compiled code give the same answers.

HEADRACE_SEED=7 pytest tests/ops/test_random_calls.py     other calls
HEADRACE_CALLS=50 pytest tests/ops/test_random_calls.py   so many of every op
"""

from __future__ import annotations

import os

import pytest

from headrace.ops.declare import Op
from tests.ops.answers import answer, difference
from tests.ops.declared import ops
from tests.ops.random_calls import calls, is_callable

pytestmark = pytest.mark.native

SEED = int(os.environ.get("HEADRACE_SEED", "0"))
COUNT = int(os.environ.get("HEADRACE_CALLS", "1"))
GROUPS = 24


def compiled() -> list[Op]:
    return [op for op in ops() if is_callable(op) and (op.lower_rule or op.library_rules)]


def disagreements(chosen: list[Op], seed: int, count: int) -> list[str]:
    found = []
    for op in chosen:
        for number, call in enumerate(calls(op, seed, count)):
            with_gradients = (number + seed) % 2 == 0
            wanted = answer(call, "0", with_gradients)
            text = difference(answer(call, "always", with_gradients), wanted)
            if text:
                found.append(f"{call}\n    {text}")
    return found


def report(found: list[str], seed: int) -> str:
    return f"HEADRACE_SEED={seed}: compiled code gives\n" + "\n".join(found)


@pytest.mark.parametrize("group", range(GROUPS))
def test_reference_and_compiled_code_agree(group):
    found = disagreements(compiled()[group::GROUPS], SEED, COUNT)
    assert not found, report(found, SEED)
