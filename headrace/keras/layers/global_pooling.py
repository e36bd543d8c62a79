"""Pooling over all of space."""

from __future__ import annotations

from typing import Any

from headrace.layers import ops
from headrace.layers.engine.config import image_data_format
from headrace.layers.engine.input_spec import InputSpec
from headrace.layers.engine.layer import Layer
from headrace.layers.engine.windows import format_name


class _Global(Layer):
    """What they share: one value per channel.

    Args:
      data_format: channels_last or channels_first.
      **kwargs: as of Layer.
    """

    _rank = 0
    _reduce: Any

    def __init__(self, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        default = "channels_last" if self._rank == 1 else image_data_format()
        self.data_format = format_name(data_format or default)
        self.input_spec = InputSpec(ndim=self._rank + 2)

    @property
    def _space(self) -> list[int]:
        first = 2 if self.data_format == "channels_first" else 1
        return list(range(first, first + self._rank))

    def compute_output_shape(self, input_shape: Any) -> Any:
        known = ops.as_shape(input_shape).as_list()
        return ops.as_shape([size for axis, size in enumerate(known) if axis not in self._space])

    def call(self, inputs: Any) -> Any:  # type: ignore[override]
        return type(self)._reduce(inputs, axis=self._space)

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {"data_format": self.data_format}


class GlobalAveragePooling1D(_Global):
    """The mean over time, of the steps that count."""

    _rank, _reduce = 1, ops.reduce_mean

    def __init__(self, data_format: str | None = "channels_last", **kwargs: Any) -> None:
        super().__init__(data_format, **kwargs)
        self.supports_masking = True

    def call(self, inputs: Any, mask: Any = None) -> Any:  # type: ignore[override]
        if mask is None:
            return super().call(inputs)
        (axis,) = self._space
        mask = ops.cast(mask, inputs.dtype)
        mask = ops.expand_dims(mask, 2 if self.data_format == "channels_last" else 1)
        return ops.reduce_sum(inputs * mask, axis=axis) / ops.reduce_sum(mask, axis=axis)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return None


class GlobalAveragePooling2D(_Global):
    """The mean over images."""

    _rank, _reduce = 2, ops.reduce_mean


class GlobalAveragePooling3D(_Global):
    """The mean over volumes."""

    _rank, _reduce = 3, ops.reduce_mean


class GlobalMaxPooling1D(_Global):
    """The maximum over time."""

    _rank, _reduce = 1, ops.reduce_max


class GlobalMaxPooling2D(_Global):
    """The maximum over images."""

    _rank, _reduce = 2, ops.reduce_max


class GlobalMaxPooling3D(_Global):
    """The maximum over volumes."""

    _rank, _reduce = 3, ops.reduce_max
