"""The checkers are checked: a declaration that is wrong by a little must be caught, the right one pass."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from headrace.core.dtypes import FLOATS
from headrace.core.origin import Origin
from headrace.core.shapes import make_shape
from headrace.ops.declaration.declare import GRADIENTS, Op
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_rules import same
from headrace.ops.declaration.signature import parse
from headrace.ops.declaration.traits import Trait
from headrace.ops.math import arithmetic
from headrace.plan.text import from_text
from headrace.plan.verify import verify_origins
from tests.ops import checks
from tests.ops.declaration import trait_checks

X = np.array([[0.5, -1.25, 2.0], [3.0, 0.1, -0.7]])


@pytest.fixture
def declare(monkeypatch):
    """An op that is in no registry; its gradient goes with the test."""

    def make(meaning, shape=same, traits=(), signature="x: T -> y: T", gradient=None):
        def reference(*arrays):
            return meaning(*arrays)

        monkeypatch.setitem(GRADIENTS, "Tested", gradient)
        return Op("Tested", parse(signature, {"T": FLOATS}), reference, shape, frozenset(traits))

    return make


# -- gradients -----------------------------------------------------------------------------------
@pytest.mark.parametrize("factor, right", [(1.0, True), (1.001, False), (0.999, False)])
def test_a_gradient_off_by_a_thousandth(declare, factor, right):
    def gradient(node, dy):
        return arithmetic.mul(dy, 2 * factor * node.inputs[0])

    op = declare(np.square, gradient=gradient)
    if right:
        checks.check_gradient(op, Sample(X))
    else:
        with pytest.raises(AssertionError, match="finite differences"):
            checks.check_gradient(op, Sample(X))


def test_a_gradient_for_the_wrong_input(declare):
    op = declare(
        np.multiply,
        signature="x: T, y: T -> z: T",
        gradient=lambda node, dy: (dy * node.inputs[0], dy * node.inputs[1]),
    )
    with pytest.raises(AssertionError, match="finite differences"):
        checks.check_gradient(op, Sample(X, X + 1))


# -- shapes and types ----------------------------------------------------------------------------
def rows_and_one_more(x):
    return make_shape((None if x.dim(0) is None else x.dim(0) + 1, x.dim(1)))


def test_a_shape_rule_off_by_one(declare):
    checks.check_shape_and_type(declare(np.negative), Sample(X))
    with pytest.raises(AssertionError, match=r"inferred \(3, 3\), is \(2, 3\)"):
        checks.check_shape_and_type(declare(np.negative, shape=rows_and_one_more), Sample(X))


def test_a_shape_rule_that_guesses_hidden_sizes(declare):
    def guessing(x):
        return make_shape((7 if x.dim(0) is None else x.dim(0), x.dim(1)))

    op = declare(np.negative, shape=guessing)
    checks.check_shape_and_type(op, Sample(X))
    with pytest.raises(AssertionError, match="axis -1 hidden"):
        checks.check_hidden_sizes(op, Sample(X))


def test_a_result_of_another_precision(declare):
    def rough(x):
        return np.round(x, 1) if x.dtype == np.float32 else x

    with pytest.raises(AssertionError, match="Mismatched elements"):
        checks.check_single_precision(declare(rough), Sample(X + 0.037))
    checks.check_single_precision(declare(np.negative), Sample(X))


# -- refusals ------------------------------------------------------------------------------------
def test_an_op_that_refuses_nothing(declare):
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        checks.check_refusal(declare(np.negative), ErrorSample(X, raises="rank"))


def test_an_op_that_refuses_in_other_words(declare):
    def refuse(x):
        raise ValueError("no")

    with pytest.raises(AssertionError, match="Regex"):
        checks.check_refusal(declare(refuse), ErrorSample(X, raises="must be a matrix"))


# -- traits --------------------------------------------------------------------------------------
PAIR = "x: T, y: T -> z: T"
FALSE = {
    Trait.COMMUTATIVE: (np.subtract, PAIR, (X, X + 1)),
    Trait.ELEMENTWISE: (lambda x: np.cumsum(x, axis=0), "x: T -> y: T", (X,)),
    Trait.AGGREGATE: (np.maximum, PAIR, (X, X + 1)),
    Trait.IDENTITY: (np.abs, "x: T -> y: T", (X,)),
    Trait.OF_SHAPE: (lambda x: np.full(x.shape, x.max()), "x: T -> y: T", (X,)),
    Trait.STATIC: (np.negative, "x: T -> y: T", (X,)),
    Trait.STATEFUL: (np.negative, "x: T -> y: T", (X,)),
    Trait.REPLACEABLE: (np.negative, "x: T -> y: T", (X,)),
}


@pytest.mark.parametrize("trait", FALSE, ids=lambda trait: trait.name)
def test_a_false_trait(declare, trait):
    """The op does not have the trait: its check must say so."""
    meaning, signature, inputs = FALSE[trait]
    op = declare(meaning, signature=signature, traits=())
    with pytest.raises(AssertionError):
        trait_checks.OF_SAMPLES[trait](op, Sample(*inputs))


@pytest.mark.parametrize("trait", [Trait.COMMUTATIVE, Trait.ELEMENTWISE, Trait.AGGREGATE])
def test_a_true_trait(declare, trait):
    trait_checks.OF_SAMPLES[trait](declare(np.add, signature=PAIR), Sample(X, X + 1))


# -- origins -------------------------------------------------------------------------------------
def plan_of(text, *lines):
    plan = from_text(text)
    named = zip(plan.nodes.values(), lines, strict=True)
    nodes = {n.name: replace(n, origins=(Origin("model.py", at, "f"),) if at else ()) for n, at in named}
    return replace(plan, nodes=nodes)


BEFORE = (
    "x = Placeholder() {dtype=f32; shape=[2]} : f32[2]\na = Neg(x) : f32[2]\n"
    "b = Neg(a) : f32[2]\nfeed x\nreturn b"
)
AFTER = "x = Placeholder() {dtype=f32; shape=[2]} : f32[2]\nb = Abs(x) : f32[2]\nfeed x\nreturn b"


def test_a_dropped_origin():
    before = plan_of(BEFORE, 1, 2, 3)
    verify_origins(before, plan_of(AFTER, 1, 3), "kept")
    with pytest.raises(AssertionError, match=r"pass: node b .Abs. has lost model.py:3"):
        verify_origins(before, plan_of(AFTER, 1, 2), "pass")
    with pytest.raises(AssertionError, match="new node c .Abs. names no line"):
        verify_origins(
            before, plan_of(AFTER.replace("b =", "c =").replace("return b", "return c"), 1, None), "pass"
        )
