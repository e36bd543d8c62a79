"""Convolution along some axes of two arrays, products along others, all pairs of the rest."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.autograd.core import primitive, rules
from headrace.autograd.numpy import numpy_wrapper as anp
from headrace.autograd.numpy.numpy_vjps import places_of, scatter, shape_of

_LETTERS = "abcdefghijklmnopqrstuvwxyz"


@primitive
def _windows(x: Any, sizes: tuple[int, ...], axes: tuple[int, ...]) -> Any:
    """What a window of these sizes sees from every place, as axes at the end."""
    return np.lib.stride_tricks.sliding_window_view(x, sizes, axes)


def _windows_vjp(g: Any, ans: Any, x: Any, sizes: Any, axes: Any) -> Any:
    return scatter(g, np.lib.stride_tricks.sliding_window_view(places_of(x), sizes, axes), shape_of(x))


rules(_windows, _windows_vjp, jvps=["same"])


def convolve(A: Any, B: Any, axes: Any = None, dot_axes: Any = ((), ()), mode: str = "full") -> Any:
    """scipy.signal.convolve in more dimensions.

    Args:
      axes: axes of A and of B to convolve, in pairs; all of them if None.
      dot_axes: axes to multiply and sum over, in pairs.
      mode: "full", "same" or "valid".
    Returns:
      An array with the remaining axes of A, those of B, and the convolved ones.
    """
    ranks = len(shape_of(A)), len(shape_of(B))
    pairs = (range(ranks[0]), range(ranks[1])) if axes is None else axes
    a_axes, b_axes = ([a % rank for a in part] for part, rank in zip(pairs, ranks))
    a_dot, b_dot = ([a % rank for a in part] for part, rank in zip(dot_axes, ranks))
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"acceptable modes are 'valid', 'same' and 'full', not {mode!r}")
    a_sizes, b_sizes = [shape_of(A)[a] for a in a_axes], [shape_of(B)[b] for b in b_axes]
    if mode == "valid" and not (
        all(m >= n for m, n in zip(a_sizes, b_sizes)) or all(n >= m for m, n in zip(a_sizes, b_sizes))
    ):
        raise ValueError(f"one of {a_sizes} and {b_sizes} must be at least as large in every dimension")
    found = _full(A, B, (a_axes, b_axes), (a_dot, b_dot), b_sizes)
    parts: list[Any] = [slice(None)] * (len(shape_of(found)) - len(a_axes))
    for m, n in zip(a_sizes, b_sizes):
        start, length = {
            "full": (0, m + n - 1),
            "same": ((n - 1) // 2, m),
            "valid": (min(m, n) - 1, abs(m - n) + 1),
        }[mode]
        parts.append(slice(start, start + length))
    return found if mode == "full" else found[tuple(parts)]


def _full(A: Any, B: Any, axes: Any, dots: Any, b_sizes: list[int]) -> Any:
    (a_axes, b_axes), (a_dot, b_dot) = axes, dots
    width = [(0, 0)] * len(shape_of(A))
    for a, n in zip(a_axes, b_sizes):
        width[a] = (n - 1, n - 1)
    seen = _windows(anp.pad(A, width), tuple(b_sizes), tuple(a_axes)) if a_axes else A
    turned = anp.flip(B, tuple(b_axes)) if b_axes else B
    letters = iter(_LETTERS)
    a_names = [next(letters) for _ in shape_of(A)]
    inside = [next(letters) for _ in b_axes]
    b_names: list[str] = []
    for i in range(len(shape_of(B))):
        if i in b_axes:
            b_names.append(inside[b_axes.index(i)])
        elif i in b_dot:
            b_names.append(a_names[a_dot[b_dot.index(i)]])
        else:
            b_names.append(next(letters))
    a_rest = [a_names[i] for i in range(len(a_names)) if i not in (*a_axes, *a_dot)]
    b_rest = [b_names[i] for i in range(len(b_names)) if i not in (*b_axes, *b_dot)]
    out = [*a_rest, *b_rest, *(a_names[a] for a in a_axes)]
    text = f"{''.join([*a_names, *inside])},{''.join(b_names)}->{''.join(out)}"
    return anp.einsum(text, seen, turned)
