"""Several small LSTMs as one: tf.contrib.rnn.GLSTMCell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.contrib.rnn.linear import linear
from headrace.functions.array.stacking import concat, split
from headrace.functions.math.elementwise import tanh
from headrace.functions.math.math import sigmoid
from headrace.functions.nn.activation import bias_add
from headrace.layers.rnn.lstm_cells import LSTMStateTuple
from headrace.layers.rnn.rnn_cells import RNNCell
from headrace.variables.initializers.initializers import Constant
from headrace.variables.scope import get_variable, get_variable_scope, variable_scope


class GLSTMCell(RNNCell):
    """An LSTM in groups, each of which sees a part of the input and of the output (Kuchaiev, Ginsburg
    2017).

    Args:
      num_units: size of the memory.
      initializer: of the weights; default that of the variable scope.
      num_proj: size of the output, where it passes a linear map.
      number_of_groups: how many.
      forget_bias: added to the forget gate, so that at first little is forgotten.
      activation: of the output.
      reuse: take variables that are there.

    Raises:
      ValueError: `num_units` or `num_proj` cannot be shared out evenly.
    """

    def __init__(
        self,
        num_units: int,
        initializer: Callable[..., Any] | None = None,
        num_proj: int | None = None,
        number_of_groups: int = 1,
        forget_bias: float = 1.0,
        activation: Callable[..., Any] = tanh,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        if num_units % number_of_groups:
            raise ValueError("num_units must be divisible by number_of_groups")
        if num_proj and num_proj % number_of_groups:
            raise ValueError("num_proj must be divisible by number_of_groups")
        self._num_units, self._num_proj, self._groups = num_units, num_proj, number_of_groups
        self._initializer, self._forget_bias = initializer, forget_bias
        self._activation = activation

    @property
    def state_size(self) -> Any:
        return LSTMStateTuple(self._num_units, self.output_size)

    @property
    def output_size(self) -> Any:
        return self._num_proj or self._num_units

    def call(self, inputs: Any, state: Any) -> Any:  # type: ignore[override]
        c, m = state
        depth = inputs.shape.dim(1)
        if depth is None:
            raise ValueError("input size must be statically known")
        if depth % self._groups:
            raise ValueError(f"input size ({depth}) must be divisible by number_of_groups ({self._groups})")
        with variable_scope(get_variable_scope(), initializer=self._initializer):
            i, j, f, o = self._gates(inputs, m)
        c = sigmoid(f + self._forget_bias) * c + sigmoid(i) * tanh(j)
        m = sigmoid(o) * self._activation(c)
        if self._num_proj is not None:
            with variable_scope("projection"):
                m = linear(m, self._num_proj, bias=False)
        return m, LSTMStateTuple(c, m)

    def _gates(self, inputs: Any, m: Any) -> list[Any]:
        units, groups, dtype = self._num_units, self._groups, inputs.dtype
        parts = []
        for group, pair in enumerate(zip(split(inputs, groups, 1), split(m, groups, 1))):
            with variable_scope(f"group{group}"):
                product = linear(concat(pair, 1), 4 * units // groups, bias=False)
                parts.append(split(product, 4, 1))
        start = Constant(0.0, dtype=dtype)
        biases = [get_variable(f"bias_{gate}", [units], dtype=dtype, initializer=start) for gate in "ijfo"]
        return [bias_add(concat(list(p), 1), bias) for p, bias in zip(zip(*parts), biases)]
