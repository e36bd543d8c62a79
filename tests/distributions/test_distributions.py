"""Every distribution beside numbers that follow from its density, or from its samples; divergences;
refusals."""

from __future__ import annotations

import numpy as np
import pytest

import headrace as tf

d = tf.distributions
CONTINUOUS = {  # how it is made; from where to where its density is added up
    "Normal": (lambda: d.Normal(0.5, 2.0), -30.0, 30.0),
    "Laplace": (lambda: d.Laplace(0.5, 1.5), -60.0, 60.0),
    "StudentT": (lambda: d.StudentT(7.0, 0.5, 1.5), -200.0, 200.0),
    "Uniform": (lambda: d.Uniform(-1.0, 3.0), -1.5, 3.5),
    "Gamma": (lambda: d.Gamma(3.0, 2.0), 1e-6, 40.0),
    "Exponential": (lambda: d.Exponential(1.5), 1e-6, 40.0),
    "Beta": (lambda: d.Beta(2.0, 3.0), 1e-6, 1.0 - 1e-6),
}


def values(*tensors):
    with tf.Session() as sess:
        return sess.run(list(tensors))


@pytest.mark.parametrize("name", CONTINUOUS)
def test_moments_follow_from_the_density(name):
    make, low, high = CONTINUOUS[name]
    with tf.Graph().as_default():
        made = make()
        x = np.linspace(low, high, 200_001).astype(np.float32)
        middle = float(low + 0.4 * (high - low))
        stats = [made.mean(), made.variance(), made.stddev(), made.entropy()]
        p, log_p, below, above, (mean, variance, stddev, entropy) = values(
            made.prob(x), made.log_prob(x), made.cdf(middle), made.survival_function(middle), tf.stack(stats)
        )
    p, step = p.astype(np.float64), (high - low) / (len(x) - 1)
    assert p.sum() * step == pytest.approx(1.0, abs=2e-3)
    assert (p * x).sum() * step == pytest.approx(mean, abs=5e-3)
    assert (p * (x - mean) ** 2).sum() * step == pytest.approx(variance, rel=1e-2)
    assert stddev**2 == pytest.approx(variance, rel=1e-4)
    assert -(p * np.where(p > 0, log_p, 0.0)).sum() * step == pytest.approx(entropy, abs=5e-3)
    assert p[x <= middle].sum() * step == pytest.approx(below, abs=2e-3)
    assert above == pytest.approx(1.0 - below, abs=1e-5)


@pytest.mark.parametrize("name", CONTINUOUS)
def test_samples_are_of_the_distribution(name):
    make, _, _ = CONTINUOUS[name]
    with tf.Graph().as_default():
        made = make()
        drawn = made.sample([50, 200], seed=11)
        assert drawn.shape == [50, 200]
        x, mean, stddev = values(drawn, made.mean(), made.stddev())
    assert x.mean() == pytest.approx(mean, abs=float(0.06 * stddev))
    assert x.std() == pytest.approx(stddev, rel=0.1)


def test_choices():
    with tf.Graph().as_default():
        coin, die = d.Bernoulli(probs=0.3), d.Categorical(probs=[0.2, 0.3, 0.5])
        found = values(
            coin.prob([0, 1]), coin.mean(), coin.entropy(), die.prob([0, 1, 2]), die.mode(), die.entropy(),
            tf.reduce_mean(tf.cast(die.sample(20_000, seed=3), tf.float32)),
        )  # fmt: skip
    np.testing.assert_allclose(found[0], [0.7, 0.3], rtol=1e-5)
    assert found[1] == pytest.approx(0.3) and found[2] == pytest.approx(0.6108643)
    np.testing.assert_allclose(found[3], [0.2, 0.3, 0.5], rtol=1e-5)
    assert found[4] == 2 and found[5] == pytest.approx(1.0296530)
    assert found[6] == pytest.approx(1.3, abs=0.03)


def test_vectors():
    with tf.Graph().as_default():
        some = [d.Dirichlet([1.0, 2.0, 3.0]), d.Multinomial(4.0, probs=[0.2, 0.8])]
        some.append(d.DirichletMultinomial(4.0, [1.0, 2.0]))
        for made in some:
            drawn = made.sample(4000, seed=5)
            x, mean, covariance, log_p = values(drawn, made.mean(), made.covariance(), made.log_prob(drawn))
            np.testing.assert_allclose(x.mean(0), mean, atol=0.1)
            np.testing.assert_allclose(np.cov(x.T), covariance, atol=0.15)
            assert np.isfinite(log_p).all()
        every = np.array([[i, 4.0 - i] for i in range(5)], np.float32)
        for p in values(*(m.prob(every) for m in some[1:])):
            assert p.sum() == pytest.approx(1.0, rel=1e-5)


def test_divergences_are_mean_differences_of_log_densities():
    pairs = [
        (d.Normal(0.0, 1.0), d.Normal(1.0, 2.0)),
        (d.Gamma(3.0, 2.0), d.Gamma(2.0, 1.0)),
        (d.Beta(2.0, 3.0), d.Beta(3.0, 2.0)),
        (d.Bernoulli(probs=0.3), d.Bernoulli(probs=0.6)),
        (d.Categorical(probs=[0.2, 0.8]), d.Categorical(probs=[0.5, 0.5])),
        (d.Dirichlet([1.0, 2.0]), d.Dirichlet([2.0, 3.0])),
    ]
    for a, b in pairs:
        x = a.sample(20_000, seed=2)
        estimate, exact = values(tf.reduce_mean(a.log_prob(x) - b.log_prob(x)), d.kl_divergence(a, b))
        assert estimate == pytest.approx(exact, abs=0.05), a
    with pytest.raises(NotImplementedError, match="No KL"):
        d.kl_divergence(d.Normal(0.0, 1.0), d.Laplace(0.0, 1.0))


def test_in_eager_mode_the_same():
    from headrace.eager.context import eager_mode

    with eager_mode():
        made = d.Normal([0.0, 1.0], 2.0)
        assert made.batch_shape == [2] and made.sample(3).shape == [3, 2]
        with tf.GradientTape() as tape:
            x = tf.constant(0.5)
            tape.watch(x)
            y = made.log_prob(x)
        np.testing.assert_allclose(tape.gradient(y, x).numpy(), 0.0, atol=1e-6)
        with pytest.raises(tf.errors.InvalidArgumentError, match="Condition x > 0 did not hold"):
            d.Normal(0.0, -1.0, validate_args=True)


def test_refusals():
    with pytest.raises(ValueError, match="Must pass probs or logits"):
        d.Bernoulli()
    with pytest.raises(ValueError, match="same type"):
        d.Normal(np.float32(0.0), np.float64(1.0))
    wide = d.StudentT(0.5, 0.0, 1.0, allow_nan_stats=False)
    with pytest.raises(tf.errors.InvalidArgumentError, match="mean not defined"):
        values(wide.mean())
    few = d.Multinomial(5.0, probs=[0.5, 0.5], validate_args=True)
    with pytest.raises(tf.errors.InvalidArgumentError, match="counts must sum to `self.total_count`"):
        values(few.prob(tf.constant([3.0, 3.0])))
    copied = d.Normal(0.0, 1.0).copy(scale=3.0)
    assert copied.parameters["scale"] == 3.0
    assert d.Normal.param_static_shapes([3, 2]) == {"loc": [3, 2], "scale": [3, 2]}
