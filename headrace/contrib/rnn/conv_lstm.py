"""LSTMs whose maps are convolutions: tf.contrib.rnn.ConvLSTMCell, Conv1DLSTMCell, Conv2DLSTMCell,
Conv3DLSTMCell."""

from __future__ import annotations

from typing import Any

from headrace.core.shapes import as_shape
from headrace.functions.array.stacking import concat, split
from headrace.functions.math.elementwise import tanh
from headrace.functions.math.math import sigmoid
from headrace.functions.nn.conv import conv1d, conv2d, conv3d
from headrace.layers.rnn.lstm_cells import LSTMStateTuple
from headrace.layers.rnn.rnn_cells import KERNEL, RNNCell
from headrace.variables.initializers.initializers import Constant
from headrace.variables.scope import get_variable


class ConvLSTMCell(RNNCell):
    """An LSTM over images or other grids (Shi et al. 2015).

    Args:
      conv_ndims: 1, 2 or 3.
      input_shape: of an input, without the batch.
      output_channels: channels of memory and output.
      kernel_shape: sizes of the convolution's window.
      use_bias: add a bias.
      skip_connection: inputs are more channels of the output.
      forget_bias: added to the forget gate, so that at first little is forgotten.
      initializers: accepted; the variable scope's is used.
      name: name of the variable scope.

    Raises:
      ValueError: `input_shape` does not fit `conv_ndims`.
    """

    def __init__(
        self,
        conv_ndims: int,
        input_shape: Any,
        output_channels: int,
        kernel_shape: Any,
        use_bias: bool = True,
        skip_connection: bool = False,
        forget_bias: float = 1.0,
        initializers: Any = None,
        name: str = "conv_lstm_cell",
    ) -> None:
        super().__init__(name=name)
        if conv_ndims != len(input_shape) - 1:
            raise ValueError(f"Invalid input_shape {input_shape} for conv_ndims={conv_ndims}.")
        self._conv_ndims, self._input_shape = conv_ndims, list(input_shape)
        self._channels, self._kernel_shape = output_channels, list(kernel_shape)
        self._use_bias, self._skip_connection = use_bias, skip_connection
        self._forget_bias = forget_bias

    @property
    def output_size(self) -> Any:
        more = self._input_shape[-1] if self._skip_connection else 0
        return as_shape([*self._input_shape[:-1], self._channels + more])

    @property
    def state_size(self) -> Any:
        size = as_shape([*self._input_shape[:-1], self._channels])
        return LSTMStateTuple(size, size)

    def call(self, inputs: Any, state: Any, scope: Any = None) -> Any:  # type: ignore[override]
        c, h = state
        axis = self._conv_ndims + 1
        i, j, f, o = split(self._convolved(concat([inputs, h], axis)), 4, axis)
        c = sigmoid(f + self._forget_bias) * c + sigmoid(i) * tanh(j)
        output = tanh(c) * sigmoid(o)
        if self._skip_connection:
            output = concat([output, inputs], axis)
        return output, LSTMStateTuple(c, output)

    def _convolved(self, x: Any) -> Any:
        rank = x.shape.rank
        if rank not in (3, 4, 5):
            raise ValueError(f"Conv Linear expects 3D, 4D or 5D arguments: {x.shape}")
        width = 4 * self._channels
        shape = [*self._kernel_shape, x.shape.dim(-1), width]
        kernel = get_variable(KERNEL, shape, dtype=x.dtype)
        convolve: Any
        convolve, strides = {3: (conv1d, 1), 4: (conv2d, [1] * 4), 5: (conv3d, [1] * 5)}[rank]
        found = convolve(x, kernel, strides, padding="SAME")
        if not self._use_bias:
            return found
        start = Constant(0.0, dtype=x.dtype)
        return found + get_variable("biases", [width], dtype=x.dtype, initializer=start)


class Conv1DLSTMCell(ConvLSTMCell):
    """ConvLSTMCell over sequences."""

    def __init__(self, name: Any = "conv_1d_lstm_cell", **kwargs: Any) -> None:
        super().__init__(conv_ndims=1, name=name, **kwargs)


class Conv2DLSTMCell(ConvLSTMCell):
    """ConvLSTMCell over images."""

    def __init__(self, name: Any = "conv_2d_lstm_cell", **kwargs: Any) -> None:
        super().__init__(conv_ndims=2, name=name, **kwargs)


class Conv3DLSTMCell(ConvLSTMCell):
    """ConvLSTMCell over volumes."""

    def __init__(self, name: Any = "conv_3d_lstm_cell", **kwargs: Any) -> None:
        super().__init__(conv_ndims=3, name=name, **kwargs)
