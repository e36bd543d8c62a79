"""Separable convolutions: first each channel by itself, then the channels with each other."""

from __future__ import annotations

from typing import Any

from headrace.functions.array.array import expand_dims, squeeze
from headrace.functions.array.tiling import pad
from headrace.functions.nn.activation import bias_add
from headrace.functions.nn.atrous import separable_conv2d
from headrace.functions.nn.window import per_dimension
from headrace.layers.engine.windows import op_format
from headrace.layers.keras.convolutional import Conv


class SeparableConv(Conv):
    """What separable convolutions share.

    Args:
      rank: how many dimensions space has.
      filters: how many channels come out.
      kernel_size: size of the window.
      strides, padding, data_format, dilation_rate, activation, use_bias: as of Conv.
      depth_multiplier: how many channels each channel becomes in the first step.
      depthwise_initializer, pointwise_initializer, bias_initializer: initializers, or their names.
      depthwise_regularizer, pointwise_regularizer, bias_regularizer: from a variable to a loss.
      activity_regularizer: function from the output to a loss.
      depthwise_constraint, pointwise_constraint, bias_constraint: applied to the new value.
      **kwargs: as of Layer.
    """

    def __init__(
        self,
        rank: int,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        data_format: str | None = None,
        dilation_rate: Any = 1,
        depth_multiplier: int = 1,
        activation: Any = None,
        use_bias: bool = True,
        depthwise_initializer: Any = "glorot_uniform",
        pointwise_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        depthwise_regularizer: Any = None,
        pointwise_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        depthwise_constraint: Any = None,
        pointwise_constraint: Any = None,
        bias_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            rank,
            filters,
            kernel_size,
            strides=strides,
            padding=padding,
            data_format=data_format,
            dilation_rate=dilation_rate,
            activation=activation,
            use_bias=use_bias,
            activity_regularizer=activity_regularizer,
            **kwargs,
        )
        self.depth_multiplier = depth_multiplier
        self._set_roles(
            depthwise=(depthwise_initializer, depthwise_regularizer, depthwise_constraint),
            pointwise=(pointwise_initializer, pointwise_regularizer, pointwise_constraint),
            bias=(bias_initializer, bias_regularizer, bias_constraint),
        )

    def build(self, input_shape: Any) -> None:
        channels = self._channels(input_shape)
        self.depthwise_kernel = self._role_weight(
            "depthwise", (*self.kernel_size, channels, self.depth_multiplier), "depthwise_kernel"
        )
        ones = (1,) * self.rank
        self.pointwise_kernel = self._role_weight(
            "pointwise", (*ones, channels * self.depth_multiplier, self.filters), "pointwise_kernel"
        )
        self._build_bias()
        self.built = True

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {"depth_multiplier": self.depth_multiplier}

    def _separated(self, inputs: Any, depthwise: Any, pointwise: Any, rates: Any) -> Any:
        """The convolution of images, with bias."""
        layout = op_format(self.data_format, 4)
        steps = self.strides * (2 // self.rank)
        outputs = separable_conv2d(
            inputs,
            depthwise,
            pointwise,
            strides=per_dimension(steps, 2, layout, "strides"),
            padding=self._op_padding,
            rate=rates,
            data_format=layout,
        )
        return bias_add(outputs, self.bias, data_format=layout) if self.use_bias else outputs


class SeparableConv1D(SeparableConv):
    """Along one dimension.  Arguments as of SeparableConv, without `rank`."""

    _causal = True

    def __init__(self, filters: int, kernel_size: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(1, filters, kernel_size, *args, **kwargs)

    def call(self, inputs: Any) -> Any:  # type: ignore[override]
        if self.padding == "causal":
            inputs = pad(inputs, self._causal_padding())
        axis = 2 if self.data_format == "channels_first" else 1
        outputs = self._separated(
            expand_dims(inputs, axis),
            expand_dims(self.depthwise_kernel, 0),
            expand_dims(self.pointwise_kernel, 0),
            (1, *self.dilation_rate),
        )
        return self.activation(squeeze(outputs, [axis]))


class SeparableConv2D(SeparableConv):
    """Of images.  Arguments as of SeparableConv, without `rank`."""

    def __init__(
        self, filters: int, kernel_size: Any, strides: Any = (1, 1), *args: Any, **kwargs: Any
    ) -> None:
        super().__init__(2, filters, kernel_size, strides, *args, **kwargs)

    def call(self, inputs: Any) -> Any:  # type: ignore[override]
        outputs = self._separated(inputs, self.depthwise_kernel, self.pointwise_kernel, self.dilation_rate)
        return self.activation(outputs)
