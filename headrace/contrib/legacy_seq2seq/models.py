"""Encoder and decoder in one: tf.contrib.legacy_seq2seq.basic_rnn_seq2seq, tied_rnn_seq2seq."""

from __future__ import annotations

import copy
from typing import Any

from headrace.contrib.legacy_seq2seq.decoders import LoopFunction, rnn_decoder
from headrace.core import dtypes
from headrace.core.dtypes import DTypeLike
from headrace.nn.static_rnn import static_rnn
from headrace.variables.scope import get_variable_scope, variable_scope
from headrace.variables.scope_defaults import VariableScope


def basic_rnn_seq2seq(
    encoder_inputs: Any, decoder_inputs: Any, cell: Any, dtype: Any = dtypes.float32, scope: Any = None
) -> tuple[list[Any], Any]:
    """A cell reads a sequence; a cell like it, with variables of its own, writes another from the last
    state.

    Args:
      encoder_inputs: a list with one tensor [batch, input size] for every step that is read.
      decoder_inputs: such a list for the steps that are written.
      cell: an RNNCell.
      dtype: of the first state.
      scope: the variable scope; "basic_rnn_seq2seq" if not given.

    Returns: the list of outputs, and the last state.
    """
    with variable_scope(scope or "basic_rnn_seq2seq"):
        _, state = static_rnn(copy.deepcopy(cell), encoder_inputs, dtype=dtype)
        return rnn_decoder(decoder_inputs, state, cell)


def tied_rnn_seq2seq(
    encoder_inputs: Any,
    decoder_inputs: Any,
    cell: Any,
    loop_function: LoopFunction | None = None,
    dtype: DTypeLike = dtypes.float32,
    scope: str | VariableScope | None = None,
) -> tuple[list[Any], Any]:
    """A cell reads a sequence, and writes another from the last state with the same variables.

    Args:
      encoder_inputs: a list with one tensor [batch, input size] for every step that is read.
      decoder_inputs: such a list for the steps that are written.
      cell: an RNNCell.
      loop_function: (last output, number of the step) -> input, from the second step of writing on.
      dtype: of the first state.
      scope: the variable scope below "combined_tied_rnn_seq2seq"; "tied_rnn_seq2seq" if not given.

    Returns: the list of outputs, and the last state.
    """
    scope = scope or "tied_rnn_seq2seq"
    with variable_scope("combined_tied_rnn_seq2seq"):
        _, state = static_rnn(cell, encoder_inputs, dtype=dtype, scope=scope)
        get_variable_scope().reuse_variables()
        return rnn_decoder(decoder_inputs, state, cell, loop_function=loop_function, scope=scope)
