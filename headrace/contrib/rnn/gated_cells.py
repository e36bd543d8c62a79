"""Cells with gates of their own kind: tf.contrib.rnn.NASCell, UGRNNCell, IntersectionRNNCell, SRUCell,
MinimalRNNCell, CFNCell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.contrib.rnn.linear import known_depth, linear
from headrace.core.fields import reads
from headrace.functions.array.stacking import concat, split
from headrace.functions.linalg.linalg import matmul
from headrace.functions.math.elementwise import tanh
from headrace.functions.math.math import sigmoid
from headrace.functions.nn.activation import bias_add
from headrace.layers.engine.identifiers import get_activation, get_initializer
from headrace.layers.engine.input_spec import InputSpec
from headrace.layers.rnn.lstm_cells import LSTMStateTuple
from headrace.layers.rnn.rnn_cells import BIAS, KERNEL, LayerRNNCell, OneVector, RNNCell, zeros_of
from headrace.ops.nn.activation import relu
from headrace.variables.scope import get_variable_scope, variable_scope


class NASCell(LayerRNNCell):
    """The cell that a search among cells found (Zoph, Le 2017).

    Args:
      num_units: size of the memory.
      num_proj: size of the output, where it passes a linear map.
      use_bias: add a bias.
      reuse: take variables that are there.
      **kwargs: as of Layer.
    """

    def __init__(
        self,
        num_units: int,
        num_proj: int | None = None,
        use_bias: bool = False,
        reuse: bool | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(_reuse=reuse, **kwargs)
        self._num_units, self._num_proj, self._use_bias = num_units, num_proj, use_bias

    @property
    def state_size(self) -> Any:
        return LSTMStateTuple(self._num_units, self.output_size)

    @property
    def output_size(self) -> Any:
        return self._num_units if self._num_proj is None else self._num_proj

    def build(self, inputs_shape: Any) -> None:
        depth, width = self._depth(inputs_shape), 8 * self._num_units
        self.recurrent_kernel = self.add_variable("recurrent_kernel", [self.output_size, width])
        self.kernel = self.add_variable(KERNEL, [depth, width])
        if self._use_bias:
            zeros = zeros_of(self.dtype)
            self.bias = self.add_variable(BIAS, shape=[width], initializer=zeros)
        if self._num_proj is not None:
            shape = [self._num_units, self._num_proj]
            self.projection_weights = self.add_variable("projection_weights", shape)
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:  # type: ignore[override]
        c, m = state
        product = matmul(m, self.recurrent_kernel)
        if self._use_bias:
            product = bias_add(product, self.bias)
        ms = split(product, 8, 1)
        xs = split(matmul(inputs, self.kernel), 8, 1)
        first = tanh(sigmoid(xs[0] + ms[0]) * relu(xs[1] + ms[1]))
        second = tanh(sigmoid(xs[2] + ms[2]) + relu(xs[3] * ms[3]))
        third = tanh(tanh(xs[4] + ms[4]) * sigmoid(xs[5] + ms[5]))
        fourth = sigmoid(tanh(xs[6] + ms[6]) + sigmoid(xs[7] + ms[7]))
        c = tanh(first + c) * second
        m = tanh(c * tanh(third + fourth))
        if self._num_proj is not None:
            m = matmul(m, self.projection_weights)
        return m, LSTMStateTuple(c, m)


class UGRNNCell(OneVector, RNNCell):
    """A recurrent network with one gate, between keeping and computing (Collins et al. 2017).

    Args:
      num_units: size of the state.
      initializer: of the weights; default that of the variable scope.
      forget_bias: added to the gate, so that at first little is forgotten.
      activation: of the new state.
      reuse: take variables that are there.
    """

    def __init__(
        self,
        num_units: int,
        initializer: Callable[..., Any] | None = None,
        forget_bias: float = 1.0,
        activation: Callable[..., Any] = tanh,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._num_units, self._initializer = num_units, initializer
        self._forget_bias, self._activation = forget_bias, activation

    def call(self, inputs: Any, state: Any) -> Any:  # type: ignore[override]
        known_depth(inputs)
        with variable_scope(get_variable_scope(), initializer=self._initializer):
            gate, new = split(linear(concat([inputs, state], 1), 2 * self._num_units), 2, 1)
            gate = sigmoid(gate + self._forget_bias)
            state = gate * state + (1.0 - gate) * self._activation(new)
        return state, state


class IntersectionRNNCell(OneVector, RNNCell):
    """A recurrent network with one gate along time and one along depth (Collins et al. 2017).

    Args:
      num_units: size of the state, and of inputs and outputs.
      num_in_proj: where inputs have another size (in the first layer): num_units.
      initializer: of the weights; default that of the variable scope.
      forget_bias: added to the gates, so that at first little is forgotten.
      y_activation: of what goes along depth.
      reuse: take variables that are there.
    """

    def __init__(
        self,
        num_units: int,
        num_in_proj: int | None = None,
        initializer: Callable[..., Any] | None = None,
        forget_bias: float = 1.0,
        y_activation: Any = relu,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._num_units, self._num_in_proj = num_units, num_in_proj
        self._initializer, self._forget_bias = initializer, forget_bias
        self._y_activation = y_activation

    def call(self, inputs: Any, state: Any) -> Any:  # type: ignore[override]
        units = self._num_units
        with variable_scope(get_variable_scope(), initializer=self._initializer):
            if known_depth(inputs) != units:
                if not self._num_in_proj:
                    raise ValueError(
                        "Must have input size == output size for Intersection RNN. To fix, "
                        "num_in_proj should be set to num_units at cell init."
                    )
                with variable_scope("in_projection"):
                    inputs = linear(inputs, units)
            parts = split(linear(concat([inputs, state], 1), 4 * units), 4, 1)
            in_time, new_state, in_depth, new_output = parts
            in_time = sigmoid(in_time + self._forget_bias)
            in_depth = sigmoid(in_depth + self._forget_bias)
            state = in_time * state + (1.0 - in_time) * tanh(new_state)
            output = in_depth * inputs + (1.0 - in_depth) * self._y_activation(new_output)
        return output, state


class SRUCell(OneVector, LayerRNNCell):
    """The simple recurrent unit: no product with the old state (Lei et al. 2017).

    Args:
      num_units: size of the state.
      activation: tanh if not given.
      reuse: take variables that are there.
      name: name of the variable scope.
      **kwargs: as of Layer.
    """

    def __init__(
        self, num_units: int, activation: Any = None, reuse: Any = None, name: Any = None, **kwargs: Any
    ) -> None:
        super().__init__(_reuse=reuse, name=name, **kwargs)
        self._num_units, self._activation = num_units, activation or tanh
        self.input_spec = InputSpec(ndim=2)

    def build(self, inputs_shape: Any) -> None:
        depth, units = self._depth(inputs_shape), self._num_units
        self._kernel = self.add_variable(KERNEL, shape=[depth, 4 * units])
        self._bias = self.add_variable(BIAS, shape=[2 * units], initializer=zeros_of(self.dtype))
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:  # type: ignore[override]
        new, forget, reset, through = split(matmul(inputs, self._kernel), 4, 1)
        gates = sigmoid(bias_add(concat([forget, reset], 1), self._bias))
        forget, reset = split(gates, 2, 1)
        c = forget * state + (1.0 - forget) * new
        return reset * self._activation(c) + (1.0 - reset) * through, c


class _Named(LayerRNNCell):
    """A cell whose activation and initializers may be given by name."""

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "ones",
        name: Any = None,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, dtype=dtype, **kwargs)
        self.input_spec = InputSpec(ndim=2)
        self.units, self.activation = units, get_activation(activation)
        self.kernel_initializer = get_initializer(kernel_initializer)
        self.bias_initializer = get_initializer(bias_initializer)

    state_size: Any = reads("units")
    output_size: Any = reads("units")

    def _matrix(self, name: str, shape: list[int]) -> Any:
        return self.add_weight(name=name, shape=shape, initializer=self.kernel_initializer)

    def _vector(self, size: int) -> Any:
        return self.add_weight(name=BIAS, shape=[size], initializer=self.bias_initializer)


class MinimalRNNCell(_Named):
    """A gate between the old state and the input's image (Chen et al. 2018).  Arguments as of CFNCell."""

    def build(self, inputs_shape: Any) -> None:
        depth = self._depth(inputs_shape)
        self.kernel = self._matrix(KERNEL, [depth + 2 * self.units, self.units])
        self.bias = self._vector(self.units)
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:  # type: ignore[override]
        forward, gate = split(self.kernel, [known_depth(inputs), 2 * self.units], 0)
        image = self.activation(matmul(inputs, forward))
        update = sigmoid(bias_add(matmul(concat([image, state], 1), gate), self.bias))
        state = update * state + (1 - update) * image
        return state, state


class CFNCell(_Named):
    """A recurrent network without chaos (Laurent, von Brecht 2017).

    Args:
      units: size of the state.
      activation: function or its name.
      kernel_initializer: of the weights.
      bias_initializer: of the gates' bias.
      name: name of the variable scope.
      dtype: type of the variables; default that of the first input.
      **kwargs: as of Layer.
    """

    def build(self, inputs_shape: Any) -> None:
        depth, units = self._depth(inputs_shape), self.units
        self.kernel = self._matrix(KERNEL, [depth, 3 * units])
        self.recurrent_kernel = self._matrix(f"recurrent_{KERNEL}", [units, 2 * units])
        self.bias = self._vector(2 * units)
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:  # type: ignore[override]
        known_depth(inputs)
        to_gates, to_state = split(self.kernel, [2 * self.units, self.units], 1)
        gates = matmul(state, self.recurrent_kernel) + matmul(inputs, to_gates)
        forget, keep_out = split(sigmoid(bias_add(gates, self.bias)), 2, 1)
        image = self.activation(matmul(inputs, to_state))
        state = forget * self.activation(state) + (1 - keep_out) * image
        return state, state
