"""One sequence read, several written: tf.contrib.legacy_seq2seq.one2many_rnn_seq2seq."""

from __future__ import annotations

from typing import Any

from headrace.contrib.legacy_seq2seq.decoders import by_feeding, embedding_rnn_decoder
from headrace.contrib.legacy_seq2seq.embedding_models import encoded
from headrace.contrib.rnn.projections import OutputProjectionWrapper
from headrace.core.dtypes import DTypeLike
from headrace.layers.rnn.rnn_cells import RNNCell
from headrace.variables.scope import variable_scope
from headrace.variables.scope_defaults import VariableScope


def one2many_rnn_seq2seq(
    encoder_inputs: Any,
    decoder_inputs_dict: dict[Any, Any],
    enc_cell: Any,
    dec_cells_dict: dict[Any, Any],
    num_encoder_symbols: int,
    num_decoder_symbols_dict: dict[Any, int],
    embedding_size: int,
    feed_previous: Any = False,
    dtype: DTypeLike | None = None,
    scope: str | VariableScope | None = None,
) -> tuple[dict[Any, list[Any]], dict[Any, Any]]:
    """embedding_rnn_seq2seq with several decoders behind one encoder (Luong et al. 2015).

    Args:
      encoder_inputs: a list with one tensor [batch] of symbols for every step that is read.
      decoder_inputs_dict: for the name of each decoder, such a list for the steps that it writes.
      enc_cell: the RNNCell of the encoder.
      dec_cells_dict: that of each decoder.
      num_encoder_symbols: how many symbols the encoder reads.
      num_decoder_symbols_dict: how many symbols each decoder reads and writes.
      embedding_size: size of a row of a table.
      feed_previous: bool or tensor: from the second step on, a decoder reads the likeliest symbol of
        its last output.
      dtype: of the first state and the variables; that of the scope if not given.
      scope: the variable scope; "one2many_rnn_seq2seq" if not given.

    Returns: the list of outputs of each decoder, and the last state of each.

    Raises:
      TypeError: a cell is not an RNNCell.
      ValueError: cells and inputs are not of the same decoders.
    """
    if not isinstance(enc_cell, RNNCell):
        raise TypeError(f"enc_cell is not an RNNCell: {type(enc_cell)}")
    if set(dec_cells_dict) != set(decoder_inputs_dict):
        raise ValueError(
            "keys of dec_cells_dict != keys of decoder_inputs_dict: "
            f"{[*dec_cells_dict]} and {[*decoder_inputs_dict]}"
        )
    for cell in dec_cells_dict.values():
        if not isinstance(cell, RNNCell):
            raise TypeError(f"dec_cell is not an RNNCell: {type(cell)}")
    outputs, states = {}, {}
    with variable_scope(scope or "one2many_rnn_seq2seq", dtype=dtype) as entered:
        _, state = encoded(encoder_inputs, enc_cell, num_encoder_symbols, embedding_size, entered.dtype)
        for name, inputs in decoder_inputs_dict.items():
            with variable_scope(f"one2many_decoder_{name}"):
                outputs[name], states[name] = _decoded(
                    inputs,
                    state,
                    dec_cells_dict[name],
                    num_decoder_symbols_dict[name],
                    embedding_size,
                    feed_previous,
                )
    return outputs, states


def _decoded(
    inputs: Any, state: Any, cell: Any, symbols: int, embedding_size: int, feed_previous: Any
) -> tuple[list[Any], Any]:
    """What one of several decoders writes."""
    cell = OutputProjectionWrapper(cell, symbols)
    return by_feeding(
        feed_previous,
        lambda feeds: embedding_rnn_decoder(
            inputs, state, cell, symbols, embedding_size, feed_previous=feeds
        ),
    )
