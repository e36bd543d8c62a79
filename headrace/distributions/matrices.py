"""Matrices of vectors and vectors of matrices: triangles, diagonals, dimensions moved round."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.distributions.shapes import prefer_static_rank
from headrace.functions.array.array import get_static_value, rank, reshape, shape, transpose, zeros
from headrace.functions.array.diagonal import matrix_diag, matrix_diag_part, matrix_set_diag
from headrace.functions.array.indexing import where_v2
from headrace.functions.array.rank_checks import assert_integer
from headrace.functions.array.stacking import concat
from headrace.functions.math.cast import cast
from headrace.functions.math.elementwise import sqrt
from headrace.functions.math.math import range_
from headrace.functions.platform.scopes import name_scope
from headrace.functions.values.conversion import convert_to_tensor
from headrace.ops.array.diagonals.diagonal import matrix_band_part
from headrace.ops.array.reverse import reverse_v2 as reverse
from headrace.ops.math.comparison import less


def matrix_diag_transform(
    matrix: Any, transform: Callable[[Any], Any] | None = None, name: str | None = None
) -> Any:
    """The matrix with its diagonal transformed."""
    with name_scope(name, "matrix_diag_transform", [matrix]):
        matrix = convert_to_tensor(matrix, name="matrix")
        if transform is None:
            return matrix
        return matrix_set_diag(matrix, transform(matrix_diag_part(matrix)))


def rotate_transpose(x: Any, shift: Any, name: str = "rotate_transpose") -> Any:
    """Dimensions moved round by `shift` places."""
    with name_scope(name, values=[x, shift]):
        x, shift = convert_to_tensor(x, name="x"), convert_to_tensor(shift, name="shift")
        assert_integer(shift)
        known, ndims = get_static_value(shift), x.get_shape().ndims
        if ndims is not None and known is not None:
            if ndims < 2:
                return x
            places = int(np.sign(known) * (abs(known) % ndims))
            return x if places == 0 else transpose(x, perm=np.roll(np.arange(ndims), places))
        ndims = rank(x)
        shift = where_v2(less(shift, 0), (-shift) % ndims, ndims - shift % ndims)
        return transpose(x, perm=concat([range_(shift, ndims), range_(0, shift)], 0))


def fill_triangular(x: Any, upper: bool = False, name: str | None = None) -> Any:
    """A triangular matrix of a vector of n (n + 1) / 2 numbers, filled in a spiral."""
    with name_scope(name, "fill_triangular", values=[x]):
        x = convert_to_tensor(x, name="x")
        known = x.shape.with_rank_at_least(1)
        size = known.dims[-1].value if known.dims else None
        if size is not None:
            n: Any = np.sqrt(0.25 + 2.0 * size) - 0.5
            if n != np.floor(n):
                raise ValueError(
                    f"Input right-most shape ({size}) does not correspond to a triangular matrix."
                )
            n = int(n)
        else:
            n = cast(sqrt(0.25 + cast(2 * shape(x)[-1], dtypes.float32)), dtypes.int32)
        static = known[:-1].concatenate([n, n] if size is not None else [None, None])
        last = prefer_static_rank(x) - 1
        parts = [x, reverse(x[..., n:], axis=[last])] if upper else [x[..., n:], reverse(x, axis=[last])]
        sizes = static.as_list() if static.is_fully_defined() else concat([shape(x)[:-1], [n, n]], 0)
        made = reshape(concat(parts, -1), sizes)
        made = matrix_band_part(made, num_lower=0 if upper else -1, num_upper=-1 if upper else 0)
        made.set_shape(static)
        return made


def fill_triangular_inverse(x: Any, upper: bool = False, name: str | None = None) -> Any:
    """The vector that `fill_triangular` makes the matrix of."""
    with name_scope(name, "fill_triangular_inverse", values=[x]):
        x = convert_to_tensor(x, name="x")
        known = x.shape.with_rank_at_least(2)
        size = known.dims[-1].value if known.dims else None
        n: Any = shape(x)[-1] if size is None else size
        count = n * (n + 1) // 2
        static = known[:-2].concatenate([None if size is None else count])
        ndims = prefer_static_rank(x)
        if upper:
            first, rest = x[..., 0, :], x[..., 1:, :]
        else:
            first, rest = reverse(x[..., -1, :], axis=[ndims - 2]), x[..., :-1, :]
        turned = reverse(reverse(rest, axis=[ndims - 1]), axis=[ndims - 2])
        end = reshape(rest + turned, concat([shape(x)[:-2], [n * (n - 1)]], 0))
        made = concat([first, end[..., : count - n]], -1)
        made.set_shape(static)
        return made


def tridiag(below: Any = None, diag: Any = None, above: Any = None, name: str | None = None) -> Any:
    """A matrix of up to three diagonals."""

    def padded(x: Any) -> Any:
        edge = zeros(concat([shape(x)[:-1], [1]], 0), dtype=x.dtype)
        return matrix_diag(concat([edge, x, edge], -1))

    with name_scope(name, "tridiag", [below, diag, above]):
        parts = []
        if below is not None:
            parts.append(padded(convert_to_tensor(below, name="below"))[..., :-1, 1:])
        if diag is not None:
            parts.append(matrix_diag(convert_to_tensor(diag, name="diag")))
        if above is not None:
            parts.append(padded(convert_to_tensor(above, name="above"))[..., 1:, :-1])
        if not parts:
            raise ValueError("Must specify at least one of `below`, `diag`, `above`.")
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        return total
