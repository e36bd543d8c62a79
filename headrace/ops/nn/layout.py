"""Dimension numbers and vectors of sizes, moved from one data format to another."""

from __future__ import annotations

import numpy as np

from headrace.core.errors import require
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_rules import same
from headrace.ops.declaration.signature import INDEX32

ATTRS = {"T": INDEX32, "src_format": "NHWC", "dst_format": "NCHW"}


def check_formats(src_format, dst_format):
    for name, text in (("Source", src_format), ("Destination", dst_format)):
        short = "src_format" if name == "Source" else "dst_format"
        require(len(text) in (4, 5), f"{name} format must be of length 4 or 5, received {short} = {text}")
    require(
        len(set(src_format)) == len(src_format) and sorted(src_format) == sorted(dst_format),
        f"Destination and source format must determine a permutation, got {src_format} and {dst_format}",
    )


@op("DataFormatDimMap", "x: T -> y: T", shape=same, attrs=ATTRS)
def data_format_dim_map(x, *, src_format, dst_format):
    """The number in dst_format of a dimension that is number x in src_format."""
    check_formats(src_format, dst_format)
    return np.array([dst_format.index(c) for c in src_format])[x % len(src_format)]


@data_format_dim_map.samples
def _(rng):
    yield Sample(np.array([0, 1, 2, 3, -1, -4], np.int32))
    yield Sample(np.array([[1, 2]]), src_format="NDHWC", dst_format="NCDHW")
    yield ErrorSample(np.array([0], np.int32), dst_format="NCHH", raises="permutation")


@op("DataFormatVecPermute", "x: T -> y: T", shape=same, attrs=ATTRS)
def data_format_vec_permute(x, *, src_format, dst_format):
    """Sizes (or rows of two, such as paddings) per dimension, in the order of dst_format."""
    check_formats(src_format, dst_format)
    shape = list(x.shape)
    require(x.ndim in (1, 2), f"input must be a vector or 2D tensor, but got shape {shape}")
    if x.ndim == 1:
        require(len(x) in (4, 5), f"1D input must be of size 4 or 5, but got shape {shape}")
    else:
        require(len(x) == 4, f"First dimension of 2D input must be of size 4, but got shape {shape}")
        require(x.shape[1] == 2, f"Second dimension of 2D input must be of size 2, but got shape {shape}")
    require(len(x) == len(src_format), f"{len(x)} sizes for the format {src_format}")
    return x[[src_format.index(c) for c in dst_format]]


@data_format_vec_permute.samples
def _(rng):
    yield Sample(np.array([7, 8, 9, 3], np.int32))
    yield Sample(np.arange(8).reshape(4, 2))
    yield Sample(np.arange(5), src_format="NDHWC", dst_format="NCDHW")
    yield ErrorSample(np.arange(3), raises="must be of size 4 or 5")
