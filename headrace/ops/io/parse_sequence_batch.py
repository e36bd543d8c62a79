"""A batch of SequenceExamples as tensors."""

from __future__ import annotations

import math

import numpy as np

from headrace.core.dtypes import int64, string
from headrace.core.errors import InvalidArgumentError, require
from headrace.core.shapes import make_shape
from headrace.core.text import as_bytes
from headrace.formats.records import example as wire
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_rules import require_rank
from headrace.ops.declaration.signature import Strings
from headrace.ops.declaration.text import shown, strings
from headrace.ops.io.example_columns import KINDS, Column, c_shape, repacked, sparse
from headrace.ops.io.parse_sequence import (
    COUNTS,
    NAMES,
    OUTPUTS,
    SEQUENCE,
    TYPES,
    Sequence,
    by_part,
    full,
    sequence_shapes,
    serialize_sequence,
)


def batch_shapes(
    serialized,
    debug_name,
    context_dense_defaults,
    *,
    context_sparse_keys,
    context_dense_keys,
    feature_list_sparse_keys,
    feature_list_dense_keys,
    Ncontext_sparse,
    Ncontext_dense,
    Nfeature_list_sparse,
    Nfeature_list_dense,
    context_sparse_types,
    feature_list_dense_types,
    context_dense_shapes,
    feature_list_sparse_types,
    feature_list_dense_shapes,
):
    require_rank(serialized, 1)
    require_rank(debug_name, 1)
    for count, what, *lists in (
        (Ncontext_sparse, "context_sparse", context_sparse_keys, context_sparse_types),
        (Ncontext_dense, "context_dense", context_dense_keys, context_dense_defaults, context_dense_shapes),
        (Nfeature_list_sparse, "feature_list_sparse", feature_list_sparse_keys, feature_list_sparse_types),
        (
            Nfeature_list_dense,
            "feature_list_dense",
            feature_list_dense_keys,
            feature_list_dense_types,
            feature_list_dense_shapes,
        ),
    ):
        require(
            all(len(items) == count for items in lists),
            f"num_{what} ({count}) must match the size of {what}_keys ({len(lists[0])}), "
            f"{what}_types ({len(lists[1])})"
            + (f" and {what}_shapes ({len(lists[2])})" if len(lists) > 2 else ""),
        )
    count = serialized.dim(0) if serialized.rank else None
    shapes = sequence_shapes(
        [count],
        2,
        context_sparse_keys,
        context_dense_shapes,
        feature_list_sparse_keys,
        feature_list_dense_shapes,
    )
    return shapes + [make_shape([count])] * Nfeature_list_dense


@op(
    "ParseSequenceExample",
    "serialized: string, debug_name: string, context_dense_defaults: Tcontext_dense -> "
    + OUTPUTS
    + ", feature_list_dense_lengths: Nfeature_list_dense*int64",
    attrs={
        "feature_list_dense_missing_assumed_empty": Strings(min=0),
        "context_sparse_keys": Strings(min=0),
        "context_dense_keys": Strings(min=0),
        "feature_list_sparse_keys": Strings(min=0),
        "feature_list_dense_keys": Strings(min=0),
    }
    | COUNTS
    | TYPES,
    shape=batch_shapes,
)
def parse_sequence_example(
    serialized,
    debug_name,
    context_dense_defaults,
    *,
    feature_list_dense_missing_assumed_empty,
    context_sparse_keys,
    context_dense_keys,
    feature_list_sparse_keys,
    feature_list_dense_keys,
    context_sparse_types,
    Tcontext_dense,
    feature_list_dense_types,
    context_dense_shapes,
    feature_list_sparse_types,
    feature_list_dense_shapes,
):
    """The features of a batch of serialized SequenceExamples; dense lists are filled up with zeros
    to the longest, and their lengths come too."""
    require(
        serialized.ndim == 1, f"Expected serialized to be a vector, got shape: {c_shape(serialized.shape)}"
    )
    require(
        debug_name.size in (0, serialized.size),
        "example_names must be empty or have the correct number of elements",
    )
    keys = [
        [as_bytes(k) for k in group]
        for group in (
            context_sparse_keys,
            context_dense_keys,
            feature_list_sparse_keys,
            feature_list_dense_keys,
        )
    ]
    for sparse_keys, dense_keys, what in ((*keys[:2], "Context"), (*keys[2:], "Sequence")):
        for key in set(sparse_keys) & set(dense_keys):
            require(False, f"{what} feature {shown(key)} cannot be both dense and sparse")
    names = [shown(n) for n in debug_name] or ["<unknown>"] * serialized.size
    batch = Batch(serialized, names, {*keys[0], *keys[1]}, {*keys[2], *keys[3]})
    ragged = [batch.ragged(k, KINDS[t]) for k, t in zip(keys[0], context_sparse_types)]
    dense = [
        batch.dense(k, KINDS[t], full(s), default)
        for k, t, s, default in zip(keys[1], Tcontext_dense, context_dense_shapes, context_dense_defaults)
    ]
    ragged_rows = [batch.ragged_rows(k, KINDS[t]) for k, t in zip(keys[2], feature_list_sparse_types)]
    missing = {as_bytes(k) for k in feature_list_dense_missing_assumed_empty}
    dense_rows = [
        batch.dense_rows(k, KINDS[t], full(s), k in missing)
        for k, t, s in zip(keys[3], feature_list_dense_types, feature_list_dense_shapes)
    ]
    return (
        *by_part(ragged),
        dense,
        *by_part(ragged_rows),
        [values for values, _ in dense_rows],
        [lengths for _, lengths in dense_rows],
    )


class Batch:
    """Reads features of many SequenceExamples."""

    def __init__(self, serialized, names, context, lists) -> None:
        self.names, self.sequences = names, []
        for data, name in zip(serialized, names):
            try:
                self.sequences.append(Sequence(data, context, lists))
            except wire.Malformed:
                message = f"Invalid protocol message input, example id: {name}"
                raise InvalidArgumentError(None, None, message) from None

    def ragged(self, key, kind):
        column = Column(kind)
        for found, _ in self._features(key, kind):
            self._take(column, found)
        return sparse(column, len(self.names))

    def dense(self, key, kind, shape, default):
        if default.size:
            require(
                default.shape == shape,
                f"Default value for context feature {shown(key)} has an incorrect shape: saw "
                f"{c_shape(default.shape)} but expected {c_shape(shape)}",
            )
        column, size = Column(kind), math.prod(shape)
        for found, name in self._features(key, kind):
            if found is None:
                require(
                    default.size,
                    f"Feature: {shown(key)} (data type: {NAMES[kind]}) is required but could not be found.",
                )
                column.add(repacked(kind, default), default.size)
            else:
                self._take(column, found)
            require(
                column.counts[-1] == size,
                f"Unexpected number of elements in example {name}: feature {shown(key)} has "
                f"{column.counts[-1]}, expected {size}",
            )
        return column.array().reshape(len(self.names), *shape)

    def ragged_rows(self, key, kind):
        column, lengths = Column(kind), []
        for rows, _ in self._rows(key, kind):
            lengths.append(len(rows or ()))
            for row in rows or ():
                self._take(column, row)
        places, values, shape = sparse(column, 0)
        lengths = np.array(lengths, np.int64)
        owner = np.repeat(np.arange(len(lengths)), lengths)
        first = np.repeat(np.cumsum(lengths, dtype=np.int64) - lengths, lengths)
        row = places[:, 0]
        indices = np.empty((len(values), 3), np.int64)
        if len(values):
            indices[:, 0], indices[:, 1] = owner[row], row - first[row]
            indices[:, 2] = places[:, 1]
        return indices, values, np.array([len(lengths), lengths.max(initial=0), shape[1]])

    def dense_rows(self, key, kind, shape, may_miss):
        column, lengths = Column(kind), []
        for rows, name in self._rows(key, kind):
            require(rows is not None or may_miss, f"Missing feature {shown(key)} in example {name}")
            lengths.append(len(rows or ()))
            for row in rows or ():
                self._take(column, row)
                require(
                    column.counts[-1] == math.prod(shape),
                    f"Unexpected number of elements in feature {shown(key)}, example {name}",
                )
        longest = max(lengths, default=0)
        values = column.array()
        blank = b"" if kind == wire.BYTES else 0
        out = np.full((len(lengths), longest, *shape), blank, values.dtype)
        sizes = np.array(lengths, np.int64)
        out[np.arange(longest) < sizes[:, None]] = values.reshape(-1, *shape)
        return out, sizes

    def _features(self, key, kind):
        """The feature of every example (None where it is missing), of the right kind."""
        for sequence, name in zip(self.sequences, self.names):
            try:
                found = sequence.feature(key)
            except wire.Malformed:
                found = (-1, b"")
            if found is not None and found[0] not in (kind, wire.NONE):
                message = f"Error in context feature {shown(key)} in example {name}"
                raise InvalidArgumentError(None, None, message)
            yield found, name

    def _rows(self, key, kind):
        for sequence, name in zip(self.sequences, self.names):
            try:
                rows = sequence.rows(key)
            except wire.Malformed:
                rows = [(-1, b"")]
            if rows is not None and any(row[0] not in (kind, wire.NONE) for row in rows):
                message = f"Error in sequence feature {shown(key)} in example {name}"
                raise InvalidArgumentError(None, None, message)
            yield rows, name

    def _take(self, column, found):
        if found is None or found[0] == wire.NONE:
            column.add([] if column.kind == wire.BYTES else b"", 0)
        else:
            column.add(found[1])


@parse_sequence_example.samples
def _(rng):
    two = strings([SEQUENCE, serialize_sequence({"a": [2.5]}, {"x": [[5, 6]]})])
    attrs = {
        "feature_list_dense_missing_assumed_empty": ["y"],
        "context_sparse_keys": ["b"],
        "context_dense_keys": ["a"],
        "feature_list_sparse_keys": ["x"],
        "feature_list_dense_keys": ["y"],
        "Ncontext_sparse": 1,
        "Ncontext_dense": 1,
        "Nfeature_list_sparse": 1,
        "Nfeature_list_dense": 1,
        "context_sparse_types": [int64],
        "feature_list_dense_types": [string],
        "context_dense_shapes": [[1]],
        "feature_list_sparse_types": [int64],
        "feature_list_dense_shapes": [[]],
    }
    required = [np.zeros(0, np.float32)]
    yield Sample(two, strings([]), required, **attrs)
    yield Sample(two, strings([b"p", b"q"]), required, **attrs | {
        "feature_list_sparse_keys": ["y"], "feature_list_sparse_types": [string],
        "feature_list_dense_keys": ["x"], "feature_list_dense_types": [int64],
        "feature_list_dense_shapes": [[2]]}, note="padded")  # fmt: skip
    yield Sample(strings([]), strings([]), required, **attrs, note="empty")
    yield ErrorSample(
        two,
        strings([b"p", b"q"]),
        required,
        **attrs | {"feature_list_dense_missing_assumed_empty": []},
        raises="Missing feature y in example q",
    )
    yield ErrorSample(
        strings([b"\x0a\x07"]),
        strings([]),
        required,
        **attrs,
        raises="Invalid protocol message input, example id: <unknown>",
    )
