"""Examples as tensors: ParseExample for a batch, ParseSingleExample for one."""

from __future__ import annotations

import numpy as np

from headrace.core.dtypes import float32, int64, string
from headrace.core.errors import require
from headrace.core.shapes import UNKNOWN, make_shape
from headrace.core.text import as_bytes
from headrace.formats import proto
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_rules import require_rank
from headrace.ops.declaration.signature import Int, Shapes, Strings, Types
from headrace.ops.declaration.text import shown, strings
from headrace.ops.io.example_columns import PARSED, Place, Reader, c_shape, dense_columns, padded, sparse


# -- ParseExample --------------------------------------------------------------------------------
def batch_shapes(serialized, names, sparse_keys, dense_keys, dense_defaults, *, sparse_types, dense_shapes):
    require_rank(serialized, 1)
    require_rank(names, 1)
    require(len(sparse_keys) == len(sparse_types), "len(sparse_keys) != len(sparse_types)")
    require(len(dense_keys) == len(dense_defaults), "len(dense_keys) != len(dense_types)")
    require(len(dense_keys) == len(dense_shapes), "len(dense_keys) != len(dense_shapes)")
    count = make_shape([serialized.dim(0) if serialized.rank else None])
    n = len(sparse_keys)
    return (
        [make_shape([None, 2])] * n
        + [make_shape([None])] * n
        + [make_shape([2])] * n
        + [count.concatenate(_varying(shape)) for shape in dense_shapes]
    )


def _varying(shape):
    return shape if shape.rank is not None else UNKNOWN


@op(
    "ParseExample",
    "serialized: string, names: string, sparse_keys: Nsparse*string, dense_keys: Ndense*string, "
    "dense_defaults: Tdense -> sparse_indices: Nsparse*int64, sparse_values: sparse_types, "
    "sparse_shapes: Nsparse*int64, dense_values: Tdense",
    Nsparse=Int(min=0),
    Ndense=Int(min=0),
    sparse_types=Types(PARSED, min=0),
    Tdense=Types(PARSED, min=0),
    dense_shapes=Shapes(min=0),
    shape=batch_shapes,
)
def parse_example(
    serialized, names, sparse_keys, dense_keys, dense_defaults, *, sparse_types, Tdense, dense_shapes
):
    """The features of a batch of serialized Examples: ragged ones as sparse matrices (indices,
    values, shapes), the others as dense tensors whose defaults fill what is missing."""
    dense = dense_columns([k.item() for k in dense_keys], Tdense, dense_shapes, dense_defaults)
    ragged, values = parsed_batch(serialized, names, [k.item() for k in sparse_keys], sparse_types, dense)
    return [r[0] for r in ragged], [r[1] for r in ragged], [r[2] for r in ragged], values


def parsed_batch(serialized, names, sparse_keys, sparse_types, dense):
    """Of a batch of Examples: the parts of every sparse matrix, and the dense arrays."""
    count = serialized.size
    if np.size(names):
        require(names.ndim == 1, f"Expected names to be a vector, got shape: {c_shape(names.shape)}")
        require(
            names.size == count, f"Expected len(names) == len(serialized), but got: {names.size} vs. {count}"
        )
    require(
        serialized.ndim == 1, f"Expected serialized to be a vector, got shape: {c_shape(serialized.shape)}"
    )
    reader = Reader(sparse_keys, sparse_types, dense)
    for i, data in enumerate(serialized):
        name = shown(names[i]) if np.size(names) else "<unknown>"
        reader.read(data, Place(name, i))
    ragged = [sparse(column, count) for column in reader.sparse_columns]
    values = [
        padded(column, d, count) if d.varies else column.array().reshape(count, *d.shape)
        for column, d in zip(reader.dense_columns, dense)
    ]
    return ragged, values


def serialize(**values) -> bytes:
    """An Example for samples and tests."""
    message = proto.Example()
    for key, value in values.items():
        feature = message.features.feature[key]
        array = np.asarray(value)
        if array.dtype.kind in "SO":
            feature.bytes_list.value.extend(list(value))
        elif array.dtype.kind == "f":
            feature.float_list.value.extend(array.reshape(-1).tolist())
        else:
            feature.int64_list.value.extend(array.reshape(-1).tolist())
    return message.SerializeToString(deterministic=True)


def _key(text: str):
    return np.array(text.encode(), object)


NO_NAMES = strings([])
NOTHING = {"sparse_keys": (), "dense_keys": (), "dense_defaults": ()}


@parse_example.samples
def _(rng):
    rows = strings(
        [
            serialize(a=[1.5, -2.0], b=[7], c=[b"x", b""], d=[1, 2**40, -3]),
            serialize(a=[3.0], b=[-1], c=[b"yy"]),
        ]
    )
    pads = [np.array(9.0, np.float32)]
    yield Sample(
        rows,
        NO_NAMES,
        [_key("a"), _key("c"), _key("d")],
        [],
        [],
        dense_shapes=[],
        sparse_types=[float32, string, int64],
        note="ragged",
    )
    yield Sample(
        rows,
        strings([b"p", b"q"]),
        [],
        [_key("b")],
        [np.zeros(0, np.int64)],
        dense_shapes=[[]],
        sparse_types=[],
        note="dense",
    )
    yield Sample(rows, NO_NAMES, [], [_key("a")], pads, dense_shapes=[[None]], sparse_types=[], note="padded")
    yield Sample(
        rows,
        NO_NAMES,
        [],
        [_key("z")],
        [np.arange(4, dtype=np.int64).reshape(2, 2)],
        dense_shapes=[[2, 2]],
        sparse_types=[],
        note="default",
    )
    yield Sample(
        strings([]),
        NO_NAMES,
        [_key("a")],
        [_key("b")],
        [np.zeros(0, np.int64)],
        dense_shapes=[[3]],
        sparse_types=[float32],
        note="empty",
    )
    for keys, default, raises in (
        ("z", np.zeros(0, np.int64), "z .data type: int64. is required but could not be found"),
        ("a", np.zeros(0, np.int64), "Data type: float but expected type: int64"),
        ("d", np.zeros(0, np.int64), "Number of int64 values != expected"),
    ):
        yield ErrorSample(
            rows, NO_NAMES, [], [_key(keys)], [default], dense_shapes=[[]], sparse_types=[], raises=raises
        )
    yield ErrorSample(
        strings([b"\x0a\x05abc"]),
        NO_NAMES,
        [_key("a")],
        [],
        [],
        dense_shapes=[],
        sparse_types=[float32],
        raises="Could not parse example input",
    )


# -- ParseSingleExample --------------------------------------------------------------------------
def single_shapes(
    serialized, dense_defaults, *, num_sparse, sparse_keys, dense_keys, sparse_types, dense_shapes
):
    require_rank(serialized, 0)
    require(
        num_sparse == len(sparse_keys) == len(sparse_types),
        f"num_sparse ({num_sparse}) must match the size of sparse_keys ({len(sparse_keys)}) and "
        f"sparse_types ({len(sparse_types)})",
    )
    require(len(dense_keys) == len(dense_defaults), "len(dense_keys) != len(dense_types)")
    require(len(dense_keys) == len(dense_shapes), "len(dense_keys) != len(dense_shapes)")
    n = len(sparse_keys)
    return (
        [make_shape([None, 1])] * n
        + [make_shape([None])] * n
        + [make_shape([1])] * n
        + [_varying(shape) for shape in dense_shapes]
    )


@op(
    "ParseSingleExample",
    "serialized: string, dense_defaults: Tdense -> sparse_indices: num_sparse*int64, "
    "sparse_values: sparse_types, sparse_shapes: num_sparse*int64, dense_values: Tdense",
    num_sparse=Int(min=0),
    sparse_keys=Strings(min=0),
    dense_keys=Strings(min=0),
    sparse_types=Types(PARSED, min=0),
    Tdense=Types(PARSED, min=0),
    dense_shapes=Shapes(min=0),
    shape=single_shapes,
)
def parse_single_example(
    serialized, dense_defaults, *, sparse_keys, dense_keys, sparse_types, Tdense, dense_shapes
):
    """The features of one serialized Example: those of varying length as sparse vectors, the others
    as dense tensors whose defaults stand for what is missing."""
    require(
        serialized.ndim == 0, f"Expected serialized to be a scalar, got shape: {c_shape(serialized.shape)}"
    )
    keys = [as_bytes(k) for k in dense_keys]
    dense = dense_columns(keys, Tdense, dense_shapes, dense_defaults)
    reader = Reader([as_bytes(k) for k in sparse_keys], sparse_types, dense)
    reader.read(serialized.item(), Place())
    values = [c.array() for c in reader.sparse_columns]
    sizes = [np.array([v.size], np.int64) for v in values]
    indices = [np.arange(v.size, dtype=np.int64)[:, None] for v in values]
    rest = [
        column.array().reshape((-1, *d.shape) if d.varies else d.shape)
        for column, d in zip(reader.dense_columns, dense)
    ]
    return indices, values, sizes, rest


@parse_single_example.samples
def _(rng):
    row = np.array(serialize(a=[1.5, -2.0], b=[7], c=[b"x", b""]), object)
    yield Sample(
        row,
        [],
        num_sparse=2,
        sparse_keys=["a", "q"],
        sparse_types=[float32, string],
        dense_keys=[],
        dense_shapes=[],
    )
    yield Sample(
        row,
        [np.zeros(0, np.float32), np.array(b"", object)],
        num_sparse=0,
        sparse_keys=[],
        sparse_types=[],
        dense_keys=["a", "c"],
        dense_shapes=[[2], [None]],
    )
    yield ErrorSample(
        row,
        [np.zeros(0, np.float32)],
        num_sparse=0,
        sparse_keys=[],
        sparse_types=[],
        dense_keys=["c"],
        dense_shapes=[[2]],
        raises="Data types don't match",
    )
    yield ErrorSample(
        row,
        [np.zeros(0, np.float32)],
        num_sparse=0,
        sparse_keys=[],
        sparse_types=[],
        dense_keys=["z"],
        dense_shapes=[[2]],
        raises="z .* is required",
    )
