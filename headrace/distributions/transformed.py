"""TransformedDistribution: samples of a distribution, through a bijector.

A distribution of single numbers may be given a batch or an event shape (an *override*): independent copies
of it.  Where it has a batch already and gets an event, the event's dimensions are drawn first and rotated to
the end.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.distributions.bijectors.elementwise import Identity
from headrace.distributions.distribution import Distribution
from headrace.distributions.shapes import maybe_get_static_value, pick_vector
from headrace.functions.array.array import (
    broadcast_static_shape,
    get_static_value,
    ones_like,
    rank,
    reshape,
    shape,
    size,
    transpose,
    zeros,
)
from headrace.functions.array.checks import assert_equal, assert_positive
from headrace.functions.array.indexing import where_v2
from headrace.functions.array.rank_checks import assert_rank
from headrace.functions.array.stacking import concat, stack
from headrace.functions.control.grouping import with_dependencies
from headrace.functions.math.cast import cast
from headrace.functions.math.math import equal, range_
from headrace.functions.math.reduce import reduce_logsumexp, reduce_prod, reduce_sum
from headrace.functions.platform.scopes import name_scope
from headrace.functions.values.conversion import convert_to_tensor
from headrace.ops.array.constant import constant
from headrace.ops.array.tile import tile
from headrace.ops.declaration.constants import constant_value_as_shape
from headrace.ops.math.arithmetic import exp
from headrace.ops.math.logical import logical_and, logical_not


# -- what is known while the graph is built -------------------------------------------------------
def _static(x: Any) -> Any:
    return get_static_value(convert_to_tensor(x))


def _all(*conditions: Any) -> Any:
    known = [_static(x) for x in conditions]
    if any(value is not None and not bool(value) for value in known):
        return constant(False)
    if all(value is not None for value in known):
        return constant(all(bool(value) for value in known))
    total = conditions[0]
    for other in conditions[1:]:
        total = logical_and(total, other)
    return total


def _not(x: Any) -> Any:
    known = _static(x)
    return logical_not(x) if known is None else constant(not bool(known))


def _same(x: Any, y: Any) -> Any:
    left, right = _static(x), _static(y)
    return equal(x, y) if left is None or right is None else constant(np.array_equal(left, right))


def _joined(*vectors: Any) -> Any:
    known = [_static(x) for x in vectors]
    if any(value is None for value in known):
        return concat(vectors, 0)
    return constant([int(v) for value in known for v in value], dtype=dtypes.int32)


def _count(sizes: Any) -> Any:
    """How many dimensions a shape has."""
    known = convert_to_tensor(sizes).get_shape().dims
    if known is not None and known[0].value is not None:
        return constant(known[0].value)
    return shape(sizes)[0]


class TransformedDistribution(Distribution):
    """The distribution of `bijector.forward(x)`, where x is `distribution`'s.

    Example:
      >>> log_normal = TransformedDistribution(tf.distributions.Normal(0.0, 1.0), bijector)
    """

    def __init__(
        self,
        distribution: Any,
        bijector: Any = None,
        batch_shape: Any = None,
        event_shape: Any = None,
        validate_args: bool = False,
        name: str | None = None,
    ) -> None:
        parameters = dict(locals())
        name = name or ("" if bijector is None else bijector.name) + distribution.name
        with name_scope(name, values=[event_shape, batch_shape]) as scope:
            self._zero = constant(0, dtype=dtypes.int32, name="zero")
            self._empty = constant([], dtype=dtypes.int32, name="empty")
            bijector = bijector or Identity(validate_args=validate_args)
            override = self._maybe_validate_shape_override
            self._override_batch_shape = override(
                batch_shape, distribution.is_scalar_batch(), validate_args, "batch_shape"
            )
            self._override_event_shape = override(
                event_shape, distribution.is_scalar_event(), validate_args, "event_shape"
            )
            self._is_batch_override = _not(_same(_count(self._override_batch_shape), self._zero))
            self._is_event_override = _not(_same(_count(self._override_event_shape), self._zero))
            self._is_maybe_batch_override = _maybe_some(self._override_batch_shape)
            self._is_maybe_event_override = _maybe_some(self._override_event_shape)
            self._needs_rotation = _all(
                self._is_event_override, _not(self._is_batch_override), _not(distribution.is_scalar_batch())
            )
            dims = _count(self._override_event_shape)
            known = _static(self._needs_rotation)
            if known is None:
                self._rotate_ndims = where_v2(self._needs_rotation, dims, 0)
            else:
                self._rotate_ndims = dims if known else self._zero
            self._reduce_event_indices = range_(self._rotate_ndims - dims, self._rotate_ndims)
        self._distribution, self._bijector = distribution, bijector
        parents = [*distribution._graph_parents, *bijector.graph_parents]
        super().__init__(
            distribution.dtype,
            distribution.reparameterization_type,
            validate_args,
            distribution.allow_nan_stats,
            parameters,
            parents,
            scope,
        )

    @property
    def distribution(self) -> Any:
        return self._distribution

    @property
    def bijector(self) -> Any:
        return self._bijector

    # -- shapes --------------------------------------------------------------------------------
    def _event_shape_tensor(self) -> Any:
        ours = self._override_event_shape
        chosen = pick_vector(self._is_event_override, ours, self.distribution.event_shape_tensor())
        return self.bijector.forward_event_shape_tensor(chosen)

    def _event_shape(self) -> Any:
        known = constant_value_as_shape(self._override_event_shape)
        base = known if self._is_maybe_event_override else self.distribution.event_shape
        return self.bijector.forward_event_shape(base)

    def _batch_shape_tensor(self) -> Any:
        ours = self._override_batch_shape
        return pick_vector(self._is_batch_override, ours, self.distribution.batch_shape_tensor())

    def _batch_shape(self) -> Any:
        known = constant_value_as_shape(self._override_batch_shape)
        return known if self._is_maybe_batch_override else self.distribution.batch_shape

    # -- samples and densities -----------------------------------------------------------------
    def _sample_n(self, n: Any, seed: Any = None) -> Any:
        first = pick_vector(self._needs_rotation, self._empty, [n])
        last = pick_vector(self._needs_rotation, [n], self._empty)
        sizes = _joined(first, self._override_batch_shape, self._override_event_shape, last)
        return self._maybe_rotate_dims(self.distribution.sample(sample_shape=sizes, seed=seed))

    def _outcome(self, x: Any) -> Any:
        # The bijector sees the very tensor that it may be asked for again.
        return self.bijector.forward(x)

    def _of_inverses(self, y: Any, finish: Any) -> list[Any]:
        """`finish` for each x that becomes y."""
        x = self.bijector.inverse(y)
        event_ndims = self._maybe_get_static_event_ndims()
        ildj = self.bijector.inverse_log_det_jacobian(y, event_ndims=event_ndims)
        if self.bijector._is_injective:
            return [finish(y, x, ildj, event_ndims)]
        return [finish(y, x_i, ildj_i, event_ndims) for x_i, ildj_i in zip(x, ildj)]

    def _log_prob(self, y: Any) -> Any:
        found = self._of_inverses(y, self._finish_log_prob_for_one_fiber)
        return found[0] if len(found) == 1 else reduce_logsumexp(stack(found), axis=0)

    def _prob(self, y: Any) -> Any:
        return sum(self._of_inverses(y, self._finish_prob_for_one_fiber))

    def _finish_log_prob_for_one_fiber(self, y: Any, x: Any, ildj: Any, event_ndims: Any) -> Any:
        log_prob = self.distribution.log_prob(self._maybe_rotate_dims(x, rotate_right=True))
        if self._is_maybe_event_override:
            log_prob = reduce_sum(log_prob, self._reduce_event_indices)
        return self._shaped(y, log_prob + cast(ildj, log_prob.dtype), event_ndims)

    def _finish_prob_for_one_fiber(self, y: Any, x: Any, ildj: Any, event_ndims: Any) -> Any:
        prob = self.distribution.prob(self._maybe_rotate_dims(x, rotate_right=True))
        if self._is_maybe_event_override:
            prob = reduce_prod(prob, self._reduce_event_indices)
        return self._shaped(y, prob * exp(cast(ildj, prob.dtype)), event_ndims)

    def _shaped(self, y: Any, found: Any, event_ndims: Any) -> Any:
        if self._is_maybe_event_override and isinstance(event_ndims, int):
            known = y.get_shape().with_rank_at_least(1)[:-event_ndims]
            found.set_shape(broadcast_static_shape(known, self.batch_shape))
        return found

    def _through(self, word: str, y: Any) -> Any:
        """What the inner distribution says of the one inverse."""
        self._refuse(word)
        return getattr(self.distribution, word)(self.bijector.inverse(y))

    def _refuse(self, word: str) -> None:
        if self._is_maybe_event_override:
            raise NotImplementedError(f"{word} is not implemented when overriding event_shape")
        if not self.bijector._is_injective:
            raise NotImplementedError(f"{word} is not implemented when bijector is not injective.")

    def _log_cdf(self, y: Any) -> Any:
        return self._through("log_cdf", y)

    def _cdf(self, y: Any) -> Any:
        return self._through("cdf", y)

    def _log_survival_function(self, y: Any) -> Any:
        return self._through("log_survival_function", y)

    def _survival_function(self, y: Any) -> Any:
        return self._through("survival_function", y)

    def _quantile(self, value: Any) -> Any:
        self._refuse("quantile")
        return self.bijector.forward(self.distribution.quantile(value))

    def _entropy(self) -> Any:
        if not self.bijector.is_constant_jacobian:
            raise NotImplementedError("entropy is not implemented")
        if not self.bijector._is_injective:
            raise NotImplementedError("entropy is not implemented when bijector is not injective.")
        entropy = self.distribution.entropy()
        if self._is_maybe_event_override:
            entropy = entropy * cast(reduce_prod(self._override_event_shape), entropy.dtype.base_dtype)
        if self._is_maybe_batch_override:
            batch = self.distribution.batch_shape_tensor()
            entropy = reshape(entropy, concat([ones_like(self._override_batch_shape), batch], 0))
            entropy = tile(entropy, concat([self._override_batch_shape, ones_like(batch)], 0))
        sizes = concat([self.batch_shape_tensor(), self.event_shape_tensor()], 0)
        ndims = self.event_shape.ndims
        event_ndims = size(self.event_shape_tensor()) if ndims is None else ndims
        ildj = self.bijector.inverse_log_det_jacobian(zeros(sizes, dtype=self.dtype), event_ndims=event_ndims)
        entropy = entropy - cast(ildj, entropy.dtype)
        entropy.set_shape(self.batch_shape)
        return entropy

    # -- overrides -----------------------------------------------------------------------------
    def _maybe_validate_shape_override(
        self, override_shape: Any, base_is_scalar: Any, validate_args: bool, name: str
    ) -> Any:
        """The override as a vector; the inner distribution must be of single numbers there."""
        override = convert_to_tensor([] if override_shape is None else override_shape, dtypes.int32, name)
        is_nothing = _same(_count(override), 0) if override.get_shape().ndims != 0 else constant(True)
        if _static(is_nothing):
            return self._empty
        checks, known = [], get_static_value(override)
        if override.get_shape().ndims is not None and override.get_shape().ndims != 1:
            raise ValueError("shape override must be a vector")
        if override.get_shape().ndims is None and validate_args:
            checks.append(assert_rank(override, 1, message="shape override must be a vector"))
        if known is not None and any(s <= 0 for s in known):
            raise ValueError("shape override must have positive elements")
        if known is None and validate_args:
            checks.append(assert_positive(override, message="shape override must have positive elements"))
        both = _all(_not(base_is_scalar), _not(is_nothing))
        if _static(both):
            raise ValueError("base distribution not scalar")
        if _static(both) is None and validate_args:
            checks.append(assert_equal(both, False, message="base distribution not scalar"))
        return with_dependencies(checks, override) if checks else override

    def _maybe_rotate_dims(self, x: Any, rotate_right: bool = False) -> Any:
        known = _static(self._needs_rotation)
        if known is not None and not known:
            return x
        ndims = rank(x)
        n = ndims - self._rotate_ndims if rotate_right else self._rotate_ndims
        return transpose(x, _joined(range_(n, ndims), range_(0, n)))

    def _maybe_get_static_event_ndims(self) -> Any:
        if self.event_shape.ndims is not None:
            return self.event_shape.ndims
        found = size(self.event_shape_tensor())
        known = maybe_get_static_value(found)
        return found if known is None else known


def _maybe_some(override: Any) -> bool:
    """Is there an override, or may there be one?"""
    known = get_static_value(override)
    return known is None or known.size != 0
