"""np.linalg.  Most rules say what a small change of the matrix does to the result; core.py transposes them.

Matrices are in the last two axes, so that stacks of them work.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from headrace.autograd.builtins import tuple as traced_tuple
from headrace.autograd.core import defjvp, rules
from headrace.autograd.numpy import numpy_wrapper as anp
from headrace.autograd.numpy.numpy_vjps import is_complex, match_complex, reduced_to, shape_of
from headrace.autograd.numpy.numpy_wrapper import wrap_namespace
from headrace.autograd.tracer import trace_primitives_map

wrap_namespace(vars(np.linalg), globals())
inv, pinv, solve, det, slogdet, eigh, eig, svd, cholesky = (
    anp.wrapped(getattr(np.linalg, name))
    for name in ("inv", "pinv", "solve", "det", "slogdet", "eigh", "eig", "svd", "cholesky")
)
_dot = partial(anp.einsum, "...ij,...jk->...ik")


def __getattr__(name: str) -> Any:
    raise AttributeError(f"module 'autograd.numpy.linalg' has no attribute {name!r}")


def T(x: Any) -> Any:
    """Transposed matrices."""
    return anp.swapaxes(x, -1, -2)


def H(x: Any) -> Any:
    """Transposed and conjugate."""
    return anp.conj(T(x))


def _diagonal(x: Any) -> Any:
    return anp.einsum("...ii->...i", x)


def _on_diagonal(x: Any) -> Any:
    return x[..., None] * np.eye(shape_of(x)[-1])


# -- inverses and determinants ----------------------------------------------------------------------------


def _inv(g: Any, ans: Any, x: Any) -> Any:
    return -_dot(_dot(T(ans), g), T(ans))


def _pinv(g: Any, ans: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
    """Of a change that keeps the rank."""
    rows, columns = np.eye(shape_of(x)[-2]), np.eye(shape_of(x)[-1])
    inside = -_dot(_dot(ans, g), ans)
    left = _dot(_dot(_dot(ans, H(ans)), H(g)), rows - _dot(x, ans))
    right = _dot(_dot(_dot(columns - _dot(ans, x), H(g)), H(ans)), ans)
    return inside + left + right


def _solve_by_matrix(g: Any, ans: Any, a: Any, b: Any) -> Any:
    back = solve(T(a), g)
    if len(shape_of(b)) == 1:
        return match_complex(a, reduced_to(-back[..., :, None] * ans[..., None, :], a))
    return reduced_to(-_dot(back, T(ans)), a)


rules(inv, _inv, jvps=[lambda g, ans, x: -_dot(_dot(ans, g), ans)])
defjvp(pinv, _pinv)
rules(solve, _solve_by_matrix, lambda g, ans, a, b: reduced_to(solve(T(a), g), b))
rules(det, lambda g, ans, x: (g * ans)[..., None, None] * T(inv(x)))


def _slogdet(g: Any, ans: Any, x: Any) -> Any:
    return match_complex(x, g[1][..., None, None] * T(inv(x)))


rules(slogdet, _slogdet)


def _cholesky(g: Any, ans: Any, x: Any, **kwargs: Any) -> Any:
    """dL = L phi(L^-1 dA L^-H): phi keeps what is below the diagonal, and half of what is on it."""
    lower = inv(ans)
    inside = _dot(_dot(lower, (g + H(g)) / 2.0), H(lower))
    n = shape_of(x)[-1]
    return _dot(ans, inside * (np.tri(n) - 0.5 * np.eye(n)))


defjvp(cholesky, _cholesky)

# -- eigenvalues and singular values ------------------------------------------------------------------------


def _gaps(w: Any) -> Any:
    """1 / (w_j - w_i) off the diagonal, which is zero."""
    eye = np.eye(shape_of(w)[-1])
    return (1.0 - eye) / (w[..., None, :] - w[..., :, None] + eye)


def _eigh(g: Any, ans: Any, x: Any, UPLO: str = "L") -> Any:
    """Only the triangle that was read counts."""
    w, v = ans[0], ans[1]
    n = shape_of(x)[-1]
    read = np.tri(n, k=-1) if UPLO.upper() == "L" else np.tri(n, k=-1).T
    triangle = g * read
    dx = triangle + H(triangle) + anp.real(g) * np.eye(n)
    inside = _dot(_dot(H(v), dx), v)
    return traced_tuple((anp.real(_diagonal(inside)), _dot(v, _gaps(w) * inside)))


def _eig(g: Any, ans: Any, x: Any) -> Any:
    """Vectors keep their length, and their phase as far as it can be said."""
    w, v = ans[0], ans[1]
    inside = _dot(_dot(inv(v), g), v)
    dv = _dot(v, _gaps(w) * inside)
    along = anp.real(anp.sum(anp.conj(v) * dv, axis=-2, keepdims=True))
    return traced_tuple((match_complex(w, _diagonal(inside)), match_complex(v, dv - v * along)))


def _svd(g: Any, ans: Any, x: Any, full_matrices: bool = True, compute_uv: bool = True, **kwargs: Any) -> Any:
    if not compute_uv:
        u, _, vh = svd(x, full_matrices=False)
        return anp.real(_diagonal(_dot(_dot(H(u), g), H(vh))))
    if full_matrices and shape_of(x)[-1] != shape_of(x)[-2]:
        raise NotImplementedError(
            "svd of a matrix that is not square has a derivative with full_matrices=False only"
        )
    u, s, vh = ans[0], ans[1], ans[2]
    v = H(vh)
    inside = _dot(_dot(H(u), g), v)
    gaps = _gaps(s) / (s[..., None, :] + s[..., :, None])  # of the squares
    right, left = inside * s[..., None, :], s[..., :, None] * inside
    du = _dot(u, gaps * (right + H(right)))
    dv = _dot(v, gaps * (left + H(left)))
    if is_complex(x):
        du = du + u * (1j * anp.imag(_diagonal(inside)) / s)[..., None, :]
    rows, columns = shape_of(x)[-2:]
    if rows > columns:
        gv = _dot(g, v) / s[..., None, :]
        du = du + gv - _dot(u, _dot(H(u), gv))
    if rows < columns:
        gu = _dot(H(g), u) / s[..., None, :]
        dv = dv + gu - _dot(v, _dot(H(v), gu))
    return traced_tuple((du, anp.real(_diagonal(inside)), H(dv)))


defjvp(eigh, _eigh)
defjvp(eig, _eig)
defjvp(svd, _svd)

# -- norms ------------------------------------------------------------------------------------------------


def _squares(x: Any) -> Any:
    return anp.real(x * anp.conj(x)) if is_complex(x) else x * x


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """np.linalg.norm; with a derivative for vectors of any order, for the Frobenius and the nuclear norm."""
    x = anp.as_traced(x)
    if not anp._has_boxes(x):
        return np.linalg.norm(x, ord, axis, keepdims)
    rank = len(shape_of(x))
    if axis is None and ord is None:
        return anp.sqrt(anp.sum(_squares(x), keepdims=keepdims))
    axes = tuple(range(rank)) if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)
    if len(axes) == 1:
        return _vector_norm(x, 2 if ord is None else ord, axes[0], keepdims)
    if ord in (None, "fro"):
        return anp.sqrt(anp.sum(_squares(x), axis=axes, keepdims=keepdims))
    if ord == "nuc" and len(axes) == 2:
        last = anp.moveaxis(x, axes, (-2, -1))
        found = anp.sum(svd(last, full_matrices=False, compute_uv=False), axis=-1)
        return anp.expand_dims(found, tuple(sorted(a % rank for a in axes))) if keepdims else found
    raise NotImplementedError(f"the derivative of the norm of a matrix of order {ord!r}")


def _vector_norm(x: Any, ord: Any, axis: int, keepdims: bool) -> Any:
    if ord == 2:
        return anp.sqrt(anp.sum(_squares(x), axis=axis, keepdims=keepdims))
    size = anp.abs(x)
    if ord in (np.inf, -np.inf):
        return (anp.max if ord > 0 else anp.min)(size, axis=axis, keepdims=keepdims)
    if ord == 1:
        return anp.sum(size, axis=axis, keepdims=keepdims)
    return anp.sum(size**ord, axis=axis, keepdims=keepdims) ** (1.0 / ord)


trace_primitives_map[np.linalg.norm] = norm
