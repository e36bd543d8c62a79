"""Cells that write a sequence: tf.contrib.legacy_seq2seq.rnn_decoder, embedding_rnn_decoder.

A decoder reads the given inputs, or from the second step on what a loop function makes of its last
output.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from headrace.functions.control.cond import cond
from headrace.functions.math.reduce import argmax
from headrace.functions.nn.activation import xw_plus_b
from headrace.nn.embedding import embedding_lookup
from headrace.ops.array.source import stop_gradient
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.variables.scope import get_variable, get_variable_scope, variable_scope
from headrace.variables.scope_defaults import VariableScope

LoopFunction = Callable[[Any, int], Any]


# -- what a step reads -----------------------------------------------------------------------------
def embedded_argmax(
    embedding: Any, output_projection: Any = None, update_embedding: bool = True
) -> LoopFunction:
    """The loop function that embeds the likeliest symbol.

    Args:
      embedding: the table of symbols.
      output_projection: None, or (weights, biases) that make logits of an output.
      update_embedding: do gradients reach the table?
    """

    def loop_function(output: Any, _: int) -> Any:
        if output_projection is not None:
            output = xw_plus_b(output, *output_projection)
        row = embedding_lookup(embedding, argmax(output, 1))
        return row if update_embedding else stop_gradient(row)

    return loop_function


def step_inputs(
    given: Iterable[Any], loop_function: LoopFunction | None, outputs: list[Any]
) -> Iterator[Any]:
    """The input of each step, where the caller adds a step's output to `outputs` before the next; all
    steps share the variables of the first."""
    for step, row in enumerate(given):
        if step:
            get_variable_scope().reuse_variables()
            if loop_function is not None:
                with variable_scope("loop_function", reuse=True):
                    row = loop_function(outputs[-1], step)
        yield row


def by_feeding(feed_previous: Any, decode: Callable[[bool], Any]) -> tuple[list[Any], Any]:
    """The outputs and the state of `decode(feed_previous)`; of both cases, chosen when the graph runs,
    if `feed_previous` is a tensor."""
    if isinstance(feed_previous, bool):
        outputs, state = decode(feed_previous)
        return outputs, state

    def branch(feeds: bool) -> Any:
        # The true branch is built first and makes the variables.
        with variable_scope(get_variable_scope(), reuse=None if feeds else True):
            return decode(feeds)

    outputs, state = cond(feed_previous, lambda: branch(True), lambda: branch(False))
    return outputs, state


def check_projection(projection: Any, symbols: int, dtype: Any) -> None:
    """Does (weights, biases) give logits of so many symbols?"""
    weights, biases = (convert_to_tensor(part, dtype=dtype) for part in projection)
    weights.shape.assert_is_compatible_with([None, symbols])
    biases.shape.assert_is_compatible_with([symbols])


# -- the decoders ----------------------------------------------------------------------------------
def rnn_decoder(
    decoder_inputs: Any,
    initial_state: Any,
    cell: Any,
    loop_function: LoopFunction | None = None,
    scope: str | VariableScope | None = None,
) -> tuple[list[Any], Any]:
    """A cell run from a state.

    Args:
      decoder_inputs: a list with one tensor [batch, input size] for every step.
      initial_state: what to start from.
      cell: an RNNCell.
      loop_function: (last output, number of the step) -> input, from the second step on.
      scope: the variable scope; "rnn_decoder" if not given.

    Returns: the list of outputs, and the last state.
    """
    state, outputs = initial_state, list[Any]()
    with variable_scope(scope or "rnn_decoder"):
        for row in step_inputs(decoder_inputs, loop_function, outputs):
            output, state = cell(row, state)
            outputs.append(output)
    return outputs, state


def embedding_rnn_decoder(
    decoder_inputs: Any,
    initial_state: Any,
    cell: Any,
    num_symbols: int,
    embedding_size: int,
    output_projection: tuple[Any, Any] | None = None,
    feed_previous: bool = False,
    update_embedding_for_previous: bool = True,
    scope: str | VariableScope | None = None,
) -> tuple[list[Any], Any]:
    """rnn_decoder over symbols: they are looked up in a table, the variable "embedding".

    Args:
      decoder_inputs: a list with one tensor [batch] of symbols for every step.
      initial_state: what to start from.
      cell: an RNNCell.
      num_symbols: how many symbols there are.
      embedding_size: size of a row of the table.
      output_projection: None, or (weights [output size, symbols], biases [symbols]) that make logits
        of an output before the next symbol is chosen; outputs are returned without it.
      feed_previous: from the second step on, read the likeliest symbol of the last output.
      update_embedding_for_previous: do gradients reach the rows of symbols so chosen?
      scope: the variable scope; "embedding_rnn_decoder" if not given.

    Returns: the list of outputs, and the last state.

    Raises:
      ValueError: `output_projection` has the wrong shape.
    """
    with variable_scope(scope or "embedding_rnn_decoder") as entered:
        if output_projection is not None:
            check_projection(output_projection, num_symbols, entered.dtype)
        embedding = get_variable("embedding", [num_symbols, embedding_size])
        chosen = embedded_argmax(embedding, output_projection, update_embedding_for_previous)
        rows = (embedding_lookup(embedding, symbols) for symbols in decoder_inputs)
        loop_function = chosen if feed_previous else None
        return rnn_decoder(rows, initial_state, cell, loop_function=loop_function)
