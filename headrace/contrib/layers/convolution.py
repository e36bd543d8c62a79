"""tf.contrib.layers: convolutions.

All take `inputs`, `num_outputs` (channels that come out), `kernel_size`, `stride`, `padding` (SAME or
VALID), `data_format` (NHWC, NCHW, ...), `rate` (how far elements of the window are apart); and, as
`fully_connected` does, an activation, a normalizer, initializers, regularizers, collections, `reuse`,
`trainable` and `scope`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from headrace.contrib.framework.arg_scope import add_arg_scope
from headrace.contrib.framework.variables import model_variable
from headrace.contrib.layers.initializers import xavier_initializer
from headrace.contrib.layers.layer_call import (
    NAMES,
    add_to_collections,
    applied,
    finished,
    layer_scope,
    shared,
)
from headrace.contrib.layers.named_outputs import (
    channel_dimension,
    get_variable_collections,
    last_dimension,
    op_format,
    two_element_tuple,
)
from headrace.core.families import named, takes
from headrace.functions.nn.activation import bias_add
from headrace.functions.nn.atrous import depthwise_conv2d
from headrace.layers import convolutional
from headrace.ops.array.tile import tile
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.nn.activation import relu
from headrace.variables.initializers.initializers import Zeros
from headrace.variables.scope import variable_scope
from headrace.variables.scope_defaults import VariableScope

_LAYERS = {3: convolutional.Conv1D, 4: convolutional.Conv2D, 5: convolutional.Conv3D}
_FORMATS = (None, "NWC", "NCW", "NHWC", "NCHW", "NDHWC", "NCDHW")


def _window(
    inputs: Any,
    num_outputs: int,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] = 1,
    padding: str = "SAME",
    data_format: str | None = None,
    rate: int | Sequence[int] = 1,
) -> None:
    """The arguments that convolutions take before those of every layer."""


@add_arg_scope
@takes(shared, first=_window, conv_dims=None)
def convolution(
    inputs: Any,
    num_outputs: int,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None,
    padding: str,
    data_format: str | None,
    rate: int | Sequence[int] | None,
    scope: str | VariableScope,
    conv_dims: int | None,
    **given: Any,
) -> Any:
    """Convolution in as many dimensions as the inputs have (`conv_dims`, if that is given).

    Raises:
      ValueError: an unknown format, or a rank that does not fit.
    """
    if data_format not in _FORMATS:
        raise ValueError(f"Invalid data_format: {data_format!r}")
    with layer_scope(scope, "Conv", inputs, given["reuse"], NAMES) as sc:
        inputs = convert_to_tensor(inputs)
        rank = inputs.shape.ndims
        if conv_dims is not None and conv_dims + 2 != rank:
            raise ValueError(f"Convolution expects input with rank {conv_dims + 2}, got {rank}")
        if rank not in _LAYERS:
            raise ValueError("Convolution not supported for input with rank", rank)
        window = {"strides": stride, "padding": padding, "dilation_rate": rate}
        sizes, layout = (num_outputs, kernel_size), op_format(data_format)
        return applied(_LAYERS[rank], sizes, inputs, sc, given, data_format=layout, **window)


def _of_rank(dims: int, name: str, doc: str) -> Any:
    @add_arg_scope
    @takes(convolution, "conv_dims")
    @named(name, doc)
    def function(**given: Any) -> Any:
        return convolution(**given, conv_dims=dims)

    return function


convolution1d = conv1d = _of_rank(1, "convolution1d", "Convolution along one dimension.")
convolution2d = conv2d = _of_rank(2, "convolution2d", "Convolution of images.")
convolution3d = conv3d = _of_rank(3, "convolution3d", "Convolution of volumes.")


def _transpose(layer_class: Any, formats: tuple[str, str], name: str, doc: str) -> Any:
    @add_arg_scope
    @takes(shared, "rate", first=_window, data_format=formats[0])
    @named(name, doc)
    def function(
        inputs: Any,
        num_outputs: int,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None,
        padding: str,
        data_format: str,
        scope: str | VariableScope,
        **given: Any,
    ) -> Any:
        if data_format not in formats:
            raise ValueError(f"data_format has to be either {formats[1]} or {formats[0]}.")
        default = "Conv2d_transpose" if formats[0] == "NHWC" else "Conv3d_transpose"
        with layer_scope(scope, default, inputs, given["reuse"], NAMES) as sc:
            window = {"strides": stride, "padding": padding, "data_format": op_format(data_format)}
            sizes = (num_outputs, kernel_size)
            return applied(layer_class, sizes, convert_to_tensor(inputs), sc, given, **window)

    return function


convolution2d_transpose = conv2d_transpose = _transpose(
    convolutional.Conv2DTranspose,
    ("NHWC", "NCHW"),
    "convolution2d_transpose",
    "The transpose of a convolution of images.",
)
convolution3d_transpose = conv3d_transpose = _transpose(
    convolutional.Conv3DTranspose,
    ("NDHWC", "NCDHW"),
    "convolution3d_transpose",
    "The transpose of a convolution of volumes.",
)


@add_arg_scope
def separable_convolution2d(
    inputs: Any,
    num_outputs: int | None,
    kernel_size: int | Sequence[int],
    depth_multiplier: int = 1,
    stride: int | Sequence[int] = 1,
    padding: str = "SAME",
    data_format: str = "NHWC",
    rate: int | Sequence[int] = 1,
    activation_fn: Any = relu,
    normalizer_fn: Callable[..., Any] | None = None,
    normalizer_params: Mapping[str, Any] | None = None,
    weights_initializer: Callable[..., Any] = xavier_initializer(),
    pointwise_initializer: Callable[..., Any] | None = None,
    weights_regularizer: Callable[..., Any] | None = None,
    biases_initializer: Callable[..., Any] | None = Zeros(),
    biases_regularizer: Callable[..., Any] | None = None,
    reuse: Any = None,
    variables_collections: Iterable[str] | Mapping[str, Any] | None = None,
    outputs_collections: str | Iterable[str] | None = None,
    trainable: bool = True,
    scope: str | VariableScope | None = None,
) -> Any:
    """First each channel by itself, into `depth_multiplier` channels, then, unless `num_outputs` is
    None, the channels with each other."""
    if data_format not in ("NCHW", "NHWC"):
        raise ValueError("data_format has to be either NCHW or NHWC.")
    rename = {
        "bias": "biases",
        "depthwise_kernel": "depthwise_weights",
        "pointwise_kernel": "pointwise_weights",
    }
    with layer_scope(scope, "SeparableConv2d", inputs, reuse, rename) as sc:
        inputs = convert_to_tensor(inputs)
        biased = not normalizer_fn and biases_initializer is not None
        if num_outputs is None:
            depthwise = _depthwise(
                inputs,
                kernel_size,
                depth_multiplier,
                stride,
                padding,
                data_format,
                rate,
                weights_initializer,
                weights_regularizer,
                variables_collections,
                trainable,
            )
            outputs = depthwise
            if biased:
                count = channel_dimension(inputs.shape, op_format(data_format), min_rank=4)
                biases = model_variable(
                    "biases",
                    shape=[depth_multiplier * count],
                    dtype=inputs.dtype.base_dtype,
                    initializer=biases_initializer,
                    regularizer=biases_regularizer,
                    trainable=trainable,
                    collections=get_variable_collections(variables_collections, "biases"),
                )
                outputs = bias_add(outputs, biases, data_format=data_format)
        else:
            layer = convolutional.SeparableConv2D(
                num_outputs,
                kernel_size,
                strides=stride,
                padding=padding,
                data_format=op_format(data_format),
                dilation_rate=two_element_tuple(rate),
                depth_multiplier=depth_multiplier,
                use_bias=biased,
                depthwise_initializer=weights_initializer,
                pointwise_initializer=pointwise_initializer or weights_initializer,
                bias_initializer=biases_initializer,
                depthwise_regularizer=weights_regularizer,
                pointwise_regularizer=weights_regularizer,
                bias_regularizer=biases_regularizer,
                trainable=trainable,
                name=sc.name,
                dtype=inputs.dtype.base_dtype,
                _scope=sc,
                _reuse=reuse,
            )
            outputs = layer(inputs)
            add_to_collections(layer.depthwise_kernel, variables_collections, "weights")
            add_to_collections(layer.pointwise_kernel, variables_collections, "weights")
            if layer.bias is not None:
                add_to_collections(layer.bias, variables_collections, "biases")
        return finished(outputs, sc, outputs_collections, activation_fn, normalizer_fn, normalizer_params)


separable_conv2d = separable_convolution2d


def _depthwise(
    inputs: Any,
    kernel_size: int | Sequence[int],
    multiplier: int,
    stride: int | Sequence[int] | None,
    padding: str,
    data_format: str,
    rate: int | Sequence[int] | None,
    initializer: Callable[..., Any] | None,
    regularizer: Callable[..., Any] | None,
    variables_collections: Iterable[str] | Mapping[str, Any] | None,
    trainable: bool,
) -> Any:
    channels = channel_dimension(inputs.shape, op_format(data_format), min_rank=4)
    weights = model_variable(
        "depthwise_weights",
        shape=[*two_element_tuple(kernel_size), channels, multiplier],
        dtype=inputs.dtype.base_dtype,
        initializer=initializer,
        regularizer=regularizer,
        trainable=trainable,
        collections=get_variable_collections(variables_collections, "weights"),
    )
    steps = two_element_tuple(stride)
    return depthwise_conv2d(
        inputs,
        weights,
        [1, 1, *steps] if data_format == "NCHW" else [1, *steps, 1],
        padding,
        rate=two_element_tuple(rate),
        data_format=data_format,
    )


@add_arg_scope
@takes(shared, "num_outputs", "data_format", "rate", first=_window)
def convolution2d_in_plane(
    inputs: Any,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None,
    padding: str,
    activation_fn: Callable[..., Any] | None,
    normalizer_fn: Callable[..., Any] | None,
    normalizer_params: Mapping[str, Any] | None,
    scope: str | VariableScope,
    **given: Any,
) -> Any:
    """The same window over each channel by itself."""
    with variable_scope(scope, "ConvInPlane", [inputs], reuse=given["reuse"]) as sc:
        channels = last_dimension(inputs.shape, min_rank=4)

        def made(role: str, sizes: Any) -> Any:
            return model_variable(
                role,
                shape=sizes,
                dtype=inputs.dtype.base_dtype,
                trainable=given["trainable"],
                initializer=given[f"{role}_initializer"],
                regularizer=given[f"{role}_regularizer"],
                collections=get_variable_collections(given["variables_collections"], role),
            )

        each = tile(made("weights", [*two_element_tuple(kernel_size), 1, 1]), [1, 1, channels, 1])
        outputs = depthwise_conv2d(inputs, each, [1, *two_element_tuple(stride), 1], padding)
        if normalizer_fn is None and given["biases_initializer"] is not None:
            outputs = bias_add(outputs, made("biases", [channels]))
        collections = given["outputs_collections"]
        return finished(outputs, sc, collections, activation_fn, normalizer_fn, normalizer_params)


conv2d_in_plane = convolution2d_in_plane
