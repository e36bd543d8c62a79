"""An LSTM with layer normalisation and recurrent dropout: tf.contrib.rnn.LayerNormBasicLSTMCell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.contrib.rnn.linear import normalized
from headrace.core import log
from headrace.core.fields import reads
from headrace.functions.array.stacking import concat, split
from headrace.functions.linalg.linalg import matmul
from headrace.functions.math.elementwise import tanh
from headrace.functions.math.math import sigmoid
from headrace.functions.nn.activation import bias_add, dropout
from headrace.layers.rnn.lstm_cells import LSTMStateTuple
from headrace.layers.rnn.rnn_cells import BIAS, KERNEL, RNNCell
from headrace.variables.scope import get_variable


class LayerNormBasicLSTMCell(RNNCell):
    """An LSTM each of whose gates is normalised over its units (Ba et al. 2016), and of whose new input
    a part may be dropped (Semeniuta et al. 2016).

    Args:
      num_units: size of the memory and of the output.
      forget_bias: added to the forget gate, so that at first little is forgotten.
      input_size: accepted; follows from the inputs.
      activation: of the new input and of the output.
      layer_norm: normalise; else the gates have a bias.
      norm_gain, norm_shift: what gamma and beta are at first.
      dropout_keep_prob: how likely an element of the new input is kept; a float or a tensor.
      dropout_prob_seed: seed of that.
      reuse: take variables that are there.
    """

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        input_size: Any = None,
        activation: Callable[..., Any] = tanh,
        layer_norm: bool = True,
        norm_gain: float = 1.0,
        norm_shift: float = 0.0,
        dropout_keep_prob: Any = 1.0,
        dropout_prob_seed: int | None = None,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        if input_size is not None:
            log.warn("%s: The input_size parameter is deprecated.", self)
        self._num_units, self._forget_bias = num_units, forget_bias
        self._activation, self._layer_norm = activation, layer_norm
        self._norm_gain, self._norm_shift = norm_gain, norm_shift
        self._keep_prob, self._seed = dropout_keep_prob, dropout_prob_seed
        self._reuse = reuse

    @property
    def state_size(self) -> Any:
        return LSTMStateTuple(self._num_units, self._num_units)

    output_size: Any = reads("_num_units")

    def _normalized(self, x: Any, scope: str) -> Any:
        return normalized(x, scope, self._norm_gain, self._norm_shift)

    def _gates(self, x: Any) -> Any:
        kernel = get_variable(KERNEL, [x.shape.dim(-1), 4 * self._num_units], dtype=x.dtype)
        gates = matmul(x, kernel)
        if self._layer_norm:
            return gates
        return bias_add(gates, get_variable(BIAS, [4 * self._num_units], dtype=x.dtype))

    def call(self, inputs: Any, state: Any) -> Any:  # type: ignore[override]
        c, h = state
        i, j, f, o = split(self._gates(concat([inputs, h], 1)), 4, 1)
        if self._layer_norm:
            i, j = self._normalized(i, "input"), self._normalized(j, "transform")
            f, o = self._normalized(f, "forget"), self._normalized(o, "output")
        new = self._activation(j)
        if not isinstance(self._keep_prob, float) or self._keep_prob < 1:
            new = dropout(new, self._keep_prob, seed=self._seed)
        c = c * sigmoid(f + self._forget_bias) + sigmoid(i) * new
        if self._layer_norm:
            c = self._normalized(c, "state")
        h = self._activation(c) * sigmoid(o)
        return h, LSTMStateTuple(c, h)
