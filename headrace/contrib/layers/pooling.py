"""tf.contrib.layers: pooling."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from headrace.contrib.framework.arg_scope import add_arg_scope
from headrace.contrib.layers.named_outputs import collect_named_outputs, n_positive_integers, op_format
from headrace.core.families import named
from headrace.functions.nn.pool import pool as nn_pool
from headrace.functions.values.structure import name_scope
from headrace.layers import pooling
from headrace.ops.declaration.convert import convert_to_tensor


def _pooling(layer_class: Any, formats: tuple[str, str], name: str, default: str, doc: str) -> Any:
    @add_arg_scope
    @named(name, doc)
    def function(
        inputs: Any,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] = 2,
        padding: str = "VALID",
        data_format: str = formats[0],
        outputs_collections: str | Iterable[str] | None = None,
        scope: Any = None,
    ) -> Any:
        if data_format not in formats:
            raise ValueError(f"data_format has to be either {formats[1]} or {formats[0]}.")
        with name_scope(scope, default, [inputs]) as sc:
            inputs = convert_to_tensor(inputs)
            layer = layer_class(kernel_size, stride, padding, data_format=op_format(data_format), _scope=sc)
            return collect_named_outputs(outputs_collections, sc, layer(inputs))

    return function


_IMAGES, _VOLUMES = ("NHWC", "NCHW"), ("NDHWC", "NCDHW")

avg_pool2d = _pooling(
    pooling.AveragePooling2D, _IMAGES, "avg_pool2d", "AvgPool2D", "The mean of each window of images."
)
max_pool2d = _pooling(
    pooling.MaxPooling2D, _IMAGES, "max_pool2d", "MaxPool2D", "The greatest of each window of images."
)
avg_pool3d = _pooling(
    pooling.AveragePooling3D, _VOLUMES, "avg_pool3d", "AvgPool3D", "The mean of each window of volumes."
)
max_pool3d = _pooling(
    pooling.MaxPooling3D, _VOLUMES, "max_pool3d", "MaxPool3D", "The greatest of each window of volumes."
)


@add_arg_scope
def pool(
    inputs: Any,
    kernel_size: int | Sequence[int],
    pooling_type: str,
    padding: str = "VALID",
    data_format: str | None = None,
    dilation_rate: int | Sequence[int] = 1,
    stride: int | Sequence[int] = 1,
    outputs_collections: str | Iterable[str] | None = None,
    scope: Any = None,
) -> Any:
    """Pooling in as many dimensions as the inputs have; `pooling_type` is AVG or MAX.

    Raises:
      ValueError: the rank is unknown or below 3.
    """
    with name_scope(scope, f"{pooling_type.lower()}_pool", [inputs]) as sc:
        inputs = convert_to_tensor(inputs)
        rank = inputs.shape.ndims
        if rank is None:
            raise ValueError("Rank of inputs must be known")
        if rank < 3:
            raise ValueError("Rank of inputs must be >= 3")
        outputs = nn_pool(
            inputs,
            window_shape=n_positive_integers(rank - 2, kernel_size),
            pooling_type=pooling_type,
            padding=padding,
            data_format=data_format,
            dilation_rate=n_positive_integers(rank - 2, dilation_rate),
            strides=n_positive_integers(rank - 2, stride),
            name=sc,
        )
        return collect_named_outputs(outputs_collections, sc, outputs)
