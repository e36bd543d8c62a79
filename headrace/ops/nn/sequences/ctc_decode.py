"""Reading labels off sequences of outputs: the best path, or a beam search over label sequences.

The blank is the last class.  Results are sparse matrices (indices, values, shape) [batch, longest].
"""

from __future__ import annotations

import numpy as np

from headrace.core.dtypes import float32, float64
from headrace.core.errors import FailedPreconditionError, require
from headrace.core.shapes import make_shape
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import merge_sizes, with_rank
from headrace.ops.declaration.signature import Int, Type
from headrace.ops.nn.sequences.ctc_beam import Beam

FLOAT = Type((float32, float64), default=float32)


def batch_of(inputs, sequence_length):
    return merge_sizes(with_rank(inputs, 3).dim(1), with_rank(sequence_length, 1).dim(0))


def check(inputs, lengths):
    require(inputs.ndim == 3, "inputs is not a 3-Tensor")
    times, batch = inputs.shape[:2]
    require(times != 0, "max_time is 0")
    require(lengths.ndim == 1, "sequence_length is not a vector")
    if batch != len(lengths):
        raise FailedPreconditionError(
            None,
            None,
            f"len(sequence_length) != batch_size.  len(sequence_length):  {len(lengths)} batch_size: {batch}",
        )
    for b, length in enumerate(lengths.tolist()):
        if length > times:
            raise FailedPreconditionError(None, None, f"sequence_length({b}) <= {times}")
    require(inputs.shape[2] > 0, "inputs must have at least one class")


def sparse(sequences):
    """Lists of labels as a sparse matrix."""
    longest = max(map(len, sequences), default=0)
    indices = [(b, t) for b, sequence in enumerate(sequences) for t in range(len(sequence))]
    values = [label for sequence in sequences for label in sequence]
    return (
        np.array(indices, np.int64).reshape(-1, 2),
        np.array(values, np.int64),
        np.array([len(sequences), longest], np.int64),
    )


def merged(labels):
    """Labels without immediate repetitions."""
    return [label for i, label in enumerate(labels) if i == 0 or label != labels[i - 1]]


# -- the best path --------------------------------------------------------------------------------
def greedy_shape(inputs, sequence_length):
    batch = batch_of(inputs, sequence_length)
    return [make_shape(s) for s in ((None, 2), (None,), (2,), (batch, 1))]


@op(
    "CTCGreedyDecoder",
    "inputs: T, sequence_length: int32 -> decoded_indices: int64, decoded_values: int64, "
    "decoded_shape: int64, log_probability: T",
    merge_repeated=False,
    T=FLOAT,
    shape=greedy_shape,
)
def ctc_greedy_decoder(inputs, sequence_length, *, merge_repeated):
    """The best class at every time, without blanks; and minus the sum of its logits."""
    check(inputs, sequence_length)
    best, top = inputs.argmax(axis=2), inputs.max(axis=2)
    blank = inputs.shape[2] - 1
    sequences, scores = [], np.zeros((inputs.shape[1], 1), inputs.dtype)
    for b, length in enumerate(np.maximum(sequence_length, 0).tolist()):
        path = best[:length, b].tolist()
        kept = merged(path) if merge_repeated else path
        sequences.append([label for label in kept if label != blank])
        scores[b] = 0 - top[:length, b].sum()
    return *sparse(sequences), scores


# -- beam search ----------------------------------------------------------------------------------
def beam_shape(inputs, sequence_length, *, top_paths):
    batch = batch_of(inputs, sequence_length)
    each = ((None, 2), (None,), (2,))
    return [make_shape(s) for s in each for _ in range(top_paths)] + [make_shape((batch, top_paths))]


@op(
    "CTCBeamSearchDecoder",
    "inputs: T, sequence_length: int32 -> decoded_indices: top_paths*int64, "
    "decoded_values: top_paths*int64, decoded_shape: top_paths*int64, log_probability: T",
    beam_width=Int(min=1),
    top_paths=Int(min=1),
    merge_repeated=True,
    T=FLOAT,
    shape=beam_shape,
)
def ctc_beam_search_decoder(inputs, sequence_length, *, beam_width, top_paths, merge_repeated):
    """The most probable label sequences, kept in a beam; merge_repeated collapses repetitions in
    what is returned."""
    check(inputs, sequence_length)
    require(top_paths <= beam_width, "requested more paths than the beam width.")
    batch = inputs.shape[1]
    paths = [[] for _ in range(top_paths)]
    scores = np.zeros((batch, top_paths), inputs.dtype)
    for b, length in enumerate(sequence_length.tolist()):
        beam = Beam(beam_width, inputs.dtype)
        for t in range(length):
            beam.step(inputs[t, b])
        require(top_paths <= len(beam.leaves), "Less leaves in the beam search than requested.")
        best = beam.best(top_paths)
        scores[b] = [entry.total for entry in best]
        for path, entry in zip(paths, best):
            path.append(merged(entry.labels) if merge_repeated else entry.labels)
    found = [sparse(path) for path in paths]
    return *(list(part) for part in zip(*found)), scores


ctc_greedy_decoder.no_gradient()
ctc_beam_search_decoder.no_gradient()


@ctc_greedy_decoder.samples
def _(rng):
    x = rng.normal(size=(6, 3, 4))
    for merge in (True, False):
        yield Sample(x, np.array([6, 4, 0], np.int32), merge_repeated=merge)
    yield ErrorSample(x, np.array([6, 7, 0], np.int32), raises="sequence_length\\(1\\) <= 6")


@ctc_beam_search_decoder.samples
def _(rng):
    x = rng.normal(size=(6, 3, 4))
    lengths = np.array([6, 4, 2], np.int32)
    for merge in (True, False):
        for width in (2, 50):
            yield Sample(x, lengths, beam_width=width, top_paths=2, merge_repeated=merge)
    yield ErrorSample(x, lengths, beam_width=1, top_paths=2, raises="more paths than the beam")
