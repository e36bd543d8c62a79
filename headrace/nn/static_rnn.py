"""Recurrent networks unrolled: one copy of the cell's nodes for every step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core import dtypes
from headrace.core.dtypes import DTypeLike
from headrace.core.shapes import Shape
from headrace.functions.array.array import shape, zeros
from headrace.functions.array.sort import reverse_sequence
from headrace.functions.array.stacking import concat, stack, unstack
from headrace.functions.math.cast import cast
from headrace.functions.math.reduce import reduce_max, reduce_min
from headrace.functions.values import nest
from headrace.graph.defaults import get_default_graph
from headrace.graph.tensor import Tensor
from headrace.nn import rnn_parts as parts
from headrace.nn.rnn_parts import assert_like_rnncell
from headrace.ops.array.source import identity
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.variables.scope import variable_scope
from headrace.variables.scope_defaults import VariableScope


def static_rnn(
    cell: Any,
    inputs: Any,
    initial_state: Any = None,
    dtype: DTypeLike | None = None,
    sequence_length: Any = None,
    scope: str | VariableScope | None = None,
) -> tuple[list[Any], Any]:
    """Run a cell over a list of inputs.

    Args:
      cell: an RNNCell.
      inputs: a list with one tensor [batch, ...] (or nested structure of them) for every step.
      initial_state: what to start from; zeros if not given.
      dtype: the type of the zeros; needed without an initial state.
      sequence_length: a vector of lengths: after its end a sequence gives zeros and keeps its state.
      scope: the variable scope; "rnn" if not given.

    Returns: the list of outputs, and the last state.

    Raises:
      TypeError: `cell` is not a cell, or `inputs` is not a list.
      ValueError: `inputs` is empty, or its sizes are not known.
    """
    assert_like_rnncell("cell", cell)
    _check_inputs(inputs)
    with variable_scope(scope or "rnn") as varscope:
        parts.cache_reads(varscope)
        known, batch_size = _batch_size(inputs)
        state = initial_state
        if state is None:
            if not dtype:
                raise ValueError("If no initial_state is provided, dtype must be specified")
            state = parts.first_state(cell, batch_size, dtype)
        lengths = None
        if sequence_length is not None:
            lengths = _Lengths(cell, sequence_length, batch_size, known, dtype, state)
        keeps_list = parts.is_keras_cell(cell)
        if keeps_list and not nest.is_sequence(state):
            state = [state]
        outputs = []
        for time, row in enumerate(inputs):
            if time:
                varscope.reuse_variables()
            if lengths is None:
                output, state = cell(row, state)
            else:
                output, state = lengths.step(time, row, state)
            outputs.append(output)
        if keeps_list and len(state) == 1:
            state = state[0]
        return outputs, state


def _check_inputs(inputs: Any) -> None:
    if not nest.is_sequence(inputs):
        raise TypeError("inputs must be a sequence")
    if not inputs:
        raise ValueError("inputs must not be empty")


def _batch_size(inputs: Any) -> tuple[Any, Any]:
    """The number of rows: as far as known, and in any case."""
    first = inputs
    while nest.is_sequence(first):
        first = first[0]
    if first.shape.rank == 1:
        known = first.shape[0]
    else:
        known = first.shape.with_rank_at_least(2)[0]
        for tensor in nest.flatten(inputs):
            found = tensor.shape.with_rank_at_least(2)
            if found.rank is not None:
                known = known.merge_with(found[0])
                _check_sizes(found)
    return known.value, known.value or shape(first)[0]


def _check_sizes(found: Shape) -> None:
    for i, size in enumerate(found.sizes[1:]):
        if size is None:
            raise ValueError(
                f"Input size (dimension {i} of inputs) must be accessible via shape inference, but "
                "saw value None."
            )


class _Lengths:
    """Steps of sequences that end at different times."""

    def __init__(self, cell: Any, given: Any, batch_size: Any, known: Any, dtype: Any, state: Any) -> None:
        self.cell = cell
        lengths = convert_to_tensor(given, name="sequence_length")
        if lengths.shape.rank not in (None, 1):
            raise ValueError("sequence_length must be a vector of length batch_size")
        kind = parts.state_type(dtype, state)
        nothing = []
        for size in nest.flatten(cell.output_size):
            zero = zeros(parts.joined_sizes(batch_size, size), kind)
            zero.set_shape(Shape([known]).concatenate(parts.static_shape(size)))
            nothing.append(zero)
        self.zero_output = nest.pack_sequence_as(cell.output_size, nothing)
        self.lengths: Tensor = cast(lengths, dtypes.int32)
        self.shortest, self.longest = reduce_min(self.lengths), reduce_max(self.lengths)

    def step(self, time: int, row: Any, state: Any) -> tuple[Any, Any]:
        return parts.step(
            time,
            self.lengths,
            self.shortest,
            self.longest,
            self.zero_output,
            state,
            lambda: self.cell(row, state),
        )


def static_state_saving_rnn(
    cell: Any, inputs: Any, state_saver: Any, state_name: Any, sequence_length: Any = None, scope: Any = None
) -> tuple[list[Any], Any]:
    """static_rnn whose state lives in a saver from step to step.

    Args:
      cell: an RNNCell.
      inputs: a list with one tensor for every step.
      state_saver: has `state(name)` and `save_state(name, value)`.
      state_name: the name of the state in the saver; a structure of names where the state is one.
      sequence_length, scope: as for static_rnn.

    Returns: the list of outputs, and the last state; the last ones wait until the state is saved.

    Raises:
      ValueError: names and state have different structures.
    """
    size = cell.state_size
    if nest.is_sequence(size) != nest.is_sequence(state_name):
        raise ValueError(
            "state_name should be the same type as cell.state_size.  state_name: "
            f"{state_name}, cell.state_size: {size}"
        )
    names, sizes = nest.flatten(state_name), nest.flatten(size)
    if len(names) != len(sizes):
        raise ValueError(f"#elems(state_name) != #elems(state_size): {len(names)} vs. {len(sizes)}")
    first = nest.pack_sequence_as(size, [state_saver.state(name) for name in names])
    outputs, state = static_rnn(
        cell, inputs, initial_state=first, sequence_length=sequence_length, scope=scope
    )
    saved = [state_saver.save_state(n, x) for n, x in zip(names, nest.flatten(state))]
    with get_default_graph().control_dependencies(saved):
        outputs[-1] = nest.map_structure(identity, outputs[-1])
        state = nest.map_structure(identity, state)
    return outputs, state


def static_bidirectional_rnn(
    cell_fw: Any,
    cell_bw: Any,
    inputs: Any,
    initial_state_fw: Any = None,
    initial_state_bw: Any = None,
    dtype: DTypeLike | None = None,
    sequence_length: Any = None,
    scope: str | VariableScope | None = None,
) -> tuple[Any, Any, Any]:
    """static_rnn in both directions.

    Args:
      cell_fw, cell_bw: the cells of both directions.
      inputs: a list with one tensor for every step.
      initial_state_fw, initial_state_bw: what to start from; zeros if not given.
      dtype: the type of the zeros.
      sequence_length: a vector of lengths; from its end on a sequence counts as absent.
      scope: the variable scope; "bidirectional_rnn" if not given.

    Returns: the outputs of both cells side by side, the last state forward, and backward.

    Raises:
      TypeError: a cell is not a cell, or `inputs` is not a list.
      ValueError: `inputs` is empty.
    """
    assert_like_rnncell("cell_fw", cell_fw)
    assert_like_rnncell("cell_bw", cell_bw)
    _check_inputs(inputs)
    with variable_scope(scope or "bidirectional_rnn"):
        with variable_scope("fw") as fw_scope:
            output_fw, state_fw = static_rnn(
                cell_fw, inputs, initial_state_fw, dtype, sequence_length, scope=fw_scope
            )
        with variable_scope("bw") as bw_scope:
            output_bw, state_bw = static_rnn(
                cell_bw,
                _reversed(inputs, sequence_length),
                initial_state_bw,
                dtype,
                sequence_length,
                scope=bw_scope,
            )
    output_bw = _reversed(output_bw, sequence_length)
    pairs = zip(nest.flatten(output_fw), nest.flatten(output_bw))
    joined = [concat([forward, backward], 1) for forward, backward in pairs]
    return nest.pack_sequence_as(output_fw, joined), state_fw, state_bw


def _reversed(steps: Sequence[Any], lengths: Any) -> list[Any]:
    """A list of steps backwards, each sequence from its own end."""
    if lengths is None:
        return list(reversed(steps))
    flat = [nest.flatten(row) for row in steps]
    columns = []
    for tensors in zip(*flat):
        known = tensors[0].shape
        for tensor in tensors:
            known = known.merge_with(tensor.shape)
        for tensor in tensors:
            tensor.set_shape(known)
        backwards = reverse_sequence(stack(list(tensors)), lengths, 0, 1)
        found = unstack(backwards)
        for tensor in found:
            tensor.set_shape(known)
        columns.append(found)
    return [nest.pack_sequence_as(row, new) for row, new in zip(steps, zip(*columns))]
