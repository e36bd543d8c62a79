"""What rules share: derivatives brought to the shape and kind of an argument, and sparse ones of parts.

`g` is the derivative of the result; a rule gives that of an argument, in its shape, real where it is real.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from headrace.autograd.core import SparseObject, primitive, rules, vspace
from headrace.autograd.numpy import numpy_wrapper as anp
from headrace.autograd.tracer import getval, isbox

untake_types = (int, slice, type(None), type(Ellipsis))


def shape_of(x: Any) -> tuple[int, ...]:
    try:
        return x.shape  # type: ignore[no-any-return]
    except AttributeError:
        return np.shape(x)


def is_complex(x: Any) -> bool:
    try:
        return bool(x.dtype.kind == "c")
    except AttributeError:
        return type(x) is complex or (type(x) in (list, tuple) and bool(np.iscomplexobj(x)))


def match_complex(target: Any, x: Any) -> Any:
    """x as real or complex as the target."""
    if is_complex(target):
        return x if is_complex(x) else x + 0j
    return anp.real(x) if is_complex(x) else x


def reduced_to(g: Any, x: Any) -> Any:
    """The derivative of an argument that was broadcast: summed over what it was repeated along."""
    shape, have = shape_of(x), shape_of(g)
    if shape != have:
        extra = len(have) - len(shape)
        if extra > 0:
            g = anp.sum(g, axis=tuple(range(extra)))
            have = have[extra:]
        ones = tuple(i for i, (n, m) in enumerate(zip(shape, have)) if n == 1 and m != 1)
        if ones:
            g = anp.sum(g, axis=ones, keepdims=True)
        if shape_of(g) != shape:
            g = spread(g, shape)
    if is_complex(g):
        return g if is_complex(x) else anp.real(g)
    return g + 0j if is_complex(x) else g


def unbroadcast(x: Any, target_meta: Any, broadcast_idx: int = 0) -> Any:
    """autograd's spelling: to the shape and kind of `metadata(target)`."""
    shape, _, dtype, is_target_complex = target_meta
    del broadcast_idx
    return reduced_to(x, np.empty(shape, dtype if is_target_complex else float))


def unbroadcast_f(target: Any, f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    target_meta = anp.metadata(target)
    return lambda g: unbroadcast(f(g), target_meta)


@primitive
def spread(g: Any, shape: tuple[int, ...]) -> Any:
    """g repeated to a shape, as an array of its own."""
    found = np.empty(shape, getattr(g, "dtype", None) or np.result_type(g))
    found[...] = g
    return found


rules(spread, lambda h, ans, g, shape: reduced_to(h, g), jvps=["same"])


def with_reduced_axes(g: Any, x: Any, axis: Any, keepdims: Any) -> Any:
    """The derivative of a reduction's result, with the reduced axes back as axes of size 1."""
    if axis is None or keepdims or not shape_of(x):
        return g if not keepdims or axis is not None else anp.reshape(g, (1,) * len(shape_of(x)))
    rank = len(shape_of(x))
    reduced = {a % rank for a in (axis if isinstance(axis, (tuple, list)) else (axis,))}
    return anp.reshape(g, tuple(1 if i in reduced else n for i, n in enumerate(shape_of(x))))


def repeat_to_match_shape(g: Any, shape: Any, dtype: Any, axis: Any, keepdims: Any) -> tuple[Any, int]:
    """autograd's spelling: g along the axes that a reduction took away, and how often each element is
    there."""
    x = np.empty(shape, dtype)
    return spread(with_reduced_axes(g, x, axis, keepdims), shape), reduced_count(x, axis)


def reduced_count(x: Any, axis: Any) -> int:
    """How many elements go into one of the result."""
    shape = shape_of(x)
    if axis is None:
        return int(np.prod(shape))
    return int(np.prod([shape[a] for a in (axis if isinstance(axis, (tuple, list)) else (axis,))]))


def replace_zero(x: Any, val: Any) -> Any:
    return anp.where(x, x, val)


def balanced_eq(x: Any, z: Any, y: Any) -> Any:
    """1 where x is z, but 1/2 where y is as well."""
    return (x == z) / (1.0 + (x == y))


# -- parts of arrays -------------------------------------------------------------------------------------


@primitive
def untake(x: Any, idx: Any, vs: Any) -> SparseObject:
    """The array that is zero but at an index, not written out."""
    parts = idx if type(idx) is tuple else (idx,)
    if all(isinstance(i, untake_types) for i in parts):  # no element is named twice

        def mut_add(A: Any) -> Any:
            A[idx] += x
            return A
    else:

        def mut_add(A: Any) -> Any:
            np.add.at(A, idx, x)
            return A

    return SparseObject(vs, mut_add)


def take_part(g: Any, ans: Any, A: Any, idx: Any) -> Any:
    return untake(g, idx, vspace(A))


rules(untake, lambda g, ans, x, idx, vs: g[idx], jvps=["same"])


# -- rearrangements: every element of the result is one of the argument's, or a constant ------------------


@primitive
def scatter(g: Any, places: Any, shape: tuple[int, ...]) -> Any:
    """Sums of g by place: 1 is the first element, 0 is none."""
    size = int(np.prod(shape))
    found = np.zeros(size + 1, getattr(g, "dtype", None) or np.result_type(g))
    np.add.at(found, places.ravel(), np.ravel(g))
    return found[1:].reshape(shape)


@primitive
def gather(x: Any, places: Any) -> Any:
    """Elements of x by place: 1 is the first element, 0 is zero."""
    flat = np.concatenate([np.zeros(1, x.dtype), np.ravel(x)])
    return flat[places]


rules(scatter, lambda h, ans, g, places, shape: gather(h, places), jvps=["same"])
rules(gather, lambda h, ans, x, places: scatter(h, places, shape_of(x)), jvps=["same"])


def places_of(x: Any) -> Any:
    """Where each element of x is: 1, 2, 3, ... in its shape."""
    shape = shape_of(x)
    return np.arange(1, int(np.prod(shape)) + 1).reshape(shape)


def rearranges(fun: Any, raw: Any = None) -> None:
    """Rules of a function that takes elements from place to place: it is asked where it takes them."""
    raw = raw or fun.fun

    def vjp(g: Any, ans: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
        places = np.asarray(raw(places_of(x), *args, **kwargs))
        return scatter(g, places, shape_of(x))

    rules(fun, vjp, jvps=["same"])


def opened(x: Any) -> Any:
    return getval(x) if isbox(x) else x
