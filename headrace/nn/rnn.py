"""Recurrent networks as loops: tf.nn.dynamic_rnn, in both directions too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core import dtypes
from headrace.core.dtypes import DTypeLike
from headrace.core.shapes import Shape
from headrace.functions.array.array import rank, shape, transpose, zeros
from headrace.functions.array.checks import Assert
from headrace.functions.array.sort import reverse_sequence
from headrace.functions.array.stacking import concat, stack
from headrace.functions.control.tensor_array import TensorArray
from headrace.functions.control.while_loop import while_loop
from headrace.functions.math.cast import cast
from headrace.functions.math.math import range_
from headrace.functions.math.reduce import reduce_all, reduce_max, reduce_min
from headrace.functions.values import nest
from headrace.functions.values.structure import name_scope
from headrace.graph.defaults import get_default_graph
from headrace.graph.tensor import Tensor
from headrace.nn import rnn_parts as parts
from headrace.nn.rnn_parts import assert_like_rnncell
from headrace.ops.array.constant import constant
from headrace.ops.array.reverse import reverse_v2
from headrace.ops.array.source import identity
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.math import arithmetic, comparison
from headrace.variables.scope import variable_scope
from headrace.variables.scope_defaults import VariableScope


def dynamic_rnn(
    cell: Any,
    inputs: Any,
    sequence_length: Any = None,
    initial_state: Any = None,
    dtype: DTypeLike | None = None,
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: str | VariableScope | None = None,
) -> tuple[Any, Any]:
    """Run a cell over sequences, in a loop.

    Args:
      cell: an RNNCell.
      inputs: a tensor [batch, time, ...], or a nested structure of such tensors; [time, batch, ...]
        if `time_major`.
      sequence_length: a vector of lengths: after its end a sequence gives zeros and keeps its state.
      initial_state: what to start from; zeros if not given.
      dtype: the type of the zeros; needed without an initial state.
      parallel_iterations: how many steps may overlap; 32 if not given.
      swap_memory: accepted; everything is in main memory already.
      time_major: is the first dimension of inputs and outputs time?
      scope: the variable scope; "rnn" if not given.

    Returns: outputs (as many steps as the inputs have), and the state after the last step.

    Raises:
      TypeError: `cell` is not a cell.
      ValueError: the inputs' sizes are not known, or there is neither a state nor a type.

    Example:
      >>> cell = tf.nn.rnn_cell.BasicLSTMCell(64)
      >>> outputs, state = tf.nn.dynamic_rnn(cell, x, dtype=tf.float32)
    """
    assert_like_rnncell("cell", cell)
    with variable_scope(scope or "rnn") as varscope:
        parts.cache_reads(varscope)
        flat = nest.flatten(inputs)
        if not time_major:
            flat = [swapped(convert_to_tensor(x)) for x in flat]
        if sequence_length is not None:
            sequence_length = _lengths(sequence_length)
        batch_size = parts.batch_size_of(flat)
        state = initial_state
        if state is None:
            if not dtype:
                raise ValueError("If there is no initial_state, you must give a dtype.")
            state = parts.first_state(cell, batch_size, dtype)
        if sequence_length is not None:
            check = _assert_shape(sequence_length, [batch_size])
            with get_default_graph().control_dependencies([check]):
                sequence_length = identity(sequence_length, name="CheckSeqLen")
        inputs = nest.pack_sequence_as(inputs, flat)
        outputs, final_state = _Loop(cell, inputs, state, sequence_length, dtype).run(
            parallel_iterations or 32, swap_memory
        )
        if not time_major:
            outputs = nest.map_structure(swapped, outputs)
        return outputs, final_state


def _lengths(given: Any) -> Tensor:
    lengths = cast(given, dtypes.int32)
    if lengths.shape.rank not in (None, 1):
        raise ValueError(
            f"sequence_length must be a vector of length batch_size, but saw shape: {lengths.shape}"
        )
    named: Tensor = identity(lengths, name="sequence_length")
    return named


def swapped(x: Tensor) -> Tensor:
    """[batch, time, ...] from [time, batch, ...] and the other way round."""
    known = x.shape
    if known.rank is not None and known.rank < 2:
        return x
    order = concat(([1, 0], range_(2, rank(x))), 0)
    result: Tensor = transpose(x, order)
    if known.rank is not None:
        result.set_shape(Shape([known.dim(1), known.dim(0)]).concatenate(known[2:]))
    return result


def _assert_shape(x: Tensor, sizes: Sequence[Any]) -> Any:
    found, wanted = shape(x), stack(sizes)
    return Assert(
        reduce_all(comparison.equal(found, wanted)),
        [f"Expected shape for Tensor {x.name} is ", wanted, " but saw shape: ", found],
    )


class _Loop:
    """The loop over time of inputs [time, batch, ...]."""

    def __init__(
        self, cell: Any, inputs: Any, state: Any, sequence_length: Tensor | None, dtype: Any
    ) -> None:
        self.cell, self.inputs, self.state = cell, inputs, state
        self.sequence_length = sequence_length
        flat = nest.flatten(inputs)
        output_sizes = nest.flatten(cell.output_size)
        self.time_steps = shape(flat[0])[0]
        batch_size = parts.batch_size_of(flat)
        self.input_shapes = [x.shape.with_rank_at_least(3) for x in flat]
        self.known = _same_sizes(self.input_shapes)
        kind = parts.state_type(dtype, state)
        zero = [zeros(parts.joined_sizes(batch_size, size), kind) for size in output_sizes]
        self.zero_output = nest.pack_sequence_as(cell.output_size, zero)
        self.shortest: Any = None
        self.longest: Any = self.time_steps
        if sequence_length is not None:
            self.shortest = reduce_min(sequence_length)
            self.longest = reduce_max(sequence_length)
        self.start = constant(0, dtypes.int32, name="time")
        with name_scope("dynamic_rnn") as scope:
            self._base_name = scope
        batch = Shape([self.known[1]])
        self.outputs = tuple(
            self._array(f"output_{i}", batch.concatenate(parts.static_shape(size)), kind)
            for i, size in enumerate(output_sizes)
        )
        arrays = [self._array(f"input_{i}", x.shape[1:], x.dtype) for i, x in enumerate(flat)]
        self.sources = [array.unstack(x) for array, x in zip(arrays, flat)]

    def _array(self, name: str, element_shape: Shape, dtype: Any) -> TensorArray:
        return TensorArray(
            dtype, self.time_steps, element_shape=element_shape, tensor_array_name=self._base_name + name
        )

    def run(self, parallel_iterations: int, swap_memory: bool) -> tuple[Any, Any]:
        bound = arithmetic.minimum(self.time_steps, arithmetic.maximum(1, self.longest))
        _, outputs, state = while_loop(
            lambda time, *_: time < bound,
            self._step,
            (self.start, self.outputs, self.state),
            parallel_iterations=parallel_iterations,
            maximum_iterations=self.time_steps,
            swap_memory=swap_memory,
        )
        found = [array.stack() for array in outputs]
        for tensor, size in zip(found, nest.flatten(self.cell.output_size)):
            tensor.set_shape(parts.static_sizes(self.known, size))
        return nest.pack_sequence_as(self.cell.output_size, found), state

    def _step(self, time: Tensor, outputs: Sequence[TensorArray], state: Any) -> Any:
        rows = [source.read(time) for source in self.sources]
        for row, known in zip(rows, self.input_shapes):
            row.set_shape(known[1:])
        inputs = nest.pack_sequence_as(self.inputs, rows)
        keeps_list = parts.is_keras_cell(self.cell)
        if keeps_list and not nest.is_sequence(state):
            state = [state]
        if self.sequence_length is None:
            output, state = self.cell(inputs, state)
        else:
            before = state
            output, state = parts.step(
                time,
                self.sequence_length,
                self.shortest,
                self.longest,
                self.zero_output,
                before,
                lambda: self.cell(inputs, before),
                skip_conditionals=True,
            )
        if keeps_list and len(state) == 1:
            state = state[0]
        written = [array.write(time, row) for array, row in zip(outputs, nest.flatten(output))]
        return time + 1, tuple(written), state


def _same_sizes(shapes: Sequence[Shape]) -> list[Any]:
    """Time and batch, as far as known, which all inputs share."""
    known = [shapes[0].dim(0), shapes[0].dim(1)]
    for found in shapes:
        if not found[2:].is_fully_defined():
            raise ValueError(
                "Input size (depth of inputs) must be accessible via shape inference, but saw value None."
            )
        if found.dim(0) != known[0]:
            raise ValueError("Time steps is not the same for all the elements in the input in a batch.")
        if found.dim(1) != known[1]:
            raise ValueError("Batch_size is not the same for all the elements in the input.")
    return known


def bidirectional_dynamic_rnn(
    cell_fw: Any,
    cell_bw: Any,
    inputs: Any,
    sequence_length: Any = None,
    initial_state_fw: Any = None,
    initial_state_bw: Any = None,
    dtype: DTypeLike | None = None,
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: str | VariableScope | None = None,
) -> tuple[Any, Any]:
    """Run one cell over sequences from their start, and one from their end.

    Args:
      cell_fw, cell_bw: the cells of both directions.
      inputs: a tensor [batch, time, ...] or a nested structure of them; [time, batch, ...] if
        `time_major`.
      sequence_length: a vector of lengths; from its end on a sequence counts as absent.
      initial_state_fw, initial_state_bw: what to start from; zeros if not given.
      dtype: the type of the zeros.
      parallel_iterations, swap_memory, time_major: as for dynamic_rnn.
      scope: the variable scope; "bidirectional_rnn" if not given.

    Returns: (outputs forward, outputs backward), (state forward, state backward).

    Raises:
      TypeError: a cell is not a cell.
    """
    assert_like_rnncell("cell_fw", cell_fw)
    assert_like_rnncell("cell_bw", cell_bw)
    time_axis, batch_axis = (0, 1) if time_major else (1, 0)

    def reverse(x: Any) -> Any:
        if sequence_length is None:
            return reverse_v2(x, [time_axis])
        return reverse_sequence(x, sequence_length, seq_axis=time_axis, batch_axis=batch_axis)

    def run(cell: Any, inputs: Any, state: Any, scope: Any) -> Any:
        return dynamic_rnn(
            cell, inputs, sequence_length, state, dtype, parallel_iterations, swap_memory, time_major, scope
        )

    with variable_scope(scope or "bidirectional_rnn"):
        with variable_scope("fw") as fw_scope:
            output_fw, state_fw = run(cell_fw, inputs, initial_state_fw, fw_scope)
        with variable_scope("bw") as bw_scope:
            backwards = nest.map_structure(reverse, inputs)
            output_bw, state_bw = run(cell_bw, backwards, initial_state_bw, bw_scope)
    output_bw = nest.map_structure(reverse, output_bw)
    return (output_fw, output_bw), (state_fw, state_bw)
