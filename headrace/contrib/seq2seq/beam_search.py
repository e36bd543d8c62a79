"""Beam search as a decoder: tf.contrib.seq2seq.BeamSearchDecoder."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from headrace.contrib.seq2seq.basic_decoder import check_output_layer, written_size
from headrace.contrib.seq2seq.beam_step import (
    BeamSearchDecoderOutput,
    BeamSearchDecoderState,
    beam_search_step,
    get_attention_probs,
)
from headrace.contrib.seq2seq.beams import check_rank, known_size, sorted_array
from headrace.contrib.seq2seq.decoder import Decoder
from headrace.contrib.seq2seq.helpers import checked_tokens, embedding_function
from headrace.core import dtypes
from headrace.core.fields import reads
from headrace.core.shapes import Shape
from headrace.functions.array.array import expand_dims, reshape, shape, size, zeros
from headrace.functions.array.indexing import one_hot
from headrace.functions.array.stacking import concat
from headrace.functions.control.cond import cond
from headrace.functions.control.tensor_array import TensorArray
from headrace.functions.math.cast import cast
from headrace.functions.math.reduce import reduce_all, reduce_max
from headrace.functions.values import nest
from headrace.functions.values.structure import name_scope
from headrace.graph.tensor import Tensor
from headrace.nn.rnn_parts import assert_like_rnncell
from headrace.ops.array.tile import tile
from headrace.ops.declaration.constants import constant_value
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.nn.sequences.beam_search import gather_tree


class FinalBeamSearchDecoderOutput(NamedTuple):
    """The result of a beam search.

    `predicted_ids` are whole beams, [batch, time, beam], the best first;
    `beam_search_decoder_output` is what the steps wrote.
    """

    predicted_ids: Any
    beam_search_decoder_output: Any


class BeamSearchDecoder(Decoder):
    """Keeps the best `beam_width` sequences of each member, and extends them all at every step.

    With attention, the memory, its lengths and the state of the encoder must be tiled first by
    tf.contrib.seq2seq.tile_batch.

    Args:
      cell: an RNNCell.
      embedding: a function from ids to inputs, or the parameters of tf.nn.embedding_lookup.
      start_tokens: the first token of each member.
      end_token: the token that ends a beam.
      initial_state: of the cell, for batch * beam_width members.
      beam_width: how many beams.
      output_layer: from outputs of the cell to logits.
      length_penalty_weight: above zero, long beams are favoured.
      coverage_penalty_weight: above zero, beams are favoured that have looked everywhere.
      reorder_tensor_arrays: stack arrays of the state, and put their beams in order.

    Raises:
      TypeError: `cell` or `output_layer` is of the wrong kind.
      ValueError: `start_tokens` has another rank than 1, or `end_token` than 0.
    """

    def __init__(
        self,
        cell: Any,
        embedding: Any,
        start_tokens: Any,
        end_token: Any,
        initial_state: Any,
        beam_width: int,
        output_layer: Any = None,
        length_penalty_weight: float = 0.0,
        coverage_penalty_weight: Any = 0.0,
        reorder_tensor_arrays: bool = True,
    ) -> None:
        assert_like_rnncell("cell", cell)
        check_output_layer(output_layer)
        self._cell, self._output_layer = cell, output_layer
        self._reorder_tensor_arrays = reorder_tensor_arrays
        self._beam_width = beam_width
        self._length_penalty_weight = length_penalty_weight
        self._coverage_penalty_weight = coverage_penalty_weight
        self._embedding_fn = embedding_function(embedding)
        tokens, self._end_token = checked_tokens(start_tokens, end_token)
        self._batch_size = size(tokens)
        self._initial_cell_state = nest.map_structure(
            self._maybe_split_batch_beams, initial_state, cell.state_size
        )
        self._start_tokens = tile(expand_dims(tokens, 1), [1, beam_width])
        self._start_inputs = self._embedding_fn(self._start_tokens)
        self._finished = self._first_beam(False, True, dtypes.bool_)

    def _first_beam(self, first: Any, others: Any, dtype: Any) -> Tensor:
        """[batch, beam]: all beams start alike, so only the first may go on."""
        return one_hot(
            zeros([self._batch_size], dtype=dtypes.int32),
            depth=self._beam_width,
            on_value=convert_to_tensor(first, dtype=dtype),
            off_value=convert_to_tensor(others, dtype=dtype),
            dtype=dtype,
        )

    batch_size: Any = reads("_batch_size")

    @property
    def tracks_own_finished(self) -> bool:
        return True

    @property
    def output_size(self) -> Any:
        beams = Shape([self._beam_width])
        return BeamSearchDecoderOutput(scores=beams, predicted_ids=beams, parent_ids=beams)

    @property
    def output_dtype(self) -> Any:
        dtype = nest.flatten(self._initial_cell_state)[0].dtype
        written = written_size(self._cell, self._output_layer)
        return BeamSearchDecoderOutput(
            scores=nest.map_structure(lambda _: dtype, written),
            predicted_ids=dtypes.int32,
            parent_ids=dtypes.int32,
        )

    def initialize(self, name: str | None = None) -> Any:
        state = self._initial_cell_state
        dtype = nest.flatten(state)[0].dtype
        attention = get_attention_probs(state, self._coverage_penalty_weight)
        first = BeamSearchDecoderState(
            cell_state=state,
            log_probs=self._first_beam(0.0, -np.inf, dtype),
            finished=self._finished,
            lengths=zeros([self._batch_size, self._beam_width], dtype=dtypes.int64),
            accumulated_attention_probs=() if attention is None else attention,
        )
        return self._finished, self._start_inputs, first

    def step(self, time: Any, inputs: Any, state: Any, name: str | None = None) -> Any:
        with name_scope(name, "BeamSearchDecoderStep", (time, inputs, state)):
            inputs = nest.map_structure(lambda x: self._merge_batch_beams(x, x.shape[2:]), inputs)
            sizes = self._cell.state_size
            cell_state = nest.map_structure(self._maybe_merge_batch_beams, state.cell_state, sizes)
            outputs, cell_state = self._cell(inputs, cell_state)
            outputs = nest.map_structure(lambda x: self._split_batch_beams(x, x.shape[1:]), outputs)
            cell_state = nest.map_structure(self._maybe_split_batch_beams, cell_state, sizes)
            if self._output_layer is not None:
                outputs = self._output_layer(outputs)
            written, next_state = beam_search_step(
                time=time,
                logits=outputs,
                next_cell_state=cell_state,
                beam_state=state,
                batch_size=self._batch_size,
                beam_width=self._beam_width,
                end_token=self._end_token,
                length_penalty_weight=self._length_penalty_weight,
                coverage_penalty_weight=self._coverage_penalty_weight,
            )
            finished = next_state.finished
            next_inputs = cond(
                reduce_all(finished),
                lambda: self._start_inputs,
                lambda: self._embedding_fn(written.predicted_ids),
            )
        return written, next_state, next_inputs, finished

    def finalize(self, outputs: Any, final_state: Any, sequence_lengths: Any) -> Any:
        """Whole beams, and arrays of the state in their order.  Lengths are those of the state."""
        lengths = final_state.lengths
        beams = gather_tree(
            outputs.predicted_ids,
            outputs.parent_ids,
            cast(reduce_max(lengths, axis=1), dtypes.int32),
            self._end_token,
        )
        if self._reorder_tensor_arrays:
            cell_state = nest.map_structure(
                lambda part: sorted_array(
                    part, outputs.parent_ids, lengths, self._batch_size, self._beam_width
                ),
                final_state.cell_state,
            )
            final_state = final_state._replace(cell_state=cell_state)
        return FinalBeamSearchDecoderOutput(beams, outputs), final_state

    # -- [batch * beam, ...] for the cell, [batch, beam, ...] for the search ------------------------
    def _merge_batch_beams(self, t: Tensor, s: Any = None) -> Tensor:
        batch, width = self._batch_size, self._beam_width
        merged: Tensor = reshape(t, concat(([batch * width], shape(t)[2:]), 0))
        known = known_size(batch)
        rows = None if known is None else known * width
        merged.set_shape(Shape([rows]).concatenate(_depth(s)))
        return merged

    def _split_batch_beams(self, t: Tensor, s: Any = None) -> Tensor:
        batch, width = self._batch_size, self._beam_width
        split: Tensor = reshape(t, concat(([batch, width], shape(t)[1:]), 0))
        expected = Shape([known_size(batch), width]).concatenate(_depth(s))
        if not split.shape.is_compatible_with(expected):
            raise ValueError(
                f"A part of the state has shape {split.shape} when split into beams, but must have "
                f"{expected}: batch, beam, rest.  The zero_state of a beam search is made for "
                "batch_size * beam_width rows."
            )
        split.set_shape(expected)
        return split

    def _maybe_split_batch_beams(self, t: Any, s: Any) -> Any:
        if isinstance(t, TensorArray):
            return t
        check_rank(t)
        return self._split_batch_beams(t, s) if t.shape.rank >= 1 else t

    def _maybe_merge_batch_beams(self, t: Any, s: Any) -> Any:
        if isinstance(t, TensorArray):
            return t
        check_rank(t)
        return self._merge_batch_beams(t, s) if t.shape.rank >= 2 else t


def _depth(size: Any) -> Shape:
    """A size of a cell's state as a shape: a number is a vector's, a tensor may be unknown."""
    if isinstance(size, Tensor):
        size = constant_value(size)
        if size is None:
            return Shape(None)
        size = size.tolist()
    return Shape([size]) if isinstance(size, int) else Shape(size)
