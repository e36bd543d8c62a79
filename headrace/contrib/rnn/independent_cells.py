"""Cells each of whose units sees only its own state (Li et al. 2018): tf.contrib.rnn.IndRNNCell,
IndyGRUCell, IndyLSTMCell.  The product with the state is one vector, element by element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.core.dtypes import DTypeLike, as_dtype
from headrace.core.families import arguments_of
from headrace.functions.array.stacking import split
from headrace.functions.linalg.linalg import matmul
from headrace.functions.math.elementwise import tanh
from headrace.functions.math.math import sigmoid
from headrace.functions.nn.activation import bias_add
from headrace.layers.engine.input_spec import InputSpec
from headrace.layers.rnn.lstm_cells import LSTMStateTuple
from headrace.layers.rnn.rnn_cells import (
    BIAS,
    KERNEL,
    BasicRNNCell,
    GRUCell,
    LayerRNNCell,
    OneVector,
    zeros_of,
)
from headrace.ops.array.tile import tile
from headrace.variables.initializers.initializers import Constant, RandomUniform


class _Independent(OneVector, LayerRNNCell):
    """The parts that the three have in common."""

    def __init__(
        self,
        num_units: int,
        activation: Callable[..., Any] | None,
        kernel_initializer: Callable[..., Any] | None = None,
        bias_initializer: Callable[..., Any] | None = None,
        reuse: bool | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(_reuse=reuse, **kwargs)
        self.input_spec = InputSpec(ndim=2)
        self._num_units, self._activation = num_units, activation or tanh
        self._kernel_initializer, self._bias_initializer = kernel_initializer, bias_initializer

    def _diagonal(self, name: str, width: int) -> Any:
        """The vector for the state."""
        start = RandomUniform(-1, 1, dtype=as_dtype(self.dtype))
        return self.add_variable(f"{name}_u", shape=[1, width], initializer=start)

    def _matrix(self, name: str, depth: int, width: int) -> Any:
        start = self._kernel_initializer
        return self.add_variable(name, shape=[depth, width], initializer=start)

    def _vector(self, name: str, width: int, default: Any) -> Any:
        start = default if self._bias_initializer is None else self._bias_initializer
        return self.add_variable(name, shape=[width], initializer=start)


@arguments_of(BasicRNNCell, "kwargs")
class IndRNNCell(_Independent):
    """output = state = activation(input · kernel + u * state + bias).

    Args:
      num_units: size of the state.
      activation: tanh if not given.
      reuse: take variables that are there.
      name: name of the variable scope.
      dtype: type of the variables; default that of the first input.
    """

    def build(self, inputs_shape: Any) -> None:
        depth, units = self._depth(inputs_shape), self._num_units
        self._kernel_w = self._matrix(f"{KERNEL}_w", depth, units)
        self._kernel_u = self._diagonal(KERNEL, units)
        self._bias = self._vector(BIAS, units, zeros_of(self.dtype))
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:  # type: ignore[override]
        new = matmul(inputs, self._kernel_w) + state * self._kernel_u
        output = self._activation(bias_add(new, self._bias))
        return output, output


@arguments_of(GRUCell, "kwargs")
class IndyGRUCell(_Independent):
    """GRUCell with independent units.

    Args:
      num_units: size of the state.
      activation: tanh if not given.
      reuse: take variables that are there.
      kernel_initializer: of the matrices.
      bias_initializer: ones for the gates and zeros for the candidate if not given.
      name: name of the variable scope.
      dtype: type of the variables; default that of the first input.
    """

    def build(self, inputs_shape: Any) -> None:
        depth, units = self._depth(inputs_shape), self._num_units
        ones = Constant(1.0, dtype=as_dtype(self.dtype))
        self._gate_kernel_w = self._matrix(f"gates/{KERNEL}_w", depth, 2 * units)
        self._gate_kernel_u = self._diagonal(f"gates/{KERNEL}", 2 * units)
        self._gate_bias = self._vector(f"gates/{BIAS}", 2 * units, ones)
        self._candidate_kernel_w = self._matrix(f"candidate/{KERNEL}", depth, units)
        self._candidate_kernel_u = self._diagonal(f"candidate/{KERNEL}", units)
        self._candidate_bias = self._vector(f"candidate/{BIAS}", units, zeros_of(self.dtype))
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:  # type: ignore[override]
        gates = matmul(inputs, self._gate_kernel_w) + tile(state, [1, 2]) * self._gate_kernel_u
        reset, update = split(sigmoid(bias_add(gates, self._gate_bias)), 2, 1)
        candidate = matmul(inputs, self._candidate_kernel_w)
        candidate = candidate + reset * state * self._candidate_kernel_u
        new = self._activation(bias_add(candidate, self._candidate_bias))
        state = update * state + (1 - update) * new
        return state, state


class IndyLSTMCell(_Independent):
    """BasicLSTMCell with independent units.

    Args:
      num_units: size of the memory and of the output.
      forget_bias: added to the forget gate, so that at first little is forgotten.
      activation: tanh if not given.
      reuse: take variables that are there.
      kernel_initializer: of the matrix.
      bias_initializer: zeros if not given.
      name: name of the variable scope.
      dtype: type of the variables; default that of the first input.
    """

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        activation: Callable[..., Any] | None = None,
        reuse: bool | None = None,
        kernel_initializer: Callable[..., Any] | None = None,
        bias_initializer: Callable[..., Any] | None = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        starts = kernel_initializer, bias_initializer
        super().__init__(num_units, activation, *starts, reuse=reuse, name=name, dtype=dtype)
        self._forget_bias = forget_bias

    @property
    def state_size(self) -> Any:
        return LSTMStateTuple(self._num_units, self._num_units)

    def build(self, inputs_shape: Any) -> None:
        depth, width = self._depth(inputs_shape), 4 * self._num_units
        self._kernel_w = self._matrix(f"{KERNEL}_w", depth, width)
        self._kernel_u = self._diagonal(KERNEL, width)
        self._bias = self._vector(BIAS, width, zeros_of(self.dtype))
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:  # type: ignore[override]
        c, h = state
        gates = matmul(inputs, self._kernel_w) + tile(h, [1, 4]) * self._kernel_u
        i, j, f, o = split(bias_add(gates, self._bias), 4, 1)
        c = c * sigmoid(f + self._forget_bias) + sigmoid(i) * self._activation(j)
        h = self._activation(c) * sigmoid(o)
        return h, LSTMStateTuple(c, h)
