"""The best tag sequence of a conditional random field, by Viterbi: on arrays, and in a graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.contrib.crf.crf import TagCell, by_length, first_and_rest, one_less
from headrace.core import dtypes
from headrace.functions.array.array import expand_dims, shape, squeeze
from headrace.functions.array.indexing import gather_nd
from headrace.functions.array.sort import reverse_sequence
from headrace.functions.array.stacking import concat, stack
from headrace.functions.math.cast import cast
from headrace.functions.math.math import range_
from headrace.functions.math.reduce import argmax, reduce_max
from headrace.layers.rnn.rnn_cells import RNNCell
from headrace.nn.rnn import dynamic_rnn
from headrace.ops.declaration.convert import convert_to_tensor


def viterbi_decode(score: Any, transition_params: Any) -> tuple[list[Any], Any]:
    """The best tags of one sequence, of arrays outside of any graph.

    Args:
      score: [time, tags], the potentials.
      transition_params: [tags, tags].

    Returns: a list of tags, and their score.
    """
    best, pointers = score[0], []
    for potentials in score[1:]:
        ways = best[:, None] + transition_params
        pointers.append(np.argmax(ways, 0))
        best = potentials + np.max(ways, 0)
    tags = [np.argmax(best)]
    for back in reversed(pointers):
        tags.append(back[tags[-1]])
    return tags[::-1], np.max(best)


class CrfDecodeForwardRnnCell(TagCell):
    """A step forward: the state is the best score up to each tag; the output, the tag before it.

    Args:
      transition_params: the transitions.
    """

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
        """(tags before, [batch, tags] of int32; best scores)."""
        ways = expand_dims(state, 2) + self._transition_params
        return cast(argmax(ways, 1), dtypes.int32), inputs + reduce_max(ways, [1])


class CrfDecodeBackwardRnnCell(RNNCell):
    """A step back: the tag before the tag that is the state.

    Args:
      num_tags: how many tags there are.
    """

    def __init__(self, num_tags: Any) -> None:
        super().__init__()
        self._num_tags = num_tags

    @property
    def state_size(self) -> Any:
        return 1

    @property
    def output_size(self) -> Any:
        return 1

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
        """The tags before, [batch, 1], as output and as state."""
        members = range_(shape(inputs)[0])
        places = stack([members, squeeze(state, axis=[1])], axis=1)
        tags = expand_dims(gather_nd(inputs, places), axis=-1)
        return tags, tags


def crf_decode(potentials: Any, transition_params: Any, sequence_length: Any) -> tuple[Any, Any]:
    """The best tags of a batch of sequences.

    Args:
      potentials: [batch, time, tags].
      transition_params: [tags, tags].
      sequence_length: [batch].

    Returns: tags [batch, time] of int32, and their scores [batch].
    """
    potentials = convert_to_tensor(potentials)
    lengths = convert_to_tensor(sequence_length)

    def single() -> Any:
        only = squeeze(potentials, [1])
        tags = cast(expand_dims(argmax(only, axis=1), 1), dtypes.int32)
        return tags, reduce_max(only, axis=1)

    def several() -> Any:
        first, rest = first_and_rest(potentials)
        steps = one_less(lengths)
        pointers, best = dynamic_rnn(
            CrfDecodeForwardRnnCell(transition_params),
            rest,
            sequence_length=steps,
            initial_state=first,
            dtype=dtypes.int32,
        )
        last = expand_dims(cast(argmax(best, axis=1), dtypes.int32), axis=-1)
        earlier, _ = dynamic_rnn(
            CrfDecodeBackwardRnnCell(potentials.shape.dim(2)),
            reverse_sequence(pointers, steps, seq_axis=1),
            sequence_length=steps,
            initial_state=last,
            dtype=dtypes.int32,
        )
        backwards = concat([last, squeeze(earlier, axis=[2])], axis=1)
        return reverse_sequence(backwards, lengths, seq_axis=1), reduce_max(best, axis=1)

    result: tuple[Any, Any] = by_length(potentials, single, several)
    return result
