"""DepthwiseConv2D: a convolution of each channel by itself."""

from __future__ import annotations

from typing import Any

from headrace.keras.backend.nn import depthwise_conv2d
from headrace.layers import ops
from headrace.layers.engine.windows import output_length
from headrace.layers.keras.convolutional import Conv2D


class DepthwiseConv2D(Conv2D):
    """A convolution of each channel by itself.

    Args:
      kernel_size: size of the window.
      strides: how far it moves.
      padding: valid or same.
      depth_multiplier: how many channels each channel becomes.
      data_format: channels_last or channels_first.
      activation: function of the output, or its name.
      use_bias: add a bias?
      depthwise_initializer, bias_initializer: initializers, or their names.
      depthwise_regularizer, bias_regularizer: functions from a variable to a loss.
      activity_regularizer: function from the output to a loss.
      depthwise_constraint, bias_constraint: functions that optimizers apply to the new value.
      **kwargs: as of Layer.
    """

    def __init__(
        self,
        kernel_size: Any,
        strides: Any = (1, 1),
        padding: str = "valid",
        depth_multiplier: int = 1,
        data_format: str | None = None,
        activation: Any = None,
        use_bias: bool = True,
        depthwise_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        depthwise_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        depthwise_constraint: Any = None,
        bias_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            0,
            kernel_size,
            strides=strides,
            padding=padding,
            data_format=data_format,
            activation=activation,
            use_bias=use_bias,
            activity_regularizer=activity_regularizer,
            **kwargs,
        )
        self.depth_multiplier = depth_multiplier
        self._set_roles(
            depthwise=(depthwise_initializer, depthwise_regularizer, depthwise_constraint),
            bias=(bias_initializer, bias_regularizer, bias_constraint),
        )

    def build(self, input_shape: Any) -> None:
        if len(ops.as_shape(input_shape).as_list()) < 4:
            raise ValueError(
                f"Inputs to `DepthwiseConv2D` should have rank 4. Received input shape: {input_shape}"
            )
        channels = self._channels(input_shape)
        shape = (*self.kernel_size, channels, self.depth_multiplier)
        self.depthwise_kernel = self._role_weight("depthwise", shape, "depthwise_kernel")
        self.filters = channels * self.depth_multiplier
        self._build_bias()
        self.built = True

    def call(self, inputs: Any) -> Any:  # type: ignore[override]
        outputs = depthwise_conv2d(
            inputs, self.depthwise_kernel, self.strides, self.padding, self.data_format, self.dilation_rate
        )
        return self.activation(self._with_bias(outputs))

    def compute_output_shape(self, input_shape: Any) -> Any:
        found = ops.as_shape(input_shape).as_list()
        windows = zip(found[self._space], self.kernel_size, self.strides)
        found[self._space] = [output_length(n, size, self.padding, step) for n, size, step in windows]
        channels = found[self._channel_axis]
        found[self._channel_axis] = None if channels is None else channels * self.depth_multiplier
        return ops.as_shape(found)

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        config.pop("filters")
        return config | {"depth_multiplier": self.depth_multiplier}
