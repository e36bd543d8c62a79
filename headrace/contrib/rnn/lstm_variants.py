"""LSTMs that differ in what is normalised or coupled: tf.contrib.rnn.CoupledInputForgetGateLSTMCell,
LayerNormLSTMCell, WeightNormLSTMCell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.contrib.rnn.linear import depths_of, known_depth, linear, normalized, split_weights, whole_bias
from headrace.core import log
from headrace.functions.array.slice import slice_
from headrace.functions.array.stacking import concat, split
from headrace.functions.linalg.linalg import matmul
from headrace.functions.math.clip import clip_by_value
from headrace.functions.math.elementwise import tanh
from headrace.functions.math.math import sigmoid
from headrace.functions.math.norm import l2_normalize
from headrace.functions.nn.activation import bias_add
from headrace.graph.defaults import get_default_graph
from headrace.layers.rnn.lstm_cells import LSTMStateTuple
from headrace.layers.rnn.rnn_cells import KERNEL, RNNCell
from headrace.variables.initializers.initializers import Zeros
from headrace.variables.scope import get_variable, get_variable_scope, variable_scope


def _clipped(x: Any, bound: float | None) -> Any:
    return x if bound is None else clip_by_value(x, -bound, bound)


class _Projected(RNNCell):
    """An LSTM whose output may be smaller than its memory."""

    _num_units: int
    _num_proj: int | None

    @property
    def state_size(self) -> Any:
        return LSTMStateTuple(self._num_units, self.output_size)

    @property
    def output_size(self) -> Any:
        return self._num_proj or self._num_units


class CoupledInputForgetGateLSTMCell(_Projected):
    """An LSTM that takes in as much as it forgets (Greff et al. 2015).

    Args:
      num_units: size of the memory.
      use_peepholes: gates also see the memory, element by element.
      initializer: accepted; the variable scope's is used.
      num_proj: size of the output, where it passes a linear map.
      proj_clip: that output is kept within this distance of zero.
      num_unit_shards, num_proj_shards: in how many variables the weights are kept.
      forget_bias: added to the forget gate, so that at first little is forgotten.
      state_is_tuple: the state is an LSTMStateTuple; else both parts are columns of one tensor.
      activation: of the new input and of the output.
      reuse: take variables that are there.
      layer_norm: normalise the gates and the memory.
      norm_gain, norm_shift: what gamma and beta are at first.
    """

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        initializer: Callable[..., Any] | None = None,
        num_proj: int | None = None,
        proj_clip: float | None = None,
        num_unit_shards: int = 1,
        num_proj_shards: int = 1,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        activation: Callable[..., Any] = tanh,
        reuse: bool | None = None,
        layer_norm: bool = False,
        norm_gain: float = 1.0,
        norm_shift: float = 0.0,
    ) -> None:
        super().__init__(_reuse=reuse)
        if not state_is_tuple:
            log.warn(
                "%s: Using a concatenated state is slower and will soon be deprecated.  Use "
                "state_is_tuple=True.",
                self,
            )
        self._num_units, self._num_proj, self._proj_clip = num_units, num_proj, proj_clip
        self._use_peepholes, self._forget_bias = use_peepholes, forget_bias
        self._unit_shards, self._proj_shards = num_unit_shards, num_proj_shards
        self._state_is_tuple, self._activation = state_is_tuple, activation
        self._norm = (norm_gain, norm_shift) if layer_norm else None

    @property
    def state_size(self) -> Any:
        sizes = super().state_size
        return sizes if self._state_is_tuple else sum(sizes)

    def call(self, inputs: Any, state: Any) -> Any:  # type: ignore[override]
        units, dtype, width = self._num_units, inputs.dtype, self.output_size
        if not self._state_is_tuple:
            state = slice_(state, [0, 0], [-1, units]), slice_(state, [0, units], [-1, width])
        c_prev, m_prev = state
        shape = [known_depth(inputs) + width, 3 * units]
        kernel = split_weights("W", shape, dtype, self._unit_shards)
        bias = get_variable("B", [3 * units], dtype=dtype, initializer=Zeros())
        gates = matmul(concat([inputs, m_prev], 1), kernel)
        j, f, o = split(gates if self._norm else bias_add(gates, bias), 3, 1)
        if self._norm:
            j = normalized(j, "transform", *self._norm)
            f, o = normalized(f, "forget", *self._norm), normalized(o, "output", *self._norm)
        f = f + self._forget_bias
        if self._use_peepholes:
            w_f = get_variable("W_F_diag", [units], dtype=dtype)
            w_o = get_variable("W_O_diag", [units], dtype=dtype)
            f = f + w_f * c_prev
        f = sigmoid(f)
        c = f * c_prev + (1 - f) * self._activation(j)
        if self._norm:
            c = normalized(c, "state", *self._norm)
        m = sigmoid(o + w_o * c if self._use_peepholes else o) * self._activation(c)
        if self._num_proj is not None:
            shape = [units, self._num_proj]
            projection = split_weights("W_P", shape, dtype, self._proj_shards)
            m = _clipped(matmul(m, projection), self._proj_clip)
        return m, LSTMStateTuple(c, m) if self._state_is_tuple else concat([c, m], 1)


class _Usual(_Projected):
    """The equations of an LSTM; a subclass says how the linear maps are made."""

    _use_peepholes: bool
    _cell_clip: float | None
    _proj_clip: float | None
    _forget_bias: float
    _activation: Any

    def _map(self, args: list[Any], size: int, bias: bool) -> Any:
        raise NotImplementedError

    def _gate(self, x: Any, name: str) -> Any:
        return x

    def _step(self, inputs: Any, state: Any) -> Any:
        units, activation, (c, m) = self._num_units, self._activation, state
        i, j, f, o = split(self._map([inputs, m], 4 * units, True), 4, 1)
        i, j = self._gate(i, "input"), self._gate(j, "transform")
        f, o = self._gate(f, "forget"), self._gate(o, "output")
        f = f + self._forget_bias
        if self._use_peepholes:
            w_f, w_i, w_o = (
                get_variable(name, [units], dtype=inputs.dtype)
                for name in ("w_f_diag", "w_i_diag", "w_o_diag")
            )
            f, i = f + w_f * c, i + w_i * c
        c = self._gate(sigmoid(f) * c + sigmoid(i) * activation(j), "state")
        c = _clipped(c, self._cell_clip)
        m = sigmoid(o + w_o * c if self._use_peepholes else o) * activation(c)
        if self._num_proj is not None:
            with variable_scope("projection"):
                m = self._map([m], self._num_proj, False)
            m = _clipped(m, self._proj_clip)
        return m, LSTMStateTuple(c, m)


class LayerNormLSTMCell(_Usual):
    """An LSTM with peepholes, projection and clipping as LSTMCell, and layer normalisation.

    Args:
      num_units: size of the memory.
      use_peepholes: gates also see the memory, element by element.
      cell_clip: the memory is kept within this distance of zero.
      initializer: of the weights; default that of the variable scope.
      num_proj: size of the output, where it passes a linear map.
      proj_clip: that output is kept within this distance of zero.
      forget_bias: added to the forget gate, so that at first little is forgotten.
      activation: of the new input and of the output; tanh if not given.
      layer_norm: normalise the gates and the memory; the gates then have no bias.
      norm_gain, norm_shift: what gamma and beta are at first.
      reuse: take variables that are there.
    """

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        cell_clip: float | None = None,
        initializer: Callable[..., Any] | None = None,
        num_proj: int | None = None,
        proj_clip: float | None = None,
        forget_bias: float = 1.0,
        activation: Callable[..., Any] | None = None,
        layer_norm: bool = False,
        norm_gain: float = 1.0,
        norm_shift: float = 0.0,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._num_units, self._num_proj, self._proj_clip = num_units, num_proj, proj_clip
        self._use_peepholes, self._cell_clip = use_peepholes, cell_clip
        self._initializer, self._forget_bias = initializer, forget_bias
        self._activation = activation or tanh
        self._norm = (norm_gain, norm_shift) if layer_norm else None

    def _gate(self, x: Any, name: str) -> Any:
        return normalized(x, name, *self._norm) if self._norm else x

    def _map(self, args: list[Any], size: int, bias: bool) -> Any:
        product = linear(args, size, bias=bias and not self._norm)
        if bias and self._norm:
            whole_bias(size, args[0].dtype)  # in checkpoints, but not added
        return product

    def call(self, inputs: Any, state: Any) -> Any:  # type: ignore[override]
        known_depth(inputs)
        with variable_scope(get_variable_scope(), initializer=self._initializer):
            return self._step(inputs, state)


class WeightNormLSTMCell(_Usual):
    """An LSTM whose weights have a direction and a length of their own (Salimans, Kingma 2016).

    Args:
      num_units: size of the memory.
      norm: normalise; else this is LSTMCell.
      use_peepholes: gates also see the memory, element by element.
      cell_clip: the memory is kept within this distance of zero.
      initializer: of the weights; default that of the variable scope.
      num_proj: size of the output, where it passes a linear map.
      proj_clip: that output is kept within this distance of zero.
      forget_bias: added to the forget gate, so that at first little is forgotten.
      activation: of the new input and of the output; tanh if not given.
      reuse: take variables that are there.
    """

    def __init__(
        self,
        num_units: int,
        norm: bool = True,
        use_peepholes: bool = False,
        cell_clip: float | None = None,
        initializer: Callable[..., Any] | None = None,
        num_proj: int | None = None,
        proj_clip: float | None = None,
        forget_bias: float = 1,
        activation: Callable[..., Any] | None = None,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._scope = "wn_lstm_cell"
        self._num_units, self._num_proj, self._proj_clip = num_units, num_proj, proj_clip
        self._use_peepholes, self._cell_clip = use_peepholes, cell_clip
        self._initializer, self._forget_bias = initializer, forget_bias
        self._activation = activation or tanh
        self._norm = norm

    def _map(self, args: list[Any], size: int, bias: bool) -> Any:
        if not self._norm:
            return linear(args, size, bias=bias)
        depths, dtype = depths_of(args), args[0].dtype
        kernel = get_variable(KERNEL, [sum(depths), size], dtype=dtype)
        with get_default_graph().control_dependencies(None):  # once, not in every step of a loop
            parts = []
            for i, rows in enumerate(split(kernel, depths, 0)):
                length = get_variable(f"norm_{i}", [size], dtype=dtype)
                parts.append(l2_normalize(rows, axis=0) * length)
            weights = concat(parts, 0)
        product = matmul(concat(args, 1), weights)
        return bias_add(product, whole_bias(size, dtype)) if bias else product

    def call(self, inputs: Any, state: Any) -> Any:  # type: ignore[override]
        known_depth(inputs)
        with variable_scope(self._scope, initializer=self._initializer):
            return self._step(inputs, state)
