"""The order of execution: every array of a region has a `Moment`, at which it is made.

A new moment comes behind all others; `before` and `after` make one right beside another, for what a
pass adds later.  Nothing is renumbered and no list of all moments is kept: a moment is the path to
its place, a tuple that compares as its place does.

    m.before() < m < m.after()      with nothing between, until somebody puts something there
"""

from __future__ import annotations

import itertools

_count = itertools.count(1)  # no lock: `next` is atomic, and regions of all threads may share it
_BEFORE, _AT, _AFTER = 0, 1, 2


class Moment(tuple[int, ...]):
    """A path: a number and _AT; or the path of the moment beside which this one was put, with
    _BEFORE or _AFTER, a number and _AT in the place of its _AT.

    Of two that are put before one moment the second is closer to it, so its number is larger; behind a
    moment it is the other way round, so numbers are negative there.  Each moment that is put beside
    one that was itself put somewhere has a longer path: passes do this two or three deep.
    """

    __slots__ = ()

    @staticmethod
    def new() -> Moment:
        """Behind all others."""
        return Moment((next(_count), _AT))

    def before(self) -> Moment:
        return Moment((*self[:-1], _BEFORE, next(_count), _AT))

    def after(self) -> Moment:
        return Moment((*self[:-1], _AFTER, -next(_count), _AT))

    @property
    def number(self) -> int:
        """Its own, for names; of no meaning for the order."""
        return abs(self[-2])

    def __repr__(self) -> str:
        return f"moment {self.number}"


START = Moment()  # before all others
