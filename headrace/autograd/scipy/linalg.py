"""scipy.linalg: roots of matrices and solutions of equations, by what a small change does to them."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from headrace.autograd.core import defjvp, rules
from headrace.autograd.numpy import numpy_wrapper as anp
from headrace.autograd.numpy.numpy_vjps import match_complex, shape_of
from headrace.autograd.numpy.numpy_wrapper import wrap_namespace

wrap_namespace({k: v for k, v in vars(scipy.linalg).items() if not k.startswith("_")}, globals())
sqrtm, solve_sylvester, solve_triangular, solve_banded = (
    anp.wrapped(f)
    for f in (
        scipy.linalg.sqrtm,
        scipy.linalg.solve_sylvester,
        scipy.linalg.solve_triangular,
        scipy.linalg.solve_banded,
    )
)


def __getattr__(name: str) -> Any:
    raise AttributeError(f"module 'autograd.scipy.linalg' has no attribute {name!r}")


def _T(x: Any) -> Any:
    return anp.swapaxes(x, -1, -2)


# X X = A: dX X + X dX = dA
defjvp(sqrtm, lambda g, ans, A, **kwargs: solve_sylvester(ans, ans, g))


# A X + X B = Q
def _sylvester_by_right(g: Any, ans: Any, a: Any, b: Any, q: Any) -> Any:
    return solve_sylvester(_T(a), _T(b), g)


rules(
    solve_sylvester,
    lambda g, ans, a, b, q: match_complex(a, -anp.dot(_sylvester_by_right(g, ans, a, b, q), _T(ans))),
    lambda g, ans, a, b, q: match_complex(b, -anp.dot(_T(ans), _sylvester_by_right(g, ans, a, b, q))),
    lambda g, ans, a, b, q: match_complex(q, _sylvester_by_right(g, ans, a, b, q)),
)

# A X = B, of a triangle
_OTHER = {0: "T", "N": "T", 1: "N", "T": "N", 2: "C", "C": "C"}


def _triangular_by_right(
    g: Any, ans: Any, a: Any, b: Any, trans: Any = 0, lower: bool = False, **kwargs: Any
) -> Any:
    if trans in (2, "C"):
        return solve_triangular(anp.conj(a), g, trans="N", lower=lower)
    return solve_triangular(a, g, trans=_OTHER[trans], lower=lower)


def _triangular_by_matrix(
    g: Any, ans: Any, a: Any, b: Any, trans: Any = 0, lower: bool = False, **kwargs: Any
) -> Any:
    back = _triangular_by_right(g, ans, a, b, trans, lower)
    back, x = (anp.reshape(v, (shape_of(v)[0], -1)) for v in (back, ans))
    found = -anp.dot(back, _T(x)) if trans in (0, "N") else -anp.dot(x, _T(back))
    if trans in (2, "C"):
        found = anp.conj(found)
    return match_complex(a, (anp.tril if lower else anp.triu)(found))


rules(solve_triangular, _triangular_by_matrix, _triangular_by_right)


# A X = B, of diagonals: row r of `ab` is the diagonal that starts `upper - r` places to the right
def _turned(l_and_u: Any, ab: Any) -> Any:
    """The transposed matrix in the same form."""
    lower, upper = l_and_u
    rows = [anp.roll(ab[lower + upper - r], lower - r) for r in range(lower + upper + 1)]
    return anp.stack(rows)


def _banded_by_right(g: Any, ans: Any, l_and_u: Any, ab: Any, b: Any, **kwargs: Any) -> Any:
    return solve_banded((l_and_u[1], l_and_u[0]), _turned(l_and_u, ab), g)


def _banded_by_matrix(g: Any, ans: Any, l_and_u: Any, ab: Any, b: Any, **kwargs: Any) -> Any:
    lower, upper = l_and_u
    back = _banded_by_right(g, ans, l_and_u, ab, b)
    n = shape_of(ab)[1]
    back, x = (anp.reshape(v, (n, -1)) for v in (back, ans))
    rows = []
    for r in range(lower + upper + 1):
        shift = r - upper  # ab[r, j] is A[j + shift, j]
        columns = np.arange(max(0, -shift), min(n, n - shift))
        values = -anp.sum(back[columns + shift] * x[columns], -1)
        rows.append(anp.pad(values, (int(columns[0]), int(n - 1 - columns[-1]))))
    return anp.stack(rows)


rules(solve_banded, lambda g, ans, *args, **kwargs: 0.0, _banded_by_matrix, _banded_by_right)
