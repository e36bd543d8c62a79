"""An LSTM whose units are open in phases of a time that is given: tf.contrib.rnn.PhasedLSTMCell."""

from __future__ import annotations

from typing import Any

from headrace.contrib.rnn.linear import linear
from headrace.core import dtypes
from headrace.core.fields import reads
from headrace.functions.array.indexing import where
from headrace.functions.array.stacking import split
from headrace.functions.math.cast import cast
from headrace.functions.math.elementwise import tanh
from headrace.functions.math.math import sigmoid
from headrace.functions.random.random import random_uniform
from headrace.layers.rnn.lstm_cells import LSTMStateTuple
from headrace.layers.rnn.rnn_cells import RNNCell
from headrace.ops.array.source import stop_gradient
from headrace.ops.math.division import floor_mod
from headrace.ops.math.exponential import exp, log
from headrace.variables.initializers.initializers import Constant, RandomUniform
from headrace.variables.scope import get_variable, variable_scope


class PhasedLSTMCell(RNNCell):
    """An LSTM for events at irregular times (Neil et al. 2016).  Its inputs are a pair: times
    [batch, 1], float32 or float64, and features [batch, depth].

    Args:
      num_units: size of the memory and of the output.
      use_peepholes: gates also see the memory.
      leak: how much a closed gate lets through.
      ratio_on: which part of a period the gates are open.
      trainable_ratio_on: train that.
      period_init_min, period_init_max: periods begin with e to a number drawn between their logarithms.
      reuse: take variables that are there.
    """

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        leak: Any = 0.001,
        ratio_on: Any = 0.1,
        trainable_ratio_on: bool = True,
        period_init_min: Any = 1.0,
        period_init_max: Any = 1000.0,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(_reuse=reuse, autocast=False)
        self._num_units, self._use_peepholes, self._leak = num_units, use_peepholes, leak
        self._ratio_on, self._trainable_ratio_on = ratio_on, trainable_ratio_on
        self._periods = period_init_min, period_init_max

    @property
    def state_size(self) -> Any:
        return LSTMStateTuple(self._num_units, self._num_units)

    output_size: Any = reads("_num_units")

    def call(self, inputs: Any, state: Any) -> Any:  # type: ignore[override]
        (c_prev, h_prev), (time, x), units = state, inputs, self._num_units
        seen = [x, h_prev]
        with variable_scope("mask_gates"):
            gates = linear(seen + [c_prev] * self._use_peepholes, 2 * units)
            take, keep = split(sigmoid(gates), 2, 1)
        with variable_scope("new_input"):
            new = tanh(linear(seen, units))
        c = c_prev * keep + take * new
        with variable_scope("output_gate"):
            output = sigmoid(linear(seen + [c] * self._use_peepholes, units))
        h = tanh(c) * output
        opened = self._openness(time)
        c = opened * c + (1 - opened) * c_prev
        h = opened * h + (1 - opened) * h_prev
        return h, LSTMStateTuple(c, h)

    def _openness(self, time: Any) -> Any:
        """Up and down while a unit is open, then nearly nothing."""
        units = self._num_units
        period = get_variable("period", [units], initializer=_exponential(*self._periods))
        start = RandomUniform(0.0, period.initial_value)
        phase = get_variable("phase", [units], initializer=start)
        ratio_on = get_variable(
            "ratio_on", [units], initializer=Constant(self._ratio_on), trainable=self._trainable_ratio_on
        )
        ratio = _cycle_ratio(time, phase, period)
        up = 2 * ratio / ratio_on
        closed = where(ratio < ratio_on, 2 - up, self._leak * ratio)
        return where(ratio < 0.5 * ratio_on, up, closed)


def _cycle_ratio(time: Any, phase: Any, period: Any) -> Any:
    """Where in its period each unit is, computed in the type of the time."""
    period = cast(period, time.dtype)
    shifted = time - cast(phase, time.dtype)
    wrapped = stop_gradient(floor_mod(shifted, period) - shifted) + shifted
    return cast(wrapped / period, dtypes.float32)


def _exponential(low: Any, high: Any) -> Any:
    def start(shape: Any, dtype: Any = dtypes.float32, partition_info: Any = None) -> Any:
        return exp(random_uniform(shape, log(low), log(high), dtype))

    return start
