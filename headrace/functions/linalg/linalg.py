"""Linear algebra: products, identities, factors and what follows from them."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.dtypes import DTypeLike
from headrace.core.shapes import make_shape
from headrace.functions.array.rank_checks import assert_rank_at_least
from headrace.functions.control.grouping import with_dependencies
from headrace.functions.linalg.matrix import is_operator
from headrace.functions.math.math import real
from headrace.functions.values.structure import name_scope
from headrace.graph.tensor import Tensor
from headrace.ops.array.constant import constant, pack
from headrace.ops.array.indexing import where
from headrace.ops.declaration import array
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.linalg import least_squares, matrix, solve, spectral
from headrace.ops.linalg import matrix_terms as terms
from headrace.ops.math import arithmetic, cast, comparison, reduce
from headrace.ops.sparse import matmul as sparse_matmul_op


# -- products -----------------------------------------------------------------------------------
def matmul(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Tensor:
    """The product a @ b of matrices, or of batches of matrices (which broadcast).

    Args:
      a: a tensor of at least two dimensions; the last two are the matrix.
      b: likewise, of the same type.
      transpose_a: transpose `a` first.
      transpose_b: transpose `b` first.
      adjoint_a: transpose and conjugate `a` first.
      adjoint_b: transpose and conjugate `b` first.
      a_is_sparse: `a` holds many zeros (float32 and bfloat16 matrices).
      b_is_sparse: `b` holds many zeros.
      name: name of the node.

    Returns:
      The product, of the type of `a`.

    Raises:
      ValueError: a side is to be both transposed and adjoint, or sizes do not fit.

    Example:
      >>> tf.matmul([[1, 2], [3, 4]], [[1], [1]])     # [[3], [7]]
    """
    if is_operator(a) or is_operator(b):
        result: Tensor = _product_with_operator(a, b, transpose_a or transpose_b, adjoint_a, adjoint_b, name)
        return result
    with name_scope(name, "MatMul", [a, b]) as scope:
        for side, transpose, adjoint in (("a", transpose_a, adjoint_a), ("b", transpose_b, adjoint_b)):
            if transpose and adjoint:
                raise ValueError(f"Only one of transpose_{side} and adjoint_{side} can be True.")
        a, b = convert_to_tensor(a, name="a"), convert_to_tensor(b, name="b")
        sparse = a_is_sparse or b_is_sparse
        if not sparse and any(x.shape.rank is None or x.shape.rank > 2 for x in (a, b)):
            # BatchMatMulV2 knows adjoints only: the conjugate's adjoint is the transpose.
            a, b = terms.conj(a) if transpose_a else a, terms.conj(b) if transpose_b else b
            return matrix.batch_matmul_v2(
                a, b, adj_x=transpose_a or adjoint_a, adj_y=transpose_b or adjoint_b, name=scope
            )
        a, b = terms.conj(a) if adjoint_a else a, terms.conj(b) if adjoint_b else b
        turn_a, turn_b = transpose_a or adjoint_a, transpose_b or adjoint_b
        types = (a.dtype.base, b.dtype.base)
        mixed = dtypes.bfloat16 in types and types[0] != types[1]
        if mixed or (sparse and set(types) <= set(sparse_matmul_op.SPARSE_TYPES)):
            out: Tensor = sparse_matmul_op.sparse_matmul(
                a, b, turn_a, turn_b, a_is_sparse, b_is_sparse, name=scope
            )
            return cast.cast(out, dtypes.bfloat16) if set(types) == {dtypes.bfloat16} else out
        return matrix.matmul(a, b, transpose_a=turn_a, transpose_b=turn_b, name=scope)


def _product_with_operator(
    a: Any, b: Any, transposes: bool, adjoint_a: bool, adjoint_b: bool, name: str | None
) -> Any:
    if transposes:
        raise ValueError("Transposing not supported at this time.")
    name = name or "matmul"
    if is_operator(a):
        return a.matmul(b, adjoint=adjoint_a, adjoint_arg=adjoint_b, name=name)
    # a @ b is the adjoint of adjoint(b) @ adjoint(a)
    flipped = b.matmul(a, adjoint=not adjoint_b, adjoint_arg=not adjoint_a, name=name)
    return terms.adjoint(flipped)


def matvec(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    adjoint_a: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Tensor:
    """The product of matrices `a` [..., M, N] and vectors `b` [..., N].

    Args:
      a: the matrices.
      b: the vectors, of the same type.
      transpose_a: transpose `a` first.
      adjoint_a: transpose and conjugate `a` first.
      a_is_sparse: `a` holds many zeros.
      b_is_sparse: `b` holds many zeros.
      name: name of the scope.

    Returns:
      Vectors [..., M].

    Raises:
      ValueError: both transpose_a and adjoint_a.
    """
    with name_scope(name, "MatVec", [a, b]):
        column = array.expand_dims(b, -1)
        out = matmul(
            a,
            column,
            transpose_a=transpose_a,
            adjoint_a=adjoint_a,
            a_is_sparse=a_is_sparse,
            b_is_sparse=b_is_sparse,
        )
        return array.squeeze(out, [-1])


sparse_matmul = sparse_matmul_op.sparse_matmul


# -- shapes of matrices -------------------------------------------------------------------------
def eye(
    num_rows: Any,
    num_columns: Any = None,
    batch_shape: Any = None,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """Identity matrices: ones on the main diagonal, zeros elsewhere.

    Args:
      num_rows: number of rows.
      num_columns: number of columns; as many as rows if not given.
      batch_shape: leading dimensions of the result.
      dtype: element type.
      name: name of the scope.

    Returns:
      A tensor of shape batch_shape + [num_rows, num_columns].

    Example:
      >>> tf.eye(2)        # [[1., 0.], [0., 1.]]
    """
    with name_scope(name, "eye", [num_rows, num_columns, batch_shape]):
        is_square = num_columns is None
        columns = num_rows if num_columns is None else num_columns
        batch = [] if batch_shape is None else batch_shape
        if isinstance(num_rows, Tensor) or isinstance(columns, Tensor):
            side = num_rows if is_square else arithmetic.minimum(num_rows, columns)
        else:
            if not all(isinstance(n, (int, np.integer)) for n in (num_rows, columns)):
                raise TypeError("num_rows and num_columns must be positive integer values.")
            is_square = num_rows == columns
            side = min(num_rows, columns)
        diagonal = _filled(1, batch, [side], dtype)
        if is_square:
            return terms.diagonal_matrix(diagonal)
        return terms.with_diagonal(_filled(0, batch, [num_rows, columns], dtype), diagonal)


def _filled(value: int, batch: Any, inner: list[Any], dtype: Any) -> Tensor:
    """A tensor of one value, its shape given in two parts."""
    if isinstance(batch, Tensor) or any(isinstance(n, Tensor) for n in inner):
        lead = convert_to_tensor(batch, dtype=dtypes.int32, name="shape")
        sizes: Any = array.concat_v2([lead, pack(list(inner))], 0)
    else:
        sizes = convert_to_tensor([*batch, *inner], dtype=dtypes.int32)
    return array.fill(sizes, constant(value, dtype))


# -- solutions ----------------------------------------------------------------------------------
def cholesky_solve(chol: Any, rhs: Any, name: str | None = None) -> Tensor:
    """x with A @ x = rhs, where `chol` is the Cholesky factor of A.

    Args:
      chol: lower triangular matrices [..., M, M], as tf.cholesky gives them.
      rhs: right hand sides [..., M, K].
      name: name of the scope.

    Returns:
      Solutions [..., M, K].
    """
    with name_scope(name, "cholesky_solve", [chol, rhs]):
        halfway = solve.matrix_triangular_solve(chol, rhs, lower=True, adjoint=False)
        return solve.matrix_triangular_solve(chol, halfway, lower=True, adjoint=True)


def matrix_solve_ls(
    matrix: Any, rhs: Any, l2_regularizer: Any = 0.0, fast: bool = True, name: str | None = None
) -> Tensor:
    """The x that minimises |matrix @ x - rhs|^2 + l2_regularizer |x|^2.

    Args:
      matrix: [..., M, N].
      rhs: [..., M, K].
      l2_regularizer: a float64 scalar, not negative; not used if `fast` is False.
      fast: solve the normal equations, which needs full rank; else by singular values.
      name: name of the node.

    Returns:
      Solutions [..., N, K]; the shortest ones where there are many.
    """
    matrix = convert_to_tensor(matrix, name="matrix")
    return least_squares.matrix_solve_ls(
        matrix, rhs, l2_regularizer, fast=fast, name=name or "matrix_solve_ls"
    )


# -- spectra ------------------------------------------------------------------------------------
def self_adjoint_eig(tensor: Any, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Eigenvalues and eigenvectors of self-adjoint matrices; looks at the lower triangle only.

    Args:
      tensor: matrices [..., N, N].
      name: name of the node.

    Returns:
      Ascending eigenvalues [..., N], and eigenvectors [..., N, N] as columns.
    """
    values, vectors = spectral.self_adjoint_eig_v2(tensor, compute_v=True, name=name)
    return values, vectors


def self_adjoint_eigvals(tensor: Any, name: str | None = None) -> Tensor:
    """Ascending eigenvalues [..., N] of self-adjoint matrices [..., N, N].

    Args:
      tensor: the matrices.
      name: name of the node.
    """
    return spectral.self_adjoint_eig_v2(tensor, compute_v=False, name=name)[0]


def svd(tensor: Any, full_matrices: bool = False, compute_uv: bool = True, name: str | None = None) -> Any:
    """Singular values s and vectors u, v, with tensor = u @ diag(s) @ adjoint(v).

    Args:
      tensor: matrices [..., M, N].  P is the smaller of M and N.
      full_matrices: give all vectors instead of the first P.
      compute_uv: give vectors at all.
      name: name of the node.

    Returns:
      s [..., P] in descending order, u [..., M, P or M], v [..., N, P or N]; s alone if not
      `compute_uv`.
    """
    s, u, v = spectral.svd(tensor, compute_uv=compute_uv, full_matrices=full_matrices, name=name)
    return (real(s), u, v) if compute_uv else real(s)


def _checked_matrix(a: Tensor, validate_args: bool) -> Tensor:
    if not a.dtype.is_floating:
        raise TypeError(f"Input `a` must have `float`-like `dtype` (saw {a.dtype.name}).")
    if a.shape.rank is not None and a.shape.rank < 2:
        raise ValueError(f"Input `a` must have at least 2 dimensions (saw: {a.shape.rank}).")
    if a.shape.rank is None and validate_args:
        message = "Input `a` must have at least 2 dimensions."
        result: Tensor = with_dependencies([assert_rank_at_least(a, 2, message=message)], a)
        return result
    return a


def _larger_side(a: Tensor) -> Tensor:
    """The larger of the two sizes of the matrices, in their own type."""
    rows, columns = a.shape.dim(-2), a.shape.dim(-1)
    if rows is not None and columns is not None:
        return constant(max(rows, columns), a.dtype)
    return cast.cast(reduce.max_(array.shape(a)[-2:], 0), a.dtype)


def matrix_rank(a: Any, tol: Any = None, validate_args: bool = False, name: str | None = None) -> Tensor:
    """How many singular values of each matrix are not zero.

    Args:
      a: matrices [..., M, N] of floats.
      tol: what counts as zero; the largest singular value times max(M, N) times the precision of
        the type, if not given.
      validate_args: check at run time what can not be checked before.
      name: name of the scope.

    Returns:
      One int32 per matrix.
    """
    with name_scope(name or "matrix_rank"):
        a = _checked_matrix(convert_to_tensor(a, preferred_dtype=dtypes.float32, name="a"), validate_args)
        s = svd(a, compute_uv=False)
        if tol is None:
            largest = reduce.max_(s, -1, True)
            tol = largest * _larger_side(a) * constant(_precision(a), a.dtype)
        result: Tensor = reduce.sum_(cast.cast(comparison.greater(s, tol), dtypes.int32), -1)
        return result


def _precision(a: Tensor) -> float:
    return float(np.finfo(a.dtype.numpy).eps)


def pinv(a: Any, rcond: Any = None, validate_args: bool = False, name: str | None = None) -> Tensor:
    """The pseudo-inverse of every matrix, by its singular values.

    Args:
      a: matrices [..., M, N] of floats.
      rcond: singular values below this part of the largest one count as zero; 10 max(M, N) times
        the precision of the type, if not given.
      validate_args: check at run time what can not be checked before.
      name: name of the scope.

    Returns:
      Matrices [..., N, M].

    Raises:
      TypeError: `a` does not hold floats.
      ValueError: `a` has fewer than two dimensions.
    """
    with name_scope(name or "pinv"):
        a = _checked_matrix(convert_to_tensor(a, name="a"), validate_args)
        if rcond is None:
            rcond = _larger_side(a) * constant(10 * _precision(a), a.dtype)
        rcond = convert_to_tensor(rcond, dtype=a.dtype, name="rcond")
        s, u, v = svd(a)
        cutoff = array.expand_dims(rcond * reduce.max_(s, -1), -1)
        # Zero counts as infinite: its inverse is 0, and gradients stay finite.
        infinite = array.fill(array.shape(s), constant(np.inf, a.dtype))
        s = where.select(comparison.greater(s, cutoff), s, infinite)
        out = terms.times(v / array.expand_dims(s, -2), u, adjoint_b=True)
        if a.shape.rank is not None:
            *batch, rows, columns = a.shape.sizes
            out.set_shape(make_shape((*batch, columns, rows)))
        return out
