"""Cells around cells: tf.contrib.rnn.HighwayWrapper, CompiledWrapper, AttentionCellWrapper."""

from __future__ import annotations

from typing import Any

from headrace.contrib.rnn.linear import linear
from headrace.contrib.rnn.projections import Around
from headrace.core import log
from headrace.core.fields import reads
from headrace.functions.array.array import expand_dims, reshape
from headrace.functions.array.slice import slice_
from headrace.functions.array.stacking import concat, split
from headrace.functions.math.elementwise import tanh
from headrace.functions.math.math import sigmoid
from headrace.functions.math.reduce import reduce_sum
from headrace.functions.nn.activation import xw_plus_b
from headrace.functions.nn.conv import conv2d
from headrace.functions.nn.softmax import softmax
from headrace.functions.values import nest
from headrace.layers.rnn.rnn_cells import RNNCell
from headrace.nn.rnn_parts import assert_like_rnncell
from headrace.variables.initializers.initializers import Constant
from headrace.variables.scope import get_variable, variable_scope


class _Through(Around):
    """A cell that is called as another one is, without a scope of its own."""

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
        return self._cell(inputs, state, scope=scope)


class CompiledWrapper(_Through):
    """A cell as it is: steps are compiled whether they are asked to or not.

    Args:
      cell: the cell.
      compile_stateful: accepted.
    """

    def __init__(self, cell: Any, compile_stateful: bool = False) -> None:
        super().__init__(cell)


class HighwayWrapper(_Through):
    """A cell beside which its inputs pass to its outputs, as much as a gate lets them (Srivastava et al.
    2015).

    Args:
      cell: the cell; its outputs have the shapes of its inputs.
      couple_carry_transform_gates: what is not carried is transformed; else a gate of its own says.
      carry_bias_init: what the gate's bias is at first.
    """

    def __init__(
        self, cell: Any, couple_carry_transform_gates: bool = True, carry_bias_init: float = 1.0
    ) -> None:
        super().__init__(cell)
        self._couple, self._bias = couple_carry_transform_gates, carry_bias_init

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
        outputs, new_state = self._cell(inputs, state, scope=scope)
        nest.assert_same_structure(inputs, outputs)
        nest.map_structure(lambda x, y: x.shape.assert_is_compatible_with(y.shape), inputs, outputs)
        return nest.map_structure(self._mixed, inputs, outputs), new_state

    def _gate(self, x: Any, name: str, start: float) -> Any:
        size = x.shape.with_rank(2).dim(1)
        weights = get_variable(f"{name}_w", [size, size])
        bias = get_variable(f"{name}_b", [size], initializer=Constant(start))
        return sigmoid(xw_plus_b(x, weights, bias))

    def _mixed(self, x: Any, y: Any) -> Any:
        carry = self._gate(x, "carry", self._bias)
        transform = 1 - carry if self._couple else self._gate(x, "transform", -self._bias)
        return x * carry + y * transform


class AttentionCellWrapper(RNNCell):
    """A cell that attends to its own last outputs (Cheng et al. 2016).

    Args:
      cell: the cell.
      attn_length: to how many.
      attn_size: size of an output; default that of the cell.
      attn_vec_size: size of what is compared; default `attn_size`.
      input_size: size of what the cell gets; default that of the inputs.
      state_is_tuple: the state is a tuple; else its parts are columns of one tensor.
      reuse: take variables that are there.

    Raises:
      TypeError: `cell` is not a cell.
      ValueError: `attn_length` is not positive, or the cell has a tuple as state and `state_is_tuple`
        is False.
    """

    def __init__(
        self,
        cell: Any,
        attn_length: int,
        attn_size: int | None = None,
        attn_vec_size: int | None = None,
        input_size: int | None = None,
        state_is_tuple: bool = True,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        assert_like_rnncell("cell", cell)
        if nest.is_sequence(cell.state_size) and not state_is_tuple:
            raise ValueError(
                "Cell returns tuple of states, but the flag state_is_tuple is not set. State size "
                f"is: {cell.state_size}"
            )
        if attn_length <= 0:
            raise ValueError(f"attn_length should be greater than zero, got {attn_length}")
        if not state_is_tuple:
            log.warn(
                "%s: Using a concatenated state is slower and will soon be deprecated.  Use "
                "state_is_tuple=True.",
                self,
            )
        self._cell, self._length, self._input_size = cell, attn_length, input_size
        self._size = cell.output_size if attn_size is None else attn_size
        self._vec_size = self._size if attn_vec_size is None else attn_vec_size
        self._state_is_tuple = state_is_tuple

    @property
    def _sizes(self) -> tuple[Any, int, int]:
        return self._cell.state_size, self._size, self._size * self._length

    @property
    def state_size(self) -> Any:
        return self._sizes if self._state_is_tuple else sum(self._sizes)

    output_size: Any = reads("_size")

    def call(self, inputs: Any, state: Any) -> Any:  # type: ignore[override]
        parts = state if self._state_is_tuple else split(state, list(self._sizes), 1)
        state, attended, outputs = parts
        outputs = reshape(outputs, [-1, self._length, self._size])
        size = self._input_size
        mixed = linear([inputs, attended], inputs.shape.dim(1) if size is None else size)
        output, state = self._cell(mixed, state)
        query = concat(nest.flatten(state), 1) if self._state_is_tuple else state
        attended = self._attention(query, outputs)
        with variable_scope("attn_output_projection"):
            output = linear([output, attended], self._size)
        newer = slice_(outputs, [0, 1, 0], [-1, -1, -1])
        outputs = reshape(concat([newer, expand_dims(output, 1)], 1), [-1, self._length * self._size])
        new = (state, attended, outputs)
        return output, new if self._state_is_tuple else concat(list(new), 1)

    def _attention(self, query: Any, outputs: Any) -> Any:
        """The mean of the outputs, weighted by how well they fit the query."""
        with variable_scope("attention"):
            kernel = get_variable("attn_w", [1, 1, self._size, self._vec_size])
            direction = get_variable("attn_v", [self._vec_size])
            hidden = reshape(outputs, [-1, self._length, 1, self._size])
            features = conv2d(hidden, kernel, [1, 1, 1, 1], "SAME")
            asked = reshape(linear(query, self._vec_size), [-1, 1, 1, self._vec_size])
            weights = softmax(reduce_sum(direction * tanh(features + asked), [2, 3]))
            found = reduce_sum(reshape(weights, [-1, self._length, 1, 1]) * hidden, [1, 2])
            return reshape(found, [-1, self._size])
