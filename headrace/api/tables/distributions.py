"""Public names of the family: distributions."""

NAMES: dict[str, str] = {
    "headrace.distributions.distribution": (
        "distributions.Distribution distributions.ReparameterizationType distributions.FULLY_REPARAMETERIZED "
        "distributions.NOT_REPARAMETERIZED"
    ),
    "headrace.distributions.kullback_leibler": "distributions.RegisterKL distributions.kl_divergence",
    "headrace.distributions.location_scale": (
        "distributions.Normal distributions.Laplace distributions.StudentT distributions.Uniform"
    ),
    "headrace.distributions.positive": "distributions.Beta distributions.Exponential distributions.Gamma",
    "headrace.distributions.discrete": "distributions.Bernoulli distributions.Categorical",
    "headrace.distributions.vectors": (
        "distributions.Dirichlet distributions.DirichletMultinomial distributions.Multinomial"
    ),
}
