"""Copies and constants of special kinds: DeepCopy, Copy, GuaranteeConst, HostConst, ImmutableConst;
rows of a copy changed: InplaceUpdate, InplaceAdd, InplaceSub; UnravelIndex."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from headrace.core.dtypes import as_dtype, bool_, float32
from headrace.core.errors import NotFoundError, UnimplementedError, require
from headrace.core.shapes import UNKNOWN, as_shape, make_shape, show
from headrace.ops.array.indexing.rows import combine
from headrace.ops.declaration.declare import Op, op
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import with_rank
from headrace.ops.declaration.shape_rules import same
from headrace.ops.declaration.signature import INDEX32, ShapeAttr, String, Strings, TensorAttr, Type
from headrace.ops.declaration.traits import ALLOWS_UNINITIALIZED, STATEFUL


@op("DeepCopy", "x: T -> y: T", T=Type(), traits={STATEFUL}, shape=same)
def deep_copy(x):
    """A copy of the elements."""
    return np.array(x)


def _copy(name):
    @op(
        name,
        "input: T -> output: T",
        T=Type(),
        tensor_name="",
        debug_ops_spec=Strings(default=[]),
        traits={ALLOWS_UNINITIALIZED},
        shape=same,
    )
    def copy(input):
        """A copy of the elements, for a debugger."""
        return np.array(input)

    copy.samples(lambda rng: [Sample(rng.normal(size=(2, 3)), grad=False)])
    return copy


copy, copy_host = _copy("Copy"), _copy("CopyHost")


@op("RefIdentity", "input: Ref(T) -> output: Ref(T)", T=Type(), traits={ALLOWS_UNINITIALIZED}, shape=same)
def ref_identity(input):
    """The same reference."""
    return input


@ref_identity.gradient
def _(node, dy):
    return dy


@op("GuaranteeConst", "input: T -> output: T", T=Type(), traits={STATEFUL}, shape=same)
def guarantee_const(input, *, T):
    """The input, which the user promises will not change."""
    require(T.kind != "r", "Input tensor cannot be a resource variable handle.")
    return input


@guarantee_const.gradient
def _(node, dy):
    return dy


def host_const_shape(*, value, dtype):
    held = as_dtype(value.array.dtype)
    require(held is dtype, f"Type mismatch between value ({held.name}) and dtype ({dtype.name})")
    return make_shape(value.array.shape)


@op("HostConst", "-> output: dtype", value=TensorAttr(), dtype=Type(), shape=host_const_shape)
def host_const(*, value):
    """A constant that stays in the memory of the host."""
    return value.array


@host_const.samples
def _(rng):
    yield Sample(value=np.array([1.0, 2.0], np.float32), dtype=float32)


@op(
    "ImmutableConst",
    "-> tensor: dtype",
    shape=lambda *, shape: as_shape(shape),
    attrs={"dtype": Type(), "shape": ShapeAttr(), "memory_region_name": String()},
)
def immutable_const(ctx, *, dtype, shape, memory_region_name):
    """A constant whose bytes are read from a file, without a copy."""
    if dtype.numpy.hasobject:  # bytes of a file must not become addresses of objects
        raise UnimplementedError(
            None, None, f"Sorry, {dtype.name} is not currently supported for ImmutableConstOp."
        )
    require(shape.is_full, f"shape must be fully defined, got {shape}")
    path = Path(memory_region_name)
    if not path.exists():
        raise NotFoundError(None, None, f"{memory_region_name}; No such file or directory")
    sizes = tuple(shape.as_list())
    needed = math.prod(sizes) * dtype.numpy.itemsize
    require(
        path.stat().st_size >= needed,
        f"{memory_region_name} has {path.stat().st_size} bytes, {needed} are needed",
    )
    if needed == 0:
        return np.zeros(sizes, dtype.numpy)
    if dtype is bool_:  # any byte but 0 is true: compiled code relies on 0 and 1
        return np.memmap(path, np.uint8, "r", shape=sizes) != 0
    return np.memmap(path, dtype.numpy, "r", shape=sizes)


# -- rows changed -------------------------------------------------------------------------------
def _changed(x, i, v, ufunc):
    texts = [show(make_shape(a.shape)) for a in (x, i, v)]
    require(i.ndim == 1, f"i must be a vector. {texts[1]}")
    require(x.ndim == v.ndim, f"x and v shape doesn't match (ranks differ): {texts[0]} vs. {texts[2]}")
    for axis in range(1, x.ndim):
        require(
            x.shape[axis] == v.shape[axis],
            f"x and v shape doesn't match at index {axis} : {texts[0]} vs. {texts[2]}",
        )
    require(
        x.ndim > 0 and i.size == v.shape[0],
        f"i and x shape doesn't match at index 0: {texts[1]} vs. {texts[2]}",
    )
    out = np.array(x)
    if out.size and v.size:
        kind = as_dtype(x.dtype)
        require(ufunc is None or kind.kind not in "sb", f"Unsupported data type: {kind.name}")
        places = i % out.shape[0]  # TF counts from either end
        if ufunc is None:
            out[places] = v
        else:
            combine(ufunc, out, places, v)
    return out


def _rows_op(name, doc, ufunc) -> Op:
    def reference(x, i, v):
        return _changed(x, i, v, ufunc)

    reference.__doc__ = doc
    declared = op(name, "x: T, i: int32, v: T -> y: T", T=Type(), shape=same)(reference)

    @declared.samples
    def _(rng):
        rows = np.array([2, 0], np.int32)
        yield Sample(rng.normal(size=(3, 2)), rows, rng.normal(size=(2, 2)), grad=False)
        yield ErrorSample(np.ones((3, 2)), rows, np.ones((2, 3)), raises="doesn't match at index 1")
        if ufunc is not None:
            texts = np.array([[b"a"], [b"b"], [b"c"]], object)
            yield ErrorSample(texts, rows, texts[:2], raises="Unsupported data type: string")
            yield ErrorSample(texts == b"a", rows, texts[:2] == b"a", raises="Unsupported data type: bool")

    return declared


inplace_update = _rows_op("InplaceUpdate", "x with rows i replaced by v.", None)
inplace_add = _rows_op("InplaceAdd", "x with v added to rows i.", np.add)
inplace_sub = _rows_op("InplaceSub", "x with v subtracted from rows i.", np.subtract)


# -- UnravelIndex -------------------------------------------------------------------------------
def unravel_shape(indices, dims):
    count = with_rank(dims, 1).sizes[0]
    if indices.rank is None:
        return UNKNOWN
    return make_shape((count,) if indices.rank == 0 else (count, indices.num_elements()))


@op("UnravelIndex", "indices: Tidx, dims: Tidx -> output: Tidx", Tidx=INDEX32, shape=unravel_shape)
def unravel_index(indices, dims):
    """Flat indices into an array of shape `dims`, as one row of coordinates per dimension."""
    require(
        indices.ndim <= 1,
        f'The indices can only be scalar or vector, got "{show(make_shape(indices.shape))}"',
    )
    require(dims.ndim == 1, f'The indices can only be 1-D, got "{show(make_shape(dims.shape))}"')
    for i, size in enumerate(dims):
        require(size != 0, f"Input dims cannot contain a dim of zero, but dims contains zero at index {i}")
        require(size > 0, f"Input dims cannot be negative. Got dim = {size} at index {i}")
    sizes = tuple(int(s) for s in dims)
    count = math.prod(sizes)
    limit = np.iinfo(dims.dtype).max
    require(count <= limit, f"Input dims product is causing integer overflow: ({dims})")
    require(
        not indices.size or (indices.min() >= 0 and indices.max() < count),
        "index is out of bound as with dims",
    )
    return np.stack(np.unravel_index(indices, sizes)) if sizes else np.zeros((0, *indices.shape))


unravel_index.no_gradient()


@unravel_index.samples
def _(rng):
    yield Sample(np.array([2, 5, 7]), np.array([3, 3]), grad=False)
    yield Sample(np.array(5, np.int32), np.array([3, 3], np.int32), grad=False)
    yield ErrorSample(np.array([9]), np.array([3, 3]), raises="out of bound")
    yield ErrorSample(np.array([1]), np.array([3, 0]), raises="dim of zero")
