"""Convolutions: plain, with holes, causal."""

from __future__ import annotations

from typing import Any

from headrace.core.shapes import Shape, as_shape
from headrace.functions.array.array import reshape
from headrace.functions.array.tiling import pad
from headrace.functions.nn.activation import bias_add
from headrace.functions.nn.atrous import correlate
from headrace.functions.nn.window import per_dimension
from headrace.layers.engine.identifiers import get_activation, get_regularizer
from headrace.layers.engine.input_spec import InputSpec
from headrace.layers.engine.windows import format_name, op_format, output_length, padding_name, sizes
from headrace.layers.keras.roles import RoleLayer


class Conv(RoleLayer):
    """What convolutions in 1, 2 and 3 dimensions share.

    Args:
      rank: how many dimensions space has.
      filters: how many channels come out.
      kernel_size: size of the window.
      strides: how far it moves.
      padding: valid, same, or in one dimension causal.
      data_format: channels_last or channels_first.
      dilation_rate: how far the elements of the window are apart.
      activation: function of the output, or its name.
      use_bias: add a bias?
      kernel_initializer, bias_initializer: initializers, or their names.
      kernel_regularizer, bias_regularizer: functions from a variable to a loss.
      activity_regularizer: function from the output to a loss.
      kernel_constraint, bias_constraint: functions that optimizers apply to the new value.
      **kwargs: as of Layer.
    """

    _causal = False  # may the padding be causal?

    def __init__(
        self,
        rank: int,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        data_format: str | None = None,
        dilation_rate: Any = 1,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        trainable: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            trainable=trainable,
            name=name,
            activity_regularizer=get_regularizer(activity_regularizer),
            **kwargs,
        )
        self.rank, self.filters, self.use_bias = rank, filters, use_bias
        self.kernel_size = sizes(kernel_size, rank, "kernel_size")
        self.strides = sizes(strides, rank, "strides")
        self.padding = padding_name(padding)
        if self.padding == "causal" and not self._causal:
            raise ValueError("Causal padding is only supported for `Conv1D`and ``SeparableConv1D`.")
        self.data_format = format_name(data_format)
        self.dilation_rate = sizes(dilation_rate, rank, "dilation_rate")
        self.activation = get_activation(activation)
        self._set_roles(
            kernel=(kernel_initializer, kernel_regularizer, kernel_constraint),
            bias=(bias_initializer, bias_regularizer, bias_constraint),
        )
        self.input_spec = InputSpec(ndim=rank + 2)

    # -- geometry ------------------------------------------------------------------------------
    @property
    def _channel_axis(self) -> int:
        return 1 if self.data_format == "channels_first" else -1

    @property
    def _space(self) -> slice:
        """Where the dimensions of space stand in a shape."""
        return slice(2, None) if self.data_format == "channels_first" else slice(1, -1)

    def _channels(self, input_shape: Any) -> int:
        """How many channels come in; inputs must have as many from now on."""
        channels = as_shape(input_shape).dim(self._channel_axis)
        if channels is None:
            raise ValueError("The channel dimension of the inputs should be defined. Found `None`.")
        self.input_spec = InputSpec(ndim=self.rank + 2, axes={self._channel_axis: channels})
        return channels

    def _causal_padding(self) -> list[list[int]]:
        left = self.dilation_rate[0] * (self.kernel_size[0] - 1)
        pads = [[0, 0], [0, 0], [0, 0]]
        pads[2 if self.data_format == "channels_first" else 1] = [left, 0]
        return pads

    @property
    def _op_padding(self) -> str:
        return "VALID" if self.padding == "causal" else self.padding.upper()

    # -- the layer -----------------------------------------------------------------------------
    def build(self, input_shape: Any) -> None:
        channels = self._channels(input_shape)
        self.kernel = self._role_weight("kernel", (*self.kernel_size, channels, self.filters))
        self._build_bias()
        self.built = True

    def _build_bias(self) -> None:
        self.bias = self._role_weight("bias", (self.filters,)) if self.use_bias else None

    def call(self, inputs: Any) -> Any:  # type: ignore[override]
        if self.padding == "causal":
            inputs = pad(inputs, self._causal_padding())
        layout = op_format(self.data_format, self.rank + 2)
        outputs = correlate(
            inputs,
            self.kernel,
            self._op_padding,
            per_dimension(self.strides, self.rank, layout, "strides"),
            per_dimension(self.dilation_rate, self.rank, layout, "dilations"),
            layout,
        )
        return self.activation(self._with_bias(outputs))

    def _with_bias(self, outputs: Any) -> Any:
        if not self.use_bias:
            return outputs
        if self.data_format == "channels_last":
            return bias_add(outputs, self.bias, data_format="NHWC")
        if self.rank == 1:
            return outputs + reshape(self.bias, (1, self.filters, 1))
        return bias_add(outputs, self.bias, data_format="NCHW")

    def compute_output_shape(self, input_shape: Any) -> Any:
        known = as_shape(input_shape).as_list()
        windows = zip(self.kernel_size, self.strides, self.dilation_rate, strict=True)
        known[self._space] = [
            output_length(size, window, self.padding, stride, rate)
            for size, (window, stride, rate) in zip(known[self._space], windows, strict=True)
        ]
        known[self._channel_axis] = self.filters
        return Shape(known)

    def get_config(self) -> dict[str, Any]:
        return self._config(
            "filters", "kernel_size", "strides", "padding", "data_format", "dilation_rate", "use_bias"
        )


class Conv1D(Conv):
    """Convolution along one dimension.  Arguments as of Conv, without `rank`."""

    _causal = True

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        data_format: str | None = "channels_last",
        *args: Any,
        **kwargs: Any,
    ) -> None:
        super().__init__(1, filters, kernel_size, strides, padding, data_format, *args, **kwargs)


class Conv2D(Conv):
    """Convolution of images.  Arguments as of Conv, without `rank`."""

    def __init__(
        self, filters: int, kernel_size: Any, strides: Any = (1, 1), *args: Any, **kwargs: Any
    ) -> None:
        super().__init__(2, filters, kernel_size, strides, *args, **kwargs)


class Conv3D(Conv):
    """Convolution of volumes.  Arguments as of Conv, without `rank`."""

    def __init__(
        self, filters: int, kernel_size: Any, strides: Any = (1, 1, 1), *args: Any, **kwargs: Any
    ) -> None:
        super().__init__(3, filters, kernel_size, strides, *args, **kwargs)
