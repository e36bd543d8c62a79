"""The basic array ops, gathered from their files for whoever builds with them."""

from headrace.ops.array.concat import concat, concat_offset, concat_v2, parallel_concat
from headrace.ops.array.fill import empty, fill, ones_like, zeros_like
from headrace.ops.array.pad import mirror_pad, mirror_pad_grad, pad, pad_v2
from headrace.ops.array.reshape import (
    ensure_shape,
    expand_dims,
    rank,
    rank_of,
    reshape,
    shape,
    shape_n,
    shape_of,
    size,
    size_of,
    squeeze,
)
from headrace.ops.array.slices.slice import slice_
from headrace.ops.array.split import split, split_v
from headrace.ops.array.tile import broadcast_to, tile, tile_grad
from headrace.ops.array.transpose import conjugate_transpose, invert_permutation, transpose

__all__ = [
    "broadcast_to", "concat", "concat_offset", "concat_v2", "conjugate_transpose", "empty",
    "ensure_shape", "expand_dims", "fill", "invert_permutation", "mirror_pad", "mirror_pad_grad",
    "ones_like", "pad", "pad_v2", "parallel_concat", "rank", "rank_of", "reshape", "shape",
    "shape_n", "shape_of", "size", "size_of", "slice_", "split", "split_v", "squeeze", "tile",
    "tile_grad", "transpose", "zeros_like",
]  # fmt: skip
