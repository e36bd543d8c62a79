"""NumPy's names, as primitives; and those of its functions that are made of others.

In: NumPy's namespace.  Out: the same names here, where functions record themselves on traces.  What takes
its arrays in a list (concatenate) hands them on one by one, for a trace sees boxes among the arguments only.
"""

from __future__ import annotations

import builtins
import types
from collections.abc import Callable
from typing import Any

import numpy as _np

from headrace.autograd.builtins import list as traced_list
from headrace.autograd.builtins import tuple as traced_tuple
from headrace.autograd.core import primitive
from headrace.autograd.tracer import getval, isbox, notrace_primitive, trace_primitives_map

__version__ = _np.__version__

# Their results change in steps only, so traces need not see them.
NOTRACE = (
    "all allclose any argmax argmin argpartition argsort argwhere around array_equal array_equiv ceil "
    "count_nonzero empty_like equal fix flatnonzero floor floor_divide full_like greater greater_equal "
    "isclose "
    "iscomplex iscomplexobj isfinite isinf isnan isneginf isposinf isreal isscalar less less_equal "
    "logical_and "
    "logical_not logical_or logical_xor ndim nonzero not_equal ones_like result_type rint round "
    "searchsorted shape "
    "sign size trunc zeros_like isrealobj"
)
_notrace = set(NOTRACE.split())
_integers = {
    _np.int8,
    _np.int16,
    _np.int32,
    _np.int64,
    _np.intp,
    _np.uint8,
    _np.uint16,
    _np.uint32,
    _np.uint64,
}
_kept = (float, int, str, builtins.bool, type(None), types.EllipsisType)
_made: dict[Any, Any] = {}  # a raw function -> its primitive: aliases stay one


def wrapped(function: Any) -> Any:
    """The primitive that stands for a function."""
    made = _made.get(function)
    if made is None:
        kind = notrace_primitive if getattr(function, "__name__", "") in _notrace else primitive
        made = _made[function] = kind(function)
        trace_primitives_map[function] = made
    return made


def wrap_intdtype(cls: Any) -> Any:
    """A type of integers that takes boxes."""

    class Integer(cls):  # type: ignore[misc]
        __new__ = notrace_primitive(cls.__new__)

    Integer.__name__ = cls.__name__
    return Integer


def wrap_namespace(old: dict[str, Any], new: dict[str, Any]) -> None:
    """The names of a module of NumPy, wrapped."""
    for name, obj in old.items():
        if name.startswith("__") or name == "test":
            continue
        if builtins.isinstance(obj, type):
            new[name] = wrap_intdtype(obj) if obj in _integers else obj
        elif callable(obj):
            new[name] = wrapped(obj)
        elif builtins.isinstance(obj, _kept):
            new[name] = obj


wrap_namespace(vars(_np), globals())
reshape, ravel, expand_dims, nonzero, shape, ndim, diagonal, moveaxis = map(
    wrapped,
    (_np.reshape, _np.ravel, _np.expand_dims, _np.nonzero, _np.shape, _np.ndim, _np.diagonal, _np.moveaxis),
)
atleast_1d, atleast_2d, atleast_3d = map(wrapped, (_np.atleast_1d, _np.atleast_2d, _np.atleast_3d))


def __getattr__(name: str) -> Any:
    raise AttributeError(f"module 'autograd.numpy' has no attribute {name!r}")


# -- arrays of boxes -----------------------------------------------------------------------------------


@primitive
def concatenate_args(axis: Any, *args: Any) -> Any:
    return _np.concatenate(args, axis)


@primitive
def array_from_args(array_args: Any, array_kwargs: Any, *args: Any) -> Any:
    return _np.array(args, *array_args, **array_kwargs)


@primitive
def _array_from_scalar_or_array(array_args: Any, array_kwargs: Any, scalar: Any) -> Any:
    return _np.array(scalar, *array_args, **array_kwargs)


@primitive
def _astype(
    A: Any,
    dtype: Any,
    order: str = "K",
    casting: Any = "unsafe",
    subok: builtins.bool = True,
    copy: builtins.bool = True,
) -> Any:
    return A.astype(dtype, order, casting, subok, copy)


def array(A: Any, *args: Any, **kwargs: Any) -> Any:
    """np.array, of nested lists that have boxes somewhere inside too."""
    kind = builtins.type(getval(A))
    if kind in (list, tuple):
        return array_from_args(args, kwargs, *map(array, A))
    return _array_from_scalar_or_array(args, kwargs, A)


def _has_boxes(A: Any) -> builtins.bool:
    return isbox(A) or (builtins.type(A) in (list, tuple) and builtins.any(map(_has_boxes, A)))


def asarray(A: Any, *args: Any, **kwargs: Any) -> Any:
    if isbox(A) and not (args or kwargs) and builtins.isinstance(getval(A), _np.ndarray):
        return A
    return array(A, *args, **kwargs) if _has_boxes(A) else _np.asarray(A, *args, **kwargs)


def as_traced(A: Any) -> Any:
    """A list with boxes inside as an array, so that a trace sees it."""
    return array(A) if builtins.type(A) in (list, tuple) and _has_boxes(A) else A


def _of_lists(raw: Any) -> Any:
    """A reduction that is given a list of boxes now and then."""
    inner = wrapped(raw)

    def reduction(a: Any, *args: Any, **kwargs: Any) -> Any:
        return inner(as_traced(a), *args, **kwargs)

    reduction.__name__, reduction.__doc__ = raw.__name__, raw.__doc__
    return reduction


mean, var, std = _of_lists(_np.mean), _of_lists(_np.var), _of_lists(_np.std)
trace_primitives_map.update({_np.mean: mean, _np.var: var, _np.std: std})


def concatenate(arr_list: Any, axis: Any = 0) -> Any:
    return concatenate_args(axis, *arr_list)


def stack(arrays: Any, axis: int = 0) -> Any:
    found = [array(arr) for arr in arrays]
    if not found:
        raise ValueError("need at least one array to stack")
    rank = getval(found[0]).ndim + 1
    if len({_np.shape(getval(arr)) for arr in found}) != 1:
        raise ValueError("all input arrays must have the same shape")
    if not -rank <= axis < rank:
        raise IndexError(f"axis {axis} out of bounds [-{rank}, {rank})")
    return concatenate([expand_dims(arr, axis) for arr in found], axis=axis % rank)


def vstack(tup: Any) -> Any:
    return concatenate([atleast_2d(arr) for arr in tup], axis=0)


row_stack = vstack


def hstack(tup: Any) -> Any:
    arrays = [atleast_1d(arr) for arr in tup]
    return concatenate(arrays, axis=0 if getval(arrays[0]).ndim == 1 else 1)


def column_stack(tup: Any) -> Any:
    arrays = [array(v) for v in tup]
    return concatenate([reshape(a, (-1, 1)) if getval(a).ndim < 2 else a for a in arrays], 1)


def dstack(tup: Any) -> Any:
    return concatenate([atleast_3d(arr) for arr in tup], axis=2)


def append(arr: Any, values: Any, axis: int | None = None) -> Any:
    arr, values = array(arr), array(values)
    if axis is None:
        arr, values, axis = ravel(arr), ravel(values), 0
    return concatenate((arr, values), axis=axis)


def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    """The first choice whose condition holds, element by element."""
    found = default
    for condition, choice in reversed(builtins.list(zip(condlist, choicelist))):
        found = where(condition, choice, found)
    return found


_where = wrapped(_np.where)


def where(condition: Any, *args: Any, **kwargs: Any) -> Any:
    """Elements of x where the condition holds, else of y; a choice for all of them at once is made of the
    two."""
    x, y = (*args, *(kwargs[k] for k in ("x", "y") if k in kwargs), None, None)[:2]
    if not (args or kwargs):
        return nonzero(condition)
    if builtins.isinstance(condition, builtins.bool) and x is not None and y is not None:
        return x if condition else y
    return _where(condition, x, y)


trace_primitives_map.update(
    {_np.concatenate: concatenate, _np.stack: stack, _np.vstack: vstack, _np.hstack: hstack, _np.array: array}
)


class _ByIndex:
    """np.r_ and np.c_: what is in the brackets, joined."""

    def __init__(self, raw: Any, is_columns: builtins.bool) -> None:
        self.raw, self.is_columns = raw, is_columns

    def __getitem__(self, given: Any) -> Any:
        items = given if builtins.type(given) is builtins.tuple else (given,)
        arrays = [self._of_slice(v) if builtins.isinstance(v, slice) else v for v in items]
        if self.is_columns:
            return column_stack(arrays)
        return concatenate([atleast_1d(a) for a in arrays], axis=0)

    def _of_slice(self, v: slice) -> Any:
        return self.raw[v]


r_, c_ = _ByIndex(_np.r_, False), _ByIndex(_np.c_, True)


@primitive
def make_diagonal(D: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """Matrices whose diagonals are the last axis of D; the other elements are zero."""
    if not (offset == 0 and axis1 == -1 and axis2 == -2):
        raise NotImplementedError("make_diagonal: offset=0, axis1=-1, axis2=-2 only")
    n = D.shape[-1]
    made = _np.zeros((*D.shape, n), D.dtype)
    made[..., range(n), range(n)] = D
    return made


@notrace_primitive
def metadata(A: Any) -> tuple[tuple[int, ...], int, Any, builtins.bool]:
    return _np.shape(A), _np.ndim(A), _np.result_type(A), builtins.bool(_np.iscomplexobj(A))


def iscomplexobj(A: Any) -> builtins.bool:
    return builtins.bool(_np.iscomplexobj(getval(A)))


def isrealobj(A: Any) -> builtins.bool:
    return not iscomplexobj(A)


# -- made of others ---------------------------------------------------------------------------------------


def _composed(raw: Any) -> Callable[[Callable[..., Any]], Any]:
    """Decorator: what is said here for boxes; NumPy's own function for the rest."""

    def decorated(function: Callable[..., Any]) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            if builtins.any(map(_has_boxes, args)):
                return function(*args, **kwargs)
            return raw(*args, **kwargs)

        call.__name__, call.__doc__ = raw.__name__, raw.__doc__
        trace_primitives_map[raw] = call
        return call

    return decorated


@_composed(_np.diff)
def diff(a: Any, n: int = 1, axis: int = -1) -> Any:
    for _ in range(n):
        size = shape(a)[axis]
        a = _along(a, axis, slice(1, None)) - _along(a, axis, slice(0, builtins.max(size - 1, 0)))
    return a


def _along(a: Any, axis: int, part: slice) -> Any:
    index: list[Any] = [slice(None)] * len(shape(a))
    index[axis] = part
    return a[tuple(index)]


@_composed(_np.gradient)
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Central differences inside, one-sided ones at the ends."""
    if edge_order != 1 or builtins.any(_np.ndim(getval(h)) for h in varargs):
        raise NotImplementedError("gradient: edge_order=1 and steps that are numbers only")
    rank = len(shape(f))
    axes = range(rank) if axis is None else [axis] if builtins.isinstance(axis, int) else axis
    steps = [*varargs] * len(axes) if len(varargs) == 1 else [*varargs] or [1.0] * len(axes)
    found = [_differences(f, a % rank, h) for a, h in zip(axes, steps)]
    if len(found) == 1:
        return found[0]
    return traced_tuple(found)


def _differences(f: Any, axis: int, h: Any) -> Any:
    inside = (_along(f, axis, slice(2, None)) - _along(f, axis, slice(0, -2))) / (2.0 * h)
    first = (_along(f, axis, slice(1, 2)) - _along(f, axis, slice(0, 1))) / h
    last = (_along(f, axis, slice(-1, None)) - _along(f, axis, slice(-2, -1))) / h
    return concatenate([first, inside, last], axis)


@_composed(_np.trace)
def trace(x: Any, offset: int = 0) -> Any:
    return wrapped(_np.sum)(diagonal(x, offset, 0, 1), axis=-1)


@_composed(_np.kron)
def kron(a: Any, b: Any) -> Any:
    rank = builtins.max(getval(ndim(a)), getval(ndim(b)))
    sa, sb = ((1,) * (rank - len(shape(m))) + shape(m) for m in (a, b))
    a = reshape(a, [s for n in sa for s in (n, 1)])
    b = reshape(b, [s for n in sb for s in (1, n)])
    return reshape(a * b, [m * n for m, n in zip(sa, sb)])


@_composed(_np.cross)
def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Any:
    """Of vectors with three coordinates."""
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = moveaxis(a, axisa, -1), moveaxis(b, axisb, -1)
    if shape(a)[-1] != 3 or shape(b)[-1] != 3:
        raise ValueError("incompatible dimensions for cross product (dimension must be 3)")
    pairs = ((1, 2), (2, 0), (0, 1))
    found = stack([a[..., i] * b[..., j] - a[..., j] * b[..., i] for i, j in pairs], axis=-1)
    return moveaxis(found, -1, axisc)


@_composed(_np.linspace)
def linspace(start: Any, stop: Any, num: int = 50, endpoint: builtins.bool = True) -> Any:
    t = _np.linspace(0.0, 1.0, num, endpoint=endpoint)
    t = t.reshape(t.shape + (1,) * builtins.max(len(shape(start)), len(shape(stop))))
    return start * (1.0 - t) + stop * t


def _cutting(raw: Any, by: Any, fixed_axis: int | None) -> Any:
    """A way of cutting an array: parts are slices, and their list is on the trace."""

    @_composed(raw)
    def cut(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
        sizes = shape(ary)
        along = axis if fixed_axis is None else builtins.min(fixed_axis, len(sizes) - 1)
        parts = by(_np.arange(sizes[along]), indices_or_sections)
        places = [slice(int(p[0]), int(p[-1]) + 1) if len(p) else slice(0, 0) for p in parts]
        return traced_list([_along(ary, along, place) for place in places])

    return cut


split = _cutting(_np.split, _np.split, None)
array_split = _cutting(_np.array_split, _np.array_split, None)
vsplit = _cutting(_np.vsplit, _np.split, 0)
hsplit = _cutting(_np.hsplit, _np.split, 1)
dsplit = _cutting(_np.dsplit, _np.split, 2)
