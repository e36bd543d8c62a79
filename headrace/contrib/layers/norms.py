"""tf.contrib.layers: normalisations within a row of the batch (layer, instance, group), and biases."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from headrace.contrib.framework.arg_scope import add_arg_scope
from headrace.contrib.framework.variables import model_variable
from headrace.contrib.layers.layer_call import finished
from headrace.contrib.layers.named_outputs import get_variable_collections
from headrace.core import dtypes
from headrace.functions.array.array import reshape, shape
from headrace.functions.nn.activation import bias_add as nn_bias_add
from headrace.functions.nn.norm import batch_normalization, moments, normalize_moments, sufficient_statistics
from headrace.graph.tensor import Tensor
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.math.exponential import rsqrt
from headrace.variables.initializers.initializers import Ones, Zeros
from headrace.variables.scope import variable_scope
from headrace.variables.scope_defaults import VariableScope


def _parameters(
    inputs: Any, size: Any, center: bool, scale: bool, initializers: Any, collections: Any, trainable: bool
) -> tuple[Any, Any]:
    """(beta, gamma); None where there is none."""
    found = []
    for role, wanted, default in (("beta", center, Zeros()), ("gamma", scale, Ones())):
        found.append(
            model_variable(
                role,
                shape=size,
                dtype=inputs.dtype.base_dtype,
                initializer=(initializers or {}).get(role, default),
                collections=get_variable_collections(collections, role),
                trainable=trainable,
            )
            if wanted
            else None
        )
    return found[0], found[1]


@add_arg_scope
def layer_norm(
    inputs: Any,
    center: bool = True,
    scale: bool = True,
    activation_fn: Callable[..., Any] | None = None,
    reuse: Any = None,
    variables_collections: Iterable[str] | Mapping[str, Any] | None = None,
    outputs_collections: str | Iterable[str] | None = None,
    trainable: bool = True,
    begin_norm_axis: int = 1,
    begin_params_axis: int = -1,
    scope: str | VariableScope | None = None,
) -> Any:
    """Mean 0 and variance 1 over all axes from `begin_norm_axis` on (Ba et al. 2016).

    Args:
      inputs: a tensor.
      center: add beta?
      scale: multiply by gamma?
      activation_fn: function of the result.
      begin_norm_axis: first axis of the moments.
      begin_params_axis: first axis of beta and gamma.
      reuse, variables_collections, outputs_collections, trainable, scope: as elsewhere.

    Raises:
      ValueError: the rank is unknown, or an axis is beyond it, or sizes of beta are unknown.
    """
    with variable_scope(scope, "LayerNorm", [inputs], reuse=reuse) as sc:
        inputs = convert_to_tensor(inputs)
        rank = inputs.shape.ndims
        if rank is None:
            raise ValueError(f"Inputs {inputs.name} has undefined rank.")
        if begin_norm_axis < 0:
            begin_norm_axis += rank
        if begin_params_axis >= rank or begin_norm_axis >= rank:
            raise ValueError(
                f"begin_params_axis ({begin_params_axis}) and begin_norm_axis ({begin_norm_axis}) "
                f"must be < rank(inputs) ({rank})"
            )
        size = inputs.shape[begin_params_axis:]
        if not size.is_fully_defined():
            raise ValueError(
                f"Inputs {inputs.name}: shape(inputs)[{begin_params_axis}:] is not fully defined: "
                f"{inputs.shape}"
            )
        beta, gamma = _parameters(inputs, size, center, scale, None, variables_collections, trainable)
        mean, variance = moments(inputs, list(range(begin_norm_axis, rank)), keep_dims=True)
        epsilon = 1e-3 if inputs.dtype.base_dtype == dtypes.float16 else 1e-12
        outputs = batch_normalization(inputs, mean, variance, beta, gamma, epsilon)
        outputs.set_shape(inputs.shape)
        return finished(outputs, sc, outputs_collections, activation_fn)


@add_arg_scope
def instance_norm(
    inputs: Any,
    center: bool = True,
    scale: bool = True,
    epsilon: float = 1e-6,
    activation_fn: Callable[..., Any] | None = None,
    param_initializers: Mapping[str, Any] | None = None,
    reuse: Any = None,
    variables_collections: Iterable[str] | Mapping[str, Any] | None = None,
    outputs_collections: str | Iterable[str] | None = None,
    trainable: bool = True,
    data_format: str = "NHWC",
    scope: str | VariableScope | None = None,
) -> Any:
    """Mean 0 and variance 1 over space, for each picture and channel (Ulyanov et al. 2016).

    Raises:
      ValueError: an unknown format, rank or number of channels.
    """
    inputs = convert_to_tensor(inputs)
    rank = inputs.shape.ndims
    if rank is None:
        raise ValueError(f"Inputs {inputs.name} has undefined rank.")
    if data_format not in ("NCHW", "NHWC"):
        raise ValueError("data_format has to be either NCHW or NHWC.")
    with variable_scope(scope, "InstanceNorm", [inputs], reuse=reuse) as sc:
        axis = 1 if data_format == "NCHW" else rank - 1
        size = inputs.shape[axis : axis + 1]
        if not size.is_fully_defined():
            raise ValueError(f"Inputs {inputs.name} has undefined channels dimension {size}.")
        beta, gamma = _parameters(
            inputs, size, center, scale, param_initializers, variables_collections, trainable
        )
        if axis == 1:
            spread = [1, size.as_list()[0]] + [1] * (rank - 2)
            beta, gamma = (None if v is None else reshape(v, spread) for v in (beta, gamma))
        axes = [i for i in range(1, rank) if i != axis]
        mean, variance = moments(inputs, axes, keep_dims=True)
        outputs = batch_normalization(inputs, mean, variance, beta, gamma, epsilon, name="instancenorm")
        return finished(outputs, sc, outputs_collections, activation_fn)


@add_arg_scope
def group_norm(
    inputs: Any,
    groups: int = 32,
    channels_axis: int = -1,
    reduction_axes: Sequence[int] = (-3, -2),
    center: bool = True,
    scale: bool = True,
    epsilon: float = 1e-6,
    activation_fn: Callable[..., Any] | None = None,
    param_initializers: Mapping[str, Any] | None = None,
    reuse: Any = None,
    variables_collections: Iterable[str] | Mapping[str, Any] | None = None,
    outputs_collections: str | Iterable[str] | None = None,
    trainable: bool = True,
    scope: str | VariableScope | None = None,
    mean_close_to_zero: bool = False,
) -> Any:
    """Mean 0 and variance 1 over space and groups of channels (Wu and He 2018).

    Args:
      groups: how many groups.
      channels_axis: axis of the channels.
      reduction_axes: axes of space.
      mean_close_to_zero: compute moments without a shift: faster, fine for small means.
      inputs, center, scale, ...: as of the other normalisations.

    Raises:
      ValueError: unknown sizes, axes that do not exist, or channels that cannot be cut into groups.
    """
    inputs = convert_to_tensor(inputs)
    rank = inputs.shape.ndims
    if rank is None:
        raise ValueError(f"Inputs {inputs.name} has undefined rank.")
    if channels_axis > rank - 1:
        raise ValueError("Axis is out of bounds.")
    known = shape(inputs)
    sizes: list[Any] = [known[i] if size is None else size for i, size in enumerate(inputs.shape.as_list())]
    axis = channels_axis % rank
    axes = _space_axes(inputs, axis, reduction_axes)
    channels = _group_channels(inputs, axis, groups)
    cut = [groups, channels // groups]
    spread = [1] * axis + cut + [1] * (rank - axis - 1)
    inputs = reshape(inputs, sizes[:axis] + cut + sizes[axis + 1 :])
    with variable_scope(scope, "GroupNorm", [inputs], reuse=reuse) as sc:
        beta, gamma = _parameters(
            inputs, [channels], center, scale, param_initializers, variables_collections, trainable
        )
        if mean_close_to_zero:
            count, total, squares, _ = sufficient_statistics(inputs, axes, keep_dims=True)
            mean, variance = normalize_moments(count, total, squares, shift=None)
        else:
            mean, variance = moments(inputs, axes, keep_dims=True)
        gain: Tensor = rsqrt(variance + epsilon)
        offset = -mean * gain
        if gamma is not None:
            gamma = reshape(gamma, spread)
            gain, offset = gain * gamma, offset * gamma
        if beta is not None:
            offset += reshape(beta, spread)
        outputs = reshape(inputs * gain + offset, sizes)
        return finished(outputs, sc, outputs_collections, activation_fn)


def _group_channels(inputs: Any, axis: int, groups: int) -> int:
    channels: int | None = inputs.shape.as_list()[axis]
    if channels is None:
        raise ValueError(f"Inputs {inputs.name} has undefined channel dimension: {axis}.")
    if groups > channels:
        raise ValueError(f"Invalid groups {groups} for {channels} channels.")
    if channels % groups:
        raise ValueError(f"{channels} channels is not commensurate with {groups} groups.")
    return channels


def _space_axes(inputs: Any, channels_axis: int, given: Any) -> list[int]:
    """Axes of the moments, in the tensor whose channels are cut into groups."""
    rank = inputs.shape.ndims
    found = [channels_axis + 1]
    for axis in (a + rank if a < 0 else a for a in given):
        if axis >= rank:
            raise ValueError("Axis is out of bounds.")
        if inputs.shape.as_list()[axis] is None:
            raise ValueError(f"Inputs {inputs.name} has undefined dimensions {axis}.")
        if axis == channels_axis:
            raise ValueError("reduction_axis must be mutually exclusive with channels_axis")
        found.append(axis + 1 if axis > channels_axis else axis)
    return found


@add_arg_scope
def bias_add(
    inputs: Any,
    activation_fn: Callable[..., Any] | None = None,
    initializer: Callable[..., Any] = Zeros(),
    regularizer: Callable[..., Any] | None = None,
    reuse: Any = None,
    variables_collections: Iterable[str] | Mapping[str, Any] | None = None,
    outputs_collections: str | Iterable[str] | None = None,
    trainable: bool = True,
    data_format: str = "NHWC",
    scope: str | VariableScope | None = None,
) -> Any:
    """Add a bias to each channel.

    Raises:
      ValueError: an unknown format, rank or number of channels.
    """
    if data_format not in ("NCHW", "NHWC"):
        raise ValueError("data_format has to be either NCHW or NHWC.")
    with variable_scope(scope, "BiasAdd", [inputs], reuse=reuse) as sc:
        inputs = convert_to_tensor(inputs)
        rank = inputs.shape.ndims
        if rank is None:
            raise ValueError("Dims of shape must be known but is None")
        if rank != 4 and data_format == "NCHW":
            raise ValueError("Data format NCHW only supports 4D Tensor")
        count = inputs.shape.as_list()[1 if data_format == "NCHW" else -1]
        if count is None:
            raise ValueError("`C` dimension must be known but is None")
        biases = model_variable(
            "biases",
            shape=[count],
            dtype=inputs.dtype.base_dtype,
            initializer=initializer,
            regularizer=regularizer,
            collections=get_variable_collections(variables_collections, "biases"),
            trainable=trainable,
        )
        outputs = nn_bias_add(inputs, biases, data_format=data_format)
        return finished(outputs, sc, outputs_collections, activation_fn)
