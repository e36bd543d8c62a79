"""Programs with open sizes in words, for people: which sizes are open and equal, and what is demanded.

In: an `OpenRegion`.  Out: its inputs with a letter for each open size, and its guards as comparisons.
"""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_uppercase
from typing import Any

from headrace.codegen.open_region import OpenRegion
from headrace.core.polynomials import Terms
from headrace.core.sizes import Size, Trace

_RELATIONS = {("==", True): "==", ("==", False): "!=", (">=", True): ">=", (">=", False): "<"}
_TURNED = {">=": "<=", "<": ">"}


def shapes(region: OpenRegion) -> str:
    """The shapes of the region's inputs: [A, 784], [A]."""
    trace = region.trace
    shown = ["[" + ", ".join(_size(trace, n) for n in shape) + "]" for shape in region.shapes[:4]]
    values = [v for v in region.values.values() if v.dtype == object]
    shown += ["values " + " ".join(_size(trace, n) for n in v.reshape(-1)[:8].tolist()) for v in values[:2]]
    return ", ".join(shown) + (" ..." if len(region.shapes) > 4 else "")


def numbers(sizes: Sequence[int]) -> str:
    """What the letters are: A=5 B=7."""
    return " ".join(f"{_letter(i)}={n}" for i, n in enumerate(sizes))


def guards(region: OpenRegion) -> list[str]:
    """What sizes must be for the program to be right: A >= 10."""
    trace = region.trace
    found = [_comparison(trace, relation, terms, holds) for (relation, terms), holds in trace.guards.items()]
    if trace.conditions:
        found.append(f"{len(trace.conditions)} answers of oneDNN")
    return found


def _letter(number: int) -> str:
    first, rest = number % len(ascii_uppercase), number // len(ascii_uppercase)
    return ascii_uppercase[first] + (str(rest) if rest else "")


def _size(trace: Trace, n: Any) -> str:
    return polynomial(trace, n.terms) if isinstance(n, Size) else str(n)


def polynomial(trace: Trace, terms: Terms) -> str:
    """2 A B + 1."""
    parts = [
        " ".join([*([] if factor == 1 and monomial else [str(factor)]), *(_atom(trace, a) for a in monomial)])
        for monomial, factor in sorted(terms, key=lambda t: -len(t[0]))
    ]
    return " + ".join(parts) or "0"


def _atom(trace: Trace, number: int) -> str:
    if number in trace.open:
        return _letter(trace.open.index(number))
    made = trace.atoms[number]
    if made.how == "late":
        return f"computed{number}"
    if made.how == "is":
        return f"({polynomial(trace, made.a)})"
    return f"({polynomial(trace, made.a)} // {polynomial(trace, made.b)})"


def _comparison(trace: Trace, relation: str, terms: Terms, holds: bool) -> str:
    left = tuple((m, f) for m, f in terms if f > 0)
    right = tuple((m, -f) for m, f in terms if f < 0)
    word = _RELATIONS[relation, holds]
    if not any(monomial for monomial, _ in left):  # 10 >= A
        left, right, word = right, left, _TURNED.get(word, word)
    return f"{polynomial(trace, left)} {word} {polynomial(trace, right)}"
