"""Gives Tensor its operators.  Node names are TF's: "add", "mul", "truediv" ...; `==` is identity.

Ops load when an operator is first used, so that this module costs nothing to import.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

from headrace.core import dtypes, hooks
from headrace.core.modules import late
from headrace.graph.defaults import get_default_graph
from headrace.graph.tensor import Tensor

arithmetic = late("headrace.ops.math.arithmetic")
cast = late("headrace.ops.math.cast")
comparison = late("headrace.ops.math.comparison")
convert = late("headrace.ops.declaration.convert")
dense = late("headrace.ops.sparse.dense")
indexed_slices = late("headrace.ops.declaration.indexed_slices")
logical = late("headrace.ops.math.logical")
matrix = late("headrace.ops.linalg.matrix")
strided_slice = late("headrace.ops.array.slices.strided_slice")

# What `/` converts integers to.
_QUOTIENT_TYPES = {
    dtypes.uint8: dtypes.float32,
    dtypes.int8: dtypes.float32,
    dtypes.uint16: dtypes.float32,
    dtypes.int16: dtypes.float32,
    dtypes.int32: dtypes.float64,
    dtypes.int64: dtypes.float64,
}
_DIVISIBLE = {*_QUOTIENT_TYPES, *dtypes.FLOATS, *dtypes.COMPLEX}


@contextmanager
def _scope(graph: Any, name: str) -> Any:
    """The scope in which an operand becomes a constant; yields the name of the node."""
    default = get_default_graph()
    if default.building_function or graph is default:
        with default.name_scope(name) as scope:
            yield scope
    else:
        with graph.as_default(), graph.name_scope(name) as scope:
            yield scope


def _add(x: Tensor, y: Tensor, name: str) -> Tensor:
    build = arithmetic.add if x.dtype.base is dtypes.string else arithmetic.add_v2
    return build(x, y, name=name)


def _sub(x: Tensor, y: Tensor, name: str) -> Tensor:
    return arithmetic.sub(x, y, name=name)


def _mul(x: Tensor, y: Any, name: str) -> Any:
    if _is_sparse(y):
        values = dense.sparse_dense_cwise_mul(y.indices, y.values, y.dense_shape, x, name=name)
        return type(y)(y.indices, values, y.dense_shape)
    return arithmetic.mul(x, y, name=name)


def _is_sparse(value: Any) -> bool:
    """A SparseTensor: that class is defined above this layer."""
    parts = ("indices", "values", "dense_shape")
    return all(hasattr(value, part) for part in parts) and not isinstance(value, indexed_slices.IndexedSlices)


def require_same_type(x: Tensor, y: Tensor) -> None:
    if x.dtype.base is not y.dtype.base:
        raise TypeError(f"x and y must have the same dtype, got {x.dtype.base!r} != {y.dtype.base!r}")


def true_quotient(x: Tensor, y: Tensor, name: str) -> Tensor:
    """Python 3's `/`: integers become floats first."""
    require_same_type(x, y)
    if x.dtype.base not in _DIVISIBLE:
        raise TypeError(f"Invalid dtype {x.dtype.base!r} in __truediv__")
    wide = _QUOTIENT_TYPES.get(x.dtype.base)
    if wide is not None:
        x, y = cast.cast(x, DstT=wide), cast.cast(y, DstT=wide)
    return arithmetic.real_div(x, y, name=name)


def old_quotient(x: Tensor, y: Tensor, name: str) -> Tensor:
    """Python 2's `/`: integers are rounded down."""
    require_same_type(x, y)
    build = arithmetic.real_div if x.dtype.kind in "fc" else arithmetic.floor_div
    return build(x, y, name=name)


def _floordiv(x: Tensor, y: Tensor, name: str) -> Tensor:
    return arithmetic.floor_div(x, y, name=name)


def _mod(x: Tensor, y: Tensor, name: str) -> Tensor:
    return arithmetic.floor_mod(x, y, name=name)


def _pow(x: Tensor, y: Tensor, name: str) -> Tensor:
    return arithmetic.pow_(x, y, name=name)


def _matmul(x: Tensor, y: Tensor, name: str) -> Tensor:
    batches = any(t.shape.rank is None or t.shape.rank > 2 for t in (x, y))
    return (matrix.batch_matmul_v2 if batches else matrix.matmul)(x, y, name=name)


def _and(x: Tensor, y: Tensor, name: str) -> Tensor:
    return logical.logical_and(x, y, name=name)


def _or(x: Tensor, y: Tensor, name: str) -> Tensor:
    return logical.logical_or(x, y, name=name)


def exclusive_or(x: Any, y: Any, name: str | None) -> Tensor:
    """(x or y) and not (x and y)."""
    either, both = logical.logical_or(x, y), logical.logical_and(x, y)
    return logical.logical_and(either, logical.logical_not(both), name=name)


_BINARY: dict[str, Callable[..., Any]] = {
    "add": _add,
    "sub": _sub,
    "mul": _mul,
    "div": old_quotient,
    "truediv": true_quotient,
    "floordiv": _floordiv,
    "mod": _mod,
    "pow": _pow,
    "matmul": _matmul,
    "and": _and,
    "or": _or,
    "xor": exclusive_or,
}


def _binary(word: str, build: Callable[..., Any]) -> tuple[Any, Any]:
    def forward(x: Tensor, y: Any) -> Any:
        with _scope(x.graph, word) as name:
            if not isinstance(y, Tensor) and not _is_sparse(y):
                try:
                    y = convert.convert_to_tensor(y, None, "y", preferred_dtype=x.dtype.base)
                except TypeError:
                    # Something that knows how to combine itself with a tensor gets its turn.
                    if hasattr(type(y), f"__r{word}__"):
                        return NotImplemented
                    raise
            return build(x, y, name)

    def reflected(y: Tensor, x: Any) -> Any:
        with _scope(y.graph, word) as name:
            return build(convert.convert_to_tensor(x, y.dtype.base, "x"), y, name)

    forward.__name__, reflected.__name__ = f"__{word}__", f"__r{word}__"
    return forward, reflected


def _compare(name: str) -> Any:
    def method(x: Tensor, y: Any) -> Tensor:
        return getattr(comparison, name)(x, y)

    return method


def _neg(x: Tensor) -> Tensor:
    return arithmetic.neg(x)


def _abs(x: Tensor) -> Tensor:
    with _scope(x.graph, "Abs") as name:
        return arithmetic.magnitude(x, name)


def _invert(x: Tensor) -> Tensor:
    return logical.logical_not(x)


def _getitem(x: Tensor, item: Any, var: Any = None) -> Tensor:
    return strided_slice.getitem(x, item, var)


OPERATORS: dict[str, Any] = {
    "__neg__": _neg,
    "__abs__": _abs,
    "__invert__": _invert,
    "__getitem__": _getitem,
    "__lt__": _compare("less"),
    "__le__": _compare("less_equal"),
    "__gt__": _compare("greater"),
    "__ge__": _compare("greater_equal"),
}
for _word, _build in _BINARY.items():
    OPERATORS[f"__{_word}__"], OPERATORS[f"__r{_word}__"] = _binary(_word, _build)
hooks.tensor_operators.give(Tensor, OPERATORS)
