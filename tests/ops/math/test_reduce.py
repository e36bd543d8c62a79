"""Gradients of reductions and of broadcasting where shapes are not known while building."""

import numpy as np
import pytest

import headrace as tf

pytestmark = pytest.mark.pure
X = np.random.default_rng(0).normal(size=(2, 3, 4))
REDUCTIONS = ("sum", "mean", "prod", "max", "min")


def gradient(build, arrays, shapes):
    """d sum(build(...)**2) / d inputs, on placeholders of these shapes."""
    with tf.Graph().as_default(), tf.Session() as session:
        inputs = [tf.placeholder(tf.float64, s) for s in shapes]
        loss = tf.reduce_sum(build(*inputs) ** 2)
        return session.run(tf.gradients(loss, inputs), dict(zip(inputs, arrays)))


@pytest.mark.parametrize("word", REDUCTIONS)
@pytest.mark.parametrize("axis", [0, [1, 2], -1, [2, 0], None], ids=str)
@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("shape", [None, [2, None, 4]], ids=str)
def test_a_reduction_of_unknown_shape(word, axis, keep, shape):
    build = lambda x: getattr(tf, f"reduce_{word}")(x, axis, keep)
    (found,), (wanted,) = (gradient(build, [X], [s]) for s in (shape, X.shape))
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


@pytest.mark.parametrize("word", REDUCTIONS)
def test_axes_that_are_fed(word):
    with tf.Graph().as_default(), tf.Session() as session:
        axes = tf.placeholder(tf.int32)
        x = tf.constant(X)
        y = getattr(tf, f"reduce_{word}")(x, axes)
        found = session.run(tf.gradients(y, x)[0], {axes: [-1, 0]})
        wanted = session.run(tf.gradients(getattr(tf, f"reduce_{word}")(x, [2, 0]), x)[0])
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


BROADCASTING = {
    "add": tf.add,
    "sub": tf.subtract,
    "mul": tf.multiply,
    "div": tf.truediv,
    "max": tf.maximum,
    "pow": lambda x, y: tf.pow(tf.abs(x) + 1, y),
    "squared": tf.squared_difference,
    "atan2": tf.atan2,
    "mod": tf.floormod,
    "no_nan": tf.div_no_nan,
    "xlogy": lambda x, y: tf.math.xlogy(x, tf.abs(y)),
}


@pytest.mark.parametrize("word", BROADCASTING)
@pytest.mark.parametrize(
    "shapes", [((3, 4), (4,)), ((2, 1, 4), (3, 1)), ((), (3,)), ((2, 3), (2, 3))], ids=str
)
def test_broadcasting_of_unknown_shapes(word, shapes):
    rng = np.random.default_rng(1)
    arrays = [rng.uniform(0.5, 2, size=s) for s in shapes]
    found = gradient(BROADCASTING[word], arrays, [None, None])
    wanted = gradient(BROADCASTING[word], arrays, shapes)
    for a, f, w in zip(arrays, found, wanted):
        assert f.shape == a.shape
        np.testing.assert_allclose(f, w, rtol=1e-12)


@pytest.mark.parametrize("axes", [0, [0, 1], [0, 2], None], ids=str)
@pytest.mark.parametrize("word", ["sum", "mean"])
def test_long_columns_are_added_in_blocks(monkeypatch, word, axes):
    """The reference too: added one after the other a million times 0.1 is off by a thousandth."""
    monkeypatch.setenv("HEADRACE_COMPILE", "0")
    x = np.full((50_000, 20, 3), 0.1, np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        found = session.run(getattr(tf, f"reduce_{word}")(tf.constant(x), axes))
    wanted = getattr(np, word)(x.astype(np.float64), axis=tuple(axes) if isinstance(axes, list) else axes)
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_statistics_of_a_large_batch(monkeypatch):
    monkeypatch.setenv("HEADRACE_COMPILE", "0")
    x = np.full((1000, 20, 20, 2), 0.1, np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        _, mean, _ = tf.nn.fused_batch_norm(tf.constant(x), np.ones(2, "f"), np.zeros(2, "f"))
        bias = tf.raw_ops.BiasAddGrad(out_backprop=x)
        found = session.run([mean, bias])
    np.testing.assert_allclose(found, np.array([[0.1, 0.1], [40_000, 40_000]]), rtol=1e-6)
