"""Saving and restoring in format V1: Save, SaveSlices, Restore, RestoreSlice."""

from __future__ import annotations

import numpy as np

from headrace.core import dtypes as types
from headrace.core.errors import NotFoundError, require
from headrace.core.shapes import UNKNOWN
from headrace.formats.checkpoints import checkpoint_v1
from headrace.formats.checkpoints.checkpoint import open_checkpoint
from headrace.formats.checkpoints.checkpoint_v1 import Item, V1Reader
from headrace.formats.checkpoints.tensor_slice import full_slice, parse_shape_and_slice
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.sample_files import scratch, text, texts
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import with_rank
from headrace.ops.declaration.signature import Type, Types
from headrace.ops.declaration.traits import FILES, HOST, STATEFUL
from headrace.ops.io.checkpoint import (
    all_texts,
    kernel_name,
    one_text,
    save_shape,
    saved_part,
    show_sizes,
    slice_shape,
)


def _save(filename, names, slices, tensors, dtypes):
    require(
        filename.size == 1,
        f"Input 0 (filename) must be a string scalar; got a tensor of {filename.size}elements",
    )
    require(
        len(names) == len(tensors) == len(slices),
        f"Expected totally {len(names)} tensors as input #1 (which is a string tensor of saved "
        f"names) contains {len(names)} names, but received {len(tensors)}",
    )
    items = []
    for name, spec, array, dtype in zip(names, slices, tensors, dtypes):
        shape, part = saved_part(spec, array)
        items.append(Item(name, array, dtype, shape, part))
    checkpoint_v1.write(one_text(filename), items)
    return ()


@op(
    "Save",
    "filename: string, tensor_names: string, data: T ->",
    T=Types(min=1),
    traits={STATEFUL, HOST, FILES},
    shape=save_shape,
)
def save(filename, tensor_names, data, *, T):
    """Write tensors to a file of format V1."""
    names = all_texts(tensor_names)
    return _save(filename, names, [""] * len(names), data, T)


@save.samples
def _(rng):
    path = scratch("save")
    yield Sample(path, texts("a", "b"), [rng.normal(size=(2, 3)), texts("x")])
    yield ErrorSample(path, texts("a"), [np.ones(2), np.ones(1)], raises="Dimension must be 2")


@op(
    "SaveSlices",
    "filename: string, tensor_names: string, shapes_and_slices: string, data: T ->",
    T=Types(min=1),
    traits={STATEFUL, HOST, FILES},
    shape=save_shape,
)
def save_slices(filename, tensor_names, shapes_and_slices, data, *, T):
    """Write tensors, or slices of larger ones, to a file of format V1."""
    return _save(filename, all_texts(tensor_names), all_texts(shapes_and_slices), data, T)


@save_slices.samples
def _(rng):
    path = scratch("save_slices")
    yield Sample(path, texts("a", "b"), texts("4 0,2", ""), [np.ones(2), np.arange(3)])
    yield ErrorSample(path, texts("a"), texts("4 0,2"), [np.ones(3)], raises="does not match")


def restored_shape(pattern, name, *slices):
    for scalar_input in (pattern, name, *slices):
        with_rank(scalar_input, 0)
    known = slices[0].value if slices else None
    return UNKNOWN if known is None else slice_shape(known.item().decode())


def _restore(file_pattern, tensor_name, spec, dtype):
    pattern, name = one_text(file_pattern), one_text(tensor_name)
    try:
        reader = V1Reader(pattern)
    except NotFoundError:
        reader = open_checkpoint(pattern)  # the newer format under an older op
    with reader:
        found, stored = reader.dtype_and_shape(name)
        require(
            found == dtype,
            f"Expected to restore a tensor of type {kernel_name(dtype)}, got a tensor of type "
            f"{kernel_name(found)} instead: tensor_name = {name}",
        )
        if not spec:
            return reader.read(name)
        shape, part = parse_shape_and_slice(spec)
        require(
            shape == stored,
            "Shape in shape_and_slice spec does not match the shape in the save file: "
            f"{show_sizes(shape)}, save file shape: {show_sizes(stored)}",
        )
        return reader.read(name, part)


@op(
    "Restore",
    "file_pattern: string, tensor_name: string -> tensor: dt",
    dt=Type(),
    preferred_shard=-1,
    traits={STATEFUL, HOST, FILES},
    shape=restored_shape,
)
def restore(file_pattern, tensor_name, *, dt):
    """Read a tensor from files of format V1 that match a pattern."""
    return _restore(file_pattern, tensor_name, "", dt)


@restore.samples
def _(rng):
    path = _old("restore", {"a": rng.normal(size=(4, 2))})
    yield Sample(path, text("a"), dt=types.float64)
    yield ErrorSample(path, text("c"), dt=types.float64, raises='"c" not found in checkpoint files')
    yield ErrorSample(path, text("a"), dt=types.int32, raises="Expected to restore a tensor of type")


@op(
    "RestoreSlice",
    "file_pattern: string, tensor_name: string, shape_and_slice: string -> tensor: dt",
    dt=Type(),
    preferred_shard=-1,
    traits={STATEFUL, HOST, FILES},
    shape=restored_shape,
)
def restore_slice(file_pattern, tensor_name, shape_and_slice, *, dt):
    """Read a slice of a tensor from files of format V1 that match a pattern."""
    return _restore(file_pattern, tensor_name, one_text(shape_and_slice), dt)


@restore_slice.samples
def _(rng):
    path = _old("restore_slice", {"a": rng.normal(size=(4, 2))})
    yield Sample(path, text("a"), text("4 2 1,2:0,1"), dt=types.float64)
    yield Sample(path, text("a"), text(""), dt=types.float64, note="all")
    yield ErrorSample(path, text("a"), text("5 2 -:-"), dt=types.float64, raises="does not match the shape")


def _old(name, tensors):
    """A checkpoint for the samples."""
    path = scratch(name)
    items = [Item(k, v, v.dtype, v.shape, full_slice(v.ndim)) for k, v in tensors.items()]
    checkpoint_v1.write(path.item(), items)
    return path
