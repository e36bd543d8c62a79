"""Public names of the family: linear algebra."""

NAMES: dict[str, str] = {
    "headrace.functions.linalg.linalg": (
        "{,linalg.}matmul linalg.matvec sparse_matmul {,linalg.}eye "
        "{,linalg.}cholesky_solve matrix_solve_ls linalg.lstsq=matrix_solve_ls self_adjoint_eig "
        "linalg.eigh=self_adjoint_eig self_adjoint_eigvals linalg.eigvalsh=self_adjoint_eigvals "
        "{,linalg.}svd linalg.matrix_rank linalg.pinv"
    ),
    "headrace.functions.math.norm": ("{,linalg.}norm linalg.normalize {linalg.,math.,nn.}l2_normalize"),
    "headrace.functions.array.tensordot": "{,linalg.}tensordot",
    "headrace.functions.array.einsum": "{,linalg.}einsum",
    "headrace.functions.linalg.matrix_exponential": "linalg.expm=matrix_exponential",
    "headrace.functions.linalg.tridiagonal": "linalg.tridiagonal_solve linalg.tridiagonal_matmul",
    "headrace.nn.linear_operator.base": "linalg.LinearOperator",
    "headrace.nn.linear_operator.dense": (
        "linalg.LinearOperatorFullMatrix linalg.LinearOperatorLowerTriangular"
    ),
    "headrace.nn.linear_operator.diagonal": "linalg.LinearOperatorDiag",
    "headrace.nn.linear_operator.identity": (
        "linalg.LinearOperatorIdentity linalg.LinearOperatorScaledIdentity linalg.LinearOperatorZeros"
    ),
    "headrace.nn.linear_operator.derived": ("linalg.LinearOperatorAdjoint linalg.LinearOperatorInversion"),
    "headrace.nn.linear_operator.several": (
        "linalg.LinearOperatorComposition linalg.LinearOperatorBlockDiag linalg.LinearOperatorKronecker"
    ),
    "headrace.nn.linear_operator.low_rank": "linalg.LinearOperatorLowRankUpdate",
    "headrace.nn.linear_operator.reflection": "linalg.LinearOperatorHouseholder",
    "headrace.nn.linear_operator.circulant": (
        "linalg.LinearOperatorCirculant linalg.LinearOperatorCirculant2D "
        "linalg.LinearOperatorCirculant3D linalg.LinearOperatorToeplitz"
    ),
    "headrace.functions.linalg.matrix": (
        "{,linalg.}trace linalg.adjoint linalg.logdet {,linalg.}cholesky matrix_inverse "
        "linalg.inv=matrix_inverse matrix_determinant linalg.det=matrix_determinant matrix_solve "
        "linalg.solve=matrix_solve"
    ),
    "headrace.ops.linalg.solve": (
        "linalg.slogdet=log_matrix_determinant matrix_triangular_solve "
        "linalg.triangular_solve=matrix_triangular_solve"
    ),
    "headrace.ops.linalg.factor": "{,linalg.}qr linalg.lu",
    "headrace.ops.linalg.function": (
        "linalg.logm=matrix_logarithm matrix_square_root linalg.sqrtm=matrix_square_root"
    ),
    "headrace.functions.math.special": "{,math.}lbeta math.bessel_i0 math.bessel_i1",
    "headrace.ops.math.cross": "{,linalg.}cross",
}
