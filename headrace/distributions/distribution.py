"""What every distribution has: samples, densities, moments; each by a method that a kind of distribution
defines.

Shapes: a sample has the asked for, those of the batch of parameters, and those of one event, in this order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from headrace.core.shapes import Shape
from headrace.distributions import kullback_leibler
from headrace.functions.array import array
from headrace.functions.array.stacking import concat
from headrace.functions.math import elementwise, math, reduce
from headrace.functions.values.structure import name_scope
from headrace.graph.tensor import Tensor
from headrace.ops.declaration.constants import constant_value
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.math import arithmetic


class ReparameterizationType:
    """Whether samples are a differentiable function of the parameters."""

    def __init__(self, rep_type: str) -> None:
        self._rep_type = rep_type

    def __repr__(self) -> str:
        return f"<Reparameteriation Type: {self._rep_type}>"

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__


FULLY_REPARAMETERIZED = ReparameterizationType("FULLY_REPARAMETERIZED")
NOT_REPARAMETERIZED = ReparameterizationType("NOT_REPARAMETERIZED")


class Distribution:
    """A distribution, or a batch of them.

    Args:
      dtype: type of the events.
      reparameterization_type: FULLY_REPARAMETERIZED or NOT_REPARAMETERIZED.
      validate_args: check parameters and events when the graph runs.
      allow_nan_stats: statistics that do not exist are NaN, instead of an error.
      parameters: what the constructor was given.
      graph_parents: tensors it was made of.
      name: prefix of the names of nodes.
    """

    def __init__(
        self,
        dtype: Any,
        reparameterization_type: ReparameterizationType,
        validate_args: bool,
        allow_nan_stats: bool,
        parameters: dict[str, Any] | None = None,
        graph_parents: Any = None,
        name: str | None = None,
    ) -> None:
        self._graph_parents = list(graph_parents or [])
        for i, tensor in enumerate(self._graph_parents):
            if not isinstance(tensor, Tensor):
                raise ValueError(f"Graph parent item {i} is not a Tensor; {tensor}.")
        name = name or type(self).__name__
        if not name.endswith("/"):
            with name_scope(name, None, []) as scope:
                name = scope
        self._dtype, self._name = dtype, name
        self._reparameterization_type = reparameterization_type
        self._validate_args, self._allow_nan_stats = validate_args, allow_nan_stats
        self._given(parameters or {})

    dtype: Any = property(lambda self: self._dtype)
    name: str = property(lambda self: self._name)  # type: ignore[assignment]
    reparameterization_type: Any = property(lambda self: self._reparameterization_type)
    allow_nan_stats: bool = property(lambda self: self._allow_nan_stats)  # type: ignore[assignment]
    validate_args: bool = property(lambda self: self._validate_args)  # type: ignore[assignment]

    def _given(self, parameters: dict[str, Any]) -> None:
        """What the constructor was given; one of a subclass says it anew."""
        self._parameters = {k: v for k, v in parameters.items() if k not in ("self", "__class__")}

    @property
    def parameters(self) -> dict[str, Any]:
        """What the constructor was given."""
        return dict(self._parameters)

    def copy(self, **override_parameters_kwargs: Any) -> Any:
        """The same kind of distribution with some parameters changed."""
        return type(self)(**(self._parameters | override_parameters_kwargs))

    # -- shapes ------------------------------------------------------------------------------------
    @classmethod
    def param_shapes(cls, sample_shape: Any, name: str = "DistributionParamShapes") -> dict[str, Any]:
        """Shapes of parameters for which one sample has `sample_shape`."""
        with name_scope(name, None, [sample_shape]):
            return cls._param_shapes(sample_shape)

    @classmethod
    def param_static_shapes(cls, sample_shape: Any) -> dict[str, Shape]:
        """The same, of a shape that is known."""
        if isinstance(sample_shape, Shape):
            if not sample_shape.is_fully_defined():
                raise ValueError("TensorShape sample_shape must be fully defined")
            sample_shape = sample_shape.as_list()
        found = cls.param_shapes(sample_shape)
        static = {}
        for name, shape in found.items():
            known = constant_value(convert_to_tensor(shape))
            if known is None:
                raise ValueError("sample_shape must be a fully-defined TensorShape or list/tuple")
            static[name] = Shape([int(n) for n in known])
        return static

    @staticmethod
    def _param_shapes(sample_shape: Any) -> dict[str, Any]:
        raise NotImplementedError("param_shapes not implemented")

    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> Any:
        with self._scope(name):
            if self.batch_shape.is_fully_defined():
                return convert_to_tensor(self.batch_shape.as_list(), np.int32, name="batch_shape")
            return self._batch_shape_tensor()

    @property
    def batch_shape(self) -> Shape:
        return Shape(self._batch_shape())

    def event_shape_tensor(self, name: str = "event_shape_tensor") -> Any:
        with self._scope(name):
            if self.event_shape.is_fully_defined():
                return convert_to_tensor(self.event_shape.as_list(), np.int32, name="event_shape")
            return self._event_shape_tensor()

    @property
    def event_shape(self) -> Shape:
        return Shape(self._event_shape())

    def is_scalar_event(self, name: str = "is_scalar_event") -> Any:
        with self._scope(name):
            return self._is_scalar(self.event_shape, self.event_shape_tensor)

    def is_scalar_batch(self, name: str = "is_scalar_batch") -> Any:
        with self._scope(name):
            return self._is_scalar(self.batch_shape, self.batch_shape_tensor)

    def _is_scalar(self, static: Shape, dynamic: Callable[[], Any]) -> Any:
        if static.rank is not None:
            return convert_to_tensor(static.rank == 0, name="is_scalar")
        return math.equal(array.shape(dynamic())[0], 0)

    def _batch_shape(self) -> Any:
        return None

    def _event_shape(self) -> Any:
        return []

    def _batch_shape_tensor(self) -> Any:
        raise NotImplementedError(f"batch_shape_tensor is not implemented: {type(self).__name__}")

    def _event_shape_tensor(self) -> Any:
        return convert_to_tensor([], np.int32)

    # -- samples -----------------------------------------------------------------------------------
    def sample(self, sample_shape: Any = (), seed: Any = None, name: str = "sample") -> Any:
        """Samples of a shape in front of those of batch and event."""
        with self._scope(name):
            asked = convert_to_tensor(sample_shape, np.int32, name="sample_shape")
            static = constant_value(asked)
            flat = array.reshape(asked, [-1])
            n = reduce.reduce_prod(flat)
            x = self._sample_n(n, seed)
            rest = concat([flat, array.shape(x)[1:]], 0)
            found = self._outcome(array.reshape(x, rest))
            if static is not None:
                front = Shape([int(k) for k in np.reshape(static, -1)])
                found.set_shape(front.concatenate(self.batch_shape.concatenate(self.event_shape)))
            return found

    def _outcome(self, x: Any) -> Any:
        """What is made of the numbers that were drawn."""
        return x

    def _sample_n(self, n: Any, seed: Any = None) -> Any:
        raise NotImplementedError(f"sample_n is not implemented: {type(self).__name__}")

    # -- densities: one form makes the other ---------------------------------------------------------
    def log_prob(self, value: Any, name: str = "log_prob") -> Any:
        """The logarithm of the density at a value."""
        return self._of_value(name, value, ("_log_prob", None), ("_prob", arithmetic.log))

    def prob(self, value: Any, name: str = "prob") -> Any:
        """The density at a value."""
        return self._of_value(name, value, ("_prob", None), ("_log_prob", arithmetic.exp))

    def log_cdf(self, value: Any, name: str = "log_cdf") -> Any:
        """The logarithm of the probability of not more than a value."""
        return self._of_value(name, value, ("_log_cdf", None), ("_cdf", arithmetic.log))

    def cdf(self, value: Any, name: str = "cdf") -> Any:
        """The probability of not more than a value."""
        return self._of_value(name, value, ("_cdf", None), ("_log_cdf", arithmetic.exp))

    def log_survival_function(self, value: Any, name: str = "log_survival_function") -> Any:
        """The logarithm of the probability of more than a value."""
        ways = ("_log_survival_function", None), ("_cdf", lambda c: arithmetic.log1p(-c))
        return self._of_value(
            name, value, *ways, ("_log_cdf", lambda c: arithmetic.log1p(-arithmetic.exp(c)))
        )

    def survival_function(self, value: Any, name: str = "survival_function") -> Any:
        """The probability of more than a value."""
        ways = ("_survival_function", None), ("_cdf", lambda c: 1.0 - c)
        return self._of_value(name, value, *ways, ("_log_cdf", lambda c: 1.0 - arithmetic.exp(c)))

    def quantile(self, value: Any, name: str = "quantile") -> Any:
        """The value that the distribution does not exceed with a probability."""
        return self._of_value(name, value, ("_quantile", None))

    def _of_value(self, name: str, value: Any, *ways: tuple[str, Any]) -> Any:
        with self._scope(name, [value]):
            value = convert_to_tensor(value, name="value", preferred_dtype=self.dtype)
            for method, then in ways:
                own = getattr(self, method, None)
                if own is not None:
                    return own(value) if then is None else then(own(value))
            raise NotImplementedError(f"{name} is not implemented: {type(self).__name__}")

    # -- statistics ------------------------------------------------------------------------------------
    def entropy(self, name: str = "entropy") -> Any:
        return self._statistic(name, ("_entropy", None))

    def mean(self, name: str = "mean") -> Any:
        return self._statistic(name, ("_mean", None))

    def variance(self, name: str = "variance") -> Any:
        return self._statistic(name, ("_variance", None), ("_stddev", elementwise.square))

    def stddev(self, name: str = "stddev") -> Any:
        return self._statistic(name, ("_stddev", None), ("_variance", elementwise.sqrt))

    def covariance(self, name: str = "covariance") -> Any:
        return self._statistic(name, ("_covariance", None))

    def mode(self, name: str = "mode") -> Any:
        return self._statistic(name, ("_mode", None))

    def _statistic(self, name: str, *ways: tuple[str, Any]) -> Any:
        with self._scope(name):
            for method, then in ways:
                own = getattr(self, method, None)
                if own is not None:
                    return own() if then is None else then(own())
            raise NotImplementedError(f"{name} is not implemented: {type(self).__name__}")

    def cross_entropy(self, other: Any, name: str = "cross_entropy") -> Any:
        """The entropy and the divergence from another distribution."""
        with self._scope(name):
            return kullback_leibler.cross_entropy(self, other, self.allow_nan_stats)

    def kl_divergence(self, other: Any, name: str = "kl_divergence") -> Any:
        """The Kullback-Leibler divergence from another distribution."""
        with self._scope(name):
            return kullback_leibler.kl_divergence(self, other, self.allow_nan_stats)

    @contextmanager
    def _scope(self, name: str, values: Any = ()) -> Iterator[None]:
        with name_scope(self._name, None, []), name_scope(name, None, [*values, *self._graph_parents]):
            yield

    def __str__(self) -> str:
        parts = [f'"{self._name}"']
        if self.batch_shape.rank is not None:
            parts.append(f"batch_shape={self.batch_shape}")
        parts += [f"event_shape={self.event_shape}", f"dtype={self.dtype.name}"]
        return f"tf.distributions.{type(self).__name__}({', '.join(parts)})"

    def __repr__(self) -> str:
        return (
            f"<tf.distributions.{type(self).__name__} '{self._name}' batch_shape={self.batch_shape} "
            f"event_shape={self.event_shape} dtype={self.dtype.name}>"
        )
