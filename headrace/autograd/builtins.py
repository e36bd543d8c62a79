"""Lists, tuples and dicts whose items may be boxes: `autograd.builtins.list`, `tuple`, `dict`,
`isinstance`, `type`.

A box of a container gives its items as boxes.  A container made by these names is itself on record, so that a
function may return one.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Iterator
from typing import Any

from headrace.autograd.core import SparseObject, defjvp_argnum, defvjp_argnum, primitive, rules, vspace
from headrace.autograd.tracer import Box, notrace_primitive
from headrace.autograd.vector_space import VSpace

isinstance = notrace_primitive(builtins.isinstance)
type = notrace_primitive(builtins.type)


# -- items --------------------------------------------------------------------------------------------


@primitive
def container_take(A: Any, idx: Any) -> Any:
    """An item, or a part of a sequence."""
    return A[idx]


@primitive
def container_untake(x: Any, idx: Any, vs: Any) -> SparseObject:
    """The container that is zero but for an item."""
    if builtins.isinstance(idx, slice):

        def added(before: Any, now: Any) -> Any:
            return [vspace(b).add(b, n) for b, n in zip(before, now)]
    else:

        def added(before: Any, now: Any) -> Any:
            return vspace(before).add(before, now)

    return SparseObject(vs, lambda A: vs.with_item(A, idx, added(A[idx], x)))


rules(container_take, lambda g, ans, A, idx: container_untake(g, idx, vspace(A)), jvps=["same"])
rules(container_untake, lambda g, ans, x, idx, vs: container_take(g, idx), jvps=["same"])


class SequenceBox(Box):
    """A list or tuple."""

    __slots__ = ()
    __getitem__ = container_take
    _value: Any

    def __len__(self) -> int:
        return len(self._value)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __add__(self, other: Any) -> Any:
        return sequence_extend_right(self, *other)

    def __radd__(self, other: Any) -> Any:
        return sequence_extend_left(self, *other)

    def __contains__(self, elt: Any) -> bool:
        return elt in self._value

    def index(self, elt: Any) -> int:
        return self._value.index(elt)  # type: ignore[no-any-return]


class DictBox(Box):
    __slots__ = ()
    __getitem__ = container_take
    _value: Any

    def __len__(self) -> int:
        return len(self._value)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._value)

    def __contains__(self, elt: Any) -> bool:
        return elt in self._value

    def items(self) -> Any:
        return builtins.list(self.iteritems())

    def keys(self) -> Any:
        return builtins.list(self)

    def values(self) -> Any:
        return [self[k] for k in self]

    def iteritems(self) -> Iterator[Any]:
        return ((k, self[k]) for k in self)

    def iterkeys(self) -> Iterator[Any]:
        return iter(self)

    def itervalues(self) -> Iterator[Any]:
        return (self[k] for k in self)

    def get(self, k: Any, d: Any = None) -> Any:
        return self[k] if k in self else d


SequenceBox.register(builtins.tuple)
SequenceBox.register(builtins.list)
DictBox.register(builtins.dict)


# -- longer sequences -------------------------------------------------------------------------------------


@primitive
def sequence_extend_right(seq: Any, *elts: Any) -> Any:
    return seq + builtins.type(seq)(elts)


@primitive
def sequence_extend_left(seq: Any, *elts: Any) -> Any:
    return builtins.type(seq)(elts) + seq


def _grad_right(argnum: int, ans: Any, args: Any, kwargs: Any) -> Any:
    n = len(args[0])
    return lambda g: g[:n] if argnum == 0 else g[argnum - 1 + n]


def _grad_left(argnum: int, ans: Any, args: Any, kwargs: Any) -> Any:
    n = len(args) - 1
    return lambda g: g[n:] if argnum == 0 else g[argnum - 1]


defvjp_argnum(sequence_extend_right, _grad_right)
defvjp_argnum(sequence_extend_left, _grad_left)


# -- containers of boxes ------------------------------------------------------------------------------------


@primitive
def make_sequence(seq_type: Any, *args: Any) -> Any:
    return seq_type(args)


def _forward_sequence(argnum: int, g: Any, ans: Any, args: Any, kwargs: Any) -> Any:
    return container_untake(g, argnum - 1, vspace(ans))


defjvp_argnum(make_sequence, _forward_sequence)
defvjp_argnum(make_sequence, lambda argnum, ans, args, kwargs: lambda g: g[argnum - 1])


@primitive
def _make_dict(keys: Any, vals: Any) -> Any:
    return builtins.dict(zip(keys, vals))


rules(_make_dict, lambda g, ans, keys, vals: list([g[key] for key in keys]), first=1)


class _Kind(builtins.type):
    """So that `isinstance(x, autograd.list)` asks about the list in a box."""

    plain: Any

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, cls.plain)  # type: ignore[no-any-return]


class tuple(builtins.tuple[Any, ...], metaclass=_Kind):
    plain = builtins.tuple

    def __new__(cls, xs: Iterable[Any] = ()) -> Any:
        return make_sequence(builtins.tuple, *xs)


class list(builtins.list[Any], metaclass=_Kind):
    plain = builtins.list

    def __new__(cls, xs: Iterable[Any] = ()) -> Any:
        return make_sequence(builtins.list, *xs)


class dict(builtins.dict[Any, Any], metaclass=_Kind):
    plain = builtins.dict

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        given: Any = args[0] if args else ()
        pairs = given.items() if isinstance(given, builtins.dict) else given
        items = [*pairs, *kwargs.items()]
        return _make_dict([k for k, _ in items], list([v for _, v in items]))


# -- their spaces
# ----------------------------------------------------------------------------------------------


class ContainerVSpace(VSpace):
    """The product of the spaces of the items; `shape` has them in a container like the value."""

    __slots__ = ("shape", "size")

    def __init__(self, value: Any) -> None:
        self.shape = value
        self.shape = self._map(vspace)
        self.size = sum(self._values(self._map(lambda vs: vs.size)))

    def _parts(self) -> Any:
        return self.shape

    def zeros(self) -> Any:
        return self._map(lambda vs: vs.zeros())

    def ones(self) -> Any:
        return self._map(lambda vs: vs.ones())

    def randn(self) -> Any:
        return self._map(lambda vs: vs.randn())

    def standard_basis(self) -> Iterator[Any]:
        zero = self.zeros()
        for i, vs in self._kv_pairs(self.shape):
            for x in vs.standard_basis():
                yield self.with_item(zero, i, x)

    def _add(self, xs: Any, ys: Any) -> Any:
        return self._map(lambda vs, x, y: vs.add(x, y), xs, ys)

    def _mut_add(self, xs: Any, ys: Any) -> Any:
        return self._map(lambda vs, x, y: vs.mut_add(x, y), xs, ys)

    def _scalar_mul(self, xs: Any, a: Any) -> Any:
        return self._map(lambda vs, x: vs.scalar_mul(x, a), xs)

    def _inner_prod(self, xs: Any, ys: Any) -> Any:
        return sum(self._values(self._map(lambda vs, x, y: vs.inner_prod(x, y), xs, ys)))

    def _covector(self, xs: Any) -> Any:
        return self._map(lambda vs, x: vs.covector(x), xs)

    def _map(self, f: Any, *args: Any) -> Any:
        raise NotImplementedError

    def _values(self, x: Any) -> Any:
        return x

    def _kv_pairs(self, x: Any) -> Iterable[Any]:
        return enumerate(x)

    def with_item(self, xs: Any, idx: Any, x: Any) -> Any:
        """The container with another item (or part)."""
        raise NotImplementedError


class SequenceVSpace(ContainerVSpace):
    __slots__ = ()
    seq_type: Any = None

    def _map(self, f: Any, *args: Any) -> Any:
        return self.seq_type(map(f, self.shape, *args))

    def with_item(self, xs: Any, idx: Any, x: Any) -> Any:
        found = [*xs]
        found[idx] = x
        return self.seq_type(found)


class ListVSpace(SequenceVSpace):
    __slots__ = ()
    seq_type = builtins.list


class TupleVSpace(SequenceVSpace):
    __slots__ = ()
    seq_type = builtins.tuple


class NamedTupleVSpace(SequenceVSpace):
    """Of a namedtuple, whose items are given one by one."""

    __slots__ = ()

    def _map(self, f: Any, *args: Any) -> Any:
        return self.seq_type(*map(f, self.shape, *args))

    def with_item(self, xs: Any, idx: Any, x: Any) -> Any:
        found = [*xs]
        found[idx] = x
        return self.seq_type(*found)


class DictVSpace(ContainerVSpace):
    __slots__ = ()

    def _map(self, f: Any, *args: Any) -> Any:
        return {k: f(vs, *[x[k] for x in args]) for k, vs in self.shape.items()}

    def _values(self, x: Any) -> Any:
        return x.values()

    def _kv_pairs(self, x: Any) -> Iterable[Any]:
        return x.items()  # type: ignore[no-any-return]

    def with_item(self, xs: Any, idx: Any, x: Any) -> Any:
        return xs | {idx: x}


ListVSpace.register(builtins.list)
TupleVSpace.register(builtins.tuple)
DictVSpace.register(builtins.dict)
