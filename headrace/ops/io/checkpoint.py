"""Saving and restoring: SaveV2, RestoreV2 and their relatives (formats.checkpoints.bundle).

A checkpoint appears whole or not at all.  Files are read when the node runs; a name that is missing, a type
or a shape that differs is refused before any value is returned.
"""

from __future__ import annotations

import os

import numpy as np

from headrace.core import dtypes as types
from headrace.core.errors import require
from headrace.core.shapes import UNKNOWN, make_shape
from headrace.formats import files
from headrace.formats.checkpoints import bundle_writer
from headrace.formats.checkpoints.bundle_writer import BundleWriter
from headrace.formats.checkpoints.checkpoint import open_checkpoint
from headrace.formats.checkpoints.tensor_slice import full_slice, parse_shape_and_slice
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.sample_files import scratch, text, texts
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import with_rank
from headrace.ops.declaration.shape_rules import scalar
from headrace.ops.declaration.signature import Types
from headrace.ops.declaration.traits import FILES, HOST, STATEFUL


def one_text(value) -> str:
    """The text of a string scalar (of any shape with one element, as TF takes it)."""
    require(value.size == 1, f"Input prefix should have a single element, got {value.size} instead.")
    return value.item().decode("utf-8", "surrogateescape")


def as_scalar(value):
    out = np.empty((), object)
    out[()] = value
    return out


def all_texts(values) -> list[str]:
    return [value.decode("utf-8", "surrogateescape") for value in values.ravel()]


def _check_lists(names, slices):
    require(
        names.ndim == 1 and slices.ndim == 1,
        "Input tensor_names and shape_and_slices should be an 1-D tensors, got "
        f"{list(names.shape)} and {list(slices.shape)} instead.",
    )
    require(
        names.size == slices.size,
        "tensor_names and shape_and_slices have different number of elements: "
        f"{names.size} vs. {slices.size}",
    )


def saved_part(text, array):
    """Full shape and slice of what is saved; it must have the slice's shape."""
    if not text:
        return array.shape, full_slice(array.ndim)
    shape, part = parse_shape_and_slice(text)
    require(
        part.shape(shape) == array.shape,
        "Slice in shape_and_slice specification does not match the shape of the tensor to  save: "
        f"{text}, tensor: {list(array.shape)}",
    )
    return shape, part


def save_shape(prefix, names, *lists):
    """Nothing comes out; lists have one entry per tensor."""
    *vectors, tensors = lists
    with_rank(prefix, 0)
    for vector in (names, *vectors):
        found = with_rank(vector, 1).dim(0)
        require(found in (None, len(tensors)), f"Dimension must be {len(tensors)} but is {found}")
    return []


# -- format V2 -----------------------------------------------------------------------------------
@op(
    "SaveV2",
    "prefix: string, tensor_names: string, shape_and_slices: string, tensors: dtypes ->",
    dtypes=Types(min=1),
    traits={STATEFUL, HOST, FILES},
    shape=save_shape,
)
def save_v2(prefix, tensor_names, shape_and_slices, tensors, *, dtypes):
    """Write tensors, or slices of larger ones, to a checkpoint of format V2."""
    _check_lists(tensor_names, shape_and_slices)
    require(
        tensor_names.size == len(tensors), f"Got {tensor_names.size} tensor names but {len(tensors)} tensors."
    )
    names, slices = all_texts(tensor_names), all_texts(shape_and_slices)
    with BundleWriter(one_text(prefix)) as writer:
        for name, text, array, dtype in zip(names, slices, tensors, dtypes):
            shape, part = saved_part(text, array)
            writer.add_slice(name, shape, part, array, dtype)
        writer.finish()
    return ()


@save_v2.samples
def _(rng):
    path = scratch("save_v2")
    yield Sample(path, texts("a", "b"), texts("", ""), [rng.normal(size=(2, 3)), np.arange(4)])
    yield Sample(path, texts("a"), texts("4 2 1,2:-"), [np.ones((2, 2))], note="slice")
    yield Sample(path, texts("a"), texts(""), [texts("x", "")], note="text")
    yield ErrorSample(path, texts("a", "b"), texts(""), [np.ones(2)], raises="Dimension must be")
    yield ErrorSample(
        path, texts("a"), texts("4 2 1,2:-"), [np.ones((2, 3))], raises="does not match the shape"
    )
    yield ErrorSample(path, texts("a", "a"), texts("", ""), [np.ones(1), np.ones(2)], raises="duplicate key")


def restored_shapes(prefix, names, slices, *, dtypes):
    with_rank(prefix, 0)
    with_rank(names, 1).merge_with(with_rank(slices, 1))
    known = slices.value
    if known is None:
        return [UNKNOWN] * len(dtypes)
    require(known.size == len(dtypes), "The number of shape_and_slice doesn't match tensor outputs.")
    return [slice_shape(text) for text in all_texts(known)]


def slice_shape(text):
    if not text:
        return UNKNOWN
    shape, part = parse_shape_and_slice(text)
    return make_shape(part.shape(shape))


@op(
    "RestoreV2",
    "prefix: string, tensor_names: string, shape_and_slices: string -> tensors: dtypes",
    dtypes=Types(min=1),
    traits={STATEFUL, HOST, FILES},
    shape=restored_shapes,
)
def restore_v2(prefix, tensor_names, shape_and_slices, *, dtypes):
    """Read tensors, or slices of them, from a checkpoint of either format."""
    require(
        tensor_names.size == len(dtypes),
        f"Got {tensor_names.size} tensor names, but {len(dtypes)} expected dtypes.",
    )
    _check_lists(tensor_names, shape_and_slices)
    names, slices = all_texts(tensor_names), all_texts(shape_and_slices)
    with open_checkpoint(one_text(prefix)) as reader:
        _check_types(reader, names, dtypes)
        return [_restored(reader, name, text) for name, text in zip(names, slices)]


def _check_types(reader, names, dtypes):
    wrong = []
    for name, dtype in zip(names, dtypes):
        found, _ = reader.dtype_and_shape(name)
        if found != dtype:
            wrong.append(
                f"tensor_name = {name}; expected dtype {kernel_name(dtype)} does not equal original "
                f"dtype {kernel_name(found)}"
            )
    require(not wrong, "\n".join(wrong))


def kernel_name(dtype):
    """TF's kernels have other names for two types."""
    return {"float32": "float", "float64": "double", "float16": "half"}.get(dtype.name, dtype.name)


def _restored(reader, name, text):
    if not text:
        return reader.read(name)
    shape, part = parse_shape_and_slice(text)
    _, stored = reader.dtype_and_shape(name)
    require(
        shape == stored,
        f"tensor_name = {name}; shape in shape_and_slice spec {show_sizes(shape)} does not match the "
        f"shape stored in checkpoint: {show_sizes(stored)}",
    )
    return reader.read(name, part)


def show_sizes(shape):
    return f"[{','.join(map(str, shape))}]"


@restore_v2.samples
def _(rng):
    path = scratch("restore_v2")
    with BundleWriter(path.item()) as writer:
        writer.add("a", rng.normal(size=(4, 2)))
        writer.add("b", np.arange(3))
        writer.finish()

    def typed(sample, *dtypes):
        sample.attrs["dtypes"] = dtypes  # `dtypes` means something else to Sample
        return sample

    double, one = types.float64, texts("a")
    yield typed(Sample(path, texts("a", "b"), texts("", "")), double, types.int64)
    yield typed(Sample(path, one, texts("4 2 1,2:-"), note="slice"), double)
    yield typed(ErrorSample(path, texts("c"), texts(""), raises="Key c not found"), double)
    wrong_type = "expected dtype float does not equal original dtype double"
    yield typed(ErrorSample(path, one, texts(""), raises=wrong_type), types.float32)
    wrong_shape = r"spec \[9,2\] does not match the shape stored in checkpoint: \[4,2\]"
    yield typed(ErrorSample(path, one, texts("9 2 -:-"), raises=wrong_shape), double)


def merge_shape(prefixes, destination):
    with_rank(prefixes, 1)
    with_rank(destination, 0)
    return []


@op(
    "MergeV2Checkpoints",
    "checkpoint_prefixes: string, destination_prefix: string ->",
    delete_old_dirs=True,
    traits={STATEFUL, HOST, FILES},
    shape=merge_shape,
)
def merge_v2_checkpoints(checkpoint_prefixes, destination_prefix, *, delete_old_dirs):
    """Make one checkpoint of several; their data files are renamed, and their folders removed."""
    require(
        checkpoint_prefixes.ndim == 1,
        f"Input checkpoint_prefixes should be an 1-D tensor, got {list(checkpoint_prefixes.shape)} instead.",
    )
    prefixes, destination = all_texts(checkpoint_prefixes), one_text(destination_prefix)
    bundle_writer.merge(prefixes, destination)
    if delete_old_dirs:
        own = os.path.dirname(files.local(destination))
        for folder in {os.path.dirname(files.local(prefix)) for prefix in prefixes} - {own}:
            _remove_empty(folder)
    return ()


def _remove_empty(folder):
    try:
        os.rmdir(folder)
    except OSError:  # another shard's save may still be there: it is removed with that one
        return


@merge_v2_checkpoints.samples
def _(rng):
    none = scratch("none")
    yield ErrorSample(none.reshape(1), scratch("merged"), raises="none.index")
    yield ErrorSample(none, scratch("merged"), raises="rank 1")


# -- names of shards -----------------------------------------------------------------------------
def scalars(*inputs):
    for x in inputs:
        with_rank(x, 0)
    return scalar()


@op("ShardedFilename", "basename: string, shard: int32, num_shards: int32 -> filename: string", shape=scalars)
def sharded_filename(basename, shard, num_shards):
    """The name of one of several files: base-00001-of-00003."""
    return as_scalar(b"%s-%05d-of-%05d" % (basename.item(), shard.item(), num_shards.item()))


@sharded_filename.samples
def _(rng):
    yield Sample(text("/tmp/base"), np.array(1, np.int32), np.array(3, np.int32))


@op("ShardedFilespec", "basename: string, num_shards: int32 -> filename: string", shape=scalars)
def sharded_filespec(basename, num_shards):
    """The pattern of all of several files: base-?????-of-00003."""
    return as_scalar(b"%s-?????-of-%05d" % (basename.item(), num_shards.item()))


@sharded_filespec.samples
def _(rng):
    yield Sample(text("/tmp/base"), np.array(3, np.int32))
