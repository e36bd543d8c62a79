"""Transposed convolutions: from what a convolution gives to something of the shape it takes."""

from __future__ import annotations

from typing import Any

from headrace.core.shapes import Shape, as_shape
from headrace.functions.array.array import shape
from headrace.functions.array.stacking import stack
from headrace.functions.nn.activation import bias_add
from headrace.functions.nn.transpose import atrous_conv2d_transpose, conv2d_transpose, conv3d_transpose
from headrace.functions.nn.window import per_dimension
from headrace.layers.engine.windows import op_format, sizes, transposed_length
from headrace.layers.keras.convolutional import Conv


class ConvTranspose(Conv):
    """What transposed convolutions share.

    Args:
      rank: how many dimensions space has.
      filters: how many channels come out.
      kernel_size: size of the window.
      output_padding: how much longer the output is on one side; default what fits the input.
      **kwargs: as of Conv.
    """

    def __init__(self, rank: int, filters: int, kernel_size: Any, output_padding: Any, **kwargs: Any) -> None:
        super().__init__(rank, filters, kernel_size, **kwargs)
        self.output_padding = output_padding
        if output_padding is not None:
            self.output_padding = sizes(output_padding, rank, "output_padding")
            if any(e >= s for e, s in zip(self.output_padding, self.strides, strict=True)):
                raise ValueError(
                    f"Stride {self.strides} must be greater than output padding {self.output_padding}"
                )

    def build(self, input_shape: Any) -> None:
        known = as_shape(input_shape)
        if known.ndims != self.rank + 2:
            raise ValueError(f"Inputs should have rank {self.rank + 2}. Received input shape: {known}")
        channels = self._channels(known)
        self.kernel = self._role_weight("kernel", (*self.kernel_size, self.filters, channels))
        self._build_bias()
        self.built = True

    def _lengths(self, space: Any) -> list[Any]:
        extra = self.output_padding or (None,) * self.rank
        return [
            transposed_length(size, window, self.padding, stride, more, rate)
            for size, window, stride, more, rate in zip(
                space, self.kernel_size, self.strides, extra, self.dilation_rate, strict=True
            )
        ]

    def call(self, inputs: Any) -> Any:  # type: ignore[override]
        known = shape(inputs)
        first = self.data_format == "channels_first"
        places = range(2, self.rank + 2) if first else range(1, self.rank + 1)
        batch = known[0]
        space = self._lengths([known[i] for i in places])
        whole = stack([batch, self.filters, *space] if first else [batch, *space, self.filters])
        outputs = self._transposed(inputs, whole, op_format(self.data_format, self.rank + 2))
        outputs.set_shape(self.compute_output_shape(inputs.shape))
        if self.use_bias:
            layout = op_format(self.data_format, 4)
            outputs = bias_add(outputs, self.bias, data_format=layout)
        return self.activation(outputs)

    def _transposed(self, inputs: Any, whole: Any, layout: str) -> Any:
        """The transposed convolution itself, to the shape `whole`."""
        raise NotImplementedError

    def compute_output_shape(self, input_shape: Any) -> Any:
        known = as_shape(input_shape).as_list()
        known[self._space] = self._lengths(known[self._space])
        known[self._channel_axis] = self.filters
        return Shape(known)

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {"output_padding": self.output_padding}


class Conv2DTranspose(ConvTranspose):
    """The transpose of Conv2D.  Arguments as of Conv, and `output_padding`."""

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = (1, 1),
        padding: str = "valid",
        output_padding: Any = None,
        data_format: str | None = None,
        dilation_rate: Any = (1, 1),
        **kwargs: Any,
    ) -> None:
        kwargs |= {"strides": strides, "padding": padding, "data_format": data_format}
        super().__init__(2, filters, kernel_size, output_padding, dilation_rate=dilation_rate, **kwargs)

    def _transposed(self, inputs: Any, whole: Any, layout: str) -> Any:
        if self.dilation_rate != (1, 1):
            rate = self.dilation_rate[0]
            return atrous_conv2d_transpose(inputs, self.kernel, whole, rate=rate, padding=self._op_padding)
        steps = per_dimension(self.strides, 2, layout, "strides")
        return conv2d_transpose(
            inputs, self.kernel, whole, steps, padding=self._op_padding, data_format=layout
        )


class Conv3DTranspose(ConvTranspose):
    """The transpose of Conv3D.  Arguments as of Conv, and `output_padding`; no holes."""

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = (1, 1, 1),
        padding: str = "valid",
        output_padding: Any = None,
        data_format: str | None = None,
        **kwargs: Any,
    ) -> None:
        kwargs |= {"strides": strides, "padding": padding, "data_format": data_format}
        super().__init__(3, filters, kernel_size, output_padding, **kwargs)

    def _transposed(self, inputs: Any, whole: Any, layout: str) -> Any:
        steps = per_dimension(self.strides, 3, layout, "strides")
        return conv3d_transpose(
            inputs, self.kernel, whole, steps, padding=self._op_padding, data_format=layout
        )

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        del config["dilation_rate"]
        return config
