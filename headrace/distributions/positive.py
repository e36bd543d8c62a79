"""Distributions of positive numbers: Gamma, Exponential; and Beta, between 0 and 1."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.distributions import tensors as t
from headrace.distributions.distribution import FULLY_REPARAMETERIZED, Distribution
from headrace.distributions.kullback_leibler import RegisterKL
from headrace.distributions.location_scale import OfTwo, same_shapes
from headrace.functions.values.structure import name_scope


class Gamma(OfTwo):
    """The gamma distribution.

    Args:
      concentration, rate: its shape, and the inverse of its scale.
      validate_args, allow_nan_stats, name: as for every distribution.
    """

    def __init__(
        self,
        concentration: Any,
        rate: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Gamma",
    ) -> None:
        given = dict(locals())
        with name_scope(name, None, [concentration, rate]) as scope:
            concentration, rate = t.convert_to_tensor(concentration), t.convert_to_tensor(rate)
            self._concentration = t.identity(t.positive(concentration, validate_args), name="concentration")
            self._rate = t.identity(t.positive(rate, validate_args), name="rate")
            t.same_float_dtype(self._concentration, self._rate)
        self._pair = self._concentration, self._rate
        super().__init__(
            self._concentration.dtype,
            FULLY_REPARAMETERIZED,
            validate_args,
            allow_nan_stats,
            given,
            self._pair,
            scope,
        )

    @staticmethod
    def _param_shapes(sample_shape: Any) -> dict[str, Any]:
        shape = t.convert_to_tensor(sample_shape, dtype=np.int32)
        return {"concentration": shape, "rate": shape}

    concentration: Any = property(lambda self: self._concentration)
    rate: Any = property(lambda self: self._rate)

    def _sample_n(self, n: Any, seed: Any = None) -> Any:
        shape = t.reshape(n, [1])
        return t.random_gamma(shape, self._concentration, beta=self._rate, dtype=self.dtype, seed=seed)

    def _checked(self, x: Any) -> Any:
        return t.with_dependencies([t.assert_positive(x)], x) if self.validate_args else x

    def _log_prob(self, x: Any) -> Any:
        x = self._checked(x)
        size = t.lgamma(self._concentration) - self._concentration * t.log(self._rate)
        return t.xlogy(self._concentration - 1.0, x) - self._rate * x - size

    def _cdf(self, x: Any) -> Any:
        return t.igamma(*same_shapes(self._concentration, self._rate * self._checked(x)))

    def _entropy(self) -> Any:
        a = self._concentration
        return a - t.log(self._rate) + t.lgamma(a) + (1.0 - a) * t.digamma(a)

    def _mean(self) -> Any:
        return self._concentration / self._rate

    def _variance(self) -> Any:
        return self._concentration / t.square(self._rate)

    def _stddev(self) -> Any:
        return t.sqrt(self._concentration) / self._rate

    def _mode(self) -> Any:
        mode = (self._concentration - 1.0) / self._rate
        if self.allow_nan_stats:
            return t.log_of_or(mode, self._spread(self._concentration) > 1.0, float("nan"))
        one = t.convert_to_tensor(1.0, self.dtype)
        check = t.assert_less(
            one, self._concentration, message="mode not defined when any concentration <= 1"
        )
        return t.with_dependencies([check], mode)


class GammaWithSoftplusConcentrationRate(Gamma):
    """Gamma, of softplus(concentration) and softplus(rate)."""

    def __init__(
        self,
        concentration: Any,
        rate: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "GammaWithSoftplusConcentrationRate",
    ) -> None:
        given = dict(locals())
        super().__init__(t.softplus(concentration), t.softplus(rate), validate_args, allow_nan_stats, name)
        self._given(given)


@RegisterKL(Gamma, Gamma)
def _gamma_gamma(a: Any, b: Any, name: str | None = None) -> Any:
    with name_scope(name, "kl_gamma_gamma", [a.concentration, b.concentration]):
        return (
            (a.concentration - b.concentration) * t.digamma(a.concentration)
            + t.lgamma(b.concentration)
            - t.lgamma(a.concentration)
            + b.concentration * t.log(a.rate)
            - b.concentration * t.log(b.rate)
            + a.concentration * (b.rate / a.rate - 1.0)
        )


class Exponential(Gamma):
    """The exponential distribution.

    Args:
      rate: the inverse of its mean.
      validate_args, allow_nan_stats, name: as for every distribution.
    """

    def __init__(
        self, rate: Any, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "Exponential"
    ) -> None:
        given = dict(locals())
        with name_scope(name, None, [rate]) as scope:
            rate = t.identity(t.convert_to_tensor(rate), name="rate")
        super().__init__(t.ones([], dtype=rate.dtype), rate, validate_args, allow_nan_stats, scope)
        self._given(given)

    @staticmethod
    def _param_shapes(sample_shape: Any) -> dict[str, Any]:
        return {"rate": t.convert_to_tensor(sample_shape, dtype=np.int32)}

    def _sample_n(self, n: Any, seed: Any = None) -> Any:
        shape = t.front(n, t.shape(self._rate))
        smallest = np.finfo(self.dtype.as_numpy_dtype).tiny  # not 0, whose logarithm is infinite
        return -t.log(t.random_uniform(shape, smallest, 1.0, seed=seed, dtype=self.dtype)) / self._rate

    def _log_survival_function(self, x: Any) -> Any:
        return -self._rate * self._checked(x)

    def _quantile(self, p: Any) -> Any:
        return -t.log1p(-p) / self._rate


class ExponentialWithSoftplusRate(Exponential):
    """Exponential, of softplus(rate)."""

    def __init__(
        self,
        rate: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "ExponentialWithSoftplusRate",
    ) -> None:
        given = dict(locals())
        super().__init__(t.softplus(rate, name="softplus_rate"), validate_args, allow_nan_stats, name)
        self._given(given)


class Beta(Distribution):
    """The beta distribution.

    Args:
      concentration1, concentration0: how much speaks for 1, and for 0.
      validate_args, allow_nan_stats, name: as for every distribution.
    """

    def __init__(
        self,
        concentration1: Any = None,
        concentration0: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Beta",
    ) -> None:
        given = dict(locals())
        with name_scope(name, None, [concentration1, concentration0]) as scope:
            self._one, self._zero = (
                t.identity(t.positive(t.convert_to_tensor(c), validate_args))
                for c in (concentration1, concentration0)
            )
            t.same_float_dtype(self._one, self._zero)
            self._total = self._one + self._zero
        super().__init__(
            self._total.dtype,
            FULLY_REPARAMETERIZED,
            validate_args,
            allow_nan_stats,
            given,
            [self._one, self._zero, self._total],
            scope,
        )

    @staticmethod
    def _param_shapes(sample_shape: Any) -> dict[str, Any]:
        shape = t.convert_to_tensor(sample_shape, dtype=np.int32)
        return {"concentration1": shape, "concentration0": shape}

    concentration1: Any = property(lambda self: self._one)
    concentration0: Any = property(lambda self: self._zero)
    total_concentration: Any = property(lambda self: self._total)

    def _batch_shape_tensor(self) -> Any:
        return t.shape(self._total)

    def _batch_shape(self) -> Any:
        return self._total.shape

    def _sample_n(self, n: Any, seed: Any = None) -> Any:
        spread = t.ones_like(self._total, dtype=self.dtype)
        shape = t.reshape(n, [1])
        second = None if seed is None else seed + 1
        first = t.random_gamma(shape, self._one * spread, dtype=self.dtype, seed=seed)
        other = t.random_gamma(shape, self._zero * spread, dtype=self.dtype, seed=second)
        return first / (first + other)

    def _inside(self, x: Any) -> Any:
        if not self.validate_args:
            return x
        one = t.convert_to_tensor(1.0, self.dtype)
        below = t.assert_less(x, one, message="sample must be less than `1`.")
        return t.with_dependencies([t.assert_positive(x, message="sample must be positive"), below], x)

    def _log_prob(self, x: Any) -> Any:
        x = self._inside(x)
        whole = t.xlogy(self._one - 1.0, x) + (self._zero - 1.0) * t.log1p(-x)
        return whole - (t.lgamma(self._one) + t.lgamma(self._zero) - t.lgamma(self._total))

    def _cdf(self, x: Any) -> Any:
        return t.betainc(*same_shapes(self._one, self._zero, self._inside(x)))

    def _entropy(self) -> Any:
        size = t.lgamma(self._one) + t.lgamma(self._zero) - t.lgamma(self._total)
        return (
            size
            - (self._one - 1.0) * t.digamma(self._one)
            - (self._zero - 1.0) * t.digamma(self._zero)
            + (self._total - 2.0) * t.digamma(self._total)
        )

    def _mean(self) -> Any:
        return self._one / self._total

    def _variance(self) -> Any:
        return self._mean() * (1.0 - self._mean()) / (1.0 + self._total)

    def _mode(self) -> Any:
        mode = (self._one - 1.0) / (self._total - 2.0)
        if self.allow_nan_stats:
            is_one = t.logical_and(self._one > 1.0, self._zero > 1.0)
            return t.log_of_or(mode, is_one, float("nan"))
        one = t.convert_to_tensor(1.0, self.dtype)
        checks = [
            t.assert_less(one, self._one, message="Mode undefined for concentration1 <= 1."),
            t.assert_less(one, self._zero, message="Mode undefined for concentration0 <= 1."),
        ]
        return t.with_dependencies(checks, mode)


class BetaWithSoftplusConcentration(Beta):
    """Beta, of softplus(concentrations)."""

    def __init__(
        self,
        concentration1: Any,
        concentration0: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "BetaWithSoftplusConcentration",
    ) -> None:
        given = dict(locals())
        both = t.softplus(concentration1), t.softplus(concentration0)
        super().__init__(*both, validate_args, allow_nan_stats, name)
        self._given(given)


@RegisterKL(Beta, Beta)
def _beta_beta(a: Any, b: Any, name: str | None = None) -> Any:
    with name_scope(name, "kl_beta_beta", [a.concentration1, b.concentration1]):

        def by(of: str) -> Any:
            mine, other = getattr(a, of), getattr(b, of)
            return t.lgamma(other) - t.lgamma(mine) + (mine - other) * t.digamma(mine)

        total = t.lgamma(a.total_concentration) - t.lgamma(b.total_concentration)
        spread = (b.total_concentration - a.total_concentration) * t.digamma(a.total_concentration)
        return by("concentration1") + by("concentration0") + total + spread
