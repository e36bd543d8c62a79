"""Orthogonal initializers: matrices, and convolution kernels that keep the norm of their input."""

from __future__ import annotations

from itertools import product
from typing import Any

from headrace.core import dtypes
from headrace.functions.array import array
from headrace.functions.linalg.linalg import eye
from headrace.functions.math.cast import cast
from headrace.functions.random import random
from headrace.graph.tensor import Tensor
from headrace.ops.array.constant import pack
from headrace.ops.array.diagonals.diagonal import diag_part
from headrace.ops.array.indexing.scatter import scatter_nd
from headrace.ops.linalg.factor import qr
from headrace.ops.linalg.matrix import matmul
from headrace.ops.math.arithmetic import sign
from headrace.variables.initializers.initializers import Initializer, float_type


def orthonormal(normal: Any) -> Any:
    """Orthonormal columns from a matrix of normal numbers; the signs make them uniform."""
    q, r = qr(normal, full_matrices=False)
    return q * sign(diag_part(r))


def _orthogonal(shape: Any, dtype: Any, seed: int | None) -> Any:
    return orthonormal(random.random_normal(shape, dtype=dtype, seed=seed))


def flat_sizes(shape: Any) -> tuple[int, int]:
    """Rows and columns, with all dimensions but the last in one."""
    if len(shape) < 2:
        raise ValueError("The tensor to initialize must be at least two-dimensional")
    rows = 1
    for size in shape[:-1]:
        rows *= int(size)
    return rows, int(shape[-1])


class Orthogonal(Initializer):
    """A matrix with orthonormal rows or columns; more dimensions are flattened first.

    Args:
      gain: factor.
      seed: seed of the op.
      dtype: a float type.
    """

    def __init__(self, gain: float = 1.0, seed: int | None = None, dtype: Any = dtypes.float32) -> None:
        self.gain, self.seed, self.dtype = gain, seed, float_type(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        rows, columns = flat_sizes(shape)
        q = _orthogonal((max(rows, columns), min(rows, columns)), self._type(dtype), self.seed)
        if rows < columns:
            q = array.matrix_transpose(q)
        return self.gain * array.reshape(q, shape)

    def get_config(self) -> dict[str, Any]:
        return {"gain": self.gain, "seed": self.seed, "dtype": self.dtype.name}


def _check_channels(shape: Any) -> None:
    if shape[-2] > shape[-1]:
        raise ValueError("In_filters cannot be greater than out_filters.")


class ConvolutionDeltaOrthogonal(Orthogonal):
    """A kernel that is orthogonal at its centre and zero elsewhere."""

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        if not 3 <= len(shape) <= 5:
            raise ValueError(
                "The tensor to initialize must be at least three-dimensional and at most five-dimensional"
            )
        _check_channels(shape)
        dtype = self._type(dtype)
        q = _orthogonal((shape[-1], shape[-1]), dtype, self.seed)[: shape[-2], :]
        q = q * cast(self.gain, dtype)
        centre = [[(size - 1) // 2 for size in shape[:-2]]]
        return scatter_nd(centre, array.expand_dims(q, 0), shape)


class ConvolutionOrthogonal(Orthogonal):
    """A kernel built from products of projections, so that the convolution keeps norms.

    A kernel is a dictionary here: place in the window -> matrix between channels.
    """

    _rank = 0
    _word = ""

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        if len(shape) != self._rank + 2:
            raise ValueError(f"The tensor to initialize must be {self._word}-dimensional")
        _check_channels(shape)
        if len(set(shape[:-2])) > 1:
            raise ValueError("Kernel sizes must be equal.")
        kernel = self._kernel(shape[0], shape[-2], shape[-1])
        return kernel * cast(self.gain, self._type(dtype))

    def _kernel(self, size: int, inputs: int, outputs: int) -> Any:
        first = self._matrix(outputs)[0:inputs, :]
        if size == 1:
            for _ in range(self._rank):
                first = array.expand_dims(first, 0)
            return first
        kernel = self._block(outputs)
        for _ in range(size - 2):
            kernel = _convolved(kernel, self._block(outputs), self._zero(outputs))
        kernel = {at: matmul(first, matrix) for at, matrix in kernel.items()}
        return _stacked(kernel, size, self._rank)

    def _zero(self, n: int) -> Tensor:
        return array.zeros([n, n], self.dtype)

    def _matrix(self, n: int) -> Any:
        """A random orthogonal matrix; seeds count up, so that each one differs."""
        q = _orthogonal((n, n), self.dtype, self.seed)
        self._next_seed()
        return q

    def _next_seed(self) -> None:
        if self.seed:
            self.seed += 1

    def _projection(self, n: int) -> Any:
        """A projection on a random subspace."""
        q = self._matrix(n)
        chosen: Any = random.random_normal([n], seed=self.seed)
        self._next_seed()
        columns = q * cast(chosen > 0, self.dtype)
        return matmul(columns, array.matrix_transpose(columns))

    def _block(self, n: int) -> dict[tuple[int, ...], Any]:
        """A kernel of two places per dimension, from one projection per dimension."""
        unit: Any = eye(n, dtype=self.dtype)
        projections = [self._projection(n) for _ in range(self._rank)]
        # In three dimensions TF has the projection in the second place.
        pairs = [(p, unit - p) if self._rank < 3 else (unit - p, p) for p in projections]
        block = {}
        for at in product((0, 1), repeat=self._rank):
            matrix = pairs[0][at[0]]
            for pair, i in zip(pairs[1:], at[1:]):
                matrix = matmul(matrix, pair[i])
            block[at] = matrix
        return block


def _convolved(
    a: dict[tuple[int, ...], Any], b: dict[tuple[int, ...], Any], zero: Any
) -> dict[tuple[int, ...], Any]:
    """The kernel of two convolutions in a row."""
    out: dict[tuple[int, ...], Any] = {}
    for (i, x), (j, y) in product(a.items(), b.items()):
        at = tuple(m + n for m, n in zip(i, j))
        out[at] = out.get(at, zero) + matmul(x, y)
    return out


def _stacked(kernel: dict[tuple[int, ...], Any], size: int, rank: int, at: tuple[int, ...] = ()) -> Any:
    if len(at) == rank:
        return kernel[at]
    return pack([_stacked(kernel, size, rank, (*at, i)) for i in range(size)], name="stack")


class ConvolutionOrthogonal1D(ConvolutionOrthogonal):
    """For kernels [width, inputs, outputs]."""

    _rank, _word = 1, "three"


class ConvolutionOrthogonal2D(ConvolutionOrthogonal):
    """For kernels [height, width, inputs, outputs]."""

    _rank, _word = 2, "four"


class ConvolutionOrthogonal3D(ConvolutionOrthogonal):
    """For kernels [depth, height, width, inputs, outputs]."""

    _rank, _word = 3, "five"
