"""Rows of strings: UnsortedSegmentJoin and StringNGrams."""

from __future__ import annotations

import math

import numpy as np

from headrace.core.dtypes import INDEX
from headrace.core.errors import OutOfRangeError, require
from headrace.core.shapes import UNKNOWN, make_shape
from headrace.core.text import as_bytes
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import concatenate, merge, with_rank
from headrace.ops.declaration.signature import INDEX32, INDEX64, Bool, Int, Ints, String
from headrace.ops.declaration.text import strings
from headrace.ops.strings.basic import WORDS


# -- UnsortedSegmentJoin ------------------------------------------------------------------------
def segment_shape(inputs, segment_ids, num_segments):
    with_rank(num_segments, 0)
    if segment_ids.rank is None or inputs.rank is None:
        return UNKNOWN
    require(
        segment_ids.rank <= inputs.rank,
        f"Invalid segment_id rank {segment_ids.rank} for input with {inputs.rank} dimension(s)",
    )
    merge(segment_ids, inputs[: segment_ids.rank])
    value = num_segments.value
    count = None if value is None else int(value)
    return concatenate(make_shape((count,)), inputs[segment_ids.rank :])


@op(
    "UnsortedSegmentJoin",
    "inputs: string, segment_ids: Tindices, num_segments: Tnumsegments -> output: string",
    separator="",
    Tindices=INDEX,
    Tnumsegments=INDEX32,
    shape=segment_shape,
)
def unsorted_segment_join(inputs, segment_ids, num_segments, *, separator):
    """The strings of each segment, joined in their order."""
    ids, count = segment_ids, int(num_segments)
    require(ids.ndim, "Segment_id cannot have rank 0")
    if ids.ndim > inputs.ndim:
        raise OutOfRangeError(
            None, None, f"Invalid segment_id rank {ids.ndim} for input with {inputs.ndim} dimension(s)"
        )
    for i, (a, b) in enumerate(zip(ids.shape, inputs.shape)):
        require(a == b, f"Segment dimension is {a} while input dimension is {inputs.ndim} in rank {i}")
    require(
        np.all((ids >= 0) & (ids < count)),
        "segment_ids are not allowed to exceed num_segments or to have negative values.",
    )
    between, tail = as_bytes(separator), inputs.shape[ids.ndim :]
    rows = inputs.reshape(ids.size, math.prod(tail))
    members = [rows[ids.reshape(-1) == k] for k in range(count)]
    out = [_joined(column, between) for group in members for column in group.T]
    return strings(out, (count, *tail))


def _joined(parts, between):
    """Joined as by appending: no separator while there is nothing in front of it."""
    out = b""
    for part in parts:
        out = out + between + part if out else part
    return out


unsorted_segment_join.no_gradient()


@unsorted_segment_join.samples
def _(rng):
    yield Sample(strings([b"a", b"b", b"c"]), np.array([2, 0, 2]), np.int32(3), separator=":")
    yield Sample(WORDS, np.array([1, 1]), np.int64(2), separator="-")
    yield Sample(WORDS, np.array([[0, 1], [1, 0]], np.int32), np.int32(2))
    yield ErrorSample(WORDS, np.array([0, 2]), np.int32(2), raises="not allowed to exceed")


# -- StringNGrams -------------------------------------------------------------------------------
@op(
    "StringNGrams",
    "data: string, data_splits: Tsplits -> ngrams: string, ngrams_splits: Tsplits",
    separator=String(),
    ngram_widths=Ints(min=0),
    left_pad=String(),
    right_pad=String(),
    pad_width=Int(),
    preserve_short_sequences=Bool(),
    Tsplits=INDEX64,
    shape=lambda data, splits: [(with_rank(data, 1), make_shape((None,)))[1], with_rank(splits, 1)],
)
def string_n_grams(
    data, data_splits, *, separator, ngram_widths, left_pad, right_pad, pad_width, preserve_short_sequences
):
    """Runs of neighbouring strings of each row, joined, with padding around the row."""
    require(all(w > 0 for w in ngram_widths), "ngram_widths must contain positive values")
    for split in data_splits[(data_splits < 0) | (data_splits > len(data))][:1]:
        require(False, f"Invalid split value {split}, must be in [0,{len(data)}]")
    if not len(data) or not len(data_splits):
        return strings([]), np.zeros_like(data_splits)
    left, right, between = as_bytes(left_pad), as_bytes(right_pad), as_bytes(separator)
    out, splits = [], [0]
    for start, stop in zip(data_splits[:-1].tolist(), data_splits[1:].tolist()):
        tokens = list(data[start:stop])
        found = []
        for width in ngram_widths:
            pad = width - 1 if pad_width < 0 else min(pad_width, width - 1)
            padded = [left] * pad + tokens + [right] * pad
            found += [padded[i : i + width] for i in range(len(padded) - width + 1)]
        if preserve_short_sequences and tokens and not found:
            require(
                pad_width >= 0,
                "Pad width should be >= 0 when preserve_short_sequences is True and ngram_widths "
                f"are not provided, got {pad_width}",
            )
            found = [[left] * pad_width + tokens + [right] * pad_width]
        out += [between.join(gram) for gram in found]
        splits.append(len(out))
    return strings(out), np.array(splits, data_splits.dtype)


string_n_grams.no_gradient()


@string_n_grams.samples
def _(rng):
    data, splits = strings([b"aa", b"bb", b"cc", b"dd", b"ee", b"ff"]), np.array([0, 4, 4, 6])
    common = {"separator": "|", "left_pad": "LP", "right_pad": "RP"}
    for width, pad, short in (((3,), -1, False), ((5,), 0, True), ((2, 1), 1, False)):
        yield Sample(
            data, splits, ngram_widths=width, pad_width=pad, preserve_short_sequences=short, **common
        )
    yield Sample(
        data[:0], splits[:1], ngram_widths=(2,), pad_width=0, preserve_short_sequences=False, **common
    )
