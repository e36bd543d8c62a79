"""Text in, text out; then the values are the same."""

import numpy as np
import pytest

import headrace as tf
from headrace.passes.fold_constants import fold_constants
from headrace.passes.merge_common import merge_common
from headrace.passes.remove_identities import remove_identities
from headrace.passes.remove_waits import remove_waits
from headrace.passes.simplify_arithmetic import simplify_arithmetic
from headrace.plan.text import from_text, to_text
from headrace.plan.verify import verify

X = "x = Placeholder() {dtype=f32; shape=[2]} : f32[2]\n"


def rewrites(rewrite, before, after):
    plan = rewrite(from_text(before))
    verify(plan)
    assert to_text(plan) == to_text(from_text(after))
    assert to_text(rewrite(plan)) == to_text(plan), "not a fixed point"


def test_identities_disappear():
    rewrites(
        remove_identities,
        X + "i = Identity(x) : f32[2]\ny = Neg(i) : f32[2]\nfeed x\nreturn y",
        X + "y = Neg(x) : f32[2]\nfeed x\nreturn y",
    )


def test_an_identity_that_orders_effects_stays():
    text = X + "i = Identity(x) : f32[2]\ny = Neg(x) ^i : f32[2]\nfeed x\nreturn y"
    rewrites(remove_identities, text, text)


def test_reading_a_variable_stays():
    text = "v = VariableV2() {shape=[2]; dtype=f32} : f32&[2]\ni = Identity(v) : f32[2]\nreturn i"
    rewrites(remove_identities, text, text)


def test_waiting_for_a_pure_node_is_waiting_for_its_effects():
    rewrites(
        remove_waits,
        "v = VariableV2() {shape=[2]; dtype=f32} : f32&[2]\n"
        "i = Identity(v) : f32[2]\nn = Neg(i) : f32[2]\n"
        "c = Const() {value=f32[1.0, 2.0]; dtype=f32} ^n : f32[2]\nw = Assign(v, c) : f32&[2]\ntarget w",
        "v = VariableV2() {shape=[2]; dtype=f32} : f32&[2]\n"
        "i = Identity(v) : f32[2]\n"
        "c = Const() {value=f32[1.0, 2.0]; dtype=f32} ^i : f32[2]\nw = Assign(v, c) : f32&[2]\ntarget w",
    )


def test_constants_fold():
    rewrites(
        fold_constants,
        "a = Const() {value=f32[1.0, 2.0]; dtype=f32} : f32[2]\nb = Neg(a) : f32[2]\nreturn b",
        "b = Const() {value=f32[-1.0, -2.0]; dtype=f32} : f32[2]\nreturn b",
    )


def test_a_folded_constant_waits_for_its_branch():
    rewrites(
        fold_constants,
        X
        + "a = Const() {value=f32[1.0]; dtype=f32} ^x : f32[1]\nb = Neg(a) : f32[1]\nfeed x\nreturn b",
        X + "b = Const() {value=f32[-1.0]; dtype=f32} ^x : f32[1]\nfeed x\nreturn b",
    )


def test_common_subexpressions_merge():
    rewrites(
        merge_common,
        X + "a = Neg(x) : f32[2]\nb = Neg(x) : f32[2]\nc = Mul(a, b) : f32[2]\nfeed x\nreturn c",
        X + "a = Neg(x) : f32[2]\nc = Mul(a, a) : f32[2]\nfeed x\nreturn c",
    )


@pytest.mark.parametrize(
    "line, kept",
    [
        ("y = Mul(x, one) : f32[2]", False),
        ("y = Sub(x, zero) : f32[2]", False),
        ("y = AddV2(x, zero) : f32[2]", True),  # -0.0 + 0.0 is 0.0
        ("y = Mul(x, zero) : f32[2]", True),  # NaN * 0 is NaN
    ],
)
def test_arithmetic_keeps_what_floats_need(line, kept):
    constants = (
        "one = Const() {value=f32[1.0, 1.0]; dtype=f32} : f32[2]\n"
        "zero = Const() {value=f32[0.0, 0.0]; dtype=f32} : f32[2]\n"
    )
    plan = simplify_arithmetic(from_text(X + constants + line + "\nfeed x\nreturn y"))
    assert ("y" in plan.nodes) == kept


def test_random_graphs_keep_their_values():
    rng = np.random.default_rng(0)
    for _ in range(30):
        with tf.Graph().as_default() as graph:
            x = tf.placeholder(tf.float32, [3])
            pool = [x, tf.constant([1.0, 2.0, 3.0]), tf.ones([3]), tf.zeros([3]), tf.constant(1.0)]
            for _ in range(12):
                a, b = (pool[i] for i in rng.integers(len(pool), size=2))
                pick = [
                    tf.add,
                    tf.subtract,
                    tf.multiply,
                    lambda p, q: tf.identity(p),
                    lambda p, q: -p,
                ]
                pool.append(pick[rng.integers(len(pick))](a, b))
            fetches = pool[5:]
            plain = tf.ConfigProto()
            plain.graph_options.optimizer_options.opt_level = -1
            value = np.array([0.5, -1.0, np.nan], np.float32)
            with tf.Session(graph=graph) as fast, tf.Session(graph=graph, config=plain) as slow:
                for p, q in zip(fast.run(fetches, {x: value}), slow.run(fetches, {x: value})):
                    np.testing.assert_array_equal(p, q)
