"""Distributions of a location and a scale: Normal, Laplace, StudentT; and Uniform, between two bounds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from headrace.distributions import tensors as t
from headrace.distributions.distribution import FULLY_REPARAMETERIZED, Distribution
from headrace.distributions.kullback_leibler import RegisterKL
from headrace.functions.values.structure import name_scope


class OfTwo(Distribution):
    """Of two parameters that broadcast against each other."""

    _pair: tuple[Any, Any]

    def _batch_shape_tensor(self) -> Any:
        return t.broadcast_dynamic_shape(t.shape(self._pair[0]), t.shape(self._pair[1]))

    def _batch_shape(self) -> Any:
        return t.broadcast_static_shape(self._pair[0].shape, self._pair[1].shape)

    def _spread(self, x: Any) -> Any:
        """A statistic in the shape of the batch."""
        return x * t.ones(self.batch_shape_tensor(), dtype=self.dtype)


class _LocationScale(OfTwo):
    def __init__(
        self, loc: Any, scale: Any, validate_args: bool, allow_nan_stats: bool, name: str, given: Any
    ) -> None:
        with name_scope(name, None, [loc, scale]) as scope:
            self._loc = t.identity(t.convert_to_tensor(loc), name="loc")
            self._scale = t.identity(t.positive(t.convert_to_tensor(scale), validate_args), name="scale")
            t.same_float_dtype(self._loc, self._scale)
        self._pair = self._loc, self._scale
        super().__init__(
            self._scale.dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, given, self._pair, scope
        )

    @staticmethod
    def _param_shapes(sample_shape: Any) -> dict[str, Any]:
        shape = t.convert_to_tensor(sample_shape, dtype=np.int32)
        return {"loc": shape, "scale": shape}

    loc: Any = property(lambda self: self._loc)
    scale: Any = property(lambda self: self._scale)

    def _z(self, x: Any) -> Any:
        return (x - self._loc) / self._scale

    def _mean(self) -> Any:
        return self._spread(self._loc)

    _mode = _mean


class Normal(_LocationScale):
    """The normal distribution.

    Args:
      loc, scale: mean and standard deviation.
      validate_args, allow_nan_stats, name: as for every distribution.
    """

    def __init__(
        self,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Normal",
    ) -> None:
        given = dict(locals())
        super().__init__(loc, scale, validate_args, allow_nan_stats, name, given)

    def _sample_n(self, n: Any, seed: Any = None) -> Any:
        shape = t.front(n, self.batch_shape_tensor())
        return t.random_normal(shape, dtype=self.dtype, seed=seed) * self._scale + self._loc

    def _log_prob(self, x: Any) -> Any:
        return -0.5 * t.square(self._z(x)) - (0.5 * math.log(2.0 * math.pi) + t.log(self._scale))

    def _log_cdf(self, x: Any) -> Any:
        return t.log_ndtr(self._z(x))

    def _cdf(self, x: Any) -> Any:
        return t.ndtr(self._z(x))

    def _log_survival_function(self, x: Any) -> Any:
        return t.log_ndtr(-self._z(x))

    def _survival_function(self, x: Any) -> Any:
        return t.ndtr(-self._z(x))

    def _entropy(self) -> Any:
        return self._spread(0.5 * math.log(2.0 * math.pi * math.e) + t.log(self._scale))

    def _quantile(self, p: Any) -> Any:
        return t.ndtri(p) * self._scale + self._loc

    def _stddev(self) -> Any:
        return self._spread(self._scale)


class NormalWithSoftplusScale(Normal):
    """Normal, of softplus(scale)."""

    def __init__(
        self,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "NormalWithSoftplusScale",
    ) -> None:
        given = dict(locals())
        super().__init__(loc, t.softplus(scale, name="softplus_scale"), validate_args, allow_nan_stats, name)
        self._given(given)


@RegisterKL(Normal, Normal)
def _normal_normal(a: Any, b: Any, name: str | None = None) -> Any:
    with name_scope(name, "kl_normal_normal", [a.loc, b.loc]):
        ratio = t.square(a.scale) / t.square(b.scale)
        return t.square(a.loc - b.loc) / (2.0 * t.square(b.scale)) + 0.5 * (ratio - 1.0 - t.log(ratio))


class Laplace(_LocationScale):
    """The Laplace distribution: exponential to both sides.

    Args:
      loc, scale: mean, and the mean distance from it.
      validate_args, allow_nan_stats, name: as for every distribution.
    """

    def __init__(
        self,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Laplace",
    ) -> None:
        given = dict(locals())
        super().__init__(loc, scale, validate_args, allow_nan_stats, name, given)

    def _sample_n(self, n: Any, seed: Any = None) -> Any:
        shape = t.front(n, self.batch_shape_tensor())
        kind = self.dtype.as_numpy_dtype
        # -1 itself is left out: its logarithm would be infinite
        u = t.random_uniform(shape, np.nextafter(kind(-1.0), kind(0.0)), 1.0, dtype=self.dtype, seed=seed)
        return self._loc - self._scale * t.sign(u) * t.log1p(-t.abs_(u))

    def _log_prob(self, x: Any) -> Any:
        return -t.abs_(self._z(x)) - math.log(2.0) - t.log(self._scale)

    def _prob(self, x: Any) -> Any:
        return 0.5 * t.exp(-t.abs_(self._z(x))) / self._scale

    def _log_cdf(self, x: Any) -> Any:
        return t.log_cdf_laplace(self._z(x))

    def _log_survival_function(self, x: Any) -> Any:
        return t.log_cdf_laplace(-self._z(x))

    def _cdf(self, x: Any) -> Any:
        z = self._z(x)
        return 0.5 + 0.5 * t.sign(z) * (1.0 - t.exp(-t.abs_(z)))

    def _entropy(self) -> Any:
        return math.log(2.0) + 1.0 + t.log(self._spread(self._scale))

    def _stddev(self) -> Any:
        return math.sqrt(2.0) * self._spread(self._scale)


class LaplaceWithSoftplusScale(Laplace):
    """Laplace, of softplus(scale)."""

    def __init__(
        self,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "LaplaceWithSoftplusScale",
    ) -> None:
        given = dict(locals())
        super().__init__(loc, t.softplus(scale, name="softplus_scale"), validate_args, allow_nan_stats, name)
        self._given(given)


class StudentT(Distribution):
    """Student's t distribution.

    Args:
      df: degrees of freedom.
      loc, scale: where it is, and how wide.
      validate_args, allow_nan_stats, name: as for every distribution.
    """

    def __init__(
        self,
        df: Any,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "StudentT",
    ) -> None:
        given = dict(locals())
        with name_scope(name, None, [df, loc, scale]) as scope:
            self._df = t.identity(t.positive(t.convert_to_tensor(df), validate_args), name="df")
            self._loc = t.identity(t.convert_to_tensor(loc), name="loc")
            self._scale = t.identity(t.convert_to_tensor(scale), name="scale")
            t.same_float_dtype(self._df, self._loc, self._scale)
        parents = [self._df, self._loc, self._scale]
        super().__init__(
            self._scale.dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, given, parents, scope
        )

    @staticmethod
    def _param_shapes(sample_shape: Any) -> dict[str, Any]:
        shape = t.convert_to_tensor(sample_shape, dtype=np.int32)
        return {"df": shape, "loc": shape, "scale": shape}

    df: Any = property(lambda self: self._df)
    loc: Any = property(lambda self: self._loc)
    scale: Any = property(lambda self: self._scale)

    def _batch_shape_tensor(self) -> Any:
        inner = t.broadcast_dynamic_shape(t.shape(self._loc), t.shape(self._scale))
        return t.broadcast_dynamic_shape(t.shape(self._df), inner)

    def _batch_shape(self) -> Any:
        inner = t.broadcast_static_shape(self._loc.shape, self._scale.shape)
        return t.broadcast_static_shape(self._df.shape, inner)

    def _ones(self) -> Any:
        return t.ones(self.batch_shape_tensor(), dtype=self.dtype)

    def _sample_n(self, n: Any, seed: Any = None) -> Any:
        shape = t.front(n, self.batch_shape_tensor())
        normal = t.random_normal(shape, dtype=self.dtype, seed=seed)
        df = self._df * self._ones()
        second = None if seed is None else seed + 1
        gamma = t.random_gamma(t.reshape(n, [1]), 0.5 * df, beta=0.5, dtype=self.dtype, seed=second)
        return normal * t.rsqrt(gamma / df) * self._scale + self._loc

    def _log_prob(self, x: Any) -> Any:
        y = (x - self._loc) / self._scale
        size = (
            t.log(t.abs_(self._scale))
            + 0.5 * t.log(self._df)
            + 0.5 * math.log(math.pi)
            + t.lgamma(0.5 * self._df)
            - t.lgamma(0.5 * (self._df + 1.0))
        )
        return -0.5 * (self._df + 1.0) * t.log1p(y**2.0 / self._df) - size

    def _cdf(self, x: Any) -> Any:
        y = (x - self._loc) / t.abs_(self._scale)
        tail = 0.5 * t.betainc(*same_shapes(0.5 * self._df, 0.5, self._df / (y**2.0 + self._df)))
        return t.where_v2(y < 0.0, tail + t.zeros_like(y), 1.0 - tail + t.zeros_like(y))

    def _entropy(self) -> Any:
        v = self._ones()
        u = v * self._df
        beta_arg = t.concat([t.expand_dims(u / 2.0, -1), t.expand_dims(v / 2.0, -1)], -1)
        return (
            t.log(t.abs_(self._scale))
            + 0.5 * t.log(u)
            + t.lbeta(beta_arg)
            + (u + 1.0) / 2.0 * (t.digamma((u + 1.0) / 2.0) - t.digamma(u / 2.0))
        )

    def _mean(self) -> Any:
        mean = self._loc * self._ones()
        return self._defined(mean, self._df > 1.0, "mean not defined for components of df <= 1")

    def _variance(self) -> Any:
        spread = self._ones() * t.square(self._scale)
        df = self._df * self._ones()
        safe = t.where_v2(df > 2.0, df - 2.0, t.ones_like(df))
        found = t.where_v2(
            df > 2.0, spread * df / safe, t.fill(t.shape(df), np.array(np.inf, self.dtype.as_numpy_dtype))
        )
        return self._defined(found, self._df > 1.0, "variance not defined for components of df <= 1")

    def _mode(self) -> Any:
        return self._loc * self._ones()

    def _defined(self, found: Any, where: Any, message: str) -> Any:
        if self.allow_nan_stats:
            return t.log_of_or(found, t.logical_or(where, t.zeros_like(found) > 0.0), float("nan"))
        one = t.convert_to_tensor(1.0, self.dtype)
        return t.with_dependencies([t.assert_less(one, self._df, message=message)], found)


def same_shapes(*values: Any) -> list[Any]:
    """Broadcast against each other, as betainc wants them."""
    total = sum(v * 0.0 for v in values)
    return [total + v for v in values]


class StudentTWithAbsDfSoftplusScale(StudentT):
    """StudentT, of floor(|df|) and softplus(scale)."""

    def __init__(
        self,
        df: Any,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "StudentTWithAbsDfSoftplusScale",
    ) -> None:
        given = dict(locals())
        with name_scope(name, None, [df, scale]):
            df, scale = t.floor(t.abs_(df)), t.softplus(scale, name="softplus_scale")
        super().__init__(df, loc, scale, validate_args, allow_nan_stats, name)
        self._given(given)


class Uniform(OfTwo):
    """Between two bounds, the upper one left out.

    Args:
      low, high: the bounds.
      validate_args, allow_nan_stats, name: as for every distribution.
    """

    def __init__(
        self,
        low: Any = 0.0,
        high: Any = 1.0,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Uniform",
    ) -> None:
        given = dict(locals())
        with name_scope(name, None, [low, high]) as scope:
            low, high = t.convert_to_tensor(low), t.convert_to_tensor(high)
            checks = (
                [t.assert_less(low, high, message="uniform not defined when low >= high.")]
                if validate_args
                else []
            )
            self._low = t.identity(t.with_dependencies(checks, low), name="low")
            self._high = t.identity(t.with_dependencies(checks, high), name="high")
            t.same_float_dtype(self._low, self._high)
        self._pair = self._low, self._high
        super().__init__(
            self._low.dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, given, self._pair, scope
        )

    @staticmethod
    def _param_shapes(sample_shape: Any) -> dict[str, Any]:
        shape = t.convert_to_tensor(sample_shape, dtype=np.int32)
        return {"low": shape, "high": shape}

    low: Any = property(lambda self: self._low)
    high: Any = property(lambda self: self._high)

    def range(self, name: str = "range") -> Any:
        """high - low."""
        with self._scope(name):
            return self._high - self._low

    def _sample_n(self, n: Any, seed: Any = None) -> Any:
        shape = t.front(n, self.batch_shape_tensor())
        return self._low + self.range() * t.random_uniform(shape, dtype=self.dtype, seed=seed)

    def _prob(self, x: Any) -> Any:
        whole = x * t.ones(t.shape(x + self._low + self._high), dtype=x.dtype)
        density = t.ones_like(whole) / self.range()
        outside = t.logical_or(whole < self._low, whole >= self._high)
        return t.where_v2(t.is_nan(whole), whole, t.where_v2(outside, t.zeros_like(whole), density))

    def _cdf(self, x: Any) -> Any:
        shape = t.shape(x + self._low + self._high)
        whole = x * t.ones(shape, dtype=x.dtype)
        inside = (whole - self._low) / self.range()
        below, above = whole < self._low, whole >= self._high
        return t.where_v2(below, t.zeros_like(whole), t.where_v2(above, t.ones_like(whole), inside))

    def _entropy(self) -> Any:
        return t.log(self.range())

    def _mean(self) -> Any:
        return (self._low + self._high) / 2.0

    def _variance(self) -> Any:
        return t.square(self.range()) / 12.0

    def _stddev(self) -> Any:
        return self.range() / math.sqrt(12.0)
