"""Many open sizes evaluated at once.

In: polynomials (core/polynomials.py), all of one trace, and the numbers of its atoms.  Out: their values.
NumPy does it in 64 bits; where a product could be larger, Python does, with numbers of any length.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from headrace.core.polynomials import Terms

SAFE = float(1 << 61)  # below it no sum of 64 bits is wrong


class Table:
    """Polynomials, in a form that NumPy evaluates: each is a sum of multiples of products of atoms."""

    def __init__(self, many: Sequence[Terms]) -> None:
        self.many = list(many)
        products: dict[tuple[int, ...], int] = {}
        which: list[int] = []
        factors: list[int] = []
        starts: list[int] = []
        for terms in self.many:
            starts.append(len(which))
            for monomial, factor in terms:
                which.append(products.setdefault(monomial, len(products)))
                factors.append(factor)
        self.atoms = sorted({atom for monomial in products for atom in monomial})
        place = {atom: i for i, atom in enumerate(self.atoms)}
        one = len(self.atoms)  # the number of an atom that is always 1
        widest = max(map(len, products), default=0)
        rows = [[place[a] for a in m] + [one] * (widest - len(m)) for m in products]
        self._products = np.array(rows, np.intp).reshape(len(products), widest)
        self._which, self._starts = np.array(which, np.intp), np.array(starts, np.intp)
        self.is_small = all(abs(f) < 1 << 61 for f in factors)
        self._factors = np.array(factors if self.is_small else [0] * len(factors), np.int64)
        self._sizes = np.abs(self._factors).astype(np.float64)

    def values(self, atom: Callable[[int], int], exactly: Callable[[Terms], int]) -> list[int]:
        """`atom` gives the value of one, `exactly` that of a polynomial."""
        if not self.many:
            return []
        numbers = [atom(a) for a in self.atoms]
        if self.is_small and all(-SAFE < n < SAFE for n in numbers):
            rough = np.abs(np.array([*numbers, 1], np.float64))[self._products].prod(axis=1)
            if float(np.add.reduceat(rough[self._which] * self._sizes, self._starts).max()) < SAFE:
                exact = np.array([*numbers, 1], np.int64)[self._products].prod(axis=1)
                found: NDArray[np.int64] = np.add.reduceat(exact[self._which] * self._factors, self._starts)
                made: list[int] = found.tolist()
                return made
        return [exactly(terms) for terms in self.many]
