"""Operators that the Fourier transform diagonalises: circulant ones of depth 1 to 3, and Toeplitz
operators, which are corners of circulant ones.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.families import arguments_of, documented
from headrace.core.fields import reads
from headrace.core.shapes import Shape, make_shape
from headrace.functions.array import array as array_functions
from headrace.functions.array import checks
from headrace.functions.math import reduce
from headrace.functions.math.cast import cast
from headrace.functions.math.math import imag
from headrace.functions.values.structure import name_scope
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor
from headrace.nn.linear_operator import batch
from headrace.nn.linear_operator.base import LinearOperator
from headrace.nn.linear_operator.shaped import Hint, hinted
from headrace.ops.array import broadcast as broadcast_ops
from headrace.ops.array.reverse import reverse_v2
from headrace.ops.declaration import array
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.linalg import fft
from headrace.ops.linalg import matrix_terms as terms
from headrace.ops.math import arithmetic, exponential
from headrace.ops.math import reduce as reduce_ops

FORWARD = {1: fft.fft, 2: fft.fft2d, 3: fft.fft3d}
INVERSE = {1: fft.ifft, 2: fft.ifft2d, 3: fft.ifft3d}


def _complex(x: Tensor) -> Tensor:
    wide = x.dtype.base in (dtypes.float64, dtypes.complex128)
    result: Tensor = cast(x, dtypes.complex128 if wide else dtypes.complex64)
    return result


class _Circulant(LinearOperator):
    """F^H diag(spectrum) F, where F is a Fourier transform of `block_depth` dimensions."""

    _depth: int

    @hinted(is_square=True)
    def __init__(
        self, spectrum: Any, input_output_dtype: Any = dtypes.complex64, *, name: str | None, **hints: Hint
    ) -> None:
        with name_scope(name, values=[spectrum]):
            self._spectrum = convert_to_tensor(spectrum, name="spectrum")
            rank = self._spectrum.shape.rank
            if rank is not None and rank < self._depth:
                raise ValueError(
                    f"Argument spectrum must have at least {self._depth} dimensions.  Found: {self._spectrum}"
                )
            hints["is_self_adjoint"] = batch.implied(
                not self._spectrum.dtype.is_complex,
                hints["is_self_adjoint"],
                "A real spectrum always corresponds to a self-adjoint operator.",
            )
            batch.implied(
                True, hints["is_square"], "A circulant operator, of blocks or not, is always square."
            )
            super().__init__(input_output_dtype, [self._spectrum], **hints | {"is_square": True}, name=name)

    block_depth: int = reads("_depth", "How many dimensions the Fourier transform has.")

    @property
    def block_shape(self) -> Shape:
        """The sizes of these dimensions, as far as known."""
        result: Shape = self._spectrum.shape[-self._depth :]
        return result

    spectrum: Tensor = reads("_spectrum", "The eigenvalues [B1, ..., Bb, N1, ...].")

    def block_shape_tensor(self) -> Tensor:
        """The sizes of the dimensions of the transform, as a tensor."""
        return array.shape(self._spectrum)[-self._depth :]

    def convolution_kernel(self, name: str = "convolution_kernel") -> Tensor:
        """The inverse Fourier transform of the spectrum: the operator convolves with it."""
        with self._scope(name):
            result: Tensor = cast(INVERSE[self._depth](_complex(self._spectrum)), self.dtype)
            return result

    def assert_hermitian_spectrum(self, name: str = "assert_hermitian_spectrum") -> Node:
        """A node that fails where the convolution kernel is not real."""
        with self._scope(name):
            parts = imag(self.convolution_kernel())
            epsilon = float(np.finfo(self.dtype.real_dtype.numpy).eps)
            most = cast(self.domain_dimension_tensor(), parts.dtype) * epsilon
            return checks.assert_less(arithmetic.magnitude(parts), most, message="Spectrum was not Hermitian")

    def _shape(self) -> Shape:
        shape = self._spectrum.shape
        inner = shape[-self._depth :]
        side = math.prod(inner.as_list()) if inner.is_full else None
        result: Shape = shape[: -self._depth].concatenate(make_shape((side, side)))
        return result

    def _shape_tensor(self) -> Tensor:
        sizes = array.shape(self._spectrum)
        side = reduce_ops.prod(sizes[-self._depth :], 0)
        return batch.join(sizes[: -self._depth], side, side)

    def _axes(self) -> list[int]:
        return list(range(-self._depth, 0))

    def _assert_non_singular(self) -> Node:
        return batch.assert_no_zeros(self._spectrum, "Singular operator:  Spectrum contained zero values.")

    def _assert_positive_definite(self) -> Node:
        result: Node = checks.assert_positive(
            batch.real(self._spectrum),
            message="Not positive definite:  Real part of spectrum was not all positive.",
        )
        return result

    def _assert_self_adjoint(self) -> Node:
        return batch.assert_real(
            self._spectrum, "Not self-adjoint:  The spectrum contained non-zero imaginary part."
        )

    def _through_spectrum(self, x: Tensor, adjoint: bool, divide: bool) -> Tensor:
        """Transform the columns of x, multiply or divide by the spectrum, transform back."""
        spectrum = batch.conj_if(_complex(self._spectrum), adjoint)
        rows = terms.transposed(cast(x, spectrum.dtype))  # every column of x is a signal
        sizes = array.shape(rows)
        blocks = array.concat_v2([sizes[:-1], self.block_shape_tensor()], 0)
        changed = FORWARD[self._depth](array.reshape(rows, blocks))
        beside = array.expand_dims(spectrum, -self._depth - 1)
        changed = changed / beside if divide else changed * beside
        back = INVERSE[self._depth](changed)
        flat = batch.join(array.shape(back)[: -self._depth], sizes[-1])
        out = cast(terms.transposed(array.reshape(back, flat)), self.dtype)
        if x.shape.rank is not None and self.batch_shape.rank is not None:
            lead = array_functions.broadcast_static_shape(x.shape[:-2], self.batch_shape)
            out.set_shape(lead.concatenate(x.shape[-2:]))
        result: Tensor = out
        return result

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        x = terms.adjoint(x) if adjoint_arg else x
        return self._through_spectrum(x, adjoint, divide=False)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        rhs = terms.adjoint(rhs) if adjoint_arg else rhs
        return self._through_spectrum(rhs, adjoint, divide=True)

    def _determinant(self) -> Tensor:
        result: Tensor = cast(reduce.reduce_prod(self._spectrum, axis=self._axes()), self.dtype)
        return result

    def _log_abs_determinant(self) -> Tensor:
        logs = exponential.log(arithmetic.magnitude(self._spectrum))
        result: Tensor = cast(reduce.reduce_sum(logs, axis=self._axes()), self.dtype)
        return result

    def _trace(self) -> Tensor:
        # Every diagonal entry is the mean of the spectrum.
        result: Tensor = cast(reduce.reduce_sum(self._spectrum, axis=self._axes()), self.dtype)
        return result

    def _diag_part(self) -> Tensor:
        size = self.domain_dimension_tensor()
        value = array.expand_dims(self.trace() / cast(size, self.dtype), -1)
        known = self.shape.dim(-1)
        ones = array_functions.ones(self._sizes(size if known is None else known), self.dtype)
        return value * ones


_ARGUMENTS = """
    Args:
      spectrum: {spectrum}.
      input_output_dtype: type of what the operator acts on; real only for a Hermitian spectrum.
      is_non_singular: see LinearOperator.
      is_self_adjoint: see LinearOperator; true for a real spectrum.
      is_positive_definite: see LinearOperator.
      is_square: must not be False.
      name: name of the operator.
    """


@documented(_ARGUMENTS, spectrum="the eigenvalues [B1, ..., Bb, N]")
@arguments_of(_Circulant, name="LinearOperatorCirculant")
class LinearOperatorCirculant(_Circulant):
    """Circulant matrices: each row is the one above, shifted by one place."""

    _depth = 1


@documented(_ARGUMENTS, spectrum="the eigenvalues [B1, ..., Bb, N0, N1], with N = N0 N1")
@arguments_of(_Circulant, name="LinearOperatorCirculant2D")
class LinearOperatorCirculant2D(_Circulant):
    """Block circulant matrices whose blocks are circulant."""

    _depth = 2


@documented(_ARGUMENTS, spectrum="the eigenvalues [B1, ..., Bb, N0, N1, N2], with N = N0 N1 N2")
@arguments_of(_Circulant, name="LinearOperatorCirculant3D")
class LinearOperatorCirculant3D(_Circulant):
    """Block circulant matrices whose blocks are block circulant with circulant blocks."""

    _depth = 3


class LinearOperatorToeplitz(LinearOperator):
    """Matrices that are constant along every diagonal.

    Args:
      col: the first column [B1, ..., Bb, N].
      row: the first row [B1, ..., Bb, N]; its first entry is that of the column.
      is_non_singular: see LinearOperator.
      is_self_adjoint: see LinearOperator.
      is_positive_definite: see LinearOperator.
      is_square: must not be False.
      name: name of the operator.
    """

    @hinted(name="LinearOperatorToeplitz")
    def __init__(self, col: Any, row: Any, *, name: str, **hints: Hint) -> None:
        with name_scope(name, values=[row, col]):
            self._row = convert_to_tensor(row, name="row")
            self._col = convert_to_tensor(col, name="col")
            for what, tensor in (("row", self._row), ("col", self._col)):
                if tensor.shape.rank == 0:
                    raise ValueError(f"Argument {what} must have at least 1 dimension.  Found: {tensor}")
            sizes = [t.shape.dim(-1) for t in (self._row, self._col)]
            if None not in sizes and sizes[0] != sizes[1]:
                raise ValueError("Expected square matrix, got row and col with mismatched dimensions.")
            if hints["is_square"] is False:
                raise ValueError("Only square Toeplitz operators currently supported.")
            super().__init__(
                self._row.dtype, [self._row, self._col], **hints | {"is_square": True}, name=name
            )
            # The corner of a circulant matrix of twice the size has these diagonals.
            lead = broadcast_ops.broadcast_args(array.shape(self._row), array.shape(self._col))
            first, across = (array.broadcast_to(t, lead) for t in (self._col, self._row))
            backwards = reverse_v2(across[..., 1:], [-1])
            around = [first, array.zeros_like(first[..., :1]), backwards]
            spectrum = fft.fft(_complex(array.concat_v2(around, -1)))
            self._circulant = LinearOperatorCirculant(spectrum, input_output_dtype=spectrum.dtype)

    col: Tensor = reads("_col", "The first columns.")
    row: Tensor = reads("_row", "The first rows.")

    def _shape(self) -> Shape:
        both = array_functions.broadcast_static_shape(self._row.shape, self._col.shape)
        return both.concatenate(both[-1:])

    def _shape_tensor(self) -> Tensor:
        both = broadcast_ops.broadcast_args(array.shape(self._row), array.shape(self._col))
        return array.concat_v2([both, both[-1:]], 0)

    def _assert_self_adjoint(self) -> Node:
        return checks.assert_equal(
            self._row,
            terms.conj(self._col),
            message="row and col are not the same, and so this operator is not self-adjoint.",
        )

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        x = _complex(terms.adjoint(x) if adjoint_arg else x)
        twice = array.concat_v2([x, array.zeros_like(x)], -2)
        known = self.shape.dim(-1)
        rows = self.domain_dimension_tensor() if known is None else known
        result: Tensor = cast(self._circulant.matmul(twice, adjoint=adjoint)[..., :rows, :], self.dtype)
        return result

    def _diag_part(self) -> Tensor:
        known = self.shape.dim(-1)
        size = self.domain_dimension_tensor() if known is None else known
        return self._col[..., :1] * array_functions.ones(self._sizes(size), self.dtype)

    def _trace(self) -> Tensor:
        result: Tensor = cast(self.domain_dimension_tensor(), self.dtype) * self._col[..., 0]
        return result
