"""Rules of products: tensordot and what is one, matmul, einsum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.autograd.core import def_linear, defvjp_argnum, rules
from headrace.autograd.numpy import numpy_wrapper as anp
from headrace.autograd.numpy.numpy_vjps import is_complex, reduced_to, shape_of

Axes = tuple[list[int], list[int]]


def _kind_of(x: Any, g: Any) -> Any:
    return anp.real(g) if is_complex(g) and not is_complex(x) else g


def _axes(a_rank: int, b_rank: int, axes: Any) -> Axes:
    """The contracted axes of both, from 0 on."""
    if isinstance(axes, (int, np.integer)):
        return list(range(a_rank - int(axes), a_rank)), list(range(int(axes)))
    a_axes, b_axes = (list(np.atleast_1d(np.asarray(x, int))) for x in axes)
    return [int(a) % a_rank for a in a_axes], [int(b) % b_rank for b in b_axes]


def _rest(rank: int, axes: Sequence[int]) -> list[int]:
    return [i for i in range(rank) if i not in axes]


def _by_first(g: Any, a: Any, b: Any, axes: Axes) -> Any:
    """The derivative of tensordot(a, b, axes) by a."""
    a_axes, b_axes = axes
    a_rest, b_rest = _rest(len(shape_of(a)), a_axes), _rest(len(shape_of(b)), b_axes)
    found = anp.tensordot(g, b, (list(range(len(a_rest), len(a_rest) + len(b_rest))), b_rest))
    of_b = dict(zip(b_axes, a_axes))
    order = a_rest + [of_b[i] for i in sorted(b_axes)]
    return _kind_of(a, _ordered(found, order))


def _by_second(g: Any, a: Any, b: Any, axes: Axes) -> Any:
    a_axes, b_axes = axes
    a_rest, b_rest = _rest(len(shape_of(a)), a_axes), _rest(len(shape_of(b)), b_axes)
    found = anp.tensordot(a, g, (a_rest, list(range(len(a_rest)))))
    of_a = dict(zip(a_axes, b_axes))
    order = [of_a[i] for i in sorted(a_axes)] + b_rest
    return _kind_of(b, _ordered(found, order))


def _ordered(x: Any, order: Sequence[int]) -> Any:
    """x, whose axis i is to be the axis order[i]."""
    if list(order) == sorted(order):
        return x
    return anp.transpose(x, tuple(int(i) for i in np.argsort(order)))


def contracts(fun: Any, axes_of: Any, plain: Any = None) -> None:
    """Rules of a function that is tensordot along `axes_of(rank of a, rank of b, *args, **kwargs)`.

    `plain` has quicker ones for two matrices.
    """

    def by(argnum: int, rule: Any) -> Any:
        def vjp(g: Any, ans: Any, a: Any, b: Any, *args: Any, **kwargs: Any) -> Any:
            ranks = len(shape_of(a)), len(shape_of(b))
            if 0 in ranks and fun is not anp.tensordot:
                return reduced_to(g * (b, a)[argnum], (a, b)[argnum])
            if plain is not None and ranks == (2, 2):
                return _kind_of((a, b)[argnum], plain[argnum](g, a, b))
            return rule(g, a, b, axes_of(*ranks, *args, **kwargs))

        return vjp

    rules(fun, by(0, _by_first), by(1, _by_second), jvps=["same", "same"])


_matrices = (lambda g, a, b: anp.dot(g, b.T), lambda g, a, b: anp.dot(a.T, g))
contracts(anp.dot, lambda m, n: ([m - 1], [max(n - 2, 0)]), _matrices)
contracts(anp.inner, lambda m, n: ([m - 1], [n - 1]))
contracts(anp.tensordot, lambda m, n, axes=2: _axes(m, n, axes))


def _outer(argnum: int) -> Any:
    def vjp(g: Any, ans: Any, a: Any, b: Any, **kwargs: Any) -> Any:
        found = anp.dot(g, anp.ravel(b)) if argnum == 0 else anp.dot(anp.ravel(a), g)
        return _kind_of((a, b)[argnum], anp.reshape(found, shape_of((a, b)[argnum])))

    return vjp


rules(anp.outer, _outer(0), _outer(1), jvps=["same", "same"])


def _vdot(argnum: int) -> Any:
    def vjp(g: Any, ans: Any, a: Any, b: Any) -> Any:
        x, y = (a, b) if argnum == 0 else (b, a)
        found = anp.conj(g) * anp.conj(y) if argnum == 0 else g * anp.conj(y)
        return _kind_of(x, anp.reshape(found, shape_of(x)))

    return vjp


rules(anp.vdot, _vdot(0), _vdot(1), jvps=["same", "same"])

# -- matmul: matrices in the last two axes, the others broadcast -------------------------------------------


def _matmul(argnum: int) -> Any:
    def vjp(g: Any, ans: Any, a: Any, b: Any, **kwargs: Any) -> Any:
        if len(shape_of(a)) == 1 and len(shape_of(b)) == 1:
            return _kind_of((a, b)[argnum], g * (b, a)[argnum])
        rows = anp.expand_dims(a, 0) if len(shape_of(a)) == 1 else a
        columns = anp.expand_dims(b, 1) if len(shape_of(b)) == 1 else b
        if len(shape_of(a)) == 1:
            g = anp.expand_dims(g, -2)
        if len(shape_of(b)) == 1:
            g = anp.expand_dims(g, -1)
        if argnum == 0:
            found = reduced_to(anp.matmul(g, anp.swapaxes(columns, -1, -2)), rows)
            return anp.reshape(found, shape_of(a)) if shape_of(found) != shape_of(a) else found
        found = reduced_to(anp.matmul(anp.swapaxes(rows, -1, -2), g), columns)
        return anp.reshape(found, shape_of(b)) if shape_of(found) != shape_of(b) else found

    return vjp


rules(anp.matmul, _matmul(0), _matmul(1), jvps=["same", "same"])

# -- einsum -----------------------------------------------------------------------------------------------


def _parsed(operands: Sequence[Any]) -> tuple[list[str], str, list[Any], bool]:
    """Subscripts of the inputs and the output, ellipses spelled out as upper case; the operands."""
    if isinstance(operands[0], str):
        text, values = operands[0].replace(" ", ""), list(operands[1:])
        ins, arrow, out = text.partition("->")
        subs = ins.split(",")
    else:
        values = list(operands[: len(operands) // 2 * 2 : 2])
        subs = [_letters(s) for s in operands[1::2]]
        arrow = "->" if len(operands) % 2 else ""
        out = _letters(operands[-1]) if arrow else ""
    ranks = [len(shape_of(v)) - len(s.replace("...", "")) if "..." in s else 0 for s, v in zip(subs, values)]
    most = max(ranks, default=0)
    spare = [c for c in _SPARE if not any(c in s for s in (*subs, out))][:most]
    named = [s.replace("...", "".join(spare[most - n :])) for s, n in zip(subs, ranks)]
    if not arrow:
        every = "".join(subs).replace("...", "")
        once = "".join(sorted(c for c in set(every) if every.count(c) == 1))
        out = ("..." if any("..." in s for s in subs) else "") + once
    return named, out.replace("...", "".join(spare)), values, bool(most)


_SPARE = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def _letters(sublist: Sequence[Any]) -> str:
    return "".join(
        "..." if i is Ellipsis else chr(ord("a") + i) if i < 26 else chr(ord("A") + i - 26) for i in sublist
    )


def _einsum(argnum: int, ans: Any, operands: Any, kwargs: Any) -> Any:
    is_text = isinstance(operands[0], str)
    place = argnum - 1 if is_text else argnum // 2
    ins, out, values, _ = _parsed(operands)
    x, own = values[place], ins[place]

    def vjp(g: Any) -> Any:
        others = [(s, v) for i, (s, v) in enumerate(zip(ins, values)) if i != place]
        given = "".join(s for s, _ in others) + out
        sizes = dict(zip(own, shape_of(x)))
        wanted = "".join(dict.fromkeys(own))  # an index that is there twice runs along a diagonal
        summed = [c for c in wanted if c not in given]  # those that only this operand has
        ones = [("".join(summed), np.ones([sizes[c] for c in summed]))] if summed else []
        parts = [(out, g), *others, *ones]
        text = ",".join(s for s, _ in parts) + "->" + wanted
        found = anp.einsum(text, *(v for _, v in parts))
        if wanted != own:
            found = _on_diagonal(found, wanted, own, shape_of(x))
        return reduced_to(found, x)

    return vjp


def _on_diagonal(x: Any, wanted: str, own: str, shape: tuple[int, ...]) -> Any:
    """Zeros but where the indices of the same letter are equal."""
    mask = np.ones(shape)
    for i, c in enumerate(own):
        j = own.index(c)
        if j != i:
            grid = np.indices(shape, sparse=True)
            mask = mask * (grid[i] == grid[j])
    first = [own.index(c) for c in wanted]
    full = anp.reshape(
        anp.transpose(x, tuple(int(i) for i in np.argsort(first))),
        tuple(n if i in first else 1 for i, n in enumerate(shape)),
    )
    return full * mask


defvjp_argnum(anp.einsum, _einsum)
def_linear(anp.einsum)
