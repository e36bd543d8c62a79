"""Distributions of choices: Bernoulli and Categorical."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.distributions import tensors as t
from headrace.distributions.distribution import NOT_REPARAMETERIZED, Distribution
from headrace.distributions.kullback_leibler import RegisterKL
from headrace.functions.values.structure import name_scope


class Bernoulli(Distribution):
    """1 with a probability, else 0.

    Args:
      logits: the logarithms of the odds of 1.
      probs: the probabilities of 1; one of both is given.
      dtype: type of the events.
      validate_args, allow_nan_stats, name: as for every distribution.
    """

    def __init__(
        self,
        logits: Any = None,
        probs: Any = None,
        dtype: Any = t.dtypes.int32,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Bernoulli",
    ) -> None:
        given = dict(locals())
        with name_scope(name, None, [logits, probs]) as scope:
            self._logits, self._probs = t.logits_and_probs(logits, probs, False, validate_args, name)
        parents = [self._logits, self._probs]
        super().__init__(
            t.dtypes.as_dtype(dtype),
            NOT_REPARAMETERIZED,
            validate_args,
            allow_nan_stats,
            given,
            parents,
            scope,
        )

    @staticmethod
    def _param_shapes(sample_shape: Any) -> dict[str, Any]:
        return {"logits": t.convert_to_tensor(sample_shape, dtype=np.int32)}

    logits: Any = property(lambda self: self._logits)
    probs: Any = property(lambda self: self._probs)

    def _batch_shape_tensor(self) -> Any:
        return t.shape(self._logits)

    def _batch_shape(self) -> Any:
        return self._logits.shape

    def _sample_n(self, n: Any, seed: Any = None) -> Any:
        shape = t.front(n, self.batch_shape_tensor())
        uniform = t.random_uniform(shape, seed=seed, dtype=self._probs.dtype)
        return t.cast(t.less(uniform, self._probs), self.dtype)

    def _log_prob(self, event: Any) -> Any:
        if self.validate_args:
            event = t.counts(event)
            one = t.convert_to_tensor(1, event.dtype)
            event = t.with_dependencies([t.assert_not_above(event, one)], event)
        event = t.cast(event, self._logits.dtype)
        logits = self._logits + t.zeros_like(event)
        event = event + t.zeros_like(logits)
        return -t.sigmoid_cross_entropy_with_logits(labels=event, logits=logits)

    def _entropy(self) -> Any:
        sp = t.softplus(-self._logits)
        return -self._logits * (t.sigmoid(self._logits) - 1.0) + sp

    def _mean(self) -> Any:
        return t.identity(self._probs)

    def _variance(self) -> Any:
        return self._mean() * (1.0 - self._probs)

    def _mode(self) -> Any:
        return t.cast(self._probs > 0.5, self.dtype)


@RegisterKL(Bernoulli, Bernoulli)
def _bernoulli_bernoulli(a: Any, b: Any, name: str | None = None) -> Any:
    with name_scope(name, "kl_bernoulli_bernoulli", [a.logits, b.logits]):
        zero = t.softplus(-b.logits) - t.softplus(-a.logits)
        one = t.softplus(b.logits) - t.softplus(a.logits)
        return t.sigmoid(a.logits) * zero + t.sigmoid(-a.logits) * one


class Categorical(Distribution):
    """One of several classes.

    Args:
      logits: the logarithms of how likely classes are, in the last axis.
      probs: the probabilities of classes; one of both is given.
      dtype: type of the events.
      validate_args, allow_nan_stats, name: as for every distribution.
    """

    def __init__(
        self,
        logits: Any = None,
        probs: Any = None,
        dtype: Any = t.dtypes.int32,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Categorical",
    ) -> None:
        given = dict(locals())
        with name_scope(name, None, [logits, probs]) as scope:
            self._logits, self._probs = t.logits_and_probs(logits, probs, True, validate_args, name)
            if self._logits.shape.rank == 0:
                raise ValueError("logits must be at least of rank 1")
            size = self._logits.shape[-1:].as_list()[0] if self._logits.shape.rank else None
            known = None if size is None else t.convert_to_tensor(size, np.int32, name="event_size")
            self._size = t.shape(self._logits, name="logits_shape")[-1] if known is None else known
        parents = [self._logits, self._probs]
        super().__init__(
            t.dtypes.as_dtype(dtype),
            NOT_REPARAMETERIZED,
            validate_args,
            allow_nan_stats,
            given,
            parents,
            scope,
        )

    @staticmethod
    def _param_shapes(sample_shape: Any) -> dict[str, Any]:
        return {"logits": t.convert_to_tensor(sample_shape, dtype=np.int32)}

    event_size: Any = property(lambda self: self._size)
    logits: Any = property(lambda self: self._logits)
    probs: Any = property(lambda self: self._probs)

    def _batch_shape_tensor(self) -> Any:
        return t.shape(self._logits)[:-1]

    def _batch_shape(self) -> Any:
        return self._logits.shape[:-1]

    def _sample_n(self, n: Any, seed: Any = None) -> Any:
        flat = t.reshape(self._logits, [-1, self._size])
        drawn = t.cast(t.multinomial(flat, n, seed=seed), self.dtype)
        return t.reshape(t.transpose(drawn), t.front(n, self.batch_shape_tensor()))

    def _spread(self, event: Any, params: Any) -> tuple[Any, Any]:
        """Event and parameters, both with the same batch."""
        event = t.cast(event, np.int32) if event.dtype.is_floating else event
        shape = t.broadcast_dynamic_shape(t.shape(event), t.shape(params)[:-1])
        event = event * t.ones(shape, dtype=event.dtype)
        spread = params * t.ones(t.concat([shape, [1]], 0), dtype=params.dtype)
        return event, spread

    def _log_prob(self, k: Any) -> Any:
        k = t.convert_to_tensor(k, name="k")
        if self.validate_args:
            k = t.counts(k)
        k, logits = self._spread(k, self._logits)
        return -t.sparse_softmax_cross_entropy_with_logits(labels=k, logits=logits)

    def _cdf(self, k: Any) -> Any:
        k = t.convert_to_tensor(k, name="k")
        if self.validate_args:
            k = t.counts(k)
        k, probs = self._spread(k, self._probs)
        classes = t.range(self._size)
        below = t.less(classes, t.cast(t.expand_dims(k, -1), np.int32))
        return t.reduce_sum(t.where_v2(below, probs, t.zeros_like(probs)), -1)

    def _entropy(self) -> Any:
        log_probs = t.log_softmax(self._logits)
        return -t.reduce_sum(t.xy(self._probs, log_probs), -1)

    def _mode(self) -> Any:
        return t.cast(t.argmax(self._logits, axis=-1), self.dtype)


@RegisterKL(Categorical, Categorical)
def _categorical_categorical(a: Any, b: Any, name: str | None = None) -> Any:
    with name_scope(name, "kl_categorical_categorical", [a.logits, b.logits]):
        difference = t.log_softmax(a.logits) - t.log_softmax(b.logits)
        return t.reduce_sum(t.softmax(a.logits) * difference, -1)
