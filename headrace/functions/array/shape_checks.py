"""assert_shapes: sizes that belong together, by symbols."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from headrace.core.families import takes
from headrace.functions.array.checks import Assert, printing
from headrace.functions.array.rank_checks import assert_rank, assert_rank_at_least, assert_rank_in
from headrace.functions.control.grouping import group
from headrace.functions.values.structure import name_scope
from headrace.graph.defaults import get_default_graph
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor, label
from headrace.ops.array.slices import strided_slice
from headrace.ops.declaration import array
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.math import arithmetic, comparison


class _Sizes(NamedTuple):
    x: Tensor
    is_innermost: bool  # a leading ... stands for any dimensions
    actual: Any  # a list of numbers and tensors, or one tensor
    symbols: tuple[Any, ...]


@takes(printing, first="shapes")
def assert_shapes(shapes: Any, data: Any, summarize: Any, message: Any, name: Any) -> Node:
    """Asserts that the shapes of tensors fit together.

    A shape is a sequence of sizes and symbols: equal symbols stand for equal sizes, None or "." for
    any size, a leading `...` or "*" for any number of dimensions.  Scalars and vectors of size 1
    are the same.

    Args:
      shapes: a dictionary or a list of pairs, tensor -> shape.
      data: what to print when it does not hold.
      summarize: how many elements of each to print.
      message: a prefix of the error message.
      name: name of the scope.

    Returns:
      An operation that fails with `InvalidArgumentError` if it does not hold.

    Raises:
      ValueError: it is known already that it does not hold.

    Example:
      >>> tf.debugging.assert_shapes([(x, ("N", "Q")), (y, ("N", "D")), (p, ("Q",))])
    """
    pairs = list(shapes.items() if isinstance(shapes, dict) else shapes)
    message = message or ""
    with name_scope(name, "assert_shapes", [[x for x, _ in pairs], data]):
        parsed = [
            _parse(convert_to_tensor(x), symbols, message) for x, symbols in pairs if symbols is not None
        ]
        options = {"data": data, "summarize": summarize, "message": message, "name": name}
        rank_checks = [check for sizes in parsed for check in _check_rank(sizes, options)]
        size_checks = list(_check_sizes(parsed, data, summarize, message))
        with get_default_graph().control_dependencies(rank_checks):
            return group(size_checks)


def _parse(x: Tensor, symbols: Any, message: str) -> _Sizes:
    if not hasattr(symbols, "__iter__") and not hasattr(symbols, "__getitem__"):
        raise ValueError(
            f"{message}.  Tensor {label(x)}.  Specified shape must be an iterable.  An iterable has "
            "the attribute `__iter__` or `__getitem__`.  Received specified shape: "
            f"{symbols}"
        )
    symbols = tuple(symbols)
    is_innermost = False
    for i, symbol in enumerate(symbols):
        if symbol is Ellipsis or symbol == "*":
            if i != 0:
                raise ValueError(
                    f"{message}.  Tensor {label(x)} specified shape index {i}.  Symbol `...` or `*` "
                    "for a variable number of unspecified dimensions is only allowed as the first "
                    "entry"
                )
            is_innermost = True
    named = symbols[1:] if is_innermost else symbols
    return _Sizes(x, is_innermost, _actual_sizes(x), named or (1,))


def _actual_sizes(x: Tensor) -> Any:
    """The sizes of `x`, [1] for a scalar: numbers where they are known."""
    if x.shape.rank == 0:
        return [1]
    dynamic = array.shape_of(x)
    if x.shape.rank is not None:
        return [
            strided_slice.getitem(dynamic, i) if size is None else size
            for i, size in enumerate(x.shape.sizes)
        ]
    padded = array.concat_v2([dynamic, [1]], 0)
    return strided_slice.getitem(padded, slice(0, arithmetic.maximum(array.rank_of(x), 1)))


def _check_rank(sizes: _Sizes, options: dict[str, Any]) -> Iterable[Node]:
    rank = len(sizes.symbols)
    if sizes.is_innermost:
        if rank > 1:
            yield assert_rank_at_least(sizes.x, rank, **options)
    elif rank <= 1:
        yield assert_rank_in(sizes.x, [0, 1], **options)
    else:
        yield assert_rank(sizes.x, rank, **options)


def _check_sizes(parsed: list[_Sizes], data: Any, summarize: int | None, message: str) -> Iterable[Node]:
    owners: dict[Any, tuple[Any, Tensor, int]] = {}  # symbol -> size, whose, which dimension
    for sizes in parsed:
        for i, symbol in enumerate(sizes.symbols):
            if symbol is None or symbol == ".":
                continue
            at = i - len(sizes.symbols) if sizes.is_innermost else i
            actual = _at(sizes.actual, at)
            fixed = _as_number(symbol)
            if fixed is not None:
                wanted: Any = fixed
                why = "Specified explicitly"
            elif symbol in owners:
                wanted, owner, dimension = owners[symbol]
                why = f"Specified by tensor {label(owner)} dimension {dimension}"
            else:
                owners[symbol] = (actual, sizes.x, at)
                continue
            if _as_number(actual) is not None and _as_number(wanted) is not None:
                if int(actual) != int(wanted):
                    raise ValueError(
                        f"{message}.  {why}.  Tensor {label(sizes.x)} dimension {at} must have size "
                        f"{wanted}.  Received size {actual}, shape {sizes.x.shape}"
                    )
                continue
            shown = data
            if shown is None:
                shown = [
                    message,
                    why,
                    f"Tensor {label(sizes.x)} dimension",
                    at,
                    "must have size",
                    wanted,
                    "Received shape: ",
                    array.shape_of(sizes.x),
                ]
            same = comparison.equal(convert_to_tensor(actual), convert_to_tensor(wanted))
            yield Assert(same, shown, summarize=summarize)


def _at(sizes: Any, index: int) -> Any:
    return strided_slice.getitem(sizes, index) if isinstance(sizes, Tensor) else sizes[index]


def _as_number(size: Any) -> int | None:
    if isinstance(size, Tensor):
        return None
    try:
        return int(size)
    except (TypeError, ValueError):
        return None
