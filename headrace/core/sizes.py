"""Sizes that are not fixed: numbers that remember how they follow from the sizes of a program's inputs.

A `Size` behaves as the integer that it is now, and knows the polynomial that gives it for other sizes.
Whoever computes with it gets another Size; whoever compares it gets the answer for the numbers of now, and
the `Trace` notes the comparison as a guard, unless it has the same answer for all sizes.  Whoever needs the
bare number (an index, a count of iterations, an element of an array) pins it: the guard then says that it has
this value.  So whatever is made with Sizes is right for all numbers for which the guards hold.  The only ways
to read a Size without a trace are `hint`, for choices that are right either way, and `same`, where a No is
always safe.

Sizes 0 and 1 change what is done, so open ones are at least 2.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np

from headrace.core.polynomials import (
    Terms,
    constant,
    divided,
    evaluate,
    lower_bound,
    minus,
    plus,
    scaled,
    times,
)

if TYPE_CHECKING:
    from headrace.core.size_values import Numbers

LEAST = 2  # of an open size
MOST_BYTES = 1 << 47  # of an array: what an address space holds
_LOWEST = -(1 << 62)  # the lower bound of what may be anything
_REAL = (float, complex, np.floating, np.complexfloating)
Whole = int  # or a Size, which behaves as one: what rules compute with

RELATIONS: dict[str, Callable[[int], bool]] = {"==": lambda d: d == 0, ">=": lambda d: d >= 0}


class Pinned(Exception):
    """A bare number was needed where none may be."""


class Atom(NamedTuple):
    """What monomials are made of."""

    how: str  # "open": an input; "//": a // b; "is": a, with a better lower bound; "late": computed by others
    a: Terms = ()
    b: Terms = ()
    compute: Callable[[Numbers], int] | None = None


class Trace:
    """The sizes of one program: its open ones, what was computed from them, and the guards."""

    def __init__(self) -> None:
        self.atoms: list[Atom] = []
        self.values: list[int] = []  # of the atoms, now
        self.floors: list[int] = []  # a lower bound of each
        self.open: list[int] = []  # the atoms that are inputs
        self.guards: dict[tuple[str, Terms], bool] = {}  # relation of a polynomial to 0 -> whether it holds
        self.pins: list[tuple[Terms, int]] = []
        self.conditions: list[Callable[[Numbers], bool]] = []  # guards that only others can ask
        self.bytes: dict[Terms, None] = {}  # of arrays, which no memory may hold for other sizes
        self._sizes: dict[Terms, Size] = {}
        self._refuses = False
        self.made: dict[Any, Any] = {}  # what others have made with these sizes
        self._derived: dict[Atom, int] = {}  # atoms that are made of others -> their numbers

    def symbol(self, value: int) -> Size:
        """A new open size, which is `value` now."""
        assert value >= LEAST
        number = self._atom(Atom("open"), value, LEAST)
        self.open.append(number)
        return self._single(number)

    def _atom(self, atom: Atom, value: int, floor: int) -> int:
        self.atoms.append(atom)
        self.values.append(value)
        self.floors.append(floor)
        return len(self.atoms) - 1

    def _single(self, number: int) -> Size:
        found = self.size((((number,), 1),))
        assert isinstance(found, Size)
        return found

    def size(self, terms: Terms) -> Size | int:
        """The number with these terms; a plain one where nothing in it is open."""
        if not terms:
            return 0
        if len(terms) == 1 and not terms[0][0]:
            return terms[0][1]
        found = self._sizes.get(terms)
        if found is None:
            found = self._sizes[terms] = Size(self, terms, self.value(terms))
        return found

    def value(self, terms: Terms) -> int:
        """The number of now."""
        return evaluate(terms, self.values)

    def derived(self, atom: Atom, value: int, floor: int) -> Size:
        """What follows from others without being a polynomial of them; the same size for the same atom."""
        number = self._derived.get(atom)
        if number is None:
            number = self._derived[atom] = self._atom(atom, value, floor)
        return self._single(number)

    def late(self, value: int, compute: Callable[[Numbers], int]) -> Size:
        """A number that somebody else computes from the sizes: a library's wish for memory."""
        return self._single(self._atom(Atom("late", compute=compute), value, 0))

    # -- questions -------------------------------------------------------------------------------
    def floor(self, terms: Terms) -> int | None:
        """A lower bound that holds for all sizes; None: none is known."""
        return lower_bound(terms, self.floors)

    def holds(self, relation: str, terms: Terms) -> bool:
        """Whether the polynomial is == 0 or >= 0; noted as a guard where that depends on the sizes."""
        if not terms or (len(terms) == 1 and not terms[0][0]):
            return RELATIONS[relation](terms[0][1] if terms else 0)
        key = relation, terms
        known = self.guards.get(key)
        if known is not None:
            return known
        low = self.floor(terms)
        if relation == ">=":
            if low is not None and low >= 0:
                return True
            if (high := self.floor(scaled(terms, -1))) is not None and high > 0:
                return False
        else:
            if low is not None and low > 0:
                return False
            if (high := self.floor(scaled(terms, -1))) is not None and high > 0:
                return False
            if terms[0][1] < 0:  # n - m == 0 and m - n == 0 are one question
                return self.holds("==", scaled(terms, -1))
        answer = RELATIONS[relation](self.value(terms))
        self.guards[key] = answer
        return answer

    @contextmanager
    def without_pins(self) -> Iterator[None]:
        """Whoever needs a bare number meanwhile gets `Pinned` instead."""
        self._refuses = True
        try:
            yield
        finally:
            self._refuses = False

    def pin(self, terms: Terms) -> int:
        """The number of now, for good."""
        if self._refuses:
            raise Pinned
        value = self.value(terms)
        if not self.holds("==", minus(terms, constant(value))):
            raise AssertionError("a size is not itself")
        self.pins.append((terms, value))
        return value


class Size:
    """An integer that follows from open sizes.  Made by `Trace`, one object for each polynomial."""

    __slots__ = ("number", "terms", "trace", "value")

    def __init__(self, trace: Trace, terms: Terms, value: int) -> None:
        self.trace, self.terms, self.value = trace, terms, value
        self.number = hash((id(trace), terms))

    # -- arithmetic ------------------------------------------------------------------------------
    def _bare(self, other: Any, how: Callable[[Any, Any], Any]) -> Any:
        """With a number that is no integer: computed with the bare number."""
        return how(self.trace.pin(self.terms), other) if isinstance(other, _REAL) else NotImplemented

    def __add__(self, other: Any) -> Any:
        terms = _terms(other)
        if terms is None:
            return self._bare(other, operator.add)
        return self.trace.size(plus(self.terms, terms))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        terms = _terms(other)
        return self._bare(other, operator.sub) if terms is None else self.trace.size(minus(self.terms, terms))

    def __rsub__(self, other: Any) -> Any:
        terms = _terms(other)
        if terms is None:
            return self._bare(other, lambda a, b: b - a)
        return self.trace.size(minus(terms, self.terms))

    def __mul__(self, other: Any) -> Any:
        terms = _terms(other)
        return self._bare(other, operator.mul) if terms is None else self.trace.size(times(self.terms, terms))

    __rmul__ = __mul__

    def __neg__(self) -> Any:
        return self.trace.size(scaled(self.terms, -1))

    def __pos__(self) -> Size:
        return self

    def __abs__(self) -> Any:
        return self if self >= 0 else -self

    def __floordiv__(self, other: Any) -> Any:
        terms = _terms(other)
        return (
            self._bare(other, operator.floordiv)
            if terms is None
            else _quotient(self.trace, self.terms, terms)
        )

    def __rfloordiv__(self, other: Any) -> Any:
        terms = _terms(other)
        if terms is None:
            return self._bare(other, lambda a, b: b // a)
        return _quotient(self.trace, terms, self.terms)

    def __mod__(self, other: Any) -> Any:
        terms = _terms(other)
        if terms is None:
            return self._bare(other, operator.mod)
        return self - _quotient(self.trace, self.terms, terms) * other

    def __rmod__(self, other: Any) -> Any:
        terms = _terms(other)
        if terms is None:
            return self._bare(other, lambda a, b: b % a)
        return other - _quotient(self.trace, terms, self.terms) * self

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    # -- questions -------------------------------------------------------------------------------
    def __eq__(self, other: Any) -> Any:
        if self is other:
            return True
        if type(other) is Size and other.trace is not self.trace:
            return False  # of another program: tables that both are in keep them apart
        terms = _terms(other)
        if terms is None:
            return self._bare(other, operator.eq)
        return self.trace.holds("==", minus(self.terms, terms))

    def __ne__(self, other: Any) -> Any:
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else not equal

    def __ge__(self, other: Any) -> Any:
        terms = _terms(other)
        if terms is None:
            return self._bare(other, operator.ge)
        return self.trace.holds(">=", minus(self.terms, terms))

    def __lt__(self, other: Any) -> Any:
        found = self.__ge__(other)
        return found if found is NotImplemented else not found

    def __le__(self, other: Any) -> Any:
        terms = _terms(other)
        if terms is None:
            return self._bare(other, operator.le)
        return self.trace.holds(">=", minus(terms, self.terms))

    def __gt__(self, other: Any) -> Any:
        found = self.__le__(other)
        return found if found is NotImplemented else not found

    def __bool__(self) -> bool:
        return not self.trace.holds("==", self.terms)

    def __hash__(self) -> int:
        # By the polynomial: two that are equal by chance are two keys, as two of unequal numbers would be.
        return self.number

    # -- the bare number -------------------------------------------------------------------------
    def __index__(self) -> int:
        return self.trace.pin(self.terms)

    __int__ = __index__

    def __float__(self) -> float:
        return float(self.trace.pin(self.terms))

    def __truediv__(self, other: Any) -> Any:
        return float(self) / other

    def __rtruediv__(self, other: Any) -> Any:
        return other / float(self)

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)

    def __repr__(self) -> str:
        """For people: nothing may be decided by it."""
        return f"{self.value}?"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Size belongs to its trace")


def _terms(n: Any) -> Terms | None:
    if type(n) is Size:
        return n.terms
    if type(n) is int or type(n) is bool:
        return constant(int(n))
    try:
        return constant(operator.index(n))
    except TypeError:
        return None


def _quotient(trace: Trace, a: Terms, b: Terms) -> Any:
    """a // b: what divides without a rest, as a polynomial; the rest as an atom."""
    if not b:
        raise ZeroDivisionError("integer division or modulo by zero")
    divisor = trace.value(b)
    if len(b) == 1:
        exact, rest = divided(a, *b[0])
        if not rest:
            return trace.size(exact)
        if exact:
            return trace.size(exact) + _quotient(trace, rest, b)
    if not any(m for m, _ in a) and not any(m for m, _ in b):
        return trace.value(a) // divisor
    if trace.holds("==", b):
        raise ZeroDivisionError("integer division or modulo by zero")
    low = trace.floor(a)
    # 0 <= a < b: the quotient is 0.
    if low is not None and low >= 0 and (room := trace.floor(minus(b, a))) is not None and room > 0:
        return 0
    divisor_floor = trace.floor(b)
    floor = _LOWEST
    if low is not None and low >= 0 and divisor_floor is not None and divisor_floor > 0:
        is_constant = len(b) == 1 and not b[0][0]
        floor = low // divisor if is_constant else 0
    return trace.derived(Atom("//", a, b), trace.value(a) // divisor, floor)


# -- plain numbers and Sizes alike -----------------------------------------------------------------
def note_bytes(n: Any) -> None:
    """An array takes so many, an open number: at other sizes they may be too many."""
    if not any(n.trace.atoms[atom].how == "late" for monomial, _ in n.terms for atom in monomial):
        n.trace.bytes[n.terms] = None


def is_open(n: object) -> bool:
    return type(n) is Size


def whole(n: Any) -> Whole:
    """An integer: a Size as it is, anything else as Python's int."""
    return n if type(n) is Size else int(n)  # type: ignore[return-value]


def is_whole(n: Any) -> bool:
    """Whether it is a known integer, open or not."""
    return type(n) is Size or isinstance(n, int)


def hint(n: Any) -> int:
    """The number of now, without a trace: for choices that are right whatever the number is."""
    return n.value if type(n) is Size else int(n)


def hints(numbers: Iterable[Any]) -> tuple[int, ...]:
    return tuple(n.value if type(n) is Size else int(n) for n in numbers)


def chosen(decide: Callable[..., int], *numbers: Any) -> Whole:
    """A number that is chosen from others: where those are open, anew for other sizes."""
    size = next((n for n in numbers if type(n) is Size), None)
    if size is None:
        return decide(*numbers)
    made = size.trace.made
    found = made.get((decide, numbers))
    if found is None:
        now = decide(*hints(numbers))
        found = made[decide, numbers] = size.trace.late(now, lambda at: decide(*map(at, numbers)))
    return found  # type: ignore[return-value]


def at_least(n: Any, floor: int) -> Whole:
    """The same number, of which the caller knows a lower bound that the polynomial does not tell."""
    return n.trace.derived(Atom("is", n.terms), n.value, floor) if type(n) is Size else n  # type: ignore


def same(a: Any, b: Any) -> bool:
    """Whether two numbers are equal for all sizes: without a guard, so a No may become wrong."""
    return a is b or (type(a) is not Size and type(b) is not Size and bool(a == b))


def all_same(some: Sequence[Any], others: Sequence[Any]) -> bool:
    """Whether two lists of sizes are equal for all sizes, as `same`."""
    return len(some) == len(others) and all(map(same, some, others))


def any_open(numbers: Iterable[Any]) -> bool:
    return any(type(n) is Size for n in numbers)


# -- arrays of sizes -------------------------------------------------------------------------------
def vector(numbers: Sequence[Any], dtype: Any) -> Any:
    """Integers as NumPy's array: of this type, or of objects where some are open."""
    if not any_open(numbers):
        return np.array(numbers, dtype)
    found = np.empty(len(numbers), object)
    found[:] = list(numbers)
    return found


def has_open(value: Any) -> bool:
    """Whether an array holds open sizes."""
    return value.dtype == object and any_open(value.reshape(-1).tolist())


def hinted(value: Any, dtype: Any) -> Any:
    """The array with the numbers of now, in its own type: `hint` of every element."""
    if value.dtype != object:
        return value
    return np.array(hints(value.reshape(-1).tolist())).astype(dtype).reshape(value.shape)


def settled(value: Any, dtype: Any) -> Any:
    """An array of integers in its own type again, where no element is open."""
    return value if has_open(value) else value.astype(dtype, copy=False)
