"""Pooling: the greatest or the mean of each window."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.core.shapes import Shape, as_shape
from headrace.functions.array.array import expand_dims, squeeze, transpose
from headrace.functions.nn.pool import avg_pool, avg_pool3d, max_pool, max_pool3d
from headrace.functions.nn.window import per_dimension
from headrace.layers.engine.input_spec import InputSpec
from headrace.layers.engine.layer import Layer
from headrace.layers.engine.windows import format_name, op_format, output_length, padding_name, sizes


class Pooling(Layer):
    """What all of them share.

    Args:
      pool_function: tf.nn's function for the tensors at hand.
      rank: how many dimensions space has.
      pool_size: size of the window.
      strides: how far it moves; default its size.
      padding: valid or same.
      data_format: channels_last or channels_first.
      name: name of the layer.
      **kwargs: as of Layer.
    """

    def __init__(
        self,
        pool_function: Callable[..., Any],
        rank: int,
        pool_size: Any,
        strides: Any,
        padding: str = "valid",
        data_format: str | None = "channels_last",
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, **kwargs)
        self._function, self._rank = pool_function, rank
        self.pool_size = sizes(pool_size, rank, "pool_size")
        self.strides = sizes(pool_size if strides is None else strides, rank, "strides")
        self.padding = padding_name(padding)
        self.data_format = format_name(data_format)
        self.input_spec = InputSpec(ndim=rank + 2)

    def _pooled(self, inputs: Any, window: Any, strides: Any, layout: str) -> Any:
        return self._function(
            inputs,
            ksize=per_dimension(window, len(window), layout, "ksize"),
            strides=per_dimension(strides, len(window), layout, "strides"),
            padding=self.padding.upper(),
            data_format=layout,
        )

    def compute_output_shape(self, input_shape: Any) -> Any:
        known = as_shape(input_shape).as_list()
        space = slice(2, None) if self.data_format == "channels_first" else slice(1, -1)
        windows = zip(known[space], self.pool_size, self.strides, strict=True)
        known[space] = [output_length(n, w, self.padding, s) for n, w, s in windows]
        return Shape(known)

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {
            "pool_size": self.pool_size,
            "padding": self.padding,
            "strides": self.strides,
            "data_format": self.data_format,
        }


class Pooling1D(Pooling):
    """Along one dimension: images of width 1."""

    def call(self, inputs: Any) -> Any:  # type: ignore[override]
        axis = 2 if self.data_format == "channels_last" else 3
        layout = op_format(self.data_format, 4)
        image = expand_dims(inputs, axis)
        return squeeze(self._pooled(image, (*self.pool_size, 1), (*self.strides, 1), layout), axis)


class Pooling2D(Pooling):
    """Of images."""

    def call(self, inputs: Any) -> Any:  # type: ignore[override]
        return self._pooled(inputs, self.pool_size, self.strides, op_format(self.data_format, 4))


class Pooling3D(Pooling):
    """Of volumes, always with channels last."""

    def call(self, inputs: Any) -> Any:  # type: ignore[override]
        first = self.data_format == "channels_first"
        if first:
            inputs = transpose(inputs, (0, 2, 3, 4, 1))
        outputs = self._pooled(inputs, self.pool_size, self.strides, "NDHWC")
        return transpose(outputs, (0, 4, 1, 2, 3)) if first else outputs


class MaxPooling1D(Pooling1D):
    """The greatest of each window along one dimension.  Arguments as of Pooling."""

    def __init__(self, pool_size: Any = 2, strides: Any = None, *args: Any, **kw: Any) -> None:
        super().__init__(max_pool, 1, pool_size, strides, *args, **kw)


class AveragePooling1D(Pooling1D):
    """The mean of each window along one dimension.  Arguments as of Pooling."""

    def __init__(self, pool_size: Any = 2, strides: Any = None, *args: Any, **kw: Any) -> None:
        super().__init__(avg_pool, 1, pool_size, strides, *args, **kw)


class MaxPooling2D(Pooling2D):
    """The greatest of each window of images.  Arguments as of Pooling."""

    def __init__(self, pool_size: Any = (2, 2), strides: Any = None, *args: Any, **kw: Any) -> None:
        super().__init__(max_pool, 2, pool_size, strides, *args, **kw)


class AveragePooling2D(Pooling2D):
    """The mean of each window of images.  Arguments as of Pooling."""

    def __init__(self, pool_size: Any = (2, 2), strides: Any = None, *args: Any, **kw: Any) -> None:
        super().__init__(avg_pool, 2, pool_size, strides, *args, **kw)


class MaxPooling3D(Pooling3D):
    """The greatest of each window of volumes.  Arguments as of Pooling."""

    def __init__(self, pool_size: Any = (2, 2, 2), strides: Any = None, *args: Any, **kw: Any) -> None:
        super().__init__(max_pool3d, 3, pool_size, strides, *args, **kw)


class AveragePooling3D(Pooling3D):
    """The mean of each window of volumes.  Arguments as of Pooling."""

    def __init__(self, pool_size: Any = (2, 2, 2), strides: Any = None, *args: Any, **kw: Any) -> None:
        super().__init__(avg_pool3d, 3, pool_size, strides, *args, **kw)
