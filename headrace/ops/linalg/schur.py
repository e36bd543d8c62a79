"""Functions of matrices by their Schur form A = Q T Q^H, T upper triangular.

Matrices with well-conditioned eigenvectors (all self-adjoint and most others) take a batched
shortcut, A = V diag(e) V^-1; the rest are reduced one by one with shifted QR steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

WELL_CONDITIONED = 1e4  # loses four of float64's sixteen digits
STEPS_PER_ROW = 60


def apply(x: Any, scalar: Callable[[Any], Any], triangular: Callable[[Any], Any]) -> Any:
    """f of every matrix, where f is known for numbers and for upper triangular matrices."""
    if not x.size:
        return x
    n = x.shape[-1]
    flat = x.reshape(-1, n, n).astype(np.complex128)
    out = np.full_like(flat, np.nan)
    good = np.isfinite(flat).all(axis=(1, 2))
    values, vectors = np.linalg.eig(np.where(good[:, None, None], flat, np.eye(n)))
    simple = good & (np.linalg.cond(vectors) < WELL_CONDITIONED)
    with np.errstate(all="ignore"):
        v = vectors[simple]
        out[simple] = v * scalar(values[simple])[:, None, :] @ np.linalg.inv(v)
        for i in np.flatnonzero(good & ~simple):
            q, t = schur(flat[i])
            out[i] = q @ triangular(t) @ q.conj().T
    return out.reshape(x.shape)


def schur(a: Any) -> tuple[Any, Any]:
    """(q, t): unitary q, upper triangular t, a = q @ t @ q^H."""
    n = len(a)
    q, t = hessenberg(a)
    high = n - 1
    for step in range(STEPS_PER_ROW * max(n, 1)):
        small = np.finfo(float).eps * (abs(t.diagonal()[:-1]) + abs(t.diagonal()[1:]))
        below = np.arange(n - 1)[abs(t.diagonal(-1)) <= small]
        t[below + 1, below] = 0
        while high > 0 and t[high, high - 1] == 0:
            high -= 1
        if high == 0:
            break
        low = high - 1
        while low > 0 and t[low, low - 1] != 0:
            low -= 1
        shift = _shift(t[high - 1 : high + 1, high - 1 : high + 1])
        if step % 12 == 11:  # a shift that breaks the rare cycles
            shift = t[high, high] + abs(t[high, high - 1])
        _step(t, q, low, high, shift)
    return q, np.triu(t)


def hessenberg(a: Any) -> tuple[Any, Any]:
    """(q, h) with a = q @ h @ q^H, h zero below its first subdiagonal: Householder reflections."""
    h, q = np.array(a), np.eye(len(a), dtype=a.dtype)
    for k in range(len(a) - 2):
        v = h[k + 1 :, k].copy()
        length = np.linalg.norm(v)
        if length == 0:
            continue
        v[0] += length * (v[0] / abs(v[0]) if v[0] else 1)
        v /= np.linalg.norm(v)
        h[k + 1 :] -= 2 * np.outer(v, v.conj() @ h[k + 1 :])
        h[:, k + 1 :] -= 2 * np.outer(h[:, k + 1 :] @ v, v.conj())
        q[:, k + 1 :] -= 2 * np.outer(q[:, k + 1 :] @ v, v.conj())
    return q, h


def _shift(block: Any) -> Any:
    """Wilkinson's: the eigenvalue of the last 2x2 block that is nearer to its corner."""
    (a, b), (c, d) = block
    mean, root = (a + d) / 2, np.sqrt(((a - d) / 2) ** 2 + b * c)
    return min(mean + root, mean - root, key=lambda value: abs(value - d))


def _step(t: Any, q: Any, low: int, high: int, shift: Any) -> None:
    """One QR step on rows low..high of t, by Givens rotations, collected in q."""
    rotations = []
    at = np.arange(low, high + 1)
    t[at, at] -= shift
    for k in range(low, high):
        x, y = t[k, k], t[k + 1, k]
        length = np.hypot(abs(x), abs(y))
        c, s = (x / length, y / length) if length else (1.0, 0.0)
        turn = np.array([[np.conj(c), np.conj(s)], [-s, c]])
        t[k : k + 2, k:] = turn @ t[k : k + 2, k:]
        rotations.append(turn.conj().T)
    for k, turn in zip(range(low, high), rotations):
        t[: k + 2, k : k + 2] = t[: k + 2, k : k + 2] @ turn
        q[:, k : k + 2] = q[:, k : k + 2] @ turn
    t[at, at] += shift


def triangular_square_root(t: Any) -> Any:
    """The upper triangular r with r @ r = t (Bjorck and Hammarling)."""
    r = np.diag(np.sqrt(t.diagonal()))
    for j in range(1, len(t)):
        for i in reversed(range(j)):
            rest = t[i, j] - r[i, i + 1 : j] @ r[i + 1 : j, j]
            if rest:
                r[i, j] = rest / (r[i, i] + r[j, j])
    return r


# log(I + x) as a sum of partial fractions: Gauss-Legendre quadrature on [0, 1] of x / (1 + s x).
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(9)
NEAR_IDENTITY = 0.25  # up to this norm nine nodes give full precision
MOST_ROOTS = 100


def triangular_logarithm(t: Any) -> Any:
    """The principal logarithm: square roots until near the identity, then quadrature."""
    identity = np.eye(len(t))
    root, count = t, 0
    while np.linalg.norm(root - identity, 1) > NEAR_IDENTITY and count < MOST_ROOTS:
        root, count = triangular_square_root(root), count + 1
    x = root - identity
    total = np.zeros_like(t)
    for node, weight in zip((_NODES + 1) / 2, _WEIGHTS / 2):
        total += weight * np.linalg.solve(identity + node * x, x)
    total *= 2.0**count
    np.fill_diagonal(total, np.log(t.diagonal()))
    return total
