"""tf.layers: pooling, and its functions."""

from __future__ import annotations

from typing import Any

from headrace.layers.engine.base import Layer
from headrace.layers.engine.functional import function_of
from headrace.layers.keras import pooling


class AveragePooling1D(pooling.AveragePooling1D, Layer):
    """The mean of each window along one dimension.

    Args:
      pool_size: size of the window.
      strides: how far it moves.
      padding: valid or same.
      data_format: channels_last or channels_first.
      name: name of the layer.
      **kwargs: as of Layer.
    """

    def __init__(
        self,
        pool_size: Any,
        strides: Any,
        padding: str = "valid",
        data_format: str = "channels_last",
        name: Any = None,
        **kwargs: Any,
    ) -> None:
        if strides is None:
            raise ValueError("Argument `strides` must not be None.")
        super().__init__(pool_size, strides, padding, data_format, name, **kwargs)


class AveragePooling2D(pooling.AveragePooling2D, Layer):
    """The mean of each window of images.

    Args:
      pool_size: size of the window.
      strides: how far it moves.
      padding: valid or same.
      data_format: channels_last or channels_first.
      name: name of the layer.
      **kwargs: as of Layer.
    """

    def __init__(
        self,
        pool_size: Any,
        strides: Any,
        padding: str = "valid",
        data_format: str = "channels_last",
        name: Any = None,
        **kwargs: Any,
    ) -> None:
        if strides is None:
            raise ValueError("Argument `strides` must not be None.")
        super().__init__(pool_size, strides, padding, data_format, name, **kwargs)


class AveragePooling3D(pooling.AveragePooling3D, Layer):
    """The mean of each window of volumes.

    Args:
      pool_size: size of the window.
      strides: how far it moves.
      padding: valid or same.
      data_format: channels_last or channels_first.
      name: name of the layer.
      **kwargs: as of Layer.
    """

    def __init__(
        self,
        pool_size: Any,
        strides: Any,
        padding: str = "valid",
        data_format: str = "channels_last",
        name: Any = None,
        **kwargs: Any,
    ) -> None:
        if strides is None:
            raise ValueError("Argument `strides` must not be None.")
        super().__init__(pool_size, strides, padding, data_format, name, **kwargs)


class MaxPooling1D(pooling.MaxPooling1D, Layer):
    """The greatest of each window along one dimension.

    Args:
      pool_size: size of the window.
      strides: how far it moves.
      padding: valid or same.
      data_format: channels_last or channels_first.
      name: name of the layer.
      **kwargs: as of Layer.
    """

    def __init__(
        self,
        pool_size: Any,
        strides: Any,
        padding: str = "valid",
        data_format: str = "channels_last",
        name: Any = None,
        **kwargs: Any,
    ) -> None:
        if strides is None:
            raise ValueError("Argument `strides` must not be None.")
        super().__init__(pool_size, strides, padding, data_format, name, **kwargs)


class MaxPooling2D(pooling.MaxPooling2D, Layer):
    """The greatest of each window of images.

    Args:
      pool_size: size of the window.
      strides: how far it moves.
      padding: valid or same.
      data_format: channels_last or channels_first.
      name: name of the layer.
      **kwargs: as of Layer.
    """

    def __init__(
        self,
        pool_size: Any,
        strides: Any,
        padding: str = "valid",
        data_format: str = "channels_last",
        name: Any = None,
        **kwargs: Any,
    ) -> None:
        if strides is None:
            raise ValueError("Argument `strides` must not be None.")
        super().__init__(pool_size, strides, padding, data_format, name, **kwargs)


class MaxPooling3D(pooling.MaxPooling3D, Layer):
    """The greatest of each window of volumes.

    Args:
      pool_size: size of the window.
      strides: how far it moves.
      padding: valid or same.
      data_format: channels_last or channels_first.
      name: name of the layer.
      **kwargs: as of Layer.
    """

    def __init__(
        self,
        pool_size: Any,
        strides: Any,
        padding: str = "valid",
        data_format: str = "channels_last",
        name: Any = None,
        **kwargs: Any,
    ) -> None:
        if strides is None:
            raise ValueError("Argument `strides` must not be None.")
        super().__init__(pool_size, strides, padding, data_format, name, **kwargs)


average_pooling1d = function_of(AveragePooling1D, "average_pooling1d", shares=False)
average_pooling2d = function_of(AveragePooling2D, "average_pooling2d", shares=False)
average_pooling3d = function_of(AveragePooling3D, "average_pooling3d", shares=False)
max_pooling1d = function_of(MaxPooling1D, "max_pooling1d", shares=False)
max_pooling2d = function_of(MaxPooling2D, "max_pooling2d", shares=False)
max_pooling3d = function_of(MaxPooling3D, "max_pooling3d", shares=False)
