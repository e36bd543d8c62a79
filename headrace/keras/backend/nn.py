"""Convolutions, pooling, normalisation, dropout, CTC."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.layers import ops
from headrace.layers.engine.config import image_data_format
from headrace.layers.engine.windows import op_format

_WRONG = "Unknown data_format: {}"


def _format(data_format: str | None) -> str:
    found = data_format or image_data_format()
    if found not in ("channels_first", "channels_last"):
        raise ValueError(_WRONG.format(found))
    return found


def _padding(padding: str) -> str:
    if padding not in ("same", "valid"):
        raise ValueError(f"Invalid padding: {padding}")
    return padding.upper()


def conv1d(
    x: Any,
    kernel: Any,
    strides: int = 1,
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: int = 1,
) -> Any:
    """Convolution along one dimension."""
    layout = op_format(_format(data_format), 3)
    if padding == "causal":
        left = dilation_rate * (kernel.shape.as_list()[0] - 1)
        pads = [[0, 0], [left, 0], [0, 0]] if layout == "NWC" else [[0, 0], [0, 0], [left, 0]]
        x, padding = ops.pad(x, pads), "valid"
    return ops.convolution(
        x, kernel, _padding(padding), strides=[strides], dilation_rate=[dilation_rate], data_format=layout
    )


def conv2d(
    x: Any,
    kernel: Any,
    strides: Any = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Any = (1, 1),
) -> Any:
    """Convolution of images."""
    layout = op_format(_format(data_format), 4)
    return ops.convolution(
        x, kernel, _padding(padding), strides=strides, dilation_rate=dilation_rate, data_format=layout
    )


def conv3d(
    x: Any,
    kernel: Any,
    strides: Any = (1, 1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Any = (1, 1, 1),
) -> Any:
    """Convolution of volumes."""
    layout = op_format(_format(data_format), 5)
    return ops.convolution(
        x, kernel, _padding(padding), strides=strides, dilation_rate=dilation_rate, data_format=layout
    )


def _by_layout(values: Any, data_format: str) -> list[int]:
    return [1, 1, *values] if data_format == "channels_first" else [1, *values, 1]


def _batch(output_shape: Any, x: Any) -> Any:
    if isinstance(output_shape, list | tuple):
        output_shape = ops.stack([ops.shape(x)[0] if size is None else size for size in output_shape])
    return output_shape


def conv2d_transpose(
    x: Any,
    kernel: Any,
    output_shape: Any,
    strides: Any = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Any = (1, 1),
) -> Any:
    """The transpose of a convolution of images."""
    data_format = _format(data_format)
    return ops.conv2d_transpose(
        x,
        kernel,
        _batch(output_shape, x),
        _by_layout(strides, data_format),
        padding=_padding(padding),
        data_format=op_format(data_format, 4),
    )


def conv3d_transpose(
    x: Any,
    kernel: Any,
    output_shape: Any,
    strides: Any = (1, 1, 1),
    padding: str = "valid",
    data_format: str | None = None,
) -> Any:
    """The transpose of a convolution of volumes."""
    data_format = _format(data_format)
    return ops.conv3d_transpose(
        x,
        kernel,
        _batch(output_shape, x),
        _by_layout(strides, data_format),
        padding=_padding(padding),
        data_format=op_format(data_format, 5),
    )


def separable_conv2d(
    x: Any,
    depthwise_kernel: Any,
    pointwise_kernel: Any,
    strides: Any = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Any = (1, 1),
) -> Any:
    """First each channel by itself, then the channels with each other."""
    data_format = _format(data_format)
    return ops.separable_conv2d(
        x,
        depthwise_kernel,
        pointwise_kernel,
        strides=_by_layout(strides, data_format),
        padding=_padding(padding),
        rate=dilation_rate,
        data_format=op_format(data_format, 4),
    )


def depthwise_conv2d(
    x: Any,
    depthwise_kernel: Any,
    strides: Any = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Any = (1, 1),
) -> Any:
    """Each channel by itself."""
    data_format = _format(data_format)
    return ops.depthwise_conv2d(
        x,
        depthwise_kernel,
        strides=_by_layout(strides, data_format),
        padding=_padding(padding),
        rate=dilation_rate,
        data_format=op_format(data_format, 4),
    )


def _pool(x: Any, size: Any, strides: Any, padding: str, data_format: str | None, mode: str) -> Any:
    if mode not in ("max", "avg"):
        raise ValueError(f"Invalid pooling mode: {mode}")
    layout = op_format(_format(data_format), len(size) + 2)
    return ops.pool(x, size, mode.upper(), _padding(padding), strides=strides, data_format=layout)


def pool2d(
    x: Any,
    pool_size: Any,
    strides: Any = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    pool_mode: str = "max",
) -> Any:
    """Pooling of images."""
    if len(pool_size) != 2 or len(strides) != 2:
        raise ValueError("`pool_size` and `strides` must be tuples of 2 integers.")
    return _pool(x, pool_size, strides, padding, data_format, pool_mode)


def pool3d(
    x: Any,
    pool_size: Any,
    strides: Any = (1, 1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    pool_mode: str = "max",
) -> Any:
    """Pooling of volumes."""
    return _pool(x, pool_size, strides, padding, data_format, pool_mode)


def bias_add(x: Any, bias: Any, data_format: str | None = None) -> Any:
    """x plus a bias per channel, or per place and channel."""
    data_format = _format(data_format)
    sizes = bias.shape.as_list()
    rank = x.shape.ndims
    if len(sizes) not in (1, rank - 1):
        raise ValueError(f"Unexpected bias dimensions {len(sizes)}, expect to be 1 or {rank} dimensions")
    if len(sizes) == 1:
        if rank > 2 and data_format == "channels_first":
            return x + ops.reshape(bias, [1, sizes[0], *[1] * (rank - 2)])
        return ops.bias_add(x, bias)
    if data_format == "channels_first":
        return x + ops.reshape(bias, [1, sizes[-1], *sizes[:-1]])
    return x + ops.reshape(bias, [1, *sizes])


def dropout(x: Any, level: float, noise_shape: Any = None, seed: Any = None) -> Any:
    """Elements set to 0 at random, and the others scaled up."""
    seed = np.random.randint(10_000_000) if seed is None else seed
    rate: Any = level
    return ops.dropout(x, noise_shape=noise_shape, seed=seed, rate=rate)


def batch_normalization(
    x: Any, mean: Any, var: Any, beta: Any, gamma: Any, axis: int = -1, epsilon: float = 1e-3
) -> Any:
    """(x - mean) / sqrt(var + epsilon) · gamma + beta."""
    return ops.batch_normalization(x, mean, var, beta, gamma, epsilon)


def normalize_batch_in_training(
    x: Any, gamma: Any, beta: Any, reduction_axes: Any, epsilon: float = 1e-3
) -> tuple[Any, Any, Any]:
    """x with the moments of the batch taken out, and these: (x, mean, variance)."""
    mean, variance = ops.moments(x, list(reduction_axes))
    sizes = [1 if axis in reduction_axes else ops.shape(x)[axis] for axis in range(x.shape.ndims)]
    shape = ops.stack(sizes)
    spread: list[Any] = [None if v is None else ops.reshape(v, shape) for v in (mean, variance, beta, gamma)]
    m, v, offset, scale = spread
    return ops.batch_normalization(x, m, v, offset, scale, epsilon), mean, variance


def ctc_label_dense_to_sparse(labels: Any, label_lengths: Any) -> Any:
    """Labels as a sparse tensor, each row up to its length."""
    places = ops.cast(ops.where(ops.sequence_mask(label_lengths, ops.shape(labels)[1])), "int64")
    values = ops.gather_nd(labels, places)
    return ops.SparseTensor(places, values, ops.cast(ops.shape(labels), "int64"))


def ctc_batch_cost(y_true: Any, y_pred: Any, input_length: Any, label_length: Any) -> Any:
    """The CTC loss of each example."""
    label_length = ops.cast(ops.squeeze(label_length, axis=-1), "int32")
    input_length = ops.cast(ops.squeeze(input_length, axis=-1), "int32")
    labels = ops.cast(ctc_label_dense_to_sparse(y_true, label_length), "int32")
    scores = ops.log(ops.transpose(y_pred, perm=[1, 0, 2]) + 1e-7)
    return ops.expand_dims(ops.ctc_loss(inputs=scores, labels=labels, sequence_length=input_length), 1)


def ctc_decode(
    y_pred: Any, input_length: Any, greedy: bool = True, beam_width: int = 100, top_paths: int = 1
) -> tuple[Any, Any]:
    """The most likely labels: (dense, -1 where they end; log probabilities)."""
    scores = ops.log(ops.transpose(y_pred, perm=[1, 0, 2]) + 1e-7)
    lengths = ops.cast(input_length, "int32")
    if greedy:
        decoded, found = ops.ctc_greedy_decoder(inputs=scores, sequence_length=lengths)
    else:
        decoded, found = ops.ctc_beam_search_decoder(
            inputs=scores, sequence_length=lengths, beam_width=beam_width, top_paths=top_paths
        )
    return [ops.sparse_tensor_to_dense(x, default_value=-1) for x in decoded], found
