"""Polynomials with whole factors, for what is computed with open sizes (core/sizes.py).

In: `Terms`, the monomials of a polynomial in order, each with its factor, which is not 0.  A monomial is a
product of atoms, which are numbers here: places in a list of what they are.  Out: Terms again, or the number
that they make for given atoms.  A polynomial has one form alone, so two are equal where their Terms are.
"""

from __future__ import annotations

from collections.abc import Sequence

Monomial = tuple[int, ...]  # atoms, in order; (): the constant
Terms = tuple[tuple[Monomial, int], ...]


def constant(n: int) -> Terms:
    return (((), n),) if n else ()


def plus(a: Terms, b: Terms) -> Terms:
    found = dict(a)
    for monomial, factor in b:
        found[monomial] = found.get(monomial, 0) + factor
    return tuple(sorted((m, f) for m, f in found.items() if f))


def minus(a: Terms, b: Terms) -> Terms:
    return plus(a, scaled(b, -1))


def scaled(a: Terms, factor: int) -> Terms:
    return tuple((m, f * factor) for m, f in a)


def times(a: Terms, b: Terms) -> Terms:
    found: dict[Monomial, int] = {}
    for m, f in a:
        for n, g in b:
            key = tuple(sorted(m + n))
            found[key] = found.get(key, 0) + f * g
    return tuple(sorted((m, f) for m, f in found.items() if f))


def divided(a: Terms, monomial: Monomial, factor: int) -> tuple[Terms, Terms]:
    """a as quotient * (factor * monomial) + rest, where the rest has the terms that do not divide."""
    quotient, rest = [], []
    for m, f in a:
        if f % factor == 0 and _covers(m, monomial):
            quotient.append((tuple(_without(m, monomial)), f // factor))
        else:
            rest.append((m, f))
    return tuple(sorted(quotient)), tuple(rest)


def evaluate(terms: Terms, atoms: Sequence[int]) -> int:
    total = 0
    for monomial, factor in terms:
        for atom in monomial:
            factor *= atoms[atom]
        total += factor
    return total


def lower_bound(terms: Terms, floors: Sequence[int]) -> int | None:
    """A number that the polynomial is never below, given one for each atom; None: none is known.

    A negative term is outweighed by a positive one of the same atoms and more: 3 n m - n >= 2 n m.
    """
    total = 0
    positive = {m: f for m, f in terms if f > 0}
    for monomial, factor in terms:
        if factor > 0:
            continue
        if not monomial:
            total += factor
            continue
        cover = next((m for m, f in positive.items() if f > 0 and _covers(m, monomial)), None)
        if cover is None:
            return None
        weight = 1
        for atom in _without(cover, monomial):
            weight *= floors[atom]
        if weight <= 0:
            return None
        needed = -(factor // weight)
        if positive[cover] < needed:
            return None
        positive[cover] -= needed
    for monomial, factor in positive.items():
        for atom in monomial:
            if floors[atom] < 0:
                return None
            factor *= floors[atom]
        total += factor
    return total


def _covers(large: Monomial, small: Monomial) -> bool:
    rest = list(large)
    for atom in small:
        if atom not in rest:
            return False
        rest.remove(atom)
    return True


def _without(large: Monomial, small: Monomial) -> list[int]:
    rest = list(large)
    for atom in small:
        rest.remove(atom)
    return rest
