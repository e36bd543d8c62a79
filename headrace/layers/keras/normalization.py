"""Batch normalisation: variables, and which way to compute it.

The moving averages belong to inference; training normalises with the batch's own moments and leaves
updates of the averages to be run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from headrace.core import dtypes
from headrace.core.shapes import as_shape
from headrace.functions.array.array import ones_like, reshape, shape, zeros_like
from headrace.functions.control.cond import smart_cond, smart_constant_value
from headrace.functions.math.cast import cast
from headrace.functions.math.elementwise import sqrt
from headrace.functions.math.reduce import reduce_mean
from headrace.functions.nn.norm import batch_normalization, fused_batch_norm, moments
from headrace.layers.engine.identifiers import get_initializer, serialize
from headrace.layers.engine.input_spec import InputSpec
from headrace.layers.engine.learning_phase import learning_phase
from headrace.layers.keras.renormalization import Renormalization, drift, stored
from headrace.layers.keras.roles import RoleLayer
from headrace.ops.array.constant import constant
from headrace.ops.array.source import stop_gradient
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.nn.activation import relu
from headrace.variables.modes import VariableAggregation, VariableSynchronization
from headrace.variables.variable import Variable


class BatchNormalization(Renormalization, RoleLayer):
    """(x - mean) / sqrt(variance + epsilon) · gamma + beta, with moments over the batch in training
    and moving averages of them otherwise.

    Args:
      axis: the axis or axes with statistics of their own, usually the channels.
      momentum: how much of a moving average is kept at an update.
      epsilon: is added to the variance.
      center: add beta?
      scale: multiply by gamma?
      beta_initializer, gamma_initializer, moving_mean_initializer, moving_variance_initializer:
        initializers, or their names.
      beta_regularizer, gamma_regularizer: functions from a variable to a loss.
      beta_constraint, gamma_constraint: functions that optimizers apply to the new value.
      renorm: batch renormalisation (Ioffe 2017)?
      renorm_clipping: dictionary with limits `rmax`, `rmin`, `dmax` of its corrections.
      renorm_momentum: as `momentum`, for the averages that it uses in training.
      fused: one op for all where possible; None is the same, False never.
      trainable: are gamma and beta to be trained?
      virtual_batch_size: normalise parts of this size separately.
      adjustment: function of the shape that returns (scale, bias), applied in training.
      name: name of the layer.
      **kwargs: as of Layer.
    """

    def __init__(
        self,
        axis: Any = -1,
        momentum: Any = 0.99,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        moving_mean_initializer: Any = "zeros",
        moving_variance_initializer: Any = "ones",
        beta_regularizer: Any = None,
        gamma_regularizer: Any = None,
        beta_constraint: Any = None,
        gamma_constraint: Any = None,
        renorm: bool = False,
        renorm_clipping: Any = None,
        renorm_momentum: Any = 0.99,
        fused: bool | None = None,
        trainable: bool = True,
        virtual_batch_size: int | None = None,
        adjustment: Any = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, trainable=trainable, **kwargs)
        if not isinstance(axis, int | list):
            raise TypeError(f"axis must be int or list, type given: {type(axis)}")
        self.axis: Any = axis if isinstance(axis, int) else list(axis)
        self.momentum, self.epsilon, self.center, self.scale = momentum, epsilon, center, scale
        self._set_roles(
            gamma=(gamma_initializer, gamma_regularizer, gamma_constraint),
            beta=(beta_initializer, beta_regularizer, beta_constraint),
        )
        self.moving_mean_initializer = get_initializer(moving_mean_initializer)
        self.moving_variance_initializer = get_initializer(moving_variance_initializer)
        self.virtual_batch_size, self.adjustment = virtual_batch_size, adjustment
        self.fused = fused is not False
        self.supports_masking = True
        self._set_renorm(renorm, renorm_clipping, renorm_momentum)

    @property
    def _param_dtype(self) -> Any:
        """Halves are too coarse for moving averages."""
        if self.dtype in ("float16", "bfloat16"):
            return dtypes.float32
        return self.dtype or dtypes.float32

    # -- variables -----------------------------------------------------------------------------
    def build(self, input_shape: Any) -> None:
        known = as_shape(input_shape)
        if not known.ndims:
            raise ValueError("Input has undefined rank:", known)
        self.axis = _checked_axes(self.axis, known.ndims)
        self._check_virtual_batch()
        plain = not self.renorm and self.virtual_batch_size is None and self.adjustment is None
        self.fused = self.fused and plain and known.ndims == 4 and self.axis in ([1], [3])
        sizes = {axis: known.dim(axis) for axis in self.axis}
        if None in sizes.values():
            raise ValueError("Input has undefined `axis` dimension. Input shape: ", known)
        self.input_spec = InputSpec(ndim=known.ndims, axes=sizes)
        if len(sizes) == 1 and self.virtual_batch_size is None:
            size: list[Any] = list(sizes.values())
        else:
            size = [sizes.get(axis, 1) for axis in range(known.ndims)]
        if self.virtual_batch_size is not None:
            size.insert(1, 1)  # the dimension that tells the virtual batches apart
            self.axis = [axis + 1 for axis in self.axis]
        self.gamma = self.beta = None
        if self.scale:
            self.gamma = self._parameter("gamma", size)
        elif self.fused:
            self._gamma_const = constant(1.0, self._param_dtype, size)
        if self.center:
            self.beta = self._parameter("beta", size)
        elif self.fused:
            self._beta_const = constant(0.0, self._param_dtype, size)
        with self._unpartitioned():
            self.moving_mean = self._average("moving_mean", size, self.moving_mean_initializer)
            self.moving_variance = self._average("moving_variance", size, self.moving_variance_initializer)
            self._build_renorm(size)
        self.built = True

    def _check_virtual_batch(self) -> None:
        if self.virtual_batch_size is None:
            return
        if self.virtual_batch_size <= 0:
            raise ValueError(
                "virtual_batch_size must be a positive integer that divides the true batch size of "
                "the input Tensor"
            )
        if 0 in self.axis:
            raise ValueError(
                "When using virtual_batch_size, the batch dimension must be 0 and thus axis cannot include 0"
            )
        if self.adjustment is not None:
            raise ValueError("When using virtual_batch_size, adjustment cannot be specified")

    def _parameter(self, role: str, size: Any) -> Any:
        return self._role_weight(role, size, dtype=self._param_dtype, experimental_autocast=False)

    def _average(self, name: str, size: Any, initializer: Any) -> Any:
        return self.add_weight(
            name,
            shape=size,
            dtype=self._param_dtype,
            initializer=initializer,
            synchronization=VariableSynchronization.ON_READ,
            trainable=False,
            aggregation=VariableAggregation.MEAN,
            experimental_autocast=False,
        )

    @contextmanager
    def _unpartitioned(self) -> Iterator[None]:
        """Moving averages stay in one piece, whatever the variable scope says."""
        scope = getattr(self, "_scope", None)
        partitioner = scope.partitioner if scope else None
        if scope:
            scope.set_partitioner(None)
        try:
            yield
        finally:
            if scope:
                scope.set_partitioner(partitioner)

    # -- calls ---------------------------------------------------------------------------------
    def call(self, inputs: Any, training: Any = None) -> Any:  # type: ignore[override]
        if training is None:
            training = learning_phase()
        if self.fused:
            return self._fused(inputs, training)
        if self.virtual_batch_size is None:
            return self._separate(inputs, training)
        whole = [-1, *inputs.shape.as_list()[1:]]
        parts = reshape(inputs, [self.virtual_batch_size, *whole])
        return reshape(self._separate(parts, training), whole)

    def _fused(self, inputs: Any, training: Any) -> Any:
        """One op for moments and normalisation."""
        gamma = self._gamma_const if self.gamma is None else self.gamma
        beta = self._beta_const if self.beta is None else self.beta
        options: dict[str, Any] = {
            "epsilon": self.epsilon,
            "data_format": "NCHW" if self.axis == [1] else "NHWC",
        }

        def trained() -> Any:
            return fused_batch_norm(inputs, gamma, beta, **options)

        def applied() -> Any:
            averages = {"mean": self.moving_mean, "variance": self.moving_variance}
            return fused_batch_norm(inputs, gamma, beta, **averages, is_training=False, **options)

        output, mean, variance = smart_cond(training, trained, applied)
        known = _known(training)
        if known is False:
            return output
        momentum: Any = self.momentum
        if known is None:
            momentum = smart_cond(training, lambda: momentum, lambda: 1.0)
        else:
            momentum = convert_to_tensor(momentum)
        self.add_update(lambda: drift(self.moving_mean, mean, momentum))
        self.add_update(lambda: drift(self.moving_variance, variance, momentum))
        return output

    def _separate(self, inputs: Any, training: Any) -> Any:
        """Moments first, then normalisation: any axes, renormalisation, virtual batches."""
        rank = len(inputs.shape)
        axes = [i for i in range(rank) if i not in self.axis]
        if self.virtual_batch_size is not None:
            del axes[1]
        sizes = [1] * rank
        sizes[self.axis[0]] = inputs.shape.as_list()[self.axis[0]]

        def spread(v: Any) -> Any:
            """A vector along the axis, where that is not the last one."""
            if v is None or len(v.shape) == rank or axes == list(range(rank - 1)):
                return v
            return reshape(v, sizes)

        scale, offset = spread(self.gamma), spread(self.beta)
        mean, variance = self.moving_mean, self.moving_variance
        if _known(training) is not False:
            if self.adjustment:
                adjusted = self._adjusted(inputs, training)
                scale, offset = _after(*adjusted, scale, offset)
            mean, variance = self._batch_moments(inputs, axes, training)
            new_mean, new_variance = mean, variance
            if self.virtual_batch_size is not None:
                new_mean = reduce_mean(mean, axis=1, keepdims=True)
                new_variance = reduce_mean(variance, axis=1, keepdims=True)
            if self.renorm:
                r, d, new_mean, new_variance = self._renormalised(new_mean, new_variance, training)
                r = spread(stop_gradient(r, name="renorm_r"))
                d = spread(stop_gradient(d, name="renorm_d"))
                scale, offset = _after(r, d, scale, offset)
            self._add_updates(new_mean, new_variance, training)
        kind = inputs.dtype
        mean, variance, offset, scale = (
            None if v is None else cast(v, kind) for v in (mean, variance, offset, scale)
        )
        outputs = batch_normalization(inputs, spread(mean), spread(variance), offset, scale, self.epsilon)
        outputs.set_shape(inputs.shape)
        return outputs

    def _adjusted(self, inputs: Any, training: Any) -> tuple[Any, Any]:
        scale, bias = self.adjustment(shape(inputs))
        return (
            smart_cond(training, lambda: scale, lambda: ones_like(scale)),
            smart_cond(training, lambda: bias, lambda: zeros_like(bias)),
        )

    def _batch_moments(self, inputs: Any, axes: Any, training: Any) -> tuple[Any, Any]:
        keep = self.virtual_batch_size is not None or len(self.axis) > 1
        mean, variance = moments(cast(inputs, self._param_dtype), axes, keep_dims=keep)
        return (
            smart_cond(training, lambda: mean, lambda: convert_to_tensor(self.moving_mean)),
            smart_cond(training, lambda: variance, lambda: convert_to_tensor(self.moving_variance)),
        )

    def _add_updates(self, mean: Any, variance: Any, training: Any) -> None:
        def new_variance() -> Any:
            if not self.renorm:
                return drift(self.moving_variance, variance, self.momentum)
            stddev = drift(self.moving_stddev, sqrt(variance + self.epsilon), self.momentum)
            # Rounding must not make it negative.
            return stored(self.moving_variance, relu(stddev * stddev - self.epsilon))

        def when_training(variable: Any, update: Callable[[], Any]) -> Callable[[], Any]:
            return lambda: smart_cond(training, update, lambda: variable)

        new_mean = lambda: drift(self.moving_mean, mean, self.momentum)
        self.add_update(when_training(self.moving_mean, new_mean))
        self.add_update(when_training(self.moving_variance, new_variance))

    def compute_output_shape(self, input_shape: Any) -> Any:
        return input_shape

    def get_config(self) -> dict[str, Any]:
        config = self._config("axis", "momentum", "epsilon", "center", "scale")
        for name in ("moving_mean_initializer", "moving_variance_initializer"):
            config[name] = serialize(getattr(self, name))
        if self.renorm:
            config |= {
                "renorm": True,
                "renorm_clipping": self.renorm_clipping,
                "renorm_momentum": self.renorm_momentum,
            }
        if self.virtual_batch_size is not None:
            config["virtual_batch_size"] = self.virtual_batch_size
        return config


def _known(training: Any) -> bool | None:
    """The value of `training` where it does not depend on the run."""
    return None if isinstance(training, Variable) else smart_constant_value(training)


def _after(scale: Any, offset: Any, then_scale: Any, then_offset: Any) -> tuple[Any, Any]:
    """x -> (x · scale + offset) · then_scale + then_offset, as one scale and offset."""
    if then_scale is not None:
        scale, offset = scale * then_scale, offset * then_scale
    return scale, offset if then_offset is None else offset + then_offset


def _checked_axes(given: Any, rank: int) -> list[int]:
    axes = [a + rank if a < 0 else a for a in ([given] if isinstance(given, int) else given)]
    for axis in axes:
        if not 0 <= axis < rank:
            raise ValueError(f"Invalid axis: {axis}")
    if len(axes) != len(set(axes)):
        raise ValueError(f"Duplicate axis: {axes}")
    return axes
