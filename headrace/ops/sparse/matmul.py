"""SparseMatMul: a product of matrices of which one or both hold many zeros.  What "sparse" buys TF
is time only; the meaning is that of MatMul, summed in float32.
"""

from __future__ import annotations

import numpy as np

from headrace.core.dtypes import bfloat16, float32
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.precision import widen
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.signature import Type
from headrace.ops.linalg import matrix
from headrace.ops.linalg import matrix_terms as terms
from headrace.ops.linalg.matrix import matmul_shape
from headrace.ops.math import cast

SPARSE_TYPES = (float32, bfloat16)


@op(
    "SparseMatMul",
    "a: Ta, b: Tb -> product: float32",
    transpose_a=False,
    transpose_b=False,
    a_is_sparse=False,
    b_is_sparse=False,
    Ta=Type(SPARSE_TYPES, default=float32),
    Tb=Type(SPARSE_TYPES, default=float32),
    shape=matmul_shape,
)
def sparse_matmul(a, b, *, transpose_a, transpose_b):
    """The product of two matrices in float32, either of them transposed first."""
    return matrix.matmul.reference(widen(a), widen(b), transpose_a=transpose_a, transpose_b=transpose_b)


@sparse_matmul.gradient
def _(node, dy):
    a, b = node.inputs
    a_sparse, b_sparse = node.attrs["a_is_sparse"], node.attrs["b_is_sparse"]
    dy_sparse = dy.op.type == "ReluGrad"  # a guess, as TF makes it: relu leaves zeros

    def multiply(x, y, x_sparse, y_sparse, like, transpose_x=False, transpose_y=False):
        if transpose_y:
            y = terms.transposed(y)
        if x_sparse or y_sparse or x.dtype != y.dtype:
            out = sparse_matmul(x, y, transpose_x, False, x_sparse, y_sparse)
        else:
            out = matrix.matmul(x, y, transpose_a=transpose_x)
        return cast.cast(out, like.dtype) if out.dtype != like.dtype else out

    match node.attrs["transpose_a"], node.attrs["transpose_b"]:
        case False, False:
            return (
                multiply(dy, b, dy_sparse, b_sparse, a, transpose_y=True),
                multiply(a, dy, a_sparse, dy_sparse, b, transpose_x=True),
            )
        case False, True:
            return (
                multiply(dy, b, dy_sparse, b_sparse, a),
                multiply(dy, a, dy_sparse, a_sparse, b, transpose_x=True),
            )
        case True, False:
            return (
                multiply(b, dy, b_sparse, dy_sparse, a, transpose_y=True),
                multiply(a, dy, a_sparse, dy_sparse, b),
            )
    return (
        multiply(b, dy, b_sparse, dy_sparse, a, transpose_x=True, transpose_y=True),
        multiply(dy, a, dy_sparse, a_sparse, b, transpose_x=True, transpose_y=True),
    )


@sparse_matmul.samples
def _(rng):
    a = np.float32(rng.normal(size=(2, 3)) * (rng.uniform(size=(2, 3)) > 0.5))
    b = np.float32(rng.normal(size=(3, 2)))
    for ta in (False, True):
        for tb in (False, True):
            yield Sample(
                a.T if ta else a,
                b.T if tb else b,
                transpose_a=ta,
                transpose_b=tb,
                a_is_sparse=True,
                dtypes=False,
                tolerance=1e-2,
            )
    half = bfloat16.numpy
    yield Sample(a.astype(half), b, dtypes=False, note="mixed", grad=False)
    yield ErrorSample(a, a, raises="must be equal|size-incompatible")
