"""What a compiled rule gives must fit what the op declares."""

from __future__ import annotations

import numpy as np
import pytest

import headrace as tf
from headrace.core.dtypes import FLOATS, float32
from headrace.ops.declaration.declare import Op
from headrace.ops.declaration.shape_rules import same
from headrace.ops.declaration.signature import parse
from headrace.ops.declaration.traits import ELEMENTWISE
from headrace.runtime.containers import Containers
from tests.codegen.compare import Runner, settled

pytestmark = pytest.mark.native


def test_a_rule_that_gives_another_type_is_not_used():
    def as_declared(x):
        return x.astype(np.float32)

    signature = parse("x: T -> y: Tout", {"T": FLOATS, "Tout": float32})
    op = Op("Tested", signature, as_declared, same, frozenset({ELEMENTWISE}))
    op.lower(lambda e, x: x)  # of T's width, not of Tout's
    graph = tf.Graph()
    with graph.as_default():
        x = tf.placeholder(tf.float64, [1000])
        y = op(x)
    runner = Runner(graph, [x], [y])
    given = np.arange(1000.0)
    (found,), _ = settled(runner, [given], Containers)
    assert "the rule gives float64, the type is float32" in str(runner.program.declined)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, given)
