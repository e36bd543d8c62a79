"""tf.contrib.layers.batch_norm.

Three ways: the layer of tf.layers where it can do what is asked; one op for all (fused) with updates
elsewhere than in UPDATE_OPS; moments by themselves, for weights in the batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from headrace.contrib.framework.arg_scope import add_arg_scope
from headrace.contrib.framework.variables import model_variable
from headrace.contrib.layers.layer_call import add_to_collections, finished, layer_scope
from headrace.contrib.layers.named_outputs import constant_value, get_variable_collections, smart_cond
from headrace.core import dtypes
from headrace.functions.array.array import identity, reshape, shape
from headrace.functions.nn.norm import batch_normalization, fused_batch_norm, moments, weighted_moments
from headrace.functions.values.nest import map_structure
from headrace.graph.defaults import get_default_graph
from headrace.graph.keys import GraphKeys
from headrace.layers.normalization import BatchNormalization
from headrace.ops.array.constant import constant
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.train.schedules.moving_averages import assign_moving_average
from headrace.variables.initializers.initializers import Ones, Zeros
from headrace.variables.scope import get_variable_scope, variable_scope
from headrace.variables.scope_defaults import VariableScope


@add_arg_scope
def batch_norm(
    inputs: Any,
    decay: Any = 0.999,
    center: bool = True,
    scale: bool = False,
    epsilon: float = 0.001,
    activation_fn: Callable[..., Any] | None = None,
    param_initializers: Mapping[str, Any] | None = None,
    param_regularizers: Mapping[str, Any] | None = None,
    updates_collections: Any = GraphKeys.UPDATE_OPS,
    is_training: Any = True,
    reuse: Any = None,
    variables_collections: Iterable[str] | Mapping[str, Any] | None = None,
    outputs_collections: str | Iterable[str] | None = None,
    trainable: bool = True,
    batch_weights: Any = None,
    fused: bool | None = None,
    data_format: str = "NHWC",
    zero_debias_moving_mean: bool = False,
    scope: str | VariableScope | None = None,
    renorm: bool = False,
    renorm_clipping: Mapping[str, Any] | None = None,
    renorm_decay: Any = 0.99,
    adjustment: Callable[..., Any] | None = None,
) -> Any:
    """Batch normalisation: with the batch's moments in training, else with moving averages.

    Args:
      inputs: a tensor of rank 2 or more.
      decay: how much of a moving average is kept at an update.
      center: add beta?
      scale: multiply by gamma?
      epsilon: is added to the variance.
      activation_fn: function of the result.
      param_initializers, param_regularizers: dictionaries by variable: beta, gamma, moving_mean,
        moving_variance.
      updates_collections: where updates of the averages are added; None makes them part of the
        result.
      is_training: a boolean or a tensor.
      reuse: take the variables of the scope that are there.
      variables_collections: where variables are added: a list, or a dictionary by role.
      outputs_collections: where the result is added.
      trainable: are beta and gamma to be trained?
      batch_weights: how much each row of the batch counts.
      fused: one op for all where possible; None is the same, False never.
      data_format: NHWC or NCHW.
      zero_debias_moving_mean: correct the mean for the zero it started with.
      scope: name of the variable scope.
      renorm, renorm_clipping, renorm_decay: batch renormalisation; see tf.layers.
      adjustment: see tf.layers.

    Raises:
      ValueError: an unknown format or rank, or renorm with what it cannot be combined with.
    """
    inputs = convert_to_tensor(inputs)
    rank = inputs.shape.ndims
    elsewhere = updates_collections is not GraphKeys.UPDATE_OPS
    if data_format not in ("NCHW", "NHWC"):
        raise ValueError("data_format has to be either NCHW or NHWC.")
    can_fuse = batch_weights is None and not renorm and rank in (2, 4) and adjustment is None
    use_fused = fused is not False and can_fuse
    params = _Params(
        center,
        scale,
        param_initializers or {},
        param_regularizers or {},
        variables_collections,
        trainable,
        decay,
        zero_debias_moving_mean,
        updates_collections,
        is_training,
    )
    if use_fused and (zero_debias_moving_mean or rank == 2 or elsewhere):
        with variable_scope(scope, "BatchNorm", [inputs], reuse=reuse) as sc:
            outputs = _fused(inputs, params, epsilon, data_format)
            return finished(outputs, sc, outputs_collections, activation_fn)
    with layer_scope(scope, "BatchNorm", inputs, reuse) as sc:
        if batch_weights is None and not elsewhere and not zero_debias_moving_mean:
            renorming = (renorm, renorm_clipping, renorm_decay)
            outputs = _by_layer(inputs, params, epsilon, data_format, fused, renorming, adjustment, sc, reuse)
        elif renorm:
            raise ValueError(
                "renorm is not supported with batch_weights, updates_collections or zero_debias_moving_mean"
            )
        else:
            outputs = _by_moments(inputs, params, epsilon, data_format, batch_weights)
        return finished(outputs, sc, outputs_collections, activation_fn)


@dataclass(frozen=True)
class _Params:
    """The variables of a batch normalisation and how they are updated."""

    center: bool
    scale: bool
    initializers: Mapping[str, Any]
    regularizers: Mapping[str, Any]
    collections: Any
    trainable: bool
    decay: Any
    zero_debias: bool
    updates_collections: Any
    is_training: Any

    def initializer(self, role: str) -> Any:
        default = Zeros() if role in ("beta", "moving_mean") else Ones()
        return self.initializers.get(role, default)

    def make(self, role: str, size: Any, dtype: Any, trainable: bool, regularizer: Any) -> Any:
        return model_variable(
            role,
            shape=size,
            dtype=dtype,
            initializer=self.initializer(role),
            regularizer=regularizer,
            collections=get_variable_collections(self.collections, role),
            trainable=trainable,
        )

    def parameters(self, size: Any, dtype: Any, regularized: bool = True) -> tuple[Any, Any]:
        """(beta, gamma); None where there is none."""
        regularizers = self.regularizers if regularized else {}
        return tuple(  # type: ignore[return-value]
            self.make(role, size, dtype, self.trainable, regularizers.get(role)) if wanted else None
            for role, wanted in (("beta", self.center), ("gamma", self.scale))
        )

    def averages(self, size: Any, dtype: Any) -> tuple[Any, Any]:
        """(moving_mean, moving_variance), in one piece whatever the scope's partitioner."""
        with variable_scope(get_variable_scope()) as local:
            local.set_partitioner(None)
            return (
                self.make("moving_mean", size, dtype, False, None),
                self.make("moving_variance", size, dtype, False, None),
            )

    def updates(self, averages: tuple[Any, Any], mean: Any, variance: Any) -> tuple[Any, Any]:
        return (
            assign_moving_average(averages[0], mean, self.decay, zero_debias=self.zero_debias),
            assign_moving_average(averages[1], variance, self.decay, zero_debias=False),
        )

    def collect(self, averages: tuple[Any, Any], mean: Any, variance: Any) -> None:
        """Add the updates to their collections."""
        found = smart_cond(self.is_training, lambda: self.updates(averages, mean, variance), lambda: averages)
        for update in found:
            get_default_graph().add_to_collections(self.updates_collections, update)

    def forced(
        self, averages: Any, mean: Any, variance: Any, results: Any, otherwise: Callable[[], Any]
    ) -> Any:
        """`results`, after the updates; in training only."""

        def updated() -> Any:
            updates = self.updates(averages, mean, variance)
            with get_default_graph().control_dependencies(list(updates)):
                return map_structure(identity, results)

        return smart_cond(self.is_training, updated, otherwise)

    @property
    def may_train(self) -> bool:
        known = constant_value(self.is_training)
        return known is None or bool(known)


def _channels(inputs: Any, data_format: str) -> Any:
    size = inputs.shape[-1:] if data_format == "NHWC" else inputs.shape[1:2]
    if not size.is_fully_defined():
        raise ValueError(f"Inputs {inputs.name} has undefined channels dimension {size}.")
    return size


def _fused(inputs: Any, params: _Params, epsilon: float, data_format: str) -> Any:
    given, rank = inputs, inputs.shape.ndims
    if rank == 2:
        count = inputs.shape.as_list()[-1]
        if count is None:
            raise ValueError("`C` dimension must be known but is None")
        inputs = reshape(inputs, [-1, 1, 1, count] if data_format == "NHWC" else [-1, count, 1, 1])
    size = _channels(inputs, data_format)
    beta, gamma = params.parameters(size, dtypes.float32)
    beta = constant(0.0, dtypes.float32, size) if beta is None else beta
    gamma = constant(1.0, dtypes.float32, size) if gamma is None else gamma
    averages = params.averages(size, dtypes.float32)
    options: dict[str, Any] = {"epsilon": epsilon, "data_format": data_format}

    def trained() -> Any:
        return fused_batch_norm(inputs, gamma, beta, **options)

    def applied() -> Any:
        return fused_batch_norm(
            inputs, gamma, beta, mean=averages[0], variance=averages[1], is_training=False, **options
        )

    outputs, mean, variance = smart_cond(params.is_training, trained, applied)
    if params.may_train:
        if params.updates_collections is None:
            outputs = params.forced(averages, mean, variance, outputs, lambda: outputs)
        else:
            params.collect(averages, mean, variance)
    outputs.set_shape(inputs.shape)
    return reshape(outputs, shape(given)) if rank == 2 else outputs


def _by_layer(
    inputs: Any,
    params: _Params,
    epsilon: float,
    data_format: str,
    fused: bool | None,
    renorming: tuple[Any, Any, Any],
    adjustment: Callable[..., Any] | None,
    scope: Any,
    reuse: Any,
) -> Any:
    roles = ("moving_mean", "moving_variance", "beta", "gamma")
    layer = BatchNormalization(
        axis=1 if data_format == "NCHW" else -1,
        momentum=params.decay,
        epsilon=epsilon,
        center=params.center,
        scale=params.scale,
        beta_regularizer=params.regularizers.get("beta"),
        gamma_regularizer=params.regularizers.get("gamma"),
        trainable=params.trainable,
        renorm=renorming[0],
        renorm_clipping=renorming[1],
        renorm_momentum=renorming[2],
        adjustment=adjustment,
        name=scope.name,
        fused=fused,
        _scope=scope,
        _reuse=reuse,
        **{f"{role}_initializer": params.initializer(role) for role in roles},
    )
    outputs = layer(inputs, training=params.is_training)
    for role in roles:
        variable = getattr(layer, role)
        if variable is not None:
            add_to_collections(variable, params.collections, role)
    return outputs


def _by_moments(inputs: Any, params: _Params, epsilon: float, data_format: str, batch_weights: Any) -> Any:
    rank, first = inputs.shape.ndims, data_format == "NCHW"
    if rank is None:
        raise ValueError(f"Inputs {inputs.name} has undefined rank.")
    if batch_weights is not None:
        batch_weights = convert_to_tensor(batch_weights)
        inputs.shape[0:1].assert_is_compatible_with(batch_weights.shape)
        batch_weights = reshape(batch_weights, [-1] + [1] * (rank - 1))
    size, dtype = _channels(inputs, data_format), inputs.dtype.base_dtype
    beta, gamma = params.parameters(size, dtype, regularized=False)
    averages = params.averages(size, dtype)
    mean, variance = averages
    if params.may_train:
        axes = [0, *range(2, rank)] if first else list(range(rank - 1))
        if batch_weights is None:
            mean, variance = moments(inputs, axes, keep_dims=first)
        else:
            mean, variance = weighted_moments(inputs, axes, batch_weights, keep_dims=first)
        if first:
            mean, variance = reshape(mean, [-1]), reshape(variance, [-1])
        batch = mean, variance
        if params.updates_collections is None:
            mean, variance = params.forced(averages, *batch, batch, lambda: averages)
        else:
            params.collect(averages, *batch)
            mean, variance = smart_cond(params.is_training, lambda: batch, lambda: averages)
    if first:
        spread = [1, size.as_list()[0]] + [1] * (rank - 2)
        mean, variance, beta, gamma = (
            None if v is None else reshape(v, spread) for v in (mean, variance, beta, gamma)
        )
    outputs = batch_normalization(inputs, mean, variance, beta, gamma, epsilon)
    outputs.set_shape(inputs.shape)
    return outputs
