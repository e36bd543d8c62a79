"""tf.layers: pooling, and its functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core.families import documented
from headrace.layers.engine.base import Layer
from headrace.layers.engine.functional import function_of
from headrace.layers.keras import pooling

_arguments = documented("""
    Args:
      pool_size: size of the window.
      strides: how far it moves.
      padding: valid or same.
      data_format: channels_last or channels_first.
      name: name of the layer.
      **kwargs: as of Layer.
""")


class _Pooling:
    """What they take: unlike Keras's layers, no default for the window and its strides."""

    def __init__(
        self,
        pool_size: Any,
        strides: int | Sequence[int] | None,
        padding: str = "valid",
        data_format: str = "channels_last",
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        if strides is None:
            raise ValueError("Argument `strides` must not be None.")
        super().__init__(pool_size, strides, padding, data_format, name, **kwargs)  # type: ignore[call-arg]


@_arguments
class AveragePooling1D(_Pooling, pooling.AveragePooling1D, Layer):
    """The mean of each window along one dimension."""


@_arguments
class AveragePooling2D(_Pooling, pooling.AveragePooling2D, Layer):
    """The mean of each window of images."""


@_arguments
class AveragePooling3D(_Pooling, pooling.AveragePooling3D, Layer):
    """The mean of each window of volumes."""


@_arguments
class MaxPooling1D(_Pooling, pooling.MaxPooling1D, Layer):
    """The greatest of each window along one dimension."""


@_arguments
class MaxPooling2D(_Pooling, pooling.MaxPooling2D, Layer):
    """The greatest of each window of images."""


@_arguments
class MaxPooling3D(_Pooling, pooling.MaxPooling3D, Layer):
    """The greatest of each window of volumes."""


average_pooling1d = function_of(AveragePooling1D, "average_pooling1d", shares=False)
average_pooling2d = function_of(AveragePooling2D, "average_pooling2d", shares=False)
average_pooling3d = function_of(AveragePooling3D, "average_pooling3d", shares=False)
max_pooling1d = function_of(MaxPooling1D, "max_pooling1d", shares=False)
max_pooling2d = function_of(MaxPooling2D, "max_pooling2d", shares=False)
max_pooling3d = function_of(MaxPooling3D, "max_pooling3d", shares=False)
