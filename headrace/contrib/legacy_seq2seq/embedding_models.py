"""Models over symbols: tf.contrib.legacy_seq2seq.embedding_rnn_seq2seq, embedding_tied_rnn_seq2seq,
embedding_attention_seq2seq.

`feed_previous` may be a tensor.  Then the decoder stands in the graph twice, and, as in TF, no gradient
reaches the rows of symbols that it chose itself.
"""

from __future__ import annotations

import copy
from typing import Any

from headrace.contrib.legacy_seq2seq.attention import embedding_attention_decoder
from headrace.contrib.legacy_seq2seq.decoders import (
    by_feeding,
    check_projection,
    embedded_argmax,
    embedding_rnn_decoder,
)
from headrace.contrib.legacy_seq2seq.models import tied_rnn_seq2seq
from headrace.contrib.rnn.projections import EmbeddingWrapper, OutputProjectionWrapper
from headrace.core.dtypes import DTypeLike
from headrace.functions.array.array import reshape
from headrace.functions.array.stacking import concat
from headrace.nn.embedding import embedding_lookup
from headrace.nn.static_rnn import static_rnn
from headrace.variables.scope import get_variable, variable_scope
from headrace.variables.scope_defaults import VariableScope


def encoded(inputs: Any, cell: Any, symbols: int, embedding_size: int, dtype: Any) -> tuple[list[Any], Any]:
    """The outputs and the last state of a cell that reads symbols through a table of its own."""
    return static_rnn(EmbeddingWrapper(cell, symbols, embedding_size), inputs, dtype=dtype)


def embedding_rnn_seq2seq(
    encoder_inputs: Any,
    decoder_inputs: Any,
    cell: Any,
    num_encoder_symbols: int,
    num_decoder_symbols: int,
    embedding_size: int,
    output_projection: tuple[Any, Any] | None = None,
    feed_previous: Any = False,
    dtype: DTypeLike | None = None,
    scope: str | VariableScope | None = None,
) -> tuple[list[Any], Any]:
    """basic_rnn_seq2seq over symbols, with a table for each side.

    Args:
      encoder_inputs: a list with one tensor [batch] of symbols for every step that is read.
      decoder_inputs: such a list for the steps that are written.
      cell: an RNNCell.
      num_encoder_symbols: how many symbols the encoder reads.
      num_decoder_symbols: how many symbols the decoder reads and writes.
      embedding_size: size of a row of a table.
      output_projection: None, for a linear map to logits at the cell's outputs; or (weights
        [output size, symbols], biases [symbols]), which are used only to choose the next symbol.
      feed_previous: bool or tensor: from the second step on, the decoder reads the likeliest symbol
        of the last output.
      dtype: of the first state and the variables; that of the scope if not given.
      scope: the variable scope; "embedding_rnn_seq2seq" if not given.

    Returns: the list of outputs, and the last state.

    Raises:
      ValueError: `output_projection` has the wrong shape.
    """
    with variable_scope(scope or "embedding_rnn_seq2seq", dtype=dtype) as entered:
        _, state = encoded(
            encoder_inputs, copy.deepcopy(cell), num_encoder_symbols, embedding_size, entered.dtype
        )
        if output_projection is None:
            cell = OutputProjectionWrapper(cell, num_decoder_symbols)
        return by_feeding(
            feed_previous,
            lambda feeds: embedding_rnn_decoder(
                decoder_inputs,
                state,
                cell,
                num_decoder_symbols,
                embedding_size,
                output_projection=output_projection,
                feed_previous=feeds,
                update_embedding_for_previous=isinstance(feed_previous, bool),
            ),
        )


def embedding_tied_rnn_seq2seq(
    encoder_inputs: Any,
    decoder_inputs: Any,
    cell: Any,
    num_symbols: int,
    embedding_size: int,
    num_decoder_symbols: int | None = None,
    output_projection: tuple[Any, Any] | None = None,
    feed_previous: Any = False,
    dtype: DTypeLike | None = None,
    scope: str | VariableScope | None = None,
) -> tuple[list[Any], Any]:
    """tied_rnn_seq2seq over symbols, with one table for both sides.

    Args:
      num_symbols: how many symbols there are.
      embedding_size: size of a row of the table.
      num_decoder_symbols: only so many, the first ones, are written; all if not given.
      scope: the variable scope; "embedding_tied_rnn_seq2seq" if not given.
      The others are as of embedding_rnn_seq2seq.

    Returns: the list of outputs, and the last state.

    Raises:
      ValueError: `output_projection` has the wrong shape.
    """
    with variable_scope(scope or "embedding_tied_rnn_seq2seq", dtype=dtype) as entered:
        dtype = entered.dtype
        if output_projection is not None:
            check_projection(output_projection, num_symbols, dtype)
        embedding = get_variable("embedding", [num_symbols, embedding_size], dtype=dtype)
        read = [embedding_lookup(embedding, symbols) for symbols in encoder_inputs]
        given = [embedding_lookup(embedding, symbols) for symbols in decoder_inputs]
        if output_projection is None:
            written = num_symbols if num_decoder_symbols is None else num_decoder_symbols
            cell = OutputProjectionWrapper(cell, written)
        loop_function = embedded_argmax(
            embedding, output_projection, update_embedding=isinstance(feed_previous, bool)
        )
        return by_feeding(
            feed_previous,
            lambda feeds: tied_rnn_seq2seq(
                read, given, cell, loop_function=loop_function if feeds else None, dtype=dtype
            ),
        )


def embedding_attention_seq2seq(
    encoder_inputs: Any,
    decoder_inputs: Any,
    cell: Any,
    num_encoder_symbols: int,
    num_decoder_symbols: int,
    embedding_size: int,
    num_heads: int = 1,
    output_projection: tuple[Any, Any] | None = None,
    feed_previous: Any = False,
    dtype: DTypeLike | None = None,
    scope: str | VariableScope | None = None,
    initial_state_attention: bool = False,
) -> tuple[list[Any], Any]:
    """embedding_rnn_seq2seq whose decoder looks back at the outputs of the encoder.

    Without `output_projection`, the decoder's cell writes logits before the attention is joined, so
    that the last linear map has rows for all symbols too.

    Args:
      num_heads: how many heads read the encoder's outputs.
      scope: the variable scope; "embedding_attention_seq2seq" if not given.
      initial_state_attention: as of attention_decoder.
      The others are as of embedding_rnn_seq2seq.

    Returns: the list of outputs, and the last state.

    Raises:
      ValueError: the biases of `output_projection` have the wrong shape, or as of attention_decoder.
    """
    with variable_scope(scope or "embedding_attention_seq2seq", dtype=dtype) as entered:
        outputs, state = encoded(
            encoder_inputs, copy.deepcopy(cell), num_encoder_symbols, embedding_size, entered.dtype
        )
        memory = concat([reshape(output, [-1, 1, cell.output_size]) for output in outputs], 1)
        output_size = None
        if output_projection is None:
            cell = OutputProjectionWrapper(cell, num_decoder_symbols)
            output_size = num_decoder_symbols
        return by_feeding(
            feed_previous,
            lambda feeds: embedding_attention_decoder(
                decoder_inputs,
                state,
                memory,
                cell,
                num_decoder_symbols,
                embedding_size,
                num_heads=num_heads,
                output_size=output_size,
                output_projection=output_projection,
                feed_previous=feeds,
                update_embedding_for_previous=isinstance(feed_previous, bool),
                initial_state_attention=initial_state_attention,
            ),
        )
