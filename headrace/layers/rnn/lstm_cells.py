"""Long short-term memory: tf.nn.rnn_cell.BasicLSTMCell, LSTMCell, and their state."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

from headrace.core import dtypes, log
from headrace.core.dtypes import DTypeLike
from headrace.core.fields import reads
from headrace.functions.array.slice import slice_
from headrace.functions.array.stacking import concat, split
from headrace.functions.linalg.linalg import matmul
from headrace.functions.math.clip import clip_by_value
from headrace.functions.math.elementwise import tanh
from headrace.functions.math.math import sigmoid
from headrace.functions.nn.activation import bias_add
from headrace.layers.engine.identifiers import get_activation, get_initializer, serialize
from headrace.layers.engine.input_spec import InputSpec
from headrace.layers.rnn.rnn_cells import BIAS, KERNEL, LayerRNNCell, check_dtype, check_dtypes, zeros_of
from headrace.ops.array.constant import constant
from headrace.ops.math.arithmetic import add, mul
from headrace.variables.partitioners import fixed_size_partitioner

_Pair = collections.namedtuple("_Pair", ("c", "h"))


class LSTMStateTuple(_Pair):
    """The state of an LSTM: the cell's memory `c` and its last output `h`."""

    __slots__ = ()

    @property
    def dtype(self) -> Any:
        """The type of both."""
        c, h = self
        if c.dtype != h.dtype:
            raise TypeError(f"Inconsistent internal state: {c.dtype} vs {h.dtype}")
        return c.dtype


def _warn_of_joined_state(cell: Any, state_is_tuple: bool) -> None:
    if not state_is_tuple:
        log.warn(
            "%s: Using a concatenated state is slower and will soon be deprecated.  Use state_is_tuple=True.",
            cell,
        )


class BasicLSTMCell(LayerRNNCell):
    """An LSTM without peepholes, projection or clipping.

    Args:
      num_units: size of the memory and of the output.
      forget_bias: added to the forget gate, so that at first little is forgotten.
      state_is_tuple: the state is an LSTMStateTuple; else both parts are columns of one tensor.
      activation: tanh if not given.
      reuse: take variables that are there.
      name: name of the variable scope.
      dtype: type of the variables; default that of the first input.
      **kwargs: as of Layer.
    """

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        activation: Callable[..., Any] | str | None = None,
        reuse: bool | None = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        check_dtype(self.dtype)
        _warn_of_joined_state(self, state_is_tuple)
        self.input_spec = InputSpec(ndim=2)
        self._num_units, self._forget_bias = num_units, forget_bias
        self._state_is_tuple = state_is_tuple
        self._activation = get_activation(activation) if activation else tanh

    @property
    def state_size(self) -> Any:
        units = self._num_units
        return LSTMStateTuple(units, units) if self._state_is_tuple else 2 * units

    output_size: Any = reads("_num_units")

    def build(self, inputs_shape: Any) -> None:
        depth, units = self._depth(inputs_shape), self._num_units
        self._kernel = self.add_variable(KERNEL, shape=[depth + units, 4 * units])
        self._bias = self.add_variable(BIAS, shape=[4 * units], initializer=zeros_of(self.dtype))
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:  # type: ignore[override]
        check_dtypes(inputs, state)
        one = constant(1, dtypes.int32)
        c, h = state if self._state_is_tuple else split(state, 2, one)
        gates = bias_add(matmul(concat([inputs, h], 1), self._kernel), self._bias)
        i, j, f, o = split(gates, 4, one)  # input, new input, forget, output
        kept = constant(self._forget_bias, f.dtype)
        new_c = add(mul(c, sigmoid(add(f, kept))), mul(sigmoid(i), self._activation(j)))
        new_h = mul(self._activation(new_c), sigmoid(o))
        if self._state_is_tuple:
            return new_h, LSTMStateTuple(new_c, new_h)
        return new_h, concat([new_c, new_h], 1)

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {
            "num_units": self._num_units,
            "forget_bias": self._forget_bias,
            "state_is_tuple": self._state_is_tuple,
            "activation": serialize(self._activation),
            "reuse": self._reuse,
        }


class LSTMCell(LayerRNNCell):
    """An LSTM with all options.

    Args:
      num_units: size of the memory.
      use_peepholes: gates also see the memory, element by element.
      cell_clip: the memory is kept within this distance of zero.
      initializer: of the kernels; default that of the variable scope.
      num_proj: size of the output, which is then a projection.
      proj_clip: the projection is kept within this distance of zero.
      num_unit_shards, num_proj_shards: old ways to cut the kernels into parts.
      forget_bias: added to the forget gate, so that at first little is forgotten.
      state_is_tuple: the state is an LSTMStateTuple; else both parts are columns of one tensor.
      activation: tanh if not given.
      reuse: take variables that are there.
      name: name of the variable scope.
      dtype: type of the variables; default that of the first input.
      **kwargs: as of Layer.
    """

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        cell_clip: float | None = None,
        initializer: Callable[..., Any] | None = None,
        num_proj: int | None = None,
        proj_clip: float | None = None,
        num_unit_shards: int | None = None,
        num_proj_shards: int | None = None,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        activation: Callable[..., Any] | str | None = None,
        reuse: bool | None = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        check_dtype(self.dtype)
        _warn_of_joined_state(self, state_is_tuple)
        if num_unit_shards is not None or num_proj_shards is not None:
            log.warn(
                "%s: num_unit_shards and num_proj_shards are old; a variable scope with a partitioner "
                "does the same.",
                self,
            )
        self.input_spec = InputSpec(ndim=2)
        self._num_units, self._num_proj = num_units, num_proj
        self._use_peepholes, self._forget_bias = use_peepholes, forget_bias
        self._cell_clip, self._proj_clip = cell_clip, proj_clip
        self._initializer = get_initializer(initializer)
        self._num_unit_shards, self._num_proj_shards = num_unit_shards, num_proj_shards
        self._state_is_tuple = state_is_tuple
        self._activation = get_activation(activation) if activation else tanh
        self._output_size = num_proj or num_units
        self._state_size: Any = LSTMStateTuple(num_units, self._output_size)
        if not state_is_tuple:
            self._state_size = num_units + self._output_size

    state_size: Any = reads("_state_size")
    output_size: Any = reads("_output_size")

    def build(self, inputs_shape: Any) -> None:
        units, projected = self._num_units, self._num_proj
        rows = self._depth(inputs_shape) + (units if projected is None else projected)
        self._kernel = self.add_variable(
            KERNEL,
            shape=[rows, 4 * units],
            initializer=self._initializer,
            partitioner=_partitioner(self._num_unit_shards),
        )
        self._bias = self.add_variable(BIAS, shape=[4 * units], initializer=zeros_of(self.dtype))
        if self._use_peepholes:
            self._w_f_diag, self._w_i_diag, self._w_o_diag = (
                self.add_variable(name, shape=[units], initializer=self._initializer)
                for name in ("w_f_diag", "w_i_diag", "w_o_diag")
            )
        if projected is not None:
            self._proj_kernel = self.add_variable(
                f"projection/{KERNEL}",
                shape=[units, projected],
                initializer=self._initializer,
                partitioner=_partitioner(self._num_proj_shards),
            )
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:  # type: ignore[override]
        check_dtypes(inputs, state)
        c_prev, m_prev = state if self._state_is_tuple else self._parts(state)
        if inputs.shape.with_rank(2).dim(1) is None:
            raise ValueError("Could not infer input size from inputs.get_shape()[-1]")
        gates = bias_add(matmul(concat([inputs, m_prev], 1), self._kernel), self._bias)
        i, j, f, o = split(gates, 4, 1)  # input, new input, forget, output
        if self._use_peepholes:
            c = sigmoid(f + self._forget_bias + self._w_f_diag * c_prev) * c_prev + sigmoid(
                i + self._w_i_diag * c_prev
            ) * self._activation(j)
        else:
            c = sigmoid(f + self._forget_bias) * c_prev + sigmoid(i) * self._activation(j)
        if self._cell_clip is not None:
            c = clip_by_value(c, -self._cell_clip, self._cell_clip)
        m = sigmoid(o + self._w_o_diag * c if self._use_peepholes else o) * self._activation(c)
        if self._num_proj is not None:
            m = matmul(m, self._proj_kernel)
            if self._proj_clip is not None:
                m = clip_by_value(m, -self._proj_clip, self._proj_clip)
        return m, LSTMStateTuple(c, m) if self._state_is_tuple else concat([c, m], 1)

    def _parts(self, state: Any) -> Any:
        units = self._num_units
        projected = units if self._num_proj is None else self._num_proj
        return slice_(state, [0, 0], [-1, units]), slice_(state, [0, units], [-1, projected])

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {
            "num_units": self._num_units,
            "use_peepholes": self._use_peepholes,
            "cell_clip": self._cell_clip,
            "initializer": serialize(self._initializer),
            "num_proj": self._num_proj,
            "proj_clip": self._proj_clip,
            "num_unit_shards": self._num_unit_shards,
            "num_proj_shards": self._num_proj_shards,
            "forget_bias": self._forget_bias,
            "state_is_tuple": self._state_is_tuple,
            "activation": serialize(self._activation),
            "reuse": self._reuse,
        }


def _partitioner(shards: int | None) -> Any:
    return None if shards is None else fixed_size_partitioner(shards)
