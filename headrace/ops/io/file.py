"""Whole files as strings, and names of files by pattern."""

from __future__ import annotations

import os

import numpy as np

from headrace.core.errors import require
from headrace.core.shapes import make_shape
from headrace.formats import files
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.sample_files import scratch, text, texts, written
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import with_rank_at_most
from headrace.ops.declaration.traits import FILES, HOST, STATEFUL
from headrace.ops.io.checkpoint import as_scalar, one_text, scalars


def _check_scalar(value, what):
    require(value.ndim == 0, f"{what} tensor must be scalar, but had shape: {list(value.shape)}")


# HOST and not STATEFUL in TF either: a file that was read may be folded only if its name is constant,
# which passes may not do for HOST ops.
@op("ReadFile", "filename: string -> contents: string", shape=scalars, traits={HOST, FILES})
def read_file(filename):
    """All bytes of a file."""
    _check_scalar(filename, "Input filename")
    return as_scalar(files.read_bytes(one_text(filename)))


@read_file.samples
def _(rng):
    yield Sample(written("read_file", b"some\0bytes"))
    yield Sample(written("read_empty_file", b""), note="empty")
    yield ErrorSample(scratch("missing"), raises="No such file")


def write_shape(filename, contents):
    scalars(filename, contents)
    return []


@op("WriteFile", "filename: string, contents: string ->", shape=write_shape, traits={STATEFUL, HOST, FILES})
def write_file(filename, contents):
    """Write a file; folders around it are made where they are missing."""
    _check_scalar(filename, "Input filename")
    _check_scalar(contents, "Contents")
    path = one_text(filename)
    files.makedirs(os.path.dirname(files.local(path)) or ".")
    files.write_whole(path, contents.item())
    return ()


@write_file.samples
def _(rng):
    yield Sample(scratch("a/b/write_file"), text("contents"))
    yield ErrorSample(scratch("write_file"), texts("a"), raises="rank 0")


def matching_shape(pattern):
    with_rank_at_most(pattern, 1)
    return make_shape((None,))


@op("MatchingFiles", "pattern: string -> filenames: string", shape=matching_shape, traits={HOST, FILES})
def matching_files(pattern):
    """The names of the files that match a pattern, or one of several; sorted."""
    require(
        pattern.ndim <= 1,
        f"Input patterns tensor must be scalar or vector, but had shape: {list(pattern.shape)}",
    )
    found = [name for one in pattern.ravel() for name in files.glob(one)]
    return np.array(sorted(name.encode() for name in found), object)


@matching_files.samples
def _(rng):
    written("match_1", b"")
    yield Sample(scratch("match_?"))
    yield Sample(scratch("match_none*"), note="none")
    yield Sample(scratch("match_*").reshape(1), note="list")
    yield Sample(np.zeros(0, object), note="empty")
    yield ErrorSample(texts("a", "b").reshape(1, 2), raises="rank")
