"""tensorflow.python.ops.distributions, and tensorflow.contrib.distributions' bijectors."""

_ROOM = "headrace.distributions"
_BIJECTORS = f"{_ROOM}.bijectors"
_PACKAGE = "python.ops.distributions"
_CONTRIB = "contrib.distributions.python.ops.bijectors"

MODULES: dict[str, str] = {
    f"{_PACKAGE}.bernoulli": f"{_ROOM}.discrete/ Bernoulli",
    f"{_PACKAGE}.beta": f"{_ROOM}.positive/ Beta BetaWithSoftplusConcentration",
    f"{_PACKAGE}.bijector": f"{_BIJECTORS}.bijector/ Bijector",
    f"{_PACKAGE}.bijector_impl": f"{_BIJECTORS}.bijector/ Bijector",
    f"{_PACKAGE}.categorical": f"{_ROOM}.discrete/ Categorical",
    f"{_PACKAGE}.dirichlet": f"{_ROOM}.vectors/ Dirichlet",
    f"{_PACKAGE}.dirichlet_multinomial": f"{_ROOM}.vectors/ DirichletMultinomial",
    f"{_PACKAGE}.distribution": (
        f"{_ROOM}.distribution/ Distribution ReparameterizationType FULLY_REPARAMETERIZED NOT_REPARAMETERIZED"
    ),
    f"{_PACKAGE}.exponential": f"{_ROOM}.positive/ Exponential ExponentialWithSoftplusRate",
    f"{_PACKAGE}.gamma": f"{_ROOM}.positive/ Gamma GammaWithSoftplusConcentrationRate",
    f"{_PACKAGE}.identity_bijector": f"{_BIJECTORS}.elementwise/ Identity",
    f"{_PACKAGE}.kullback_leibler": f"{_ROOM}.kullback_leibler/ RegisterKL cross_entropy kl_divergence",
    f"{_PACKAGE}.laplace": f"{_ROOM}.location_scale/ Laplace LaplaceWithSoftplusScale",
    f"{_PACKAGE}.multinomial": f"{_ROOM}.vectors/ Multinomial",
    f"{_PACKAGE}.normal": f"{_ROOM}.location_scale/ Normal NormalWithSoftplusScale",
    f"{_PACKAGE}.special_math": f"{_ROOM}.tensors/ erfinv log_cdf_laplace log_ndtr ndtr ndtri",
    f"{_PACKAGE}.student_t": f"{_ROOM}.location_scale/ StudentT StudentTWithAbsDfSoftplusScale",
    f"{_PACKAGE}.transformed_distribution": f"{_ROOM}.transformed/ TransformedDistribution",
    f"{_PACKAGE}.uniform": f"{_ROOM}.location_scale/ Uniform",
    f"{_PACKAGE}.util": (
        f"{_ROOM}.shapes/ dimension_size gen_new_seed maybe_get_static_value pick_vector "
        "prefer_static_broadcast_shape prefer_static_rank prefer_static_shape prefer_static_value "
        "same_dynamic_shape "
        f"{_ROOM}.matrices/ fill_triangular fill_triangular_inverse matrix_diag_transform rotate_transpose "
        f"tridiag {_ROOM}.logarithms/ reduce_weighted_logsumexp softplus_inverse "
        f"{_ROOM}.tensors/ embed_check_nonnegative_integer_form=counts "
        "get_logits_and_probs=logits_and_probs log_combinations assert_integer_form"
    ),
    **{
        f"{_CONTRIB}.{module}": f"contrib.distributions.bijectors/ {name}"
        for module, name in (
            ("absolute_value", "AbsoluteValue"),
            ("affine_scalar", "AffineScalar"),
            ("chain", "Chain"),
            ("conditional_bijector", "ConditionalBijector"),
            ("exp", "Exp"),
            ("inline", "Inline"),
            ("invert", "Invert"),
            ("permute", "Permute"),
            ("power_transform", "PowerTransform"),
            ("sigmoid", "Sigmoid"),
            ("softmax_centered", "SoftmaxCentered"),
            ("softplus", "Softplus"),
            ("softsign", "Softsign"),
            ("square", "Square"),
        )
    },
}
