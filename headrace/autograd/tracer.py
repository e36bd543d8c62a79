"""Tracing: a function runs as it is, on boxes; every primitive that meets a box leaves a node.

In: a function and the value of its argument.  Out: the value, and the node at the end of the record (None
where the result does not depend on the argument).  Traces nest: a box belongs to one trace, and a primitive
deals with the innermost trace among its arguments first, so that what an outer trace needs is recorded there
in turn.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from headrace.autograd.util import subvals, toposort

__all__ = [
    "Box",
    "Node",
    "find_top_boxed_args",
    "getval",
    "isbox",
    "new_box",
    "notrace_primitive",
    "primitive",
    "register_notrace",
    "subvals",
    "toposort",
    "trace",
]

Primitive = Callable[..., Any]
trace_primitives_map: dict[Any, Primitive] = {}  # a function of NumPy -> the primitive that stands for it
notrace_primitives: defaultdict[type, set[Primitive]] = defaultdict(set)


class Node:
    """One use of a primitive.  What it keeps is up to the kind of trace."""

    __slots__ = ("parents",)
    parents: Sequence[Any]

    def __init__(
        self,
        value: Any,
        fun: Primitive,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        parent_argnums: Sequence[int],
        parents: Sequence[Any],
    ) -> None:
        raise NotImplementedError

    def initialize_root(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError

    @classmethod
    def new_root(cls, *args: Any, **kwargs: Any) -> Any:
        root = cls.__new__(cls)
        root.initialize_root(*args, **kwargs)
        return root


class Box:
    """Stands for a value while a function is traced."""

    __slots__ = ("_node", "_trace", "_value")
    type_mappings: dict[type, type[Box]] = {}
    types: set[type] = set()
    __array_priority__ = 90.0  # an array beside a box leaves the operator to the box

    def __init__(self, value: Any, trace: int, node: Any) -> None:
        self._value, self._trace, self._node = value, trace, node

    def __bool__(self) -> bool:
        return bool(self._value)

    __nonzero__ = __bool__

    def __str__(self) -> str:
        return f"Autograd {type(self).__name__} with value {self._value}"

    __repr__ = __str__

    @classmethod
    def register(cls, value_type: type) -> None:
        """Values of this type are boxed by this class."""
        Box.types.add(cls)
        Box.type_mappings[value_type] = cls
        Box.type_mappings[cls] = cls


box_type_mappings = Box.type_mappings
box_types = Box.types
_depth = [-1]  # the number of the innermost trace that runs


def trace(start_node: Any, fun: Callable[[Any], Any], x: Any) -> tuple[Any, Any]:
    """Run `fun` on x, recorded by nodes of the kind of `start_node`."""
    _depth[0] += 1
    number = _depth[0]
    try:
        end = fun(new_box(x, number, start_node))
    finally:
        _depth[0] -= 1
    if type(end) in box_types and end._trace == number:
        return end._value, end._node
    return end, None


def new_box(value: Any, trace: int, node: Any) -> Any:
    try:
        return box_type_mappings[type(value)](value, trace, node)
    except KeyError:
        raise TypeError(f"Can't differentiate w.r.t. type {type(value)}") from None


def primitive(f_raw: Callable[..., Any]) -> Primitive:
    """Make a function one that traces record.  It needs rules: `defvjp`, `defjvp`."""

    def f_wrapped(*args: Any, **kwargs: Any) -> Any:
        for arg in args:
            if type(arg) in box_types:
                break
        else:
            return f_raw(*args, **kwargs)
        return _record(f_wrapped, f_raw, args, kwargs)

    return _named(f_wrapped, f_raw)


def _record(fun: Primitive, f_raw: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    top = -1
    argnums: list[int] = []
    parents: list[Any] = []
    values = list(args)
    for i, arg in enumerate(args):
        if type(arg) in box_types:
            if arg._trace > top:
                values, argnums, parents = list(args), [], []
                top = arg._trace
            if arg._trace == top:
                argnums.append(i)
                parents.append(arg._node)
                values[i] = arg._value
    inner = tuple(values)
    kind = type(parents[0])
    if fun in notrace_primitives[kind]:
        return fun(*inner, **kwargs)
    for value in inner:
        if type(value) in box_types:  # of a trace further out
            ans = fun(*inner, **kwargs)
            break
    else:
        ans = f_raw(*inner, **kwargs)
    return new_box(ans, top, kind(ans, fun, inner, kwargs, argnums, parents))


def notrace_primitive(f_raw: Callable[..., Any]) -> Primitive:
    """A function whose result depends on its arguments in steps only: boxes are opened for it."""

    def f_wrapped(*args: Any, **kwargs: Any) -> Any:
        return f_raw(*map(getval, args), **kwargs)

    return _named(f_wrapped, f_raw)


def _named(wrapper: Any, raw: Callable[..., Any]) -> Primitive:
    for name in ("__name__", "__doc__"):
        try:
            setattr(wrapper, name, getattr(raw, name))
        except (AttributeError, TypeError):
            pass
    wrapper._autograd_primitive = True
    wrapper.fun = raw
    return wrapper  # type: ignore[no-any-return]


def register_notrace(trace_type: type, primitive_fun: Primitive) -> None:
    """Traces of this kind do not record the primitive."""
    notrace_primitives[trace_type].add(primitive_fun)


def isbox(x: Any) -> bool:
    return type(x) in box_types


def getval(x: Any) -> Any:
    """The value in a box, in all of them where boxes nest."""
    while type(x) in box_types:
        x = x._value
    return x


def find_top_boxed_args(args: Iterable[Any]) -> tuple[list[tuple[int, Any]], int, type[Node] | None]:
    """The boxes of the innermost trace with their places, the trace's number and its kind of nodes."""
    boxes = [(i, a) for i, a in enumerate(args) if type(a) in box_types]
    top = max((box._trace for _, box in boxes), default=-1)
    chosen = [(i, box) for i, box in boxes if box._trace == top]
    return chosen, top, type(chosen[0][1]._node) if chosen else None
