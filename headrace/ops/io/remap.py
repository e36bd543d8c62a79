"""Matrices of old checkpoints under new vocabularies: which row was which, and rows moved accordingly."""

from __future__ import annotations

import numpy as np

from headrace.core.errors import UnimplementedError, require
from headrace.core.shapes import SCALAR, make_shape
from headrace.formats import files
from headrace.formats.checkpoints.bundle_writer import BundleWriter
from headrace.formats.checkpoints.checkpoint import open_checkpoint
from headrace.formats.checkpoints.tensor_slice import FULL, TensorSlice
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.sample_files import scratch, text, written
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import scalars, with_rank
from headrace.ops.declaration.signature import Int
from headrace.ops.declaration.traits import FILES, HOST, STATEFUL
from headrace.ops.io.checkpoint import kernel_name, one_text, show_sizes


def vocabulary(path, size=-1):
    """The lines of a vocabulary file, or the first `size` of them."""
    name = one_text(path)
    require(name, "new vocab filename cannot be empty.")
    lines = files.read_bytes(name).splitlines()
    require(size <= len(lines), f"Invalid vocab_size in {name}: expected {size} but got {len(lines)}")
    lines = lines if size < 0 else lines[:size]
    require(len(set(lines)) == len(lines), f"{name}: an entry is there twice")
    return lines


def remapping_shape(new_file, old_file, *, num_new_vocab):
    scalars(new_file, old_file)
    return [make_shape((num_new_vocab,)), SCALAR]


@op(
    "GenerateVocabRemapping",
    "new_vocab_file: string, old_vocab_file: string -> remapping: int64, num_present: int32",
    new_vocab_offset=Int(min=0),
    num_new_vocab=Int(min=0),
    old_vocab_size=Int(default=-1, min=-1),
    traits={HOST, FILES},
    shape=remapping_shape,
)
def generate_vocab_remapping(
    new_vocab_file, old_vocab_file, *, new_vocab_offset, num_new_vocab, old_vocab_size
):
    """For entries of a new vocabulary, their lines in an old one (-1: not there), and how many are."""
    new = vocabulary(new_vocab_file)
    end = new_vocab_offset + num_new_vocab
    require(end <= len(new), "lookup table size must be larger than last new vocab entry's line")
    lines = {entry: i for i, entry in enumerate(vocabulary(old_vocab_file, old_vocab_size))}
    found = np.array([lines.get(entry, -1) for entry in new[new_vocab_offset:end]], np.int64)
    return found, np.array((found >= 0).sum(), np.int32)


@generate_vocab_remapping.samples
def _(rng):
    old, new = written("old_vocab", b"a\nb\nc\n"), written("new_vocab", b"c\nx\nb")
    yield Sample(new, old, new_vocab_offset=0, num_new_vocab=3)
    yield Sample(new, old, new_vocab_offset=1, num_new_vocab=2, old_vocab_size=1, note="part")
    yield Sample(new, old, new_vocab_offset=3, num_new_vocab=0, note="none")
    yield ErrorSample(new, old, new_vocab_offset=2, num_new_vocab=2, raises="must be larger")
    yield ErrorSample(new, scratch("missing"), new_vocab_offset=0, num_new_vocab=1, raises="No such file")


def _check_unique(remapping):
    """An old row may go to one place only."""
    present = remapping[remapping >= 0]
    found, counts = np.unique(present, return_counts=True)
    if (counts > 1).any():
        old = found[counts > 1][0]
        first, second = np.nonzero(remapping == old)[0][:2]
        raise UnimplementedError(
            None, None, f"Old ID {old} is mapped to both new ID {first} and {second}, which is not supported."
        )


def remapped_shape(path, name, rows, cols, values, *, num_rows, num_cols):
    with_rank(name, 0)
    return make_shape((num_rows, num_cols))


@op(
    "LoadAndRemapMatrix",
    "ckpt_path: string, old_tensor_name: string, row_remapping: int64, col_remapping: int64, "
    "initializing_values: float32 -> output_matrix: float32",
    num_rows=Int(min=0),
    num_cols=Int(min=1),
    max_rows_in_memory=-1,
    traits={STATEFUL, HOST, FILES},
    shape=remapped_shape,
)
def load_and_remap_matrix(
    ckpt_path,
    old_tensor_name,
    row_remapping,
    col_remapping,
    initializing_values,
    *,
    num_rows,
    num_cols,
    max_rows_in_memory,
):
    """A matrix of a checkpoint, rows and columns moved; new ones take `initializing_values` in order."""
    require(
        row_remapping.size == num_rows,
        f"Size of row_remapping is {row_remapping.size} instead of being equal to num_rows={num_rows}",
    )
    remaps_columns = col_remapping.size > 0
    require(
        not remaps_columns or col_remapping.size == num_cols,
        f"Provided col_remapping, but its size is {col_remapping.size} instead of being equal to "
        f"num_cols={num_cols}",
    )
    columns = col_remapping if remaps_columns else np.arange(num_cols)
    _check_unique(row_remapping)
    _check_unique(columns)
    out = np.empty((num_rows, num_cols), np.float32)
    present = (row_remapping >= 0)[:, None] & (columns >= 0)[None, :]
    with open_checkpoint(one_text(ckpt_path)) as reader:
        name = one_text(old_tensor_name)
        shape = _matrix_shape(reader, name)
        require(
            remaps_columns or shape[1] == num_cols,
            f"Tensor {name} has shape {show_sizes(shape)}, where the size of its 2nd dimension is "
            f"{shape[1]} instead of being equal to num_cols={num_cols}",
        )
        require(
            row_remapping.size == 0 or row_remapping.max() < shape[0],
            f"Tensor {name} has {shape[0]} rows, row {row_remapping.max(initial=-1)} is not there",
        )
        require(
            columns.max(initial=-1) < shape[1],
            f"Tensor {name} has {shape[1]} columns, column {columns.max()} is not there",
        )
        for start, rows in _chunks(reader, name, row_remapping, max_rows_in_memory):
            here = np.nonzero((row_remapping >= start) & (row_remapping < start + len(rows)))[0]
            taken = rows[row_remapping[here] - start]
            own = np.nonzero(columns >= 0)[0]
            out[np.ix_(here, own)] = taken[:, columns[own]]
    missing = out.size - int(present.sum())
    given = initializing_values.size
    require(
        given >= missing, f"initializing_values contained {given} elements, but more missing values remain."
    )
    require(
        given == missing,
        f"initializing_values contained {given} elements, but only {missing} elements were used to "
        "fill in missing values.",
    )
    out[~present] = initializing_values.ravel()
    return out


def _matrix_shape(reader, name):
    dtype, shape = reader.dtype_and_shape(name)
    require(
        dtype.name == "float32",
        f"Tensor {name} has invalid type {kernel_name(dtype)} instead of expected type float",
    )
    require(
        len(shape) == 2,
        f"Tensor {name} has shape {show_sizes(shape)} of invalid rank {len(shape)} instead of "
        "expected shape of rank 2.",
    )
    return shape


def _chunks(reader, name, rows, at_once):
    """The rows that are needed: (first row, values)."""
    needed = rows[rows >= 0]
    if not needed.size:
        return
    start, end = int(needed.min()), int(needed.max()) + 1
    step = at_once if at_once > 0 else end - start
    for first in range(start, end, step):
        part = TensorSlice(((first, min(step, end - first)), FULL))
        yield first, reader.read(name, part)


load_and_remap_matrix.no_gradient()


@load_and_remap_matrix.samples
def _(rng):
    path, name = scratch("remap"), text("w")
    with BundleWriter(path.item()) as writer:
        writer.add("w", rng.normal(size=(3, 2)).astype(np.float32))
        writer.add("v", np.ones(3, np.float32))
        writer.finish()
    none, values = np.zeros(0, np.int64), np.arange(2, dtype=np.float32)
    rows = np.array([2, -1, 0])
    yield Sample(path, name, rows, none, values, num_rows=3, num_cols=2)
    yield Sample(path, name, rows, none, values, num_rows=3, num_cols=2, max_rows_in_memory=1, note="parts")
    yield Sample(path, name, rows, np.array([-1, 1]), np.arange(4, dtype=np.float32), num_rows=3, num_cols=2)
    yield ErrorSample(path, name, rows, none, values, num_rows=2, num_cols=2, raises="row_remapping")
    yield ErrorSample(path, text("v"), rows, none, values, num_rows=3, num_cols=2, raises="invalid rank 1")
    yield ErrorSample(
        path, name, np.array([1, 1]), none, values, num_rows=2, num_cols=2, raises="mapped to both"
    )
    yield ErrorSample(path, name, rows, none, values[:1], num_rows=3, num_cols=2, raises="missing")
