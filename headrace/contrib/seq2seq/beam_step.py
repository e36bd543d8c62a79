"""One step of a beam search: the best continuations of every member's beams."""

from __future__ import annotations

from typing import Any, NamedTuple

from headrace.contrib.seq2seq.attention import size_of
from headrace.contrib.seq2seq.attention_wrapper import AttentionWrapperState
from headrace.contrib.seq2seq.beams import gathered, gathered_state, known_size
from headrace.core import dtypes
from headrace.functions.array.array import expand_dims, fill, ones_like, reshape, shape
from headrace.functions.array.indexing import one_hot, where
from headrace.functions.array.sort import top_k
from headrace.functions.array.stacking import concat, stack
from headrace.functions.math.cast import cast
from headrace.functions.math.math import div, equal
from headrace.functions.math.reduce import reduce_mean, reduce_sum
from headrace.functions.nn.softmax import log_softmax
from headrace.functions.values import nest
from headrace.graph.tensor import Tensor
from headrace.ops.array.tile import tile
from headrace.ops.declaration.constants import constant_value
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.math import arithmetic, division, logical
from headrace.ops.math.exponential import log


class BeamSearchDecoderState(NamedTuple):
    """The state of a beam search; all but the state of the cell are [batch, beam, ...]."""

    cell_state: Any
    log_probs: Any
    finished: Any
    lengths: Any
    accumulated_attention_probs: Any


class BeamSearchDecoderOutput(NamedTuple):
    """What a step writes, [batch, beam] each: scores, tokens, and the beams they continue."""

    scores: Any
    predicted_ids: Any
    parent_ids: Any


def beam_search_step(
    time: Any,
    logits: Any,
    next_cell_state: Any,
    beam_state: BeamSearchDecoderState,
    batch_size: Any,
    beam_width: int,
    end_token: Any,
    length_penalty_weight: float,
    coverage_penalty_weight: Any,
) -> tuple[BeamSearchDecoderOutput, BeamSearchDecoderState]:
    """The best `beam_width` continuations of each member.

    A beam that has finished has one continuation: the end token, at no cost.

    Args:
      time: the number of the step; has no effect.
      logits: [batch, beam, vocabulary].
      next_cell_state: of the cell, as its beams are now.
      beam_state: before the step.
      batch_size: a scalar tensor.
      beam_width: how many beams.
      end_token: ends a beam.
      length_penalty_weight: above zero, long beams are favoured.
      coverage_penalty_weight: above zero, beams are favoured that have looked everywhere.

    Returns: the output of the step, and the state after it.
    """
    finished, lengths = beam_state.finished, beam_state.lengths
    vocabulary = size_of(logits, -1)
    steps = masked_probs(log_softmax(logits), end_token, finished)
    totals = expand_dims(beam_state.log_probs, 2) + steps
    attention = get_attention_probs(next_cell_state, coverage_penalty_weight)
    if attention is not None:
        running = cast(logical.logical_not(finished), attention.dtype)
        attention = beam_state.accumulated_attention_probs + attention * expand_dims(running, 2)
    scores = get_scores(
        totals,
        _lengths_after(lengths, finished, end_token, batch_size, beam_width, vocabulary),
        length_penalty_weight,
        coverage_penalty_weight,
        finished,
        attention,
    )
    best, places = top_k(
        reshape(scores, [batch_size, -1]),
        k=convert_to_tensor(beam_width, dtype=dtypes.int32, name="beam_width"),
    )
    for tensor in (best, places):
        tensor.set_shape([known_size(batch_size), beam_width])
    words = division.floor_mod(places, vocabulary, name="next_beam_word_ids")
    parents = division.floor_div(places, vocabulary, name="next_beam_parent_ids")

    def moved(source: Tensor) -> Tensor:
        return gathered(parents, source, batch_size, beam_width, [-1])

    was_finished = moved(finished)
    running = cast(logical.logical_not(was_finished), dtypes.int64)
    next_state = BeamSearchDecoderState(
        cell_state=nest.map_structure(
            lambda part: gathered_state(parents, part, batch_size, beam_width), next_cell_state
        ),
        log_probs=gathered(places, totals, batch_size, beam_width * vocabulary, [-1], name="next_beam_probs"),
        lengths=moved(lengths) + running,
        finished=logical.logical_or(was_finished, equal(words, end_token), name="next_beam_finished"),
        accumulated_attention_probs=(
            () if attention is None else gathered_state(parents, attention, batch_size, beam_width)
        ),
    )
    return BeamSearchDecoderOutput(best, words, parents), next_state


def _lengths_after(
    lengths: Tensor, finished: Tensor, end_token: Any, batch: Any, width: int, vocabulary: Any
) -> Tensor:
    """[batch, beam, vocabulary]: one more for every word that does not end a running beam."""
    more = one_hot(
        fill([batch, width], end_token),
        depth=vocabulary,
        on_value=cast(0, dtypes.int64),
        off_value=cast(1, dtypes.int64),
        dtype=dtypes.int64,
    )
    running = cast(logical.logical_not(finished), dtypes.int64)
    total: Tensor = more * expand_dims(running, 2) + expand_dims(lengths, 2)
    return total


def masked_probs(probs: Any, eos_token: Any, finished: Any) -> Tensor:
    """Log probabilities; a beam that has finished can only go on with the end token."""
    vocabulary = shape(probs)[2]
    row = one_hot(
        eos_token,
        vocabulary,
        dtype=probs.dtype,
        on_value=convert_to_tensor(0.0, dtype=probs.dtype),
        off_value=probs.dtype.min,
    )
    ends = tile(reshape(row, [1, 1, -1]), concat([shape(finished), [1]], 0))
    return where(tile(expand_dims(finished, 2), [1, 1, vocabulary]), ends, probs)


# -- scores ---------------------------------------------------------------------------------------
def get_scores(
    log_probs: Any,
    sequence_lengths: Any,
    length_penalty_weight: float,
    coverage_penalty_weight: Any,
    finished: Any,
    accumulated_attention_probs: Any,
) -> Tensor:
    """Log probabilities over the penalty of length, plus the penalty of coverage.

    Raises:
      ValueError: the weight of coverage is not a scalar, or not zero where nothing attends.
    """
    penalty = length_penalty(sequence_lengths, length_penalty_weight)
    scores: Tensor = log_probs / cast(penalty, log_probs.dtype)
    weight = convert_to_tensor(coverage_penalty_weight, name="coverage_penalty_weight")
    if weight.shape.rank != 0:
        raise ValueError(f"coverage_penalty_weight should be a scalar, but saw shape: {weight.shape}")
    if constant_value(weight) == 0.0:
        return scores
    if accumulated_attention_probs is None:
        raise ValueError("accumulated_attention_probs can be None only if coverage penalty is disabled.")
    seen = accumulated_attention_probs
    seen = where(equal(seen, 0.0), ones_like(seen), seen)  # what is zero is padding
    coverage = reduce_sum(log(arithmetic.minimum(seen, 1.0)), 2) * cast(finished, seen.dtype)
    return scores + expand_dims(coverage * cast(weight, seen.dtype), 2)


def length_penalty(sequence_lengths: Any, penalty_factor: Any) -> Any:
    """((5 + length) / 6) ** factor; one without a factor."""
    factor = convert_to_tensor(penalty_factor, name="penalty_factor")
    factor.set_shape(())
    if constant_value(factor) == 0:
        return 1.0
    return div((5.0 + cast(sequence_lengths, dtypes.float32)) ** factor, (5.0 + 1.0) ** factor)


def get_attention_probs(next_cell_state: Any, coverage_penalty_weight: Any) -> Any:
    """[batch, beam, memory time], the mean over all attentional cells; None without a penalty.

    Raises:
      ValueError: there is a penalty, and no attentional cell.
    """
    if not isinstance(coverage_penalty_weight, Tensor) and coverage_penalty_weight == 0.0:
        return None
    states: Any = ()
    if isinstance(next_cell_state, AttentionWrapperState):
        states = (next_cell_state,)
    elif isinstance(next_cell_state, tuple):
        states = [s for s in next_cell_state if isinstance(s, AttentionWrapperState)]
    if not states:
        raise ValueError("coverage_penalty_weight must be 0.0 if no cell is attentional.")
    return _mean([attention_probs_from_attn_state(state) for state in states])


def attention_probs_from_attn_state(attention_state: AttentionWrapperState) -> Any:
    """The alignments of a state, the mean over its mechanisms."""
    alignments = attention_state.alignments
    return _mean(alignments if isinstance(alignments, tuple) else (alignments,))


def _mean(probs: Any) -> Any:
    return probs[0] if len(probs) == 1 else reduce_mean(stack(list(probs), -1), -1)
