"""Recurrent cells: one step of a recurrent network.  tf.nn.rnn_cell.RNNCell, BasicRNNCell, GRUCell.

A cell is a layer that is called with an input and a state, and returns an output and a state.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.core.dtypes import DTypeLike, as_dtype
from headrace.core.fields import reads
from headrace.core.shapes import as_shape
from headrace.functions.array.array import shape
from headrace.functions.array.stacking import concat, split
from headrace.functions.linalg.linalg import matmul
from headrace.functions.math.elementwise import tanh
from headrace.functions.math.math import sigmoid
from headrace.functions.nn.activation import bias_add
from headrace.functions.values import nest
from headrace.functions.values.structure import name_scope
from headrace.graph.defaults import get_default_graph
from headrace.graph.keys import GraphKeys
from headrace.graph.tensor import Tensor
from headrace.layers.engine.base import Layer
from headrace.layers.engine.identifiers import get_activation, get_initializer, serialize
from headrace.layers.engine.input_spec import InputSpec
from headrace.nn.rnn_parts import zero_states
from headrace.ops.declaration.constants import constant_value
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.variables.initializers.initializers import Constant, Zeros
from headrace.variables.partitioned import PartitionedVariable
from headrace.variables.scope import get_variable_scope, variable_scope

KERNEL, BIAS = "kernel", "bias"


class RNNCell(Layer):
    """The base of recurrent cells.

    A subclass has `state_size` and `output_size` (numbers, shapes, or structures of them), and says
    in `call(inputs, state)` what the output and the next state are.  Variables that it gets by
    `tf.get_variable` belong to it.

    Args:
      trainable: are the variables to be trained?
      name: name of the variable scope.
      dtype: type of the variables.
      **kwargs: as of Layer.
    """

    def __init__(self, trainable: bool = True, name: Any = None, dtype: Any = None, **kwargs: Any) -> None:
        super().__init__(trainable=trainable, name=name, dtype=dtype, **kwargs)

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
        """The output and the next state, from an input [batch, ...] and a state."""
        if scope is not None:
            with variable_scope(scope, custom_getter=self._own) as entered:
                return super().__call__(inputs, state, scope=entered)
        kept = vars(self).get("rnncell_scope")
        if kept is None:
            kept = variable_scope(get_variable_scope(), custom_getter=self._own)
            self.rnncell_scope = kept
        with kept:
            return super().__call__(inputs, state)

    def _own(self, getter: Any, *args: Any, **kwargs: Any) -> Any:
        """get_variable; the variable becomes the cell's."""
        variable = getter(*args, **kwargs)
        first = variable
        if isinstance(variable, PartitionedVariable):
            first = next(iter(variable))
        trained = get_default_graph().get_collection(GraphKeys.TRAINABLE_VARIABLES)
        is_trained = any(first is v for v in trained)
        mine = self._trainable_weights if is_trained else self._non_trainable_weights
        if not any(variable is v for v in mine):
            mine.append(variable)
        return variable

    @property
    def state_size(self) -> Any:
        """The size of a state: a number, a shape, or a structure of them."""
        raise NotImplementedError("Abstract method")

    @property
    def output_size(self) -> Any:
        """The size of an output."""
        raise NotImplementedError("Abstract method")

    def build(self, _: Any) -> None:
        """Nothing: a cell may get its variables when it is called."""

    def get_initial_state(self, inputs: Any = None, batch_size: Any = None, dtype: Any = None) -> Any:
        """Zeros, for the batch of `inputs` or of a size and type.

        Raises:
          ValueError: `inputs` say something else than `batch_size` or `dtype`, or all are missing.
        """
        if inputs is not None:
            inputs = convert_to_tensor(inputs, name="inputs")
            known = inputs.shape.dim(0)
            given = constant_value(batch_size) if isinstance(batch_size, Tensor) else batch_size
            if batch_size is not None and known != given:
                raise ValueError(
                    "batch size from input tensor is different from the input param. Input tensor "
                    f"batch: {known}, batch_size: {batch_size}"
                )
            if dtype is not None and inputs.dtype != dtype:
                raise ValueError(
                    "dtype from input tensor is different from the input param. Input tensor dtype: "
                    f"{inputs.dtype}, dtype: {dtype}"
                )
            batch_size, dtype = known or shape(inputs)[0], inputs.dtype
        if batch_size is None or dtype is None:
            raise ValueError(
                "batch_size and dtype cannot be None while constructing initial state: "
                f"batch_size={batch_size}, dtype={dtype}"
            )
        return self.zero_state(batch_size, dtype)

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """A state of zeros for a batch."""
        with name_scope(type(self).__name__ + "ZeroState", values=[batch_size]):
            return zero_states(self.state_size, batch_size, dtype)

    def get_config(self) -> dict[str, Any]:
        return super().get_config()


class LayerRNNCell(RNNCell):
    """A cell that makes its variables in `build`, like a layer."""

    def __call__(self, inputs: Any, state: Any, scope: Any = None, *args: Any, **kwargs: Any) -> Any:
        return Layer.__call__(self, inputs, state, *args, scope=scope, **kwargs)

    def _depth(self, inputs_shape: Any) -> int:
        """The last size of the inputs, which must be known."""
        check_dtype(self.dtype)
        inputs_shape = as_shape(inputs_shape)
        if inputs_shape.rank is None or inputs_shape.sizes[-1] is None:
            raise ValueError(f"Expected inputs.shape[-1] to be known, saw shape: {inputs_shape}")
        depth: int = inputs_shape.sizes[-1]
        return depth


def check_dtype(dtype: Any) -> None:
    if dtype is None:
        return
    dtype = as_dtype(dtype)
    if not (dtype.is_floating or dtype.is_complex):
        raise ValueError(f"RNN cell only supports floating point inputs, but saw dtype: {dtype}")


def check_dtypes(*inputs: Any) -> None:
    for tensor in nest.flatten(inputs):
        check_dtype(tensor.dtype)


def zeros_of(dtype: Any) -> Any:
    return Zeros() if dtype is None else Zeros(dtype=as_dtype(dtype))


class OneVector:
    """Of cells whose state is one vector, which is their output too."""

    _num_units: int

    state_size: Any = reads("_num_units")
    output_size: Any = reads("_num_units")


class BasicRNNCell(OneVector, LayerRNNCell):
    """output = state = activation([input, state] · kernel + bias).

    Args:
      num_units: size of the state.
      activation: tanh if not given.
      reuse: take variables that are there.
      name: name of the variable scope.
      dtype: type of the variables; default that of the first input.
      **kwargs: as of Layer.
    """

    def __init__(
        self,
        num_units: int,
        activation: Callable[..., Any] | str | None = None,
        reuse: bool | None = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        check_dtype(self.dtype)
        self.input_spec = InputSpec(ndim=2)
        self._num_units = num_units
        self._activation = get_activation(activation) if activation else tanh

    def build(self, inputs_shape: Any) -> None:
        depth, units = self._depth(inputs_shape), self._num_units
        self._kernel = self.add_variable(KERNEL, shape=[depth + units, units])
        self._bias = self.add_variable(BIAS, shape=[units], initializer=zeros_of(self.dtype))
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:  # type: ignore[override]
        check_dtypes(inputs, state)
        gates = matmul(concat([inputs, state], 1), self._kernel)
        output = self._activation(bias_add(gates, self._bias))
        return output, output

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {
            "num_units": self._num_units,
            "activation": serialize(self._activation),
            "reuse": self._reuse,
        }


class GRUCell(OneVector, LayerRNNCell):
    """Gated recurrent unit: an update gate between the old state and a candidate.

    Args:
      num_units: size of the state.
      activation: of the candidate; tanh if not given.
      reuse: take variables that are there.
      kernel_initializer: default that of the variable scope.
      bias_initializer: ones for the gates and zeros for the candidate if not given.
      name: name of the variable scope.
      dtype: type of the variables; default that of the first input.
      **kwargs: as of Layer.
    """

    def __init__(
        self,
        num_units: int,
        activation: Callable[..., Any] | str | None = None,
        reuse: bool | None = None,
        kernel_initializer: Callable[..., Any] | None = None,
        bias_initializer: Callable[..., Any] | None = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        check_dtype(self.dtype)
        self.input_spec = InputSpec(ndim=2)
        self._num_units = num_units
        self._activation = get_activation(activation) if activation else tanh
        self._kernel_initializer = get_initializer(kernel_initializer)
        self._bias_initializer = get_initializer(bias_initializer)

    def build(self, inputs_shape: Any) -> None:
        rows, units = self._depth(inputs_shape) + self._num_units, self._num_units
        bias, kernel = self._bias_initializer, self._kernel_initializer
        ones = Constant(1.0, dtype=as_dtype(self.dtype))
        self._gate_kernel = self.add_variable(f"gates/{KERNEL}", shape=[rows, 2 * units], initializer=kernel)
        self._gate_bias = self.add_variable(
            f"gates/{BIAS}", shape=[2 * units], initializer=ones if bias is None else bias
        )
        self._candidate_kernel = self.add_variable(
            f"candidate/{KERNEL}", shape=[rows, units], initializer=kernel
        )
        self._candidate_bias = self.add_variable(
            f"candidate/{BIAS}", shape=[units], initializer=zeros_of(self.dtype) if bias is None else bias
        )
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:  # type: ignore[override]
        check_dtypes(inputs, state)
        gates = matmul(concat([inputs, state], 1), self._gate_kernel)
        value = sigmoid(bias_add(gates, self._gate_bias))
        reset, update = split(value, 2, 1)
        remembered = reset * state
        candidate = matmul(concat([inputs, remembered], 1), self._candidate_kernel)
        new = self._activation(bias_add(candidate, self._candidate_bias))
        state = update * state + (1 - update) * new
        return state, state

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {
            "num_units": self._num_units,
            "kernel_initializer": serialize(self._kernel_initializer),
            "bias_initializer": serialize(self._bias_initializer),
            "activation": serialize(self._activation),
            "reuse": self._reuse,
        }
