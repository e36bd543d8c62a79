"""tf.nn.raw_rnn: a recurrent loop whose inputs the user makes as it goes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.core import dtypes
from headrace.core.shapes import Dimension, Shape
from headrace.functions.array.array import shape, zeros
from headrace.functions.control.tensor_array import TensorArray
from headrace.functions.control.while_loop import while_loop
from headrace.functions.math.reduce import reduce_all
from headrace.functions.values import nest
from headrace.graph.tensor import Tensor
from headrace.nn import rnn_parts as parts
from headrace.nn.rnn_parts import assert_like_rnncell
from headrace.ops.array.constant import constant
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.math import logical
from headrace.variables.scope import variable_scope
from headrace.variables.scope_defaults import VariableScope


def raw_rnn(
    cell: Any,
    loop_fn: Callable[..., Any],
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    scope: str | VariableScope | None = None,
) -> tuple[Any, Any, Any]:
    """Run a cell; a function says what goes in next, and when to stop.

    Args:
      cell: an RNNCell.
      loop_fn: (time, output of the cell, its state, loop state) -> (finished, next input, next
        state, what to emit, next loop state).  First it is called with time 0 and None otherwise:
        then it gives the first input and state, and the structure of what it will emit (None: that
        of the cell's output).  `finished` is a vector of booleans, one per member of the batch.
      parallel_iterations: how many steps may overlap; 32 if not given.
      swap_memory: accepted; everything is in main memory already.
      scope: the variable scope; "rnn" if not given.

    Returns: a structure of TensorArrays of what was emitted, the last state, the last loop state.

    Raises:
      TypeError: `cell` is not a cell, or `loop_fn` is not callable.
    """
    assert_like_rnncell("cell", cell)
    if not callable(loop_fn):
        raise TypeError("loop_fn must be a callable")
    with variable_scope(scope or "rnn") as varscope:
        parts.cache_reads(varscope)
        loop = _RawLoop(cell, loop_fn)
        return loop.run(parallel_iterations or 32, swap_memory)


class _RawLoop:
    def __init__(self, cell: Any, loop_fn: Callable[..., Any]) -> None:
        self.cell, self.loop_fn = cell, loop_fn
        self.start = constant(0, dtypes.int32)
        first = loop_fn(self.start, None, None, None)
        self.finished, self.next_input, state, emitted, self.init_loop_state = first
        flat = nest.flatten(self.next_input)
        self.loop_state = self.init_loop_state
        if self.loop_state is None:
            self.loop_state = constant(0, dtypes.int32)
        known = Dimension(None)
        for tensor in flat:
            found = tensor.shape
            known = known.merge_with(None if found.rank is None else found[0])
        batch_size: Any = known.value
        if batch_size is None:
            batch_size = shape(flat[0])[0]
        nest.assert_same_structure(state, cell.state_size)
        flat_state = [convert_to_tensor(part) for part in nest.flatten(state)]
        self.state = nest.pack_sequence_as(state, flat_state)
        if emitted is None:
            emitted = cell.output_size
            sizes = nest.flatten(emitted)
            kinds = [flat_state[0].dtype] * len(sizes)
        else:
            made = nest.flatten(emitted)
            sizes = [x.shape if x.shape.is_fully_defined() else shape(x) for x in made]
            kinds = [x.dtype for x in made]
        arrays = [
            TensorArray(
                kind,
                size=0,
                dynamic_size=True,
                name=f"rnn_output_{i}",
                element_shape=Shape([known]).concatenate(parts.static_shape(size)),
            )
            for i, (kind, size) in enumerate(zip(kinds, sizes))
        ]
        self.arrays = nest.pack_sequence_as(emitted, arrays)
        nothing = [zeros(parts.joined_sizes(batch_size, size), kind) for size, kind in zip(sizes, kinds)]
        self.nothing = nest.pack_sequence_as(emitted, nothing)

    def run(self, parallel_iterations: int, swap_memory: bool) -> tuple[Any, Any, Any]:
        returned = while_loop(
            lambda time, finished, *_: logical.logical_not(reduce_all(finished)),
            self._step,
            [self.start, self.finished, self.next_input, self.arrays, self.state, self.loop_state],
            parallel_iterations=parallel_iterations,
            swap_memory=swap_memory,
        )
        emitted, state, loop_state = returned[-3:]
        return emitted, state, None if self.init_loop_state is None else loop_state

    def _step(
        self, time: Tensor, finished: Tensor, current: Any, arrays: Any, state: Any, loop_state: Any
    ) -> Any:
        output, cell_state = self.cell(current, state)
        nest.assert_same_structure(state, cell_state)
        nest.assert_same_structure(self.cell.output_size, output)
        next_time = time + 1
        stops, next_input, next_state, emitted, next_loop_state = self.loop_fn(
            next_time, output, cell_state, loop_state
        )
        nest.assert_same_structure(state, next_state)
        nest.assert_same_structure(current, next_input)
        nest.assert_same_structure(arrays, emitted)
        if next_loop_state is not None:
            loop_state = next_loop_state

        def keep_finished(old: Any, new: Any) -> Any:
            return nest.map_structure(lambda a, b: parts.select_rows(finished, a, b), old, new)

        emitted = keep_finished(self.nothing, emitted)
        next_state = keep_finished(state, next_state)
        arrays = nest.map_structure(lambda array, row: array.write(time, row), arrays, emitted)
        finished = logical.logical_or(finished, stops)
        return next_time, finished, next_input, arrays, next_state, loop_state
