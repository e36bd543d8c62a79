"""Public names of the family: distributions, and those of tf.contrib beside them."""

_ROOM = "headrace.distributions"
_BIJECTORS = f"{_ROOM}.bijectors"
_CONTRIB = "contrib.distributions."


def _all(place: str, names: str) -> str:
    return " ".join(f"{place}{name}" for name in names.split())


def _both(names: str) -> str:
    """tf.contrib.distributions has the same classes as tf.distributions."""
    return f"{_all('distributions.', names)} {_all(_CONTRIB, names)}"


NAMES: dict[str, str] = {
    f"{_ROOM}.distribution": _both(
        "Distribution ReparameterizationType FULLY_REPARAMETERIZED NOT_REPARAMETERIZED"
    ),
    f"{_ROOM}.kullback_leibler": _both("RegisterKL kl_divergence"),
    f"{_ROOM}.location_scale": (
        _both("Normal Laplace StudentT Uniform")
        + " "
        + _all(_CONTRIB, "NormalWithSoftplusScale LaplaceWithSoftplusScale StudentTWithAbsDfSoftplusScale")
    ),
    f"{_ROOM}.positive": (
        _both("Beta Exponential Gamma")
        + " "
        + _all(_CONTRIB, "BetaWithSoftplusConcentration ExponentialWithSoftplusRate")
        + " "
        + _all(_CONTRIB, "GammaWithSoftplusConcentrationRate")
    ),
    f"{_ROOM}.discrete": _both("Bernoulli Categorical"),
    f"{_ROOM}.vectors": _both("Dirichlet DirichletMultinomial Multinomial"),
    f"{_ROOM}.transformed": _all(_CONTRIB, "TransformedDistribution"),
    f"{_ROOM}.matrices": _all(
        _CONTRIB, "fill_triangular fill_triangular_inverse matrix_diag_transform tridiag"
    ),
    f"{_ROOM}.logarithms": _all(_CONTRIB, "reduce_weighted_logsumexp softplus_inverse"),
    f"{_BIJECTORS}.bijector": _all(f"{_CONTRIB}bijectors.", "Bijector"),
    f"{_BIJECTORS}.elementwise": _all(
        f"{_CONTRIB}bijectors.",
        "AbsoluteValue AffineScalar Exp Identity PowerTransform Sigmoid Softplus Softsign Square",
    ),
    f"{_BIJECTORS}.composed": _all(f"{_CONTRIB}bijectors.", "Inline Invert"),
    f"{_BIJECTORS}.conditional": _all(f"{_CONTRIB}bijectors.", "ConditionalBijector"),
    f"{_BIJECTORS}.vectors": _all(f"{_CONTRIB}bijectors.", "Permute SoftmaxCentered"),
    f"{_BIJECTORS}.chain": _all(f"{_CONTRIB}bijectors.", "Chain"),
}
