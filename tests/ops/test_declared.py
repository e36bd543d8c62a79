"""Generated from the declarations: OpDef, shapes, types, values, gradients, round trips, refusals."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.ops.declaration.messages.digest import digest
from headrace.ops.declaration.traits import DIFFERENT_EACH_TIME
from tests.ops import checks
from tests.ops.declared import ErrorSample, needs_samples, ops, samples

DIGESTS = dict(line.split() for line in (Path(__file__).parent / "op_digests.txt").read_text().splitlines())
SAMPLES = list(samples())
ERRORS = list(samples(ErrorSample))


def over(rows):
    return pytest.mark.parametrize("op, sample", [r[1:] for r in rows], ids=[r[0] for r in rows])


each_sample = over(SAMPLES)


# An op with a leading underscore is the runtime's own, and not in TensorFlow's list.
@pytest.mark.parametrize("op", [o for o in ops() if not o.name.startswith("_")], ids=lambda op: op.name)
def test_op_def_is_tensorflows(op):
    assert op.name in DIGESTS, f"TensorFlow 1.15 has no op {op.name}"
    assert digest(op.op_def) == DIGESTS[op.name], op.op_def


@pytest.mark.parametrize("op", [o for o in ops() if needs_samples(o)], ids=lambda op: op.name)
def test_has_samples_and_documentation(op):
    assert op.sample_rule is not None, "an op without samples is an op without tests"
    assert op.__doc__


@each_sample
def test_shape_and_type(op, sample):
    checks.check_shape_and_type(op, sample)


@each_sample
def test_shape_rule_with_hidden_sizes(op, sample):
    checks.check_hidden_sizes(op, sample)


@each_sample
def test_node_survives_a_graph_def(op, sample):
    checks.check_round_trip(op, sample)


@over(
    [
        s
        for s in SAMPLES
        if DIFFERENT_EACH_TIME not in s[1].traits and checks.in_single_precision(*s[1:]) is not None
    ]
)
def test_single_precision(op, sample):
    checks.check_single_precision(op, sample)


@over([s for s in SAMPLES if checks.may_have_gradient(*s[1:])])
def test_gradient_by_finite_differences(op, sample):
    checks.check_gradient(op, sample)


@over(ERRORS)
def test_refuses(op, sample):
    checks.check_refusal(op, sample)
