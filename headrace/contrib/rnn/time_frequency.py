"""An LSTM over time and over the frequencies of each input: tf.contrib.rnn.TimeFreqLSTMCell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.contrib.rnn.linear import split_weights
from headrace.core.fields import reads
from headrace.functions.array.array import shape, zeros
from headrace.functions.array.slice import slice_
from headrace.functions.array.stacking import concat, split
from headrace.functions.linalg.linalg import matmul
from headrace.functions.math.clip import clip_by_value
from headrace.functions.math.elementwise import tanh
from headrace.functions.math.math import sigmoid
from headrace.functions.nn.activation import bias_add
from headrace.layers.rnn.rnn_cells import RNNCell
from headrace.variables.initializers.initializers import Zeros
from headrace.variables.scope import get_variable


def input_width(inputs: Any) -> int:
    """The number of frequencies.

    Raises:
      ValueError: it is not known.
    """
    width: int | None = inputs.shape.with_rank(2).dim(1)
    if width is None:
        raise ValueError("Cannot infer input_size from static shape inference.")
    return width


def windows(inputs: Any, start: int, count: int, size: int, skip: int) -> list[Any]:
    """Parts of a row: `count` times `size` columns, each `skip` further than the last."""
    return [slice_(inputs, [0, start + i * skip], [-1, size]) for i in range(count)]


def window_count(width: int, size: int, skip: int) -> int:
    return int((width - size) / skip) + 1


class TimeFreqLSTMCell(RNNCell):
    """An LSTM that runs over windows of the frequencies as it does over time (Sainath, Li 2016).

    Args:
      num_units: size of the memory and of the output, for each window.
      use_peepholes: gates also see the memory, element by element.
      cell_clip: the memory is kept within this distance of zero.
      initializer: accepted; the variable scope's is used.
      num_unit_shards: in how many variables the weights are kept.
      forget_bias: added to the forget gate, so that at first little is forgotten.
      feature_size: size of a window.
      frequency_skip: how far a window is from the last one.
      reuse: take variables that are there.
    """

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        cell_clip: float | None = None,
        initializer: Callable[..., Any] | None = None,
        num_unit_shards: int = 1,
        forget_bias: float = 1.0,
        feature_size: int | None = None,
        frequency_skip: int = 1,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._num_units, self._use_peepholes, self._cell_clip = num_units, use_peepholes, cell_clip
        self._shards, self._forget_bias = num_unit_shards, forget_bias
        self._feature_size, self._frequency_skip = feature_size, frequency_skip

    output_size: Any = reads("_num_units")

    @property
    def state_size(self) -> Any:
        return 2 * self._num_units

    def _windows(self, inputs: Any) -> list[Any]:
        size, skip = self._feature_size, self._frequency_skip
        assert size is not None
        return windows(inputs, 0, window_count(input_width(inputs), size, skip), size, skip)

    def call(self, inputs: Any, state: Any) -> Any:  # type: ignore[override]
        units, dtype, parts = self._num_units, inputs.dtype, self._windows(inputs)
        rows = parts[0].shape.dim(1) + 2 * units
        kernel = split_weights("W", [rows, 4 * units], dtype, self._shards)
        bias = get_variable("B", [4 * units], dtype=dtype, initializer=Zeros())
        holes = []
        if self._use_peepholes:
            names = ("W_F_diag", "W_I_diag", "W_O_diag")
            holes = [get_variable(name, [units], dtype=dtype) for name in names]
        below = zeros([inputs.shape.dim(0) or shape(inputs)[0], units], dtype)
        states, outputs = [], []
        for place, window in enumerate(parts):
            c = slice_(state, [0, 2 * place * units], [-1, units])
            m = slice_(state, [0, (2 * place + 1) * units], [-1, units])
            gates = bias_add(matmul(concat([window, m, below], 1), kernel), bias)
            c, below = self._step(split(gates, 4, 1), c, holes)
            states += [c, below]
            outputs.append(below)
        return concat(outputs, 1), concat(states, 1)

    def _step(self, gates: list[Any], c: Any, holes: list[Any]) -> tuple[Any, Any]:
        i, j, f, o = gates
        f = f + self._forget_bias
        if holes:
            w_f, w_i, w_o = holes
            f, i = f + w_f * c, i + w_i * c
        c = sigmoid(f) * c + sigmoid(i) * tanh(j)
        if self._cell_clip is not None:
            c = clip_by_value(c, -self._cell_clip, self._cell_clip)
        return c, sigmoid(o + w_o * c if holes else o) * tanh(c)
