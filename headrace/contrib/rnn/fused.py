"""Cells that take a whole sequence at once: tf.contrib.rnn.LSTMBlockFusedCell, and what makes such cells
of others or runs them backwards.  Sequences are [time, batch, depth], or lists of steps."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from headrace.contrib.rnn.block_cells import NO_CLIP, as_arguments, block_arguments, lstm_weights
from headrace.core import dtypes
from headrace.core.dtypes import DTypeLike
from headrace.core.families import takes
from headrace.core.fields import reads
from headrace.functions.array.array import expand_dims, shape, transpose, zeros
from headrace.functions.array.indexing import gather_nd, sequence_mask
from headrace.functions.array.sort import reverse_sequence
from headrace.functions.array.stacking import concat, stack, unstack
from headrace.functions.math.cast import cast
from headrace.functions.math.math import range_
from headrace.functions.math.reduce import reduce_max
from headrace.layers.engine.base import Layer
from headrace.layers.engine.input_spec import InputSpec
from headrace.layers.rnn.lstm_cells import LSTMStateTuple
from headrace.nn.rnn import dynamic_rnn
from headrace.nn.static_rnn import static_rnn
from headrace.ops.array.reverse import reverse_v2
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.nn.recurrent.lstm_block import block_lstm


class FusedRNNCell(ABC):
    """A recurrent network over a sequence, as one callable."""

    @abstractmethod
    def __call__(
        self,
        inputs: Any,
        initial_state: Any = None,
        dtype: DTypeLike | None = None,
        sequence_length: Any = None,
        scope: Any = None,
    ) -> Any:
        """The outputs of all steps (a list if `inputs` is one) and the last state.

        Args:
          inputs: [time, batch, depth], or a list of [batch, depth].
          initial_state: state before the first step.
          dtype: type of the state where no initial one is given.
          sequence_length: how many steps each member of the batch has.
          scope: a variable scope.
        """


class FusedRNNCellAdaptor(FusedRNNCell):
    """An ordinary cell, used step by step.

    Args:
      cell: an RNNCell.
      use_dynamic_rnn: a loop in the graph, instead of nodes for every step.
    """

    def __init__(self, cell: Any, use_dynamic_rnn: bool = False) -> None:
        self._cell, self._use_dynamic_rnn = cell, use_dynamic_rnn

    @takes(FusedRNNCell.__call__)
    def __call__(self, inputs: Any, **options: Any) -> Any:
        in_list = isinstance(inputs, list)
        if self._use_dynamic_rnn:
            steps = stack(inputs) if in_list else inputs
            outputs, state = dynamic_rnn(self._cell, steps, time_major=True, **options)
            return unstack(outputs) if in_list else outputs, state
        steps = inputs if in_list else unstack(inputs)
        outputs, state = static_rnn(self._cell, steps, **options)
        return outputs if in_list else stack(outputs), state


class TimeReversedFusedRNN(FusedRNNCell):
    """A fused cell that reads the sequence from its end; its outputs are in the order of the inputs.

    Args:
      cell: a FusedRNNCell.
    """

    def __init__(self, cell: Any) -> None:
        self._cell = cell

    def _reversed(self, steps: Any, lengths: Any) -> Any:
        if isinstance(steps, list):
            return list(reversed(steps))
        if lengths is None:
            return reverse_v2(steps, [0])
        return reverse_sequence(steps, lengths, 0, 1)

    @takes(FusedRNNCell.__call__)
    def __call__(self, inputs: Any, sequence_length: Any, **options: Any) -> Any:
        turned = self._reversed(inputs, sequence_length)
        outputs, state = self._cell(turned, sequence_length=sequence_length, **options)
        return self._reversed(outputs, sequence_length), state


class LSTMBlockWrapper(Layer, ABC):
    """The frame of an LSTM over whole sequences: states, lengths, lists.  A subclass has `num_units`
    and says in `_call_cell` what the memory and output of every step are."""

    @property
    @abstractmethod
    def num_units(self) -> int:
        """Size of the memory and of the output."""

    @abstractmethod
    def _call_cell(
        self, inputs: Any, initial_cell_state: Any, initial_output: Any, dtype: Any, sequence_length: Any
    ) -> Any:
        """Memory and output of every step: two tensors [time, batch, units]."""

    def call(  # type: ignore[override]
        self, inputs: Any, initial_state: Any = None, dtype: Any = None, sequence_length: Any = None
    ) -> Any:
        """The outputs, and the state after each member's last step.

        Raises:
          ValueError: the depth is not known, the state is no pair, or neither a state nor a type
            is given.
        """
        in_list = isinstance(inputs, list)
        steps = stack(inputs) if in_list else inputs
        if steps.shape.with_rank(3).dim(2) is None:
            raise ValueError(f"Expecting inputs_shape[2] to be set: {steps.shape}")
        count = _size(steps, 0)
        batch = _size(steps, 1)
        if initial_state is None:
            if dtype is None:
                raise ValueError("Either initial_state or dtype needs to be specified")
            nothing = zeros(stack([batch, self.num_units]), dtype)
            initial_state = nothing, nothing
        elif len(initial_state) != 2:
            raise ValueError("Expecting initial_state to be a tuple with length 2 or None")
        dtype = initial_state[0].dtype if dtype is None else dtype
        c, h = initial_state
        lengths = None if sequence_length is None else convert_to_tensor(sequence_length)
        memories, outputs = self._call_cell(steps, c, h, dtype, lengths)
        if lengths is None:
            state = LSTMStateTuple(memories[-1], outputs[-1])
        else:
            lives = transpose(sequence_mask(lengths, count, dtype=dtype), [1, 0])
            outputs = outputs * expand_dims(lives, -1)
            state = LSTMStateTuple(*(_after(lengths, batch, *pair) for pair in ((c, memories), (h, outputs))))
        return unstack(outputs) if in_list else outputs, state


def _size(x: Any, axis: int) -> Any:
    known = x.shape.dim(axis)
    return shape(x)[axis] if known is None else known


def _after(lengths: Any, batch: Any, first: Any, steps: Any) -> Any:
    """The state after so many steps; after none it is the first."""
    states = concat([expand_dims(first, 0), steps], 0)
    members = range_(batch)
    return gather_nd(states, stack([cast(lengths, members.dtype), members], axis=1))


class LSTMBlockFusedCell(LSTMBlockWrapper):
    """An LSTM over a whole sequence, as a single op.

    Args:
      num_units: size of the memory and of the output.
      forget_bias: added to the forget gate, so that at first little is forgotten.
      cell_clip: the memory is kept within this distance of zero; None: it is not.
      use_peephole: gates also see the memory, element by element.
      reuse: take variables that are there.
      dtype: type of the variables; default that of the first input.
      name: name of the variable scope.
    """

    @takes(block_arguments, reuse=None, dtype=None, name="lstm_fused_cell")
    def __init__(
        self, num_units: int, forget_bias: float, cell_clip: Any, use_peephole: bool, reuse: Any, **more: Any
    ) -> None:
        super().__init__(_reuse=reuse, **more)
        self.input_spec = InputSpec(ndim=3)
        self._num_units, self._forget_bias = num_units, forget_bias
        self._cell_clip = NO_CLIP if cell_clip is None else cell_clip
        self._use_peephole = use_peephole

    num_units: int = reads("_num_units")

    def build(self, input_shape: Any) -> None:
        self._parts = lstm_weights(self, input_shape.dim(2), self._num_units, self._use_peephole)
        self._kernel, self._bias = self._parts[:2]
        self.built = True

    def _call_cell(
        self,
        inputs: Any,
        initial_cell_state: Any = None,
        initial_output: Any = None,
        dtype: DTypeLike | None = None,
        sequence_length: Any = None,
    ) -> Any:
        longest = _size(inputs, 0) if sequence_length is None else reduce_max(sequence_length)
        _, memories, _, _, _, _, outputs = block_lstm(
            seq_len_max=cast(longest, dtypes.int64),
            x=inputs,
            cs_prev=initial_cell_state,
            h_prev=initial_output,
            forget_bias=self._forget_bias,
            cell_clip=self._cell_clip,
            use_peephole=self._use_peephole,
            **as_arguments(self._parts, self._num_units, dtype),
        )
        return memories, outputs
