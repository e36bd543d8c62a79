"""SparseCross: feature crosses, row by row, as joined strings or as hashes."""

from __future__ import annotations

import itertools

import numpy as np

from headrace.core.dtypes import int64, string
from headrace.core.errors import require
from headrace.core.shapes import make_shape, show
from headrace.ops.array.hashing import M, fingerprint64, fingerprint_cat64
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.signature import Bool, Int, Types

KINDS = (int64, string)


def _check(indices, values, shapes, dense_inputs):
    rows = int(shapes[0][0]) if shapes else len(dense_inputs[0]) if dense_inputs else 0
    for i, (places, elements, shape) in enumerate(zip(indices, values, shapes)):
        where = f"at position {i}"
        received = "should be a {} but received shape {} " + where
        require(places.ndim == 2, "Input indices " + received.format("matrix", show(places.shape)))
        require(places.shape[1] == 2, f"Expected D2 of index to be 2 got {places.shape[1]} {where}")
        require(elements.ndim == 1, "Input values " + received.format("std::vector", show(elements.shape)))
        require(
            len(places) == len(elements),
            f"Expected size of values to be {len(places)} got {len(elements)} {where}",
        )
        require(shape.ndim == 1, "Input shapes " + received.format("std::vector", show(shape.shape)))
        require(len(shape) == 2, f"shape should imply a 2D tensor, but got {show(shape)} {where}")
        require(shape[0] == rows, f"Expected batch size {rows} got {shape[0]} {where}")
    for i, dense in enumerate(dense_inputs):
        require(
            dense.ndim == 2,
            f"Dense inputs should be a matrix but received shape {show(dense.shape)} at position {i}",
        )
        require(len(dense) == rows, f"Expected batch size {rows} got {len(dense)} at dense tensor {i}")
    return rows


def _columns(indices, values, dense_inputs, rows, convert):
    """For every feature its values in each row."""
    for places, elements in zip(indices, values):
        row = places[:, 0]
        require(np.all((row >= 0) & (row < rows)), "Sparse index is outside of the number of rows")
        converted = [convert(v) for v in elements.tolist()]
        starts = np.searchsorted(row, np.arange(rows + 1))
        yield [converted[a:b] for a, b in itertools.pairwise(starts)]
    for dense in dense_inputs:
        yield [[convert(v) for v in row] for row in dense.tolist()]


def _as_text(value):
    return value if isinstance(value, bytes) else str(value).encode()


def _as_hash(value):
    return fingerprint64(value) if isinstance(value, bytes) else value & M


@op(
    "SparseCross",
    "indices: N*int64, values: sparse_types, shapes: N*int64, "
    "dense_inputs: dense_types -> output_indices: int64, output_values: out_type, "
    "output_shape: int64",
    N=Int(min=0),
    hashed_output=Bool(),
    num_buckets=Int(min=0),
    hash_key=Int(),
    sparse_types=Types(KINDS, min=0),
    dense_types=Types(KINDS, min=0),
    out_type=KINDS,
    internal_type=KINDS,
    shape=lambda *inputs: [make_shape(s) for s in ((None, 2), (None,), (2,))],
)
def sparse_cross(indices, values, shapes, dense_inputs, *, num_buckets, hash_key, out_type):
    """All combinations of the values that features have in a row, the last feature fastest.

    A combination is its values joined by "_X_", or a hash of them below `num_buckets`.
    """
    rows = _check(indices, values, shapes, dense_inputs)
    is_hashed = out_type is int64  # TF has a kernel for each type, and does not look at hashed_output
    convert = _as_hash if is_hashed else _as_text
    columns = list(_columns(indices, values, dense_inputs, rows, convert))
    places, crosses, widest = [], [], 0
    for row in range(rows):
        found = list(itertools.product(*(column[row] for column in columns)))
        places += [(row, i) for i in range(len(found))]
        crosses += found
        widest = max(widest, len(found))
    limit = num_buckets or np.iinfo(np.int64).max
    if is_hashed:
        out = np.array([_hash(cross, hash_key & M) % limit for cross in crosses], np.int64)
    else:
        out = np.empty(len(crosses), object)
        out[:] = [b"_X_".join(cross) for cross in crosses]
    return np.array(places, np.int64).reshape(-1, 2), out, np.array([rows, widest], np.int64)


def _hash(cross, key):
    for value in cross:
        key = fingerprint_cat64(key, value)
    return key


sparse_cross.no_gradient()


@sparse_cross.samples
def _(rng):
    words = np.array([b"a", b"b", b"c"], object)
    places, shape = np.array([[0, 0], [0, 1], [1, 0]]), np.array([2, 2])
    numbers = np.array([[1, 2], [3, 4]])
    common = {"num_buckets": 0, "hash_key": 1, "internal_type": string}
    yield Sample([places], [words], [shape], [numbers], hashed_output=False, out_type=string, **common)
    hashed = common | {"internal_type": int64, "num_buckets": 100}
    yield Sample(
        [places] * 2, [words, np.arange(3)], [shape] * 2, [], hashed_output=True, out_type=int64, **hashed
    )
    yield Sample([places], [words], [shape], [], hashed_output=True, out_type=string, **common)
    yield Sample([], [], [], [numbers, numbers], hashed_output=True, out_type=int64, **hashed)
    yield ErrorSample(
        [places] * 2,
        [words] * 2,
        [shape, np.array([3, 2])],
        [],
        out_type=string,
        hashed_output=False,
        raises="batch size 2 got 3",
        **common,
    )
