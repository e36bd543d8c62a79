"""Text in, text out; then the values are the same."""

from dataclasses import replace

import numpy as np
import pytest

import headrace as tf
from headrace.core.origin import Origin
from headrace.passes.absorb_padding import absorb_paddings
from headrace.passes.fold_constants import fold_constants
from headrace.passes.merge_common import merge_common
from headrace.passes.merge_products import merge_products
from headrace.passes.remove_identities import remove_identities
from headrace.passes.remove_waits import remove_waits
from headrace.passes.simplify_arithmetic import simplify_arithmetic
from headrace.plan.text import from_text, to_text
from headrace.plan.verify import verify, verify_origins

X = "x = Placeholder() {dtype=f32; shape=[2]} : f32[2]\n"


def with_origins(plan):
    """Every node comes from a line of its own: its name."""
    nodes = {n: replace(v, origins=(Origin(n, 1, "f"),)) for n, v in plan.nodes.items()}
    return replace(plan, nodes=nodes)


def rewrites(rewrite, before, after, **origins):
    """Text in, text out.  `origins`: the lines that a node of the result comes from."""
    given = with_origins(from_text(before))
    plan = rewrite(given)
    verify(plan)
    verify_origins(given, plan, rewrite.__name__)
    assert to_text(plan) == to_text(from_text(after))
    assert to_text(rewrite(plan)) == to_text(plan), "not a fixed point"
    for name, lines in origins.items():
        assert " ".join(o.filename for o in plan.nodes[name].origins) == lines


def test_identities_disappear():
    rewrites(
        remove_identities,
        X + "i = Identity(x) : f32[2]\ny = Neg(i) : f32[2]\nfeed x\nreturn y",
        X + "y = Neg(x) : f32[2]\nfeed x\nreturn y",
        x="x i",
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


def test_what_a_node_waits_for_through_a_constant_is_not_lost():
    head = (
        X + "v = VariableV2() {shape=[2]; dtype=f32} : f32&[2]\na = Assign(v, x) : f32&[2]\n"
        "one = Const() {value=f32[1.0, 1.0]; dtype=f32} ^a : f32[2]\n"
    )
    rewrites(
        simplify_arithmetic,
        head + "y = Mul(x, one) : f32[2]\nfeed x\nreturn y",
        head.rpartition("one")[0] + "y = Identity(x) ^a : f32[2]\nfeed x\nreturn y",
        y="y",
    )


def test_constants_fold():
    rewrites(
        fold_constants,
        "a = Const() {value=f32[1.0, 2.0]; dtype=f32} : f32[2]\nb = Neg(a) : f32[2]\nreturn b",
        "b = Const() {value=f32[-1.0, -2.0]; dtype=f32} : f32[2]\nreturn b",
        b="b",
    )


def test_a_folded_constant_waits_for_its_branch():
    rewrites(
        fold_constants,
        X + "a = Const() {value=f32[1.0]; dtype=f32} ^x : f32[1]\nb = Neg(a) : f32[1]\nfeed x\nreturn b",
        X + "b = Const() {value=f32[-1.0]; dtype=f32} ^x : f32[1]\nfeed x\nreturn b",
    )


def test_common_subexpressions_merge():
    rewrites(
        merge_common,
        X + "a = Neg(x) : f32[2]\nb = Neg(x) : f32[2]\nc = Mul(a, b) : f32[2]\nfeed x\nreturn c",
        X + "a = Neg(x) : f32[2]\nc = Mul(a, a) : f32[2]\nfeed x\nreturn c",
        a="a b",
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
                pick = [tf.add, tf.subtract, tf.multiply, lambda p, q: tf.identity(p), lambda p, q: -p]
                pool.append(pick[rng.integers(len(pick))](a, b))
            fetches = pool[5:]
            plain = tf.ConfigProto()
            plain.graph_options.optimizer_options.opt_level = -1
            value = np.array([0.5, -1.0, np.nan], np.float32)
            with tf.Session(graph=graph) as fast, tf.Session(graph=graph, config=plain) as slow:
                for p, q in zip(fast.run(fetches, {x: value}), slow.run(fetches, {x: value})):
                    np.testing.assert_array_equal(p, q)


THIN = "{transpose_a=True; T=f32} : f32[8,9]\n"


def thin_products(count, more=""):
    """A sum of products over two rows each."""
    lines, feeds = "", []
    for i in range(count):
        for name, size in ((f"x{i}", 8), (f"y{i}", 9)):
            lines += f"{name} = Placeholder() {{dtype=f32; shape=[2,{size}]}} : f32[2,{size}]\n"
            feeds.append(name)
        lines += f"p{i} = MatMul(x{i}, y{i}) {THIN}"
    terms = [f"p{i}" for i in range(count)] + ([more] if more else [])
    if more:
        lines = f"{more} = Const() {{value=f32[{[[0.0] * 9] * 8}]; dtype=f32}} : f32[8,9]\n" + lines
    return lines + f"s = AddN({', '.join(terms)}) {{N={len(terms)}; T=f32}} : f32[8,9]\n", feeds


def test_thin_products_merge():
    text, feeds = thin_products(3)
    before = from_text(f"{text}feed {', '.join(feeds)}\nreturn s")
    plan = merge_products(before)
    verify(plan)
    ops = [n.op.name for n in plan.nodes.values() if n.op.name != "Placeholder"]
    assert sorted(ops) == ["ConcatV2", "ConcatV2", "Const", "MatMul"]
    assert plan.nodes["s"].op.name == "MatMul" and len(plan.nodes["s/_left"].inputs) == 4
    assert to_text(merge_products(plan)) == to_text(plan)


def test_products_that_somebody_else_uses_stay():
    text, feeds = thin_products(2)
    before = from_text(f"{text}n = Neg(p0) : f32[8,9]\nfeed {', '.join(feeds)}\nreturn s, n")
    assert to_text(merge_products(before)) == to_text(before)


@pytest.mark.parametrize("rows", [2, 50])
def test_gradients_of_shared_weights(rows):
    """Thin or not, the numbers are those of the sum."""
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [3, rows, 6])
        w = tf.Variable(np.linspace(-1, 1, 36, dtype=np.float32).reshape(6, 6))
        h = x[0]
        for t in range(3):
            h = tf.tanh(tf.matmul(h + x[t], w))
        loss = tf.reduce_sum(h) + tf.reduce_sum(w * w)
        (grad,) = tf.gradients(loss, [w])
        feed = {x: np.random.default_rng(0).normal(size=(3, rows, 6)).astype(np.float32)}
        found = []
        for level in (tf.OptimizerOptions.L0, tf.OptimizerOptions.L1):
            options = tf.GraphOptions(optimizer_options=tf.OptimizerOptions(opt_level=level))
            with tf.Session(config=tf.ConfigProto(graph_options=options)) as sess:
                sess.run(w.initializer)
                found.append([sess.run(grad, feed) for _ in range(3)][-1])
        np.testing.assert_allclose(found[0], found[1], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", ["VALID", "SAME"])
@pytest.mark.parametrize("amounts", [[[0, 0], [1, 2], [2, 0], [0, 0]], [[0, 0], [1, 1], [1, 1], [0, 1]]])
def test_a_convolution_pads_by_itself(kind, amounts):
    rng = np.random.default_rng(0)
    channels = 2 + sum(amounts[3])
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [2, 6, 7, 2])
        w = tf.placeholder(tf.float32, [3, 2, channels, 4])
        y = tf.nn.conv2d(tf.pad(x, amounts), w, strides=[1, 2, 1, 1], padding=kind)
        wanted = [y, *tf.gradients(y * y, [x, w])]
        feed = {
            x: rng.normal(size=(2, 6, 7, 2)).astype("f"),
            w: rng.normal(size=(3, 2, channels, 4)).astype("f"),
        }
        with tf.Session(graph=graph) as session:
            found = session.run(wanted, feed)
            session.run([*wanted, tf.pad(x, amounts)], feed)
    padded = np.pad(feed[x], amounts)
    with tf.Graph().as_default(), tf.Session() as session:
        x2, w2 = tf.constant(padded), tf.constant(feed[w])
        y2 = tf.nn.conv2d(x2, w2, strides=[1, 2, 1, 1], padding=kind)
        whole, dx, dw = session.run([y2, *tf.gradients(y2 * y2, [x2, w2])])
    np.testing.assert_allclose(found[0], whole, rtol=1e-5, atol=1e-5)
    (a, b), (c, d) = amounts[1:3]
    inside = dx[:, a : dx.shape[1] - b, c : dx.shape[2] - d, :2]
    np.testing.assert_allclose(found[1], inside, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(found[2], dw, rtol=1e-4, atol=1e-4)


def test_only_plain_padding_is_absorbed():
    text = (
        "x = Placeholder() {dtype=f32; shape=[1,4,4,2]} : f32[1,4,4,2]\n"
        "w = Placeholder() {dtype=f32; shape=[3,3,2,2]} : f32[3,3,2,2]\n"
        "p = Placeholder() {dtype=i32; shape=[4,2]} : i32[4,2]\n"
        "q = Pad(x, p) {Tpaddings=i32} : f32[1,6,6,2]\n"
        'y = Conv2D(q, w) {strides=[1,1,1,1]; padding="VALID"} : f32[1,4,4,2]\n'
        "feed x w p\nreturn y"
    )
    plan = from_text(text)
    assert to_text(absorb_paddings(plan)) == to_text(plan)


SHAPE = "s = Placeholder() {dtype=i64; shape=[1]} : i64[1]\n"


def test_a_reshape_to_the_same_shape_disappears():
    known = "s = Const() {value=i64[2]; dtype=i64} : i64[1]\n"
    before = X + known + "r = Reshape(x, s) : f32[2]\ny = Neg(r) : f32[2]\nfeed x\nreturn y"
    plan = simplify_arithmetic(from_text(before))
    assert "y = Neg(x)" in to_text(plan)


def test_a_reshape_to_a_shape_that_is_computed_stays():
    """It may be another one, which is an error."""
    text = X + SHAPE + "r = Reshape(x, s) : f32[2]\ny = Neg(r) : f32[2]\nfeed x, s\nreturn y"
    rewrites(simplify_arithmetic, text, text)


@pytest.mark.parametrize("perms", [[[0]], [[1, 0], [1, 0]]])
def test_a_transposition_that_does_not_fit_what_is_fed_stays_an_error(perms):
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, None)
        y = x
        for perm in perms:
            y = tf.transpose(y, perm)
        with pytest.raises(tf.errors.InvalidArgumentError, match="transpose expects a vector of size 3"):
            session.run(y, {x: np.ones((2, 3, 4))})
        fits = np.ones((2, 3)[: len(perms[0])])
        assert session.run(y, {x: fits}).shape == fits.shape
