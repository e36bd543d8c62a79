"""Sparse tensors as single elements, so that queues and batches can hold them.

A sparse tensor becomes three elements: indices, values and shape, each as the bytes of a message or
as a variant.  A tensors map keeps whole sparse tensors under handles instead.
"""

from __future__ import annotations

import itertools
import threading

import numpy as np
from google.protobuf.message import DecodeError

from headrace.core import dtypes
from headrace.core.dtypes import int64, string, variant
from headrace.core.errors import InvalidArgumentError, require
from headrace.core.shapes import make_shape, show
from headrace.formats import proto
from headrace.formats.tensor_proto import from_proto, to_proto
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import with_rank, with_rank_at_least, with_size
from headrace.ops.declaration.signature import Type
from headrace.ops.declaration.text import strings
from headrace.ops.declaration.traits import STATEFUL
from headrace.ops.declaration.variant import TensorVariant
from headrace.ops.sparse.array import SMALL, sparse_reshape
from headrace.ops.sparse.layout import check_kinds, check_order, check_parts, check_sizes, sparse_shapes

PARTS = "sparse_indices: int64, sparse_values: T, sparse_shape: int64 -> "
OUT = "-> sparse_indices: int64, sparse_values: dtype, sparse_shape: int64"


def _checked(out):
    def rule(sparse_indices, sparse_values, sparse_shape):
        for x, rank in ((sparse_indices, 2), (sparse_values, 1), (sparse_shape, 1)):
            with_rank(x, rank)
        return make_shape(out)

    return rule


# -- one element per part -----------------------------------------------------------------------
def _packed(indices, values, shape, dtype, out_type):
    """The three elements of a sparse tensor."""
    if out_type is variant:
        return as_variants(indices, values, shape, dtype)
    return strings([_message(indices, int64), _message(values, dtype), _message(shape, int64)])


def as_variants(indices, values, shape, dtype):
    """A sparse tensor as three variants: a component of an element of a dataset."""
    return strings([TensorVariant(indices, int64), TensorVariant(values, dtype), TensorVariant(shape, int64)])


def _message(array, dtype):
    """A TensorProto with the raw content, whatever the size: what TF writes here."""
    message = to_proto(array[:0], dtype, (0,))
    message.ClearField("tensor_shape")
    for size in array.shape:
        message.tensor_shape.dim.add(size=size)
    if dtype.kind == "s":
        parts = array.reshape(-1).tolist()
        message.tensor_content = b"".join([_varint(len(p)) for p in parts] + parts)
    else:
        message.tensor_content = array.tobytes()
    return message.SerializeToString()


def _varint(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def _rows(indices, values, shape):
    """The sparse tensors that the rows of a sparse tensor are."""
    check_kinds(indices, values, shape)
    require(len(shape) > 1, f"Rank of input SparseTensor should be > 1, but saw rank: {len(shape)}")
    check_parts(indices, values, shape)
    count, row = int(shape[0]), indices[:, 0]
    for b in row[(row < 0) | (row >= count)][:1]:
        require(
            False, f"Received unexpected column 0 value in input SparseTensor: {b} < 0 or >= N (= {count})"
        )
    check_order(indices, tuple(shape.tolist()))
    starts = np.searchsorted(row, np.arange(count + 1))
    for start, stop in itertools.pairwise(starts):
        yield indices[start:stop, 1:], values[start:stop], shape[1:]


@op(
    "SerializeSparse",
    PARTS + "serialized_sparse: out_type",
    T=Type(),
    out_type=Type((string, variant), default=string),
    shape=_checked((3,)),
)
def serialize_sparse(sparse_indices, sparse_values, sparse_shape, *, T, out_type):
    """A sparse tensor as a vector of three elements."""
    check_kinds(sparse_indices, sparse_values, sparse_shape)
    return _packed(sparse_indices, sparse_values, sparse_shape, T, out_type)


@serialize_sparse.samples
def _(rng):
    yield Sample(*SMALL)
    yield ErrorSample(SMALL[0][0], *SMALL[1:], raises="rank 2|should be a matrix")


@op(
    "SerializeManySparse",
    PARTS + "serialized_sparse: out_type",
    T=Type(),
    out_type=Type((string, variant), default=string),
    shape=_checked((None, 3)),
)
def serialize_many_sparse(sparse_indices, sparse_values, sparse_shape, *, T, out_type):
    """Every row of a sparse tensor as three elements."""
    rows = [_packed(*row, T, out_type) for row in _rows(sparse_indices, sparse_values, sparse_shape)]
    return np.stack(rows) if rows else np.empty((0, 3), object)


@serialize_many_sparse.samples
def _(rng):
    yield Sample(*SMALL)
    yield ErrorSample(np.array([[1]]), np.ones(1), np.array([2]), raises="Rank of input")


def _unpacked(element, index, which):
    """(array, type) of one part."""
    if isinstance(element, TensorVariant):
        return element.array, element.dtype
    require(isinstance(element, bytes), f"Could not get a tensor from serialized_sparse[{index}, {which}]")
    message = proto.TensorProto()
    try:
        message.ParseFromString(element)
        return from_proto(message), dtypes.as_dtype(message.dtype)
    except DecodeError:
        raise InvalidArgumentError(None, None, "Could not parse serialized proto") from None
    except ValueError:
        raise InvalidArgumentError(None, None, "Could not construct tensor from proto") from None


def _element(row, index, dtype):
    """Indices, values and shape of one sparse tensor, checked."""
    (indices, _), (values, kind), (shape, _) = (_unpacked(part, index, i) for i, part in enumerate(row))
    expected = f"Expected serialized_sparse[{index}, "
    require(
        indices.ndim == 2,
        f"{expected}0] to represent an index matrix but received shape {show(indices.shape)}",
    )
    require(
        values.ndim == 1, f"{expected}1] to represent a values vector but received shape {show(values.shape)}"
    )
    require(
        kind is dtype,
        f"Requested SparseTensor of type {dtype.name} but SparseTensor[{index}].values.dtype() == "
        f"{kind.name}",
    )
    require(
        len(indices) == len(values),
        f"Expected row counts of SparseTensor[{index}].indices and SparseTensor[{index}].values "
        f"to match but they do not: {len(indices)} vs. {len(values)}",
    )
    require(shape.ndim == 1, f"{expected}1] to be a shape vector but its shape is {show(shape.shape)}")
    require(
        indices.shape[1] == len(shape),
        f"Expected column counts of SparseTensor[{index}].indices to match size of "
        f"SparseTensor[{index}].shape but they do not: {indices.shape[1]} vs. {len(shape)}",
    )
    return indices, values, shape


def _stacked(elements, dtype, what="shape"):
    """One sparse tensor with a new first dimension; its sizes are the largest of the elements'."""
    rank = len(elements[0][2])
    for i, (_, _, shape) in enumerate(elements):
        require(
            len(shape) == rank,
            f"Inconsistent {what} across SparseTensors: rank prior to SparseTensor[{i}] was: "
            f"{rank} but rank of SparseTensor[{i}] is: {len(shape)}",
        )
    numbers = np.repeat(np.arange(len(elements)), [len(e[0]) for e in elements])
    indices = np.concatenate([e[0] for e in elements])
    values = np.concatenate([e[1] for e in elements]).astype(dtype.numpy, copy=False)
    sizes = np.max([e[2] for e in elements], axis=0).astype(np.int64)
    places = np.concatenate([numbers[:, None], indices], axis=1).astype(np.int64)
    return places, values, np.concatenate([[len(elements)], sizes]).astype(np.int64)


def _deserialize(serialized, dtype):
    require(serialized.ndim > 0, f"Serialized sparse should have non-zero rank {show(serialized.shape)}")
    require(
        serialized.shape[-1] == 3,
        f"Serialized sparse should have 3 as the last dimension {show(serialized.shape)}",
    )
    require(
        serialized.size,
        "Serialized sparse should have at least 1 serialized tensor, but has a zero dimension "
        f"{show(serialized.shape)}",
    )
    if serialized.ndim == 1:
        return _element(serialized, 0, dtype)
    elements = [_element(row, i, dtype) for i, row in enumerate(serialized.reshape(-1, 3))]
    places, values, shape = _stacked(elements, dtype)
    whole = np.concatenate([serialized.shape[:-1], shape[1:]]).astype(np.int64)
    places, shape = sparse_reshape.reference(places, shape, whole)
    return places, values, shape


def _deserialized_shape(serialized_sparse):
    if with_rank_at_least(serialized_sparse, 1).rank is not None:
        with_size(serialized_sparse.sizes[-1], 3)
    return sparse_shapes()


@op(
    "DeserializeSparse",
    "serialized_sparse: Tserialized " + OUT,
    dtype=Type(),
    Tserialized=Type((string, variant), default=string),
    shape=_deserialized_shape,
)
def deserialize_sparse(serialized_sparse, *, dtype):
    """The sparse tensor of three elements; further dimensions in front become dimensions of it."""
    return _deserialize(serialized_sparse, dtype)


def _serialized_samples(rng):
    one = serialize_sparse.reference(*SMALL, T=dtypes.float64, out_type=string)
    yield Sample(np.stack([one, one]), dtype=dtypes.float64)
    yield ErrorSample(np.stack([one, one]), dtype=dtypes.int32, raises="Requested SparseTensor")
    yield ErrorSample(np.array([[b"", b"x", b"y"]], object), dtype=dtypes.int32, raises="Could not")


@deserialize_sparse.samples
def _(rng):
    yield Sample(serialize_sparse.reference(*SMALL, T=dtypes.float64, out_type=string), dtype=dtypes.float64)
    yield from _serialized_samples(rng)


def _many_shape(serialized_sparse):
    with_size(with_rank(serialized_sparse, 2).sizes[1], 3)
    return sparse_shapes()


@op("DeserializeManySparse", "serialized_sparse: string " + OUT, dtype=Type(), shape=_many_shape)
def deserialize_many_sparse(serialized_sparse, *, dtype):
    """The sparse tensor whose rows were serialised."""
    return _deserialize(serialized_sparse, dtype)


deserialize_many_sparse.samples(_serialized_samples)


# -- tensors maps -------------------------------------------------------------------------------
class TensorsMap:
    """Sparse tensors under handles; each is taken once."""

    def __init__(self, name):
        self.name, self.entries, self.count = name, {}, 0
        self.lock = threading.Lock()

    def add(self, indices, values, shape, dtype):
        with self.lock:
            handle = self.count
            self.count += 1
            self.entries[handle] = indices, values, shape, dtype
            return handle

    def take(self, handles):
        with self.lock:
            for handle in handles:
                require(handle in self.entries, f"Unable to find SparseTensor: {handle} in map: {self.name}")
            return [self.entries.pop(handle) for handle in handles]


def _map(ctx, container, shared_name, default):
    name = shared_name or default
    return ctx.resources.get_or_make(container, "SparseTensorsMap", name, lambda: TensorsMap(name))


@op(
    "AddSparseToTensorsMap",
    PARTS + "sparse_handle: int64",
    T=Type(),
    container="",
    shared_name="",
    traits={STATEFUL},
    shape=_checked(()),
)
def add_sparse_to_tensors_map(ctx, sparse_indices, sparse_values, sparse_shape, *, T, container, shared_name):
    """Keep a sparse tensor; its handle."""
    check_kinds(sparse_indices, sparse_values, sparse_shape)
    check_sizes(sparse_shape)
    check_parts(sparse_indices, sparse_values, sparse_shape)
    table = _map(ctx, container, shared_name, ctx.node.name)
    return np.int64(table.add(sparse_indices, sparse_values, sparse_shape, T))


@add_sparse_to_tensors_map.samples
def _(rng):
    yield Sample(*SMALL, grad=False)
    yield ErrorSample(*SMALL[:2], -SMALL[2], raises="must be >= 0")


@op(
    "AddManySparseToTensorsMap",
    PARTS + "sparse_handles: int64",
    T=Type(),
    container="",
    shared_name="",
    traits={STATEFUL},
    shape=_checked((None,)),
)
def add_many_sparse_to_tensors_map(
    ctx, sparse_indices, sparse_values, sparse_shape, *, T, container, shared_name
):
    """Keep every row of a sparse tensor; their handles, which empty rows get last."""
    table = _map(ctx, container, shared_name, ctx.node.name)
    rows = list(_rows(sparse_indices, sparse_values, sparse_shape))
    handles = np.empty(len(rows), np.int64)
    for k in sorted(range(len(rows)), key=lambda k: not len(rows[k][0])):
        handles[k] = table.add(*rows[k], T)
    return handles


STORING = (add_sparse_to_tensors_map, add_many_sparse_to_tensors_map)


@add_many_sparse_to_tensors_map.samples
def _(rng):
    yield Sample(*SMALL, grad=False)


def _taken_shape(sparse_handles):
    with_rank(sparse_handles, 1)
    return sparse_shapes()


@op(
    "TakeManySparseFromTensorsMap",
    "sparse_handles: int64 " + OUT,
    dtype=Type(),
    container="",
    shared_name="",
    traits={STATEFUL},
    shape=_taken_shape,
)
def take_many_sparse_from_tensors_map(ctx, sparse_handles, *, dtype, container, shared_name):
    """The kept sparse tensors of these handles, stacked; the map forgets them."""
    require(
        sparse_handles.ndim == 1,
        f"sparse_handles should be a vector but received shape {show(sparse_handles.shape)}",
    )
    require(len(sparse_handles), "Must have at least 1 serialized SparseTensor, but input matrix has 0 rows")
    require(shared_name, "TakeManySparseFromTensorsMap: shared_name must name the map to take from")
    table = _map(ctx, container, shared_name, "")
    elements = table.take(sparse_handles.tolist())
    for i, (*_, kind) in enumerate(elements):
        require(
            kind is dtype,
            f"Requested SparseTensor of type {dtype.name} but SparseTensor[{i}].values.dtype() == "
            f"{kind.name}",
        )
    return _stacked([e[:3] for e in elements], dtype, "rank")


@take_many_sparse_from_tensors_map.samples
def _(rng):
    yield ErrorSample(
        np.array([7]), dtype=dtypes.float64, shared_name="no map", raises="Unable to find SparseTensor: 7"
    )
