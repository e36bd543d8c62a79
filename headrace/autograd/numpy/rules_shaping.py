"""Rules of what moves elements, joins arrays and takes them apart."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.autograd.core import defjvp_argnum, defvjp_argnum, rules
from headrace.autograd.numpy import numpy_wrapper as anp
from headrace.autograd.numpy.numpy_boxes import ArrayBox
from headrace.autograd.numpy.numpy_vjps import (
    is_complex,
    match_complex,
    places_of,
    rearranges,
    reduced_to,
    scatter,
    shape_of,
    take_part,
)


def _reshaped(g: Any, ans: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
    order = kwargs.get("order") or "C"
    return anp.reshape(g, shape_of(x), order=order)


def _ravel(g: Any, ans: Any, x: Any, order: Any = "C") -> Any:
    return anp.reshape(g, shape_of(x), order=order)


def _transpose(g: Any, ans: Any, x: Any, axes: Any = None) -> Any:
    if axes is None:
        return anp.transpose(g)
    rank = len(axes)
    return anp.transpose(g, tuple(int(a) for a in np.argsort([a % rank for a in axes])))


rules(ArrayBox.__getitem__, take_part, jvps=["same"])
for _fun in (anp.reshape, anp.squeeze, anp.expand_dims):
    rules(_fun, _reshaped, jvps=["same"])
for _fun in (anp.atleast_1d, anp.atleast_2d, anp.atleast_3d):
    rules(_fun, _reshaped, jvps=["same"])
rules(anp.ravel, _ravel, jvps=["same"])
rules(anp.transpose, _transpose, jvps=["same"])
rules(anp.swapaxes, lambda g, ans, x, axis1, axis2: anp.swapaxes(g, axis2, axis1), jvps=["same"])
rules(
    anp.moveaxis, lambda g, ans, x, source, destination: anp.moveaxis(g, destination, source), jvps=["same"]
)
rules(anp.broadcast_to, lambda g, ans, x, shape, **kwargs: reduced_to(g, x), jvps=["same"])
rules(anp.full, lambda g, ans, shape, fill_value, **kwargs: reduced_to(g, fill_value), jvps=["same"], first=1)

REARRANGING = (
    "rollaxis flipud fliplr flip rot90 roll tile repeat diag diagflat diagonal make_diagonal tril triu take "
    "take_along_axis compress permute_dims"
)
for _name in REARRANGING.split():
    if hasattr(anp, _name):
        rearranges(getattr(anp, _name))

# -- pads: what is put around is a constant, or taken from inside --------------------------------------------

_FROM_INSIDE = ("edge", "reflect", "symmetric", "wrap")


def _pad(g: Any, ans: Any, x: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Any:
    if mode == "constant":
        places = np.pad(places_of(x), pad_width)
    elif mode in _FROM_INSIDE and kwargs.get("reflect_type", "even") == "even":
        places = np.pad(places_of(x), pad_width, mode=mode)
    else:
        raise NotImplementedError(f"pad: no derivative in mode {mode!r}")
    return scatter(g, places, shape_of(x))


def _pad_forwards(g: Any, ans: Any, x: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Any:
    return anp.pad(g, pad_width, mode)


rules(anp.pad, _pad, jvps=[_pad_forwards])

# -- arrays of several ------------------------------------------------------------------------------------


def _concatenated(argnum: int, ans: Any, args: Any, kwargs: Any) -> Any:
    axis, *parts = args
    if axis is None:
        sizes = [int(np.prod(shape_of(p))) for p in parts]
        start = sum(sizes[: argnum - 1])
        return lambda g: anp.reshape(g[start : start + sizes[argnum - 1]], shape_of(parts[argnum - 1]))
    sizes = [shape_of(p)[axis] for p in parts]
    start = sum(sizes[: argnum - 1])
    index: Any = [slice(None)] * len(shape_of(ans))
    index[axis] = slice(start, start + sizes[argnum - 1])
    return lambda g: match_complex(parts[argnum - 1], g[tuple(index)])


def _concatenated_forwards(argnum: int, g: Any, ans: Any, args: Any, kwargs: Any) -> Any:
    axis, *parts = args
    zeros = [np.zeros(shape_of(p), ans.dtype) for p in parts]
    return anp.concatenate_args(axis, *(g if i == argnum - 1 else zero for i, zero in enumerate(zeros)))


def _array_forwards(argnum: int, g: Any, ans: Any, args: Any, kwargs: Any) -> Any:
    zeros = [np.zeros(shape_of(p), ans.dtype) for p in args[2:]]
    return anp.array_from_args(args[0], args[1], *(g if i == argnum - 2 else z for i, z in enumerate(zeros)))


defvjp_argnum(anp.concatenate_args, _concatenated)
defjvp_argnum(anp.concatenate_args, _concatenated_forwards)
defvjp_argnum(
    anp.array_from_args,
    lambda argnum, ans, args, kwargs: lambda g: match_complex(args[argnum], g[argnum - 2]),
)
defjvp_argnum(anp.array_from_args, _array_forwards)


def _array(g: Any, ans: Any, array_args: Any, array_kwargs: Any, x: Any) -> Any:
    g = g if is_complex(x) else match_complex(x, g)
    return anp.reshape(g, shape_of(x)) if shape_of(g) != shape_of(x) else g


rules(anp._array_from_scalar_or_array, _array, jvps=["same"], first=2)
