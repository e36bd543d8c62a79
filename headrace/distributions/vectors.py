"""Distributions of vectors: Dirichlet, Multinomial and both in one."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.distributions import tensors as t
from headrace.distributions.distribution import FULLY_REPARAMETERIZED, NOT_REPARAMETERIZED, Distribution
from headrace.distributions.kullback_leibler import RegisterKL
from headrace.functions.values.structure import name_scope


def _checked_concentration(concentration: Any, validate_args: bool) -> Any:
    concentration = t.convert_to_tensor(concentration, name="concentration")
    if concentration.shape.rank == 0:
        raise ValueError("Concentration parameter must have at least one dimension.")
    if not validate_args:
        return t.identity(concentration)
    return t.with_dependencies(
        [t.assert_positive(concentration, message="Concentration parameter must be positive.")], concentration
    )


class Dirichlet(Distribution):
    """Probabilities of classes, at random.

    Args:
      concentration: how much speaks for each class, in the last axis.
      validate_args, allow_nan_stats, name: as for every distribution.
    """

    def __init__(
        self,
        concentration: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Dirichlet",
    ) -> None:
        given = dict(locals())
        with name_scope(name, None, [concentration]) as scope:
            self._concentration = _checked_concentration(concentration, validate_args)
            self._total = t.reduce_sum(self._concentration, -1)
        super().__init__(
            self._concentration.dtype,
            FULLY_REPARAMETERIZED,
            validate_args,
            allow_nan_stats,
            given,
            [self._concentration, self._total],
            scope,
        )

    concentration: Any = property(lambda self: self._concentration)
    total_concentration: Any = property(lambda self: self._total)

    def _batch_shape_tensor(self) -> Any:
        return t.shape(self._total)

    def _batch_shape(self) -> Any:
        return self._total.shape

    def _event_shape_tensor(self) -> Any:
        return t.shape(self._concentration)[-1:]

    def _event_shape(self) -> Any:
        return self._concentration.shape[-1:]

    def _sample_n(self, n: Any, seed: Any = None) -> Any:
        drawn = t.random_gamma(t.reshape(n, [1]), self._concentration, dtype=self.dtype, seed=seed)
        return drawn / t.reduce_sum(drawn, -1, keepdims=True)

    def _log_prob(self, x: Any) -> Any:
        if self.validate_args:
            one = t.convert_to_tensor(1.0, self.dtype)
            checks = [
                t.assert_positive(x, message="samples must be positive"),
                t.assert_near(t.reduce_sum(x, -1), one, message="sample last-dimension must sum to `1`"),
            ]
            x = t.with_dependencies(checks, x)
        return t.reduce_sum(t.xlogy(self._concentration - 1.0, x), -1) - t.lbeta(self._concentration)

    def _entropy(self) -> Any:
        k = t.cast(t.shape(self._concentration)[-1], self.dtype)
        inner = t.reduce_sum((self._concentration - 1.0) * t.digamma(self._concentration), -1)
        return t.lbeta(self._concentration) + (self._total - k) * t.digamma(self._total) - inner

    def _mean(self) -> Any:
        return self._concentration / t.expand_dims(self._total, -1)

    def _spread_total(self) -> Any:
        return 1.0 + t.expand_dims(self._total, -1)

    def _covariance(self) -> Any:
        mean = self._mean()
        x = mean / t.sqrt(self._spread_total())
        outer = -t.expand_dims(x, -1) * t.expand_dims(x, -2)
        return t.matrix_set_diag(outer, self._variance())

    def _variance(self) -> Any:
        mean = self._mean()
        return mean * (1.0 - mean) / self._spread_total()

    def _mode(self) -> Any:
        k = t.cast(t.shape(self._concentration)[-1], self.dtype)
        mode = (self._concentration - 1.0) / (t.expand_dims(self._total, -1) - k)
        if self.allow_nan_stats:
            has_one = t.reduce_all(self._concentration > 1.0, axis=-1, keepdims=True)
            return t.log_of_or(mode, t.logical_and(has_one, mode >= mode), float("nan"))
        one = t.convert_to_tensor(1.0, self.dtype)
        check = t.assert_less(one, self._concentration, message="Mode undefined when any concentration <= 1")
        return t.with_dependencies([check], mode)


@RegisterKL(Dirichlet, Dirichlet)
def _dirichlet_dirichlet(a: Any, b: Any, name: str | None = None) -> Any:
    with name_scope(name, "kl_dirichlet_dirichlet", [a.concentration, b.concentration]):
        digammas = t.digamma(a.concentration) - t.digamma(t.expand_dims(a.total_concentration, -1))
        difference = a.concentration - b.concentration
        return t.reduce_sum(difference * digammas, -1) - t.lbeta(a.concentration) + t.lbeta(b.concentration)


class _Counts(Distribution):
    """So many draws, counted by class."""

    _count: Any
    _what_sums = "counts"

    total_count: Any = property(lambda self: self._count)

    def _checked_counts(self, counts: Any) -> Any:
        if not self.validate_args:
            return counts
        counts = t.counts(counts)
        message = f"{self._what_sums} must sum to `self.total_count`"
        return t.with_dependencies(
            [t.assert_equal(self._count, t.reduce_sum(counts, -1), message=message)], counts
        )

    def _batch_shape_tensor(self) -> Any:
        return t.shape(self._mean_of_one())[:-1]

    def _batch_shape(self) -> Any:
        return self._mean_of_one().shape.with_rank_at_least(1)[:-1]

    def _event_shape_tensor(self) -> Any:
        return t.shape(self._mean_of_one())[-1:]

    def _event_shape(self) -> Any:
        return self._mean_of_one().shape.with_rank_at_least(1)[-1:]

    def _mean_of_one(self) -> Any:
        raise NotImplementedError


class Multinomial(_Counts):
    """So many draws from classes, counted.

    Args:
      total_count: how many draws.
      logits, probs: as of a Categorical.
      validate_args, allow_nan_stats, name: as for every distribution.
    """

    def __init__(
        self,
        total_count: Any,
        logits: Any = None,
        probs: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Multinomial",
    ) -> None:
        given = dict(locals())
        with name_scope(name, None, [total_count, logits, probs]) as scope:
            self._count = t.convert_to_tensor(total_count, name="total_count")
            if validate_args:
                self._count = t.counts(self._count)
            self._logits, self._probs = t.logits_and_probs(logits, probs, True, validate_args, name)
            self._one = self._count[..., None] * self._probs
        super().__init__(
            self._probs.dtype,
            NOT_REPARAMETERIZED,
            validate_args,
            allow_nan_stats,
            given,
            [self._count, self._logits, self._probs],
            scope,
        )

    logits: Any = property(lambda self: self._logits)
    probs: Any = property(lambda self: self._probs)

    def _mean_of_one(self) -> Any:
        return self._one

    def _sample_n(self, n: Any, seed: Any = None) -> Any:
        logits = self._logits + t.zeros_like(self._one)
        return drawn_counts(n, self._count, logits, self.batch_shape_tensor(), self.dtype, seed)

    def _log_prob(self, counts: Any) -> Any:
        counts = self._checked_counts(counts)
        return t.log_combinations(self._count, counts) + t.reduce_sum(
            counts * t.log_softmax(self._logits), -1
        )

    def _mean(self) -> Any:
        return t.identity(self._one)

    def _covariance(self) -> Any:
        p = self._probs * t.ones_like(self._count)[..., None]
        outer = -(self._one[..., None] * p[..., None, :])
        return t.matrix_set_diag(outer, self._variance())

    def _variance(self) -> Any:
        p = self._probs * t.ones_like(self._count)[..., None]
        return self._one - self._one * p


def drawn_counts(n: Any, count: Any, logits: Any, batch: Any, dtype: Any, seed: Any) -> Any:
    """n times `count` draws for each row of logits, by class; every row draws the most that any does."""
    k = t.shape(logits)[-1]
    flat = t.reshape(logits, [-1, k])
    counts = t.reshape(t.cast(count, np.int32) + t.zeros(batch, dtype=np.int32), [-1])
    most = t.reduce_max(counts)
    drawn = t.multinomial(flat, n * most, seed=seed)  # [rows, n * most]
    one_hot = t.one_hot(t.reshape(drawn, [-1, n, most]), depth=k, dtype=dtype)
    is_counted = t.cast(t.range(most) < counts[:, None, None], dtype)[..., None]
    summed = t.reduce_sum(one_hot * is_counted, 2)
    return t.reshape(t.transpose(summed, [1, 0, 2]), t.concat([t.front(n, batch), [k]], 0))


class DirichletMultinomial(_Counts):
    """So many draws from classes, whose probabilities a Dirichlet distribution gives.

    Args:
      total_count: how many draws.
      concentration: of the Dirichlet distribution.
      validate_args, allow_nan_stats, name: as for every distribution.
    """

    _what_sums = "counts last-dimension"

    def __init__(
        self,
        total_count: Any,
        concentration: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "DirichletMultinomial",
    ) -> None:
        given = dict(locals())
        with name_scope(name, None, [total_count, concentration]) as scope:
            self._count = t.convert_to_tensor(total_count, name="total_count")
            if validate_args:
                self._count = t.counts(self._count)
            self._concentration = _checked_concentration(concentration, validate_args)
            self._total = t.reduce_sum(self._concentration, -1)
        super().__init__(
            self._concentration.dtype,
            NOT_REPARAMETERIZED,
            validate_args,
            allow_nan_stats,
            given,
            [self._count, self._concentration],
            scope,
        )

    concentration: Any = property(lambda self: self._concentration)
    total_concentration: Any = property(lambda self: self._total)

    def _batch_shape_tensor(self) -> Any:
        return t.shape(self._total)

    def _batch_shape(self) -> Any:
        return self._total.shape

    def _event_shape_tensor(self) -> Any:
        return t.shape(self._concentration)[-1:]

    def _event_shape(self) -> Any:
        return self._concentration.shape.with_rank_at_least(1)[-1:]

    def _sample_n(self, n: Any, seed: Any = None) -> Any:
        k = self.event_shape_tensor()[0]
        batch = self.batch_shape_tensor()
        second = None if seed is None else seed + 1
        gammas = t.random_gamma(t.reshape(n, [1]), self._concentration, dtype=self.dtype, seed=seed)
        logits = t.log(t.reshape(gammas, [-1, k]))
        count = self._count + t.zeros(batch, dtype=self._count.dtype)
        rows = t.reshape(count + t.zeros(t.front(n, batch), dtype=count.dtype), [-1])
        drawn = drawn_counts(1, rows, logits, t.shape(rows), self.dtype, second)
        return t.reshape(drawn, t.concat([t.front(n, batch), [k]], 0))

    def _log_prob(self, counts: Any) -> Any:
        counts = self._checked_counts(counts)
        ordered = t.lbeta(self._concentration + counts) - t.lbeta(self._concentration)
        return ordered + t.log_combinations(self._count, counts)

    def _count_of_classes(self) -> Any:
        """The counts beside the classes, whose axis those of the concentration's rank have already."""
        rank = self._count.shape.ndims
        beside = rank is not None and rank == self._concentration.shape.ndims
        return self._count if beside else self._count[..., None]

    def _mean(self) -> Any:
        return self._count_of_classes() * (self._concentration / self._total[..., None])

    def _scale(self) -> Any:
        total = self._total[..., None]
        count = self._count_of_classes()
        return t.sqrt((1.0 + total / count) / (1.0 + total))

    def _covariance(self) -> Any:
        x = self._scale() * self._mean()
        outer = -t.expand_dims(x, -1) * t.expand_dims(x, -2)
        return t.matrix_set_diag(outer, self._variance())

    def _variance(self) -> Any:
        scale, mean = self._scale(), self._mean()
        return t.square(scale) * mean * (self._count_of_classes() - mean)
