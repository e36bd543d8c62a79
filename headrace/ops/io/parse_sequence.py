"""A SequenceExample as tensors: its context, read like an Example, and feature lists, whose features
are rows.  Also what the op for batches (parse_sequence_batch) shares with the one for a single one."""

from __future__ import annotations

import math

import numpy as np

from headrace.core.dtypes import float32, int64, string
from headrace.core.errors import InvalidArgumentError, require
from headrace.core.shapes import make_shape
from headrace.formats import proto
from headrace.formats.records import example as wire
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_rules import require_rank
from headrace.ops.declaration.signature import Int, Shapes, Types
from headrace.ops.declaration.text import shown, strings
from headrace.ops.io.example_columns import KINDS, PARSED, Column, c_shape, sparse, type_name

COUNTS = {
    "Ncontext_sparse": Int(default=0, min=0),
    "Ncontext_dense": Int(default=0, min=0),
    "Nfeature_list_sparse": Int(default=0, min=0),
    "Nfeature_list_dense": Int(default=0, min=0),
}
TYPES = {
    "context_sparse_types": Types(PARSED, default=[], min=0),
    "Tcontext_dense": Types(PARSED, default=[], min=0),
    "feature_list_dense_types": Types(PARSED, default=[], min=0),
    "context_dense_shapes": Shapes(default=[], min=0),
    "feature_list_sparse_types": Types(PARSED, default=[], min=0),
    "feature_list_dense_shapes": Shapes(default=[], min=0),
}
OUTPUTS = (
    "context_sparse_indices: Ncontext_sparse*int64, context_sparse_values: context_sparse_types, "
    "context_sparse_shapes: Ncontext_sparse*int64, context_dense_values: Tcontext_dense, "
    "feature_list_sparse_indices: Nfeature_list_sparse*int64, "
    "feature_list_sparse_values: feature_list_sparse_types, "
    "feature_list_sparse_shapes: Nfeature_list_sparse*int64, "
    "feature_list_dense_values: feature_list_dense_types"
)
_EMPTY = (wire.NONE, b"")


class Sequence:
    """One SequenceExample: the payloads of its wanted features, found by name."""

    def __init__(self, data: bytes, context: set[bytes], lists: set[bytes]) -> None:
        self.data = data
        self.context: wire.Spans = {}
        self.lists: wire.Spans = {}
        for number, start, stop in wire.sections(data):
            if number == 1:
                wire.entries(data, start, stop, context, (), self.context)
            elif number == 2:
                wire.entries(data, start, stop, lists, (), self.lists)

    def feature(self, key: bytes):
        """Kind and values of a feature of the context; None if there is none."""
        span = self.context.get(key)
        return None if span is None else wire.payload(self.data, *span)

    def rows(self, key: bytes):
        """Kind and values of every feature of a list; None if there is no such list."""
        span = self.lists.get(key)
        if span is None:
            return None
        return [wire.payload(self.data, *row) for row in wire.rows(self.data, *span)]

    def row_text(self, key: bytes, index: int) -> str:
        start, end = wire.rows(self.data, *self.lists[key])[index]
        return str(proto.Feature.FromString(self.data[start:end]))

    def feature_text(self, key: bytes) -> str:
        start, end = self.context[key]
        return str(proto.Feature.FromString(self.data[start:end]))


def full(shape) -> tuple[int, ...]:
    require(shape.is_full, f"the shape of a dense feature is not known: {shape}")
    return shape.sizes


def vector(column: Column):
    """Indices, values and shape of a sparse vector."""
    values = column.array()
    return np.arange(values.size)[:, None], values, np.array([values.size], np.int64)


def by_part(parts):
    """[(indices, values, shape), ...] as three lists."""
    return tuple([part[i] for part in parts] for i in range(3))


# -- ParseSingleSequenceExample ------------------------------------------------------------------
def sequence_shapes(lead, rank, context_sparse, context_shapes, list_sparse, list_shapes):
    """The shapes that both ops share; `lead` is the size of the batch, if there is one."""
    n, m = len(context_sparse), len(list_sparse)
    return [
        *[make_shape([None, rank])] * n,
        *[make_shape([None])] * n,
        *[make_shape([rank])] * n,
        *[make_shape(lead).concatenate(s) for s in context_shapes],
        *[make_shape([None, rank + 1])] * m,
        *[make_shape([None])] * m,
        *[make_shape([rank + 1])] * m,
        *[make_shape([*lead, None]).concatenate(s) for s in list_shapes],
    ]


def single_shapes(
    serialized,
    feature_list_dense_missing_assumed_empty,
    context_sparse_keys,
    context_dense_keys,
    feature_list_sparse_keys,
    feature_list_dense_keys,
    context_dense_defaults,
    debug_name,
    *,
    context_sparse_types,
    feature_list_dense_types,
    context_dense_shapes,
    feature_list_sparse_types,
    feature_list_dense_shapes,
):
    require_rank(serialized, 0)
    require_rank(feature_list_dense_missing_assumed_empty, 1)
    for keys, types, what in (
        (context_sparse_keys, context_sparse_types, "context_sparse"),
        (context_dense_keys, context_dense_defaults, "context_dense"),
        (feature_list_sparse_keys, feature_list_sparse_types, "feature_list_sparse"),
        (feature_list_dense_keys, feature_list_dense_types, "feature_list_dense"),
    ):
        require(len(keys) == len(types), f"len({what}_keys) != len({what}_types)")
    for keys, shapes, what in (
        (context_dense_keys, context_dense_shapes, "context_dense"),
        (feature_list_dense_keys, feature_list_dense_shapes, "feature_list_dense"),
    ):
        require(len(keys) == len(shapes), f"len({what}_keys) != len({what}_shapes)")
    return sequence_shapes(
        [], 1, context_sparse_keys, context_dense_shapes, feature_list_sparse_keys, feature_list_dense_shapes
    )


@op(
    "ParseSingleSequenceExample",
    "serialized: string, feature_list_dense_missing_assumed_empty: string, "
    "context_sparse_keys: Ncontext_sparse*string, context_dense_keys: Ncontext_dense*string, "
    "feature_list_sparse_keys: Nfeature_list_sparse*string, "
    "feature_list_dense_keys: Nfeature_list_dense*string, context_dense_defaults: Tcontext_dense, "
    "debug_name: string -> " + OUTPUTS,
    attrs=COUNTS | TYPES,
    shape=single_shapes,
)
def parse_single_sequence_example(
    serialized,
    feature_list_dense_missing_assumed_empty,
    context_sparse_keys,
    context_dense_keys,
    feature_list_sparse_keys,
    feature_list_dense_keys,
    context_dense_defaults,
    debug_name,
    *,
    context_sparse_types,
    Tcontext_dense,
    feature_list_dense_types,
    context_dense_shapes,
    feature_list_sparse_types,
    feature_list_dense_shapes,
):
    """The features of one serialized SequenceExample: those of the context, and lists of features
    as one row each; ragged ones are sparse."""
    _check_scalars("context_dense_keys", context_dense_keys)
    _check_scalars("context_sparse_keys", context_sparse_keys)
    _check_scalars("feature_list_dense_keys", feature_list_dense_keys)
    _check_scalars("feature_list_sparse_keys", feature_list_sparse_keys)
    _check_scalar("serialized", serialized)
    given = feature_list_dense_missing_assumed_empty
    require(
        given.ndim == 1,
        f"Expected feature_list_dense_missing_assumed_empty to be a vector, got shape: {list(given.shape)}",
    )
    name = shown(debug_name.item()) if debug_name.size else "<unknown>"
    context = [k.item() for k in (*context_sparse_keys, *context_dense_keys)]
    lists = [k.item() for k in (*feature_list_sparse_keys, *feature_list_dense_keys)]
    data = serialized.item()
    try:
        one = Single(Sequence(data, set(context), set(lists)), name)
        dense = [
            one.dense(k.item(), KINDS[t], full(s), default)
            for k, t, s, default in zip(
                context_dense_keys, Tcontext_dense, context_dense_shapes, context_dense_defaults
            )
        ]
        ragged = [one.ragged(k.item(), KINDS[t]) for k, t in zip(context_sparse_keys, context_sparse_types)]
        missing = set(given)
        dense_rows = [
            one.dense_rows(k.item(), KINDS[t], full(s), k.item() in missing)
            for k, t, s in zip(feature_list_dense_keys, feature_list_dense_types, feature_list_dense_shapes)
        ]
        ragged_rows = [
            one.ragged_rows(k.item(), KINDS[t])
            for k, t in zip(feature_list_sparse_keys, feature_list_sparse_types)
        ]
    except wire.Malformed:
        message = f"Could not parse example input, value: '{shown(data)}'"
        raise InvalidArgumentError(None, None, message) from None
    return *by_part(ragged), dense, *by_part(ragged_rows), dense_rows


def _check_scalars(name, keys):
    for place, key in enumerate(keys):
        _check_scalar(f"{name}[{place}]", key)


def _check_scalar(name, value):
    require(value.ndim == 0, f"Expected {name} to be a scalar, got shape: {c_shape(value.shape)}")


NAMES = {kind: type_name(dtype) for dtype, kind in KINDS.items()}


class Single:
    """Reads features of one SequenceExample, and says which is wrong."""

    def __init__(self, sequence: Sequence, name: str) -> None:
        self.sequence, self.name = sequence, name

    def dense(self, key, kind, shape, default):
        if default.size:
            require(
                default.shape == shape,
                f"def_value[{shown(key)}].shape() == {c_shape(default.shape)} != "
                f"context_dense_shapes_[{shown(key)}] == {c_shape(shape)}",
            )
        found = self.sequence.feature(key)
        require(
            found is not None or default.size,
            f"Name: {self.name}, Context feature '{shown(key)}' is required but could not be found.",
        )
        if found is None:
            return default
        self._check_context(key, kind, found[0])
        column = Column(kind)
        self._add(column, found, key, 0, shape)
        return column.array().reshape(shape)

    def ragged(self, key, kind):
        found = self.sequence.feature(key) or _EMPTY
        column = Column(kind)
        if found[0] != wire.NONE:
            self._check_context(key, kind, found[0])
            column.add(found[1])
        return vector(column)

    def dense_rows(self, key, kind, shape, may_miss):
        rows = self.sequence.rows(key)
        require(
            rows is not None or may_miss,
            f"Name: {self.name}, Feature list '{shown(key)}' is required but could not be found.  "
            "Did you mean to include it in feature_list_dense_missing_assumed_empty or "
            "feature_list_dense_defaults?",
        )
        column = Column(kind)
        for index, row in enumerate(rows or ()):
            self._check_row(key, kind, row[0], index)
            self._add(column, row, key, index, shape)
        return column.array().reshape(len(rows or ()), *shape)

    def ragged_rows(self, key, kind):
        column = Column(kind)
        rows = self.sequence.rows(key) or ()
        for index, row in enumerate(rows):
            if row[0] == wire.NONE:
                column.add([] if kind == wire.BYTES else b"", 0)
                continue
            self._check_row(key, kind, row[0], index)
            column.add(row[1])
        return sparse(column, len(rows))

    def _add(self, column, found, key, index, shape):
        size = wire.count(*found)
        plural = "bytes" if found[0] == wire.BYTES else NAMES[found[0]]
        require(
            size == math.prod(shape),
            f"Name: {self.name}, Key: {shown(key)}, Index: {index}.  Number of {plural} values != "
            f"expected.  values size: {size} but output shape: {c_shape(shape)}",
        )
        column.add(found[1], size)

    def _check_context(self, key, kind, found):
        if found != kind:
            message = f"Name: {self.name}, Context feature: {shown(key)}.  Data types don't match. "
            message += f"Expected type: {NAMES[kind]}  Feature is: "
            raise InvalidArgumentError(None, None, message + self.sequence.feature_text(key))

    def _check_row(self, key, kind, found, index):
        if found != kind:
            message = f"Name: {self.name}, Feature list: {shown(key)}, Index: {index}.  Data types "
            message += f"don't match. Expected type: {NAMES[kind]}  Feature is: "
            raise InvalidArgumentError(None, None, message + self.sequence.row_text(key, index))


def serialize_sequence(context: dict, lists: dict) -> bytes:
    """A SequenceExample for samples and tests."""
    message = proto.SequenceExample()
    for key, value in context.items():
        _fill(message.context.feature[key], value)
    for key, rows in lists.items():
        target = message.feature_lists.feature_list[key].feature
        for row in rows:
            _fill(target.add(), row)
    return message.SerializeToString(deterministic=True)


def _fill(feature, values) -> None:
    if values and isinstance(values[0], bytes):
        feature.bytes_list.value.extend(values)
    elif values and isinstance(values[0], float):
        feature.float_list.value.extend(values)
    else:
        feature.int64_list.value.extend(values)


SEQUENCE = serialize_sequence({"a": [1.5], "b": [3, 4]}, {"x": [[1, 2], [3, 4]], "y": [[b"u"]]})


def _key(text):
    return np.array(text, object)


@parse_single_sequence_example.samples
def _(rng):
    one, none = np.array(SEQUENCE, object), strings([])
    yield Sample(
        one,
        none,
        [_key(b"b")],
        [_key(b"a")],
        [_key(b"x")],
        [_key(b"y")],
        [np.zeros(0, np.float32)],
        _key(b"in1"),
        context_sparse_types=[int64],
        feature_list_dense_types=[string],
        context_dense_shapes=[[1]],
        feature_list_sparse_types=[int64],
        feature_list_dense_shapes=[[]],
    )
    yield Sample(
        one,
        strings([b"q"]),
        [],
        [],
        [_key(b"p")],
        [_key(b"q")],
        [],
        _key(b""),
        feature_list_dense_types=[float32],
        feature_list_sparse_types=[string],
        feature_list_dense_shapes=[[2, 3]],
        note="missing",
    )
    yield ErrorSample(
        one,
        none,
        [],
        [],
        [],
        [_key(b"q")],
        [],
        _key(b""),
        feature_list_dense_types=[float32],
        feature_list_dense_shapes=[[2, 3]],
        raises="Feature list 'q' is required",
    )
    yield ErrorSample(
        one,
        none,
        [],
        [],
        [],
        [strings([b"x"])],
        [],
        _key(b""),
        feature_list_dense_types=[int64],
        feature_list_dense_shapes=[[2]],
        raises=r"Expected feature_list_dense_keys\[0\] to be a scalar",
    )
