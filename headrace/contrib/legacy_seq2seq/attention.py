"""Decoders that look back: tf.contrib.legacy_seq2seq.attention_decoder, embedding_attention_decoder."""

from __future__ import annotations

from typing import Any

from headrace.contrib.legacy_seq2seq.decoders import LoopFunction, embedded_argmax, step_inputs
from headrace.contrib.rnn.linear import known_depth, linear
from headrace.contrib.seq2seq.attention import size_of
from headrace.core import dtypes
from headrace.core.dtypes import DTypeLike
from headrace.functions.array.array import reshape, shape, zeros
from headrace.functions.array.stacking import concat
from headrace.functions.math.cast import cast
from headrace.functions.math.elementwise import tanh
from headrace.functions.math.reduce import reduce_sum
from headrace.functions.nn.conv import conv2d
from headrace.functions.nn.softmax import softmax
from headrace.functions.values import nest
from headrace.nn.embedding import embedding_lookup
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.variables.scope import get_variable, variable_scope
from headrace.variables.scope_defaults import VariableScope


class _Heads:
    """Readers of a memory [batch, length, size]: each gives its mean, weighted by
    softmax(v · tanh(W · memory + U · query))."""

    def __init__(self, memory: Any, count: int, dtype: Any) -> None:
        self.dtype, self.length, self.size = dtype, size_of(memory, 1), memory.shape.dim(2)
        # W · memory is a 1x1 convolution: checkpoints have W as its kernel.
        self.memory = reshape(memory, [-1, self.length, 1, self.size])
        self.keys, self.directions = [], []
        self.reuse: bool | None = None  # the first reading makes variables
        for head in range(count):
            kernel = get_variable(f"AttnW_{head}", [1, 1, self.size, self.size], dtype=dtype)
            self.keys.append(conv2d(self.memory, kernel, [1, 1, 1, 1], "SAME"))
            self.directions.append(get_variable(f"AttnV_{head}", [self.size], dtype=dtype))

    def nothing(self, batch_size: Any) -> list[Any]:
        """What is read before the first query: zeros."""
        return [zeros([batch_size, self.size], dtype=self.dtype)] * len(self.keys)

    def read(self, state: Any) -> list[Any]:
        """What each head finds for a state of the cell."""
        query = concat(nest.flatten(state), 1) if nest.is_sequence(state) else state
        found = []
        for head, (keys, direction) in enumerate(zip(self.keys, self.directions)):
            with variable_scope(f"Attention_{head}", reuse=self.reuse):
                asked = reshape(linear(query, self.size), [-1, 1, 1, self.size])
                scores = reduce_sum(direction * tanh(keys + cast(asked, self.dtype)), [2, 3])
                weights = cast(softmax(cast(scores, dtypes.float32)), self.dtype)
                weights = reshape(weights, [-1, self.length, 1, 1])
                mean = reduce_sum(weights * self.memory, [1, 2])
                found.append(reshape(mean, [-1, self.size]))
        self.reuse = True
        return found


def attention_decoder(
    decoder_inputs: Any,
    initial_state: Any,
    attention_states: Any,
    cell: Any,
    output_size: int | None = None,
    num_heads: int = 1,
    loop_function: LoopFunction | None = None,
    dtype: DTypeLike | None = None,
    scope: str | VariableScope | None = None,
    initial_state_attention: bool = False,
) -> tuple[list[Any], Any]:
    """rnn_decoder with attention (Vinyals et al. 2014).

    A step gives the cell a linear map of its input and what the heads read last; the heads read
    anew for the cell's new state; the step's output is a linear map of the cell's and theirs.

    Args:
      decoder_inputs: a list with one tensor [batch, input size] for every step.
      initial_state: what to start from.
      attention_states: [batch, length, size], what the heads read.
      cell: an RNNCell.
      output_size: size of the outputs; that of the cell if not given.
      num_heads: how many read.
      loop_function: (last output, number of the step) -> input, from the second step on.
      dtype: of the variables and of the attention; that of the scope if not given.
      scope: the variable scope; "attention_decoder" if not given.
      initial_state_attention: the heads read for `initial_state` before the first step; else zeros
        stand for what they found.

    Returns: the list of outputs, and the last state.

    Raises:
      ValueError: there are no inputs or no heads, or the size of an input or of the attention states
        is not known.
    """
    if not decoder_inputs:
        raise ValueError("Must provide at least 1 input to attention decoder.")
    if num_heads < 1:
        raise ValueError("With less than 1 heads, use a non-attention decoder.")
    if attention_states.shape.dim(2) is None:
        raise ValueError(f"Shape[2] of attention_states must be known: {attention_states.shape}")
    size = cell.output_size if output_size is None else output_size
    state, outputs = initial_state, list[Any]()
    with variable_scope(scope or "attention_decoder", dtype=dtype) as entered:
        dtype = entered.dtype
        batch_size = shape(decoder_inputs[0])[0]
        heads = _Heads(attention_states, num_heads, dtype)
        found = heads.read(state) if initial_state_attention else heads.nothing(batch_size)
        for row in step_inputs(decoder_inputs, loop_function, outputs):
            depth = known_depth(row)
            joined = linear([cast(part, dtype) for part in (row, *found)], depth)
            output, state = cell(joined, state)
            found = heads.read(state)
            with variable_scope("AttnOutputProjection"):
                outputs.append(linear([cast(output, dtype), *found], size))
    return outputs, state


def embedding_attention_decoder(
    decoder_inputs: Any,
    initial_state: Any,
    attention_states: Any,
    cell: Any,
    num_symbols: int,
    embedding_size: int,
    num_heads: int = 1,
    output_size: int | None = None,
    output_projection: tuple[Any, Any] | None = None,
    feed_previous: bool = False,
    update_embedding_for_previous: bool = True,
    dtype: DTypeLike | None = None,
    scope: str | VariableScope | None = None,
    initial_state_attention: bool = False,
) -> tuple[list[Any], Any]:
    """attention_decoder over symbols: they are looked up in a table, the variable "embedding".

    Args:
      decoder_inputs: a list with one tensor [batch] of symbols for every step.
      initial_state: what to start from.
      attention_states: [batch, length, size], what the heads read.
      cell: an RNNCell.
      num_symbols: how many symbols there are.
      embedding_size: size of a row of the table.
      num_heads: how many read.
      output_size: size of the outputs; that of the cell if not given.
      output_projection: None, or (weights [output size, symbols], biases [symbols]) that make logits
        of an output before the next symbol is chosen; outputs are returned without it.
      feed_previous: from the second step on, read the likeliest symbol of the last output.
      update_embedding_for_previous: do gradients reach the rows of symbols so chosen?
      dtype: of the variables and of the attention; that of the scope if not given.
      scope: the variable scope; "embedding_attention_decoder" if not given.
      initial_state_attention: as of attention_decoder.

    Returns: the list of outputs, and the last state.

    Raises:
      ValueError: the biases of `output_projection` have the wrong shape, or as of attention_decoder.
    """
    if output_projection is not None:
        biases = convert_to_tensor(output_projection[1], dtype=dtype)
        biases.shape.assert_is_compatible_with([num_symbols])
    with variable_scope(scope or "embedding_attention_decoder", dtype=dtype):
        embedding = get_variable("embedding", [num_symbols, embedding_size])
        chosen = embedded_argmax(embedding, output_projection, update_embedding_for_previous)
        return attention_decoder(
            [embedding_lookup(embedding, symbols) for symbols in decoder_inputs],
            initial_state,
            attention_states,
            cell,
            output_size=output_size,
            num_heads=num_heads,
            loop_function=chosen if feed_previous else None,
            initial_state_attention=initial_state_attention,
        )
