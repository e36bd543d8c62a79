"""Random programs over variables: every mode gives what the model says, and so does TensorFlow where
the order is complete.

python -m tests.state --count 20000 --seed 1        by hand
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any
from unittest import mock

import pytest

from tests.state import compare, modes
from tests.state.generate import program
from tests.state.modes import MODES, Mode
from tests.state.programs import Program
from tests.tensorflow_peer import needs_tensorflow

COUNT, CHUNK = 200, 20
ON_TENSORFLOW = 60
LONG = int(os.environ.get("HEADRACE_STATE_PROGRAMS", "2000"))


def check(made: Program, modes: Sequence[Mode] = MODES) -> None:
    found = compare.difference(made, modes)
    if found is not None:
        small = compare.shrunk(made, modes, found)
        pytest.fail(f"seed {made.seed}: {compare.difference(small, modes)}\n\n{small.text()}")


@pytest.mark.parametrize("first", range(0, COUNT, CHUNK))
def test_every_mode_gives_what_the_model_says(first):
    """The first three modes for every program, the others in turn."""
    for seed in range(first, first + CHUNK):
        check(program(seed), (*MODES[:3], MODES[3 + seed % 4]))


# Sides that are known not to run and were asked for, several references out of one branch, variables
# inside of loops over several devices, loops within these, queues beside these.
@pytest.mark.parametrize("seed", [500144, 500921, 501052, 501559, 502017, 503821, 7100240])
def test_programs_that_once_differed(seed):
    check(program(seed))


@pytest.mark.slow
def test_many_programs():
    for seed in range(COUNT, COUNT + LONG):
        check(program(seed))


# -- TensorFlow ------------------------------------------------------------------------------------------
@needs_tensorflow
def test_tensorflow_gives_what_the_model_says(tmp_path):
    programs = [program(seed) for seed in range(ON_TENSORFLOW)]
    compare.on_tensorflow(tmp_path, programs)
    complete, equal = map(sum, zip(*map(compare.agreement, programs)))
    # Enough of what is compared with TensorFlow is compared with Headrace's modes, too.
    assert complete > 2 * ON_TENSORFLOW and equal > 0.8 * complete


# -- the checks can fail ---------------------------------------------------------------------------------
ALWAYS = [m for m in MODES if m.name == "always"]


def differs(seeds: range) -> bool:
    return any(compare.difference(program(s), ALWAYS) is not None for s in seeds)


def test_reads_that_are_too_early_are_found():
    with mock.patch("headrace.session.run_cache.late_reads", lambda plan: plan):
        assert differs(range(COUNT))


def test_writers_in_another_order_are_found():
    from headrace.plan.plan import PlanNode

    with mock.patch.object(PlanNode, "writes", property(lambda node: False)):
        assert differs(range(COUNT))


def test_sums_that_cancel_may_round_otherwise():
    """Two numbers beyond 4,000,000 leave 1,480, in float32."""
    check(program(7100446))


def test_programs_are_the_same_every_time():
    assert program(7) == program(7) != program(8)


def test_kept_programs_are_read():
    found = []
    read = modes.kept.Shelf.find

    def find(shelf: Any) -> Any:
        found.append(read(shelf))
        return found[-1]

    with mock.patch.object(modes.kept.Shelf, "find", find):
        check(program(0), [m for m in MODES if m.is_kept])
    assert any(made is not None for made in found)


def test_a_smaller_program_is_found():
    made = program(3)
    smallest = compare.shrunk(made, (), compare.Difference("x", ""), tries=1)
    assert smallest == made  # no modes, no difference: nothing is smaller and differs
