"""Linear-chain conditional random fields: scores and likelihoods of tag sequences, tf.contrib.crf.

Potentials are [batch, time, tags], transitions [tags, tags]; a sequence of length zero scores zero.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.core import dtypes
from headrace.core.fields import reads
from headrace.functions.array.array import expand_dims, fill, reshape, shape, squeeze, zeros_like
from headrace.functions.array.indexing import gather, gather_nd, sequence_mask, where
from headrace.functions.array.slice import slice_
from headrace.functions.array.stacking import concat
from headrace.functions.control.cond import smart_cond
from headrace.functions.math.cast import cast
from headrace.functions.math.math import equal, range_
from headrace.functions.math.reduce import reduce_logsumexp, reduce_sum
from headrace.graph.tensor import Tensor
from headrace.layers.rnn.rnn_cells import RNNCell
from headrace.nn.rnn import dynamic_rnn
from headrace.ops.array.constant import constant
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.math import arithmetic, comparison
from headrace.variables.scope import get_variable


def crf_sequence_score(
    inputs: Any, tag_indices: Any, sequence_lengths: Any, transition_params: Any
) -> Tensor:
    """The unnormalised score of each tag sequence.

    Args:
      inputs: potentials.
      tag_indices: [batch, time], the tags.
      sequence_lengths: [batch].
      transition_params: the transitions.

    Returns: [batch].
    """
    inputs, tag_indices = convert_to_tensor(inputs), convert_to_tensor(tag_indices)

    def single() -> Tensor:
        batch = shape(inputs, out_type=tag_indices.dtype)[0]
        members = reshape(range_(batch, dtype=tag_indices.dtype), [-1, 1])
        places = concat([members, tag_indices[:, :1]], axis=1)
        return _unless_empty(sequence_lengths, gather_nd(squeeze(inputs, [1]), places))

    def several() -> Tensor:
        unary = crf_unary_score(tag_indices, sequence_lengths, inputs)
        return unary + crf_binary_score(tag_indices, sequence_lengths, transition_params)

    result: Tensor = by_length(inputs, single, several)
    return result


def crf_multitag_sequence_score(
    inputs: Any, tag_bitmap: Any, sequence_lengths: Any, transition_params: Any
) -> Tensor:
    """The unnormalised score of all tag sequences that a bitmap allows: the log of their sum.

    Args:
      inputs: potentials.
      tag_bitmap: [batch, time, tags] of booleans, the tags allowed at each place.
      sequence_lengths: [batch].
      transition_params: the transitions.

    Returns: [batch].
    """
    inputs = convert_to_tensor(inputs)
    allowed = where(tag_bitmap, inputs, fill(shape(inputs), inputs.dtype.as_numpy_dtype("-inf")))
    result: Tensor = by_length(
        inputs,
        lambda: reduce_logsumexp(allowed, axis=[1, 2], keepdims=False),
        lambda: crf_log_norm(allowed, sequence_lengths, transition_params),
    )
    return result


def crf_log_norm(inputs: Any, sequence_lengths: Any, transition_params: Any) -> Tensor:
    """The log of the sum over all tag sequences, by which scores are normalised.

    Args:
      inputs: potentials.
      sequence_lengths: [batch].
      transition_params: the transitions.

    Returns: [batch].
    """
    inputs, lengths = convert_to_tensor(inputs), convert_to_tensor(sequence_lengths)
    first, rest = first_and_rest(inputs)

    def single() -> Tensor:
        return _unless_empty(lengths, reduce_logsumexp(first, [1]))

    def several() -> Tensor:
        _, alphas = dynamic_rnn(
            CrfForwardRnnCell(transition_params),
            rest,
            sequence_length=one_less(lengths),
            initial_state=first,
            dtype=inputs.dtype,
        )
        return _unless_empty(lengths, reduce_logsumexp(alphas, [1]))

    result: Tensor = by_length(inputs, single, several)
    return result


def crf_log_likelihood(
    inputs: Any, tag_indices: Any, sequence_lengths: Any, transition_params: Any = None
) -> tuple[Tensor, Any]:
    """The log probability of each tag sequence.

    Args:
      inputs: potentials.
      tag_indices: [batch, time], the tags.
      sequence_lengths: [batch].
      transition_params: the transitions; a variable "transitions" if not given.

    Returns: [batch], and the transitions.
    """
    inputs = convert_to_tensor(inputs)
    if transition_params is None:
        tags = inputs.shape.dim(2)
        transition_params = get_variable("transitions", [tags, tags])
    score = crf_sequence_score(inputs, tag_indices, sequence_lengths, transition_params)
    return score - crf_log_norm(inputs, sequence_lengths, transition_params), transition_params


def crf_unary_score(tag_indices: Any, sequence_lengths: Any, inputs: Any) -> Tensor:
    """The sum of the potentials of each tag sequence.

    Args:
      tag_indices: [batch, time], the tags.
      sequence_lengths: [batch].
      inputs: potentials.

    Returns: [batch].
    """
    inputs, tag_indices = convert_to_tensor(inputs), convert_to_tensor(tag_indices)
    sizes = shape(inputs)
    batch, time, tags = sizes[0], sizes[1], sizes[2]
    starts = expand_dims(range_(batch) * (time * tags), 1) + expand_dims(range_(time) * tags, 0)
    places = reshape(cast(starts, tag_indices.dtype) + tag_indices, [-1])
    scores = reshape(gather(reshape(inputs, [-1]), places), [batch, time])
    return reduce_sum(scores * _mask(tag_indices, sequence_lengths, inputs.dtype), 1)


def crf_binary_score(tag_indices: Any, sequence_lengths: Any, transition_params: Any) -> Tensor:
    """The sum of the transitions of each tag sequence.

    Args:
      tag_indices: [batch, time], the tags.
      sequence_lengths: [batch].
      transition_params: the transitions.

    Returns: [batch].
    """
    tag_indices, transitions = convert_to_tensor(tag_indices), convert_to_tensor(transition_params)
    many = shape(tag_indices)[1] - 1
    before = slice_(tag_indices, [0, 0], [-1, many])
    after = slice_(tag_indices, [0, 1], [-1, many])
    tags = transitions.shape.dim(0) or shape(transitions, out_type=tag_indices.dtype)[0]
    scores = gather(reshape(transitions, [-1]), before * tags + after)
    mask = _mask(tag_indices, sequence_lengths, transitions.dtype)
    return reduce_sum(scores * slice_(mask, [0, 1], [-1, -1]), 1)


class TagCell(RNNCell):
    """A step along a sequence whose state and output have a number for each tag."""

    def __init__(self, transition_params: Any) -> None:
        super().__init__()
        transitions = convert_to_tensor(transition_params)
        self._transition_params = expand_dims(transitions, 0)
        self._num_tags = transitions.shape.dim(0)

    state_size: Any = reads("_num_tags")
    output_size: Any = reads("_num_tags")


class CrfForwardRnnCell(TagCell):
    """One step of the forward algorithm: the state is the log sum over sequences up to each tag.

    Args:
      transition_params: the transitions.
    """

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
        """The new sums, as output and as state; both are [batch, tags]."""
        alphas = inputs + reduce_logsumexp(expand_dims(state, 2) + self._transition_params, [1])
        return alphas, alphas


# -- parts ----------------------------------------------------------------------------------------
def by_length(inputs: Tensor, single: Callable[[], Any], several: Callable[[], Any]) -> Any:
    """One of two ways, the first where there is only one place (and so no transition)."""
    time = inputs.shape.dim(1)
    return smart_cond(equal(shape(inputs)[1], 1) if time is None else time == 1, single, several)


def first_and_rest(inputs: Tensor) -> tuple[Tensor, Tensor]:
    """Potentials [batch, tags] of the first place, and [batch, time - 1, tags] of the others."""
    first = squeeze(slice_(inputs, [0, 0, 0], [-1, 1, -1]), [1])
    return first, slice_(inputs, [0, 1, 0], [-1, -1, -1])


def one_less(lengths: Tensor) -> Tensor:
    """How many transitions sequences have."""
    less: Tensor = arithmetic.maximum(constant(0, dtype=lengths.dtype), lengths - 1)
    return less


def _unless_empty(lengths: Any, scores: Tensor) -> Tensor:
    return where(comparison.less_equal(lengths, 0), zeros_like(scores), scores)


def _mask(tag_indices: Tensor, lengths: Any, dtype: dtypes.DType) -> Tensor:
    return sequence_mask(lengths, maxlen=shape(tag_indices)[1], dtype=dtype)
