"""Bijectors beside NumPy: y, x again, and the stretch beside slopes taken by differences; chains, batches of
events, transformed distributions, refusals."""

from __future__ import annotations

import numpy as np
import pytest

import headrace as tf

d, b = tf.contrib.distributions, tf.contrib.distributions.bijectors
X = np.linspace(0.2, 1.5, 7)
CASES = {  # how it is made, and what it does in NumPy
    "Identity": (lambda: b.Identity(), lambda x: x),
    "Exp": (lambda: b.Exp(validate_args=True), np.exp),
    "PowerTransform": (lambda: b.PowerTransform(0.5, validate_args=True), lambda x: (1 + x * 0.5) ** 2),
    "Sigmoid": (lambda: b.Sigmoid(), lambda x: 1 / (1 + np.exp(-x))),
    "Softplus": (lambda: b.Softplus(), lambda x: np.log1p(np.exp(x))),
    "SofterSoftplus": (
        lambda: b.Softplus(np.float64(2.0), validate_args=True),
        lambda x: 2 * np.log1p(np.exp(x / 2)),
    ),
    "Softsign": (lambda: b.Softsign(validate_args=True), lambda x: x / (1 + abs(x))),
    "Square": (lambda: b.Square(validate_args=True), np.square),
    "AffineScalar": (lambda: b.AffineScalar(np.float64(1.0), np.float64(-3.0), True), lambda x: 1 - 3 * x),
    "Inverted": (lambda: b.Invert(b.Exp()), np.log),
    "Inline": (lambda: b.Inline(tf.exp, tf.log, lambda y: -tf.log(y), forward_min_event_ndims=0), np.exp),
    "Chain": (
        lambda: b.Chain([b.Exp(), b.AffineScalar(np.float64(0.5), np.float64(2.0)), b.Softplus()]),
        lambda x: np.exp(0.5 + 2 * np.log1p(np.exp(x))),
    ),
}


def values(*tensors):
    with tf.Session() as sess:
        return sess.run(list(tensors))


@pytest.mark.parametrize("name", CASES)
def test_both_ways_and_the_stretch(name):
    make, function = CASES[name]
    with tf.Graph().as_default():
        one, other = make(), make()  # the other has not seen the input that belongs to an output
        y = one.forward(X)
        assert one.inverse(y) is not None and one.forward_event_shape([3]) == [3]
        spread = tf.zeros_like(X)  # what is the same everywhere may be one number
        found, back, forward, inverse, events = values(
            y,
            other.inverse(function(X)),
            one.forward_log_det_jacobian(X, event_ndims=0) + spread,
            other.inverse_log_det_jacobian(function(X), event_ndims=0) + spread,
            make().forward_log_det_jacobian(X[None], event_ndims=1),
        )
    slope = np.log(abs(function(X + 1e-6) - function(X - 1e-6)) / 2e-6)
    np.testing.assert_allclose(found, function(X), rtol=1e-10)
    np.testing.assert_allclose(back, X, rtol=1e-9)
    np.testing.assert_allclose(forward, slope, atol=1e-6)
    np.testing.assert_allclose(inverse, -slope, atol=1e-6)
    np.testing.assert_allclose(events, [slope.sum()], atol=1e-5)


@pytest.mark.parametrize(
    ("links", "forward", "inverse"),
    [
        ([(0, 3), (1, 1)], 1, 4),
        ([(1, 1), (0, 3)], 0, 3),
        ([(3, 0), (3, 0)], 6, 0),
        ([(1, 1), (3, 0)], 4, 1),
        ([(2, 1), (3, 0), (1, 2)], 4, 1),
        ([], 0, 0),
    ],
)
def test_dimensions_of_the_events_of_a_chain(links, forward, inverse):
    """Each link gets as many dimensions as it needs, whatever the links before it made of them."""
    made = b.Chain(
        [b.Inline(forward_min_event_ndims=before, inverse_min_event_ndims=after) for before, after in links]
    )
    assert (made.forward_min_event_ndims, made.inverse_min_event_ndims) == (forward, inverse)


def test_what_was_computed_is_kept():
    with tf.Graph().as_default():
        once = b.Exp()
        x = tf.constant(X)
        assert once.inverse(once.forward(x)) is x


def test_a_log_normal_distribution():
    with tf.Graph().as_default():
        made = d.TransformedDistribution(d.Normal(0.5, 0.25), b.Exp())
        x = np.linspace(0.3, 6.0, 20_001).astype(np.float32)
        prob, log_prob, cdf, above, median, drawn = values(
            made.prob(x), made.log_prob(x), made.cdf(x), made.survival_function(x), made.quantile(0.5),
            made.sample([200, 50], seed=3),
        )  # fmt: skip
    area = ((prob[1:] + prob[:-1]).astype(np.float64) / 2 * np.diff(x)).sum()
    assert area == pytest.approx(cdf[-1] - cdf[0], abs=1e-4) and median == pytest.approx(np.exp(0.5))
    np.testing.assert_allclose(np.exp(log_prob), prob, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(cdf + above, 1.0, atol=1e-5)
    exact = 1 / (x * 0.25 * np.sqrt(2 * np.pi)) * np.exp(-((np.log(x) - 0.5) ** 2) / (2 * 0.25**2))
    np.testing.assert_allclose(prob, exact, rtol=1e-3, atol=1e-6)
    assert drawn.shape == (200, 50) and np.log(drawn).mean() == pytest.approx(0.5, abs=0.02)


def test_overridden_shapes_are_independent_copies():
    with tf.Graph().as_default():
        normal = d.Normal(0.0, 1.0)
        several = d.TransformedDistribution(normal, b.Exp(), batch_shape=[2], event_shape=[3])
        assert several.batch_shape == [2] and several.event_shape == [3]
        y = np.float32([[1.0, 2.0, 3.0], [2.0, 2.0, 0.5]])
        turned = d.TransformedDistribution(d.Normal([0.0, 5.0], 1.0), b.Identity(), event_shape=[3])
        single, joint, drawn, rotated = values(
            d.TransformedDistribution(normal, b.Exp()).log_prob(y),
            several.log_prob(y),
            several.sample([4], seed=1),
            turned.sample(1000, seed=1),
        )
        shifted = d.TransformedDistribution(normal, b.AffineScalar(1.0, 3.0))
        (entropy,) = values(shifted.entropy())
        with pytest.raises(ValueError, match="base distribution not scalar"):
            d.TransformedDistribution(d.Normal([0.0, 1.0], 1.0), b.Exp(), batch_shape=[2])
    np.testing.assert_allclose(joint, single.sum(1), rtol=1e-5)
    assert drawn.shape == (4, 2, 3) and rotated.shape == (1000, 2, 3)
    np.testing.assert_allclose(rotated.mean((0, 2)), [0.0, 5.0], atol=0.1)
    assert entropy == pytest.approx(0.5 * np.log(2 * np.pi * np.e) + np.log(3.0), rel=1e-5)


def test_both_inputs_of_an_absolute_value_count():
    with tf.Graph().as_default():
        folded = d.TransformedDistribution(d.Normal(0.5, 1.0), b.AbsoluteValue())
        y = np.float32([0.1, 1.0, 2.0])
        prob, log_prob, two = values(folded.prob(y), folded.log_prob(y), d.Normal(0.5, 1.0).prob([y, -y]))
        with pytest.raises(NotImplementedError, match="not injective"):
            folded.cdf(y)
    np.testing.assert_allclose(prob, two.sum(0), rtol=1e-5)
    np.testing.assert_allclose(np.exp(log_prob), prob, rtol=1e-5)


def test_in_eager_mode_the_same():
    from headrace.eager.context import eager_mode

    with eager_mode():
        made = d.TransformedDistribution(d.Normal(0.0, 1.0), b.Exp())
        np.testing.assert_allclose(made.cdf(1.0).numpy(), 0.5, rtol=1e-6)
        assert made.sample(5).shape == [5]


def test_refusals():
    with tf.Graph().as_default():
        with pytest.raises(ValueError, match="must be larger than min_event_ndims"):
            b.Inline(forward_min_event_ndims=2).forward_log_det_jacobian([[1.0]], event_ndims=1)
        with pytest.raises(ValueError, match="Must specify at least one"):
            b.Bijector()
        with pytest.raises(NotImplementedError, match="forward_fn is not a callable"):
            b.Inline(forward_min_event_ndims=0).forward([1.0])
        with pytest.raises(ValueError, match="non-negative"):
            b.PowerTransform(-1.0)
        with pytest.raises(NotImplementedError, match="non-injective"):
            b.Chain([b.AbsoluteValue()])
        with pytest.raises(tf.errors.InvalidArgumentError, match="greater than 0"):
            values(b.Exp(validate_args=True).inverse([-1.0]))
