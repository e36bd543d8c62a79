"""Members of a family: what Python says about them."""

from __future__ import annotations

import inspect

import pytest

from headrace.core.families import arguments_of, documented, named, takes


class Base:
    def __init__(self, rank: int, size: int, *, wide: bool = False, **kwargs: int) -> None:
        self.given = (rank, size, wide, kwargs)


class Flat(Base):
    def __init__(self, size: int, **kwargs: int) -> None:
        super().__init__(2, size, **kwargs)


@arguments_of(Base, "rank", size=3)
class Small(Flat):
    """A flat one."""


def test_a_class_takes_what_another_takes() -> None:
    assert Small().given == (2, 3, False, {})
    assert Small(5, wide=True, more=1).given == (2, 5, True, {"more": 1})
    assert list(inspect.signature(Small).parameters) == ["size", "wide", "kwargs"]
    assert inspect.signature(Small).parameters["size"].default == 3
    with pytest.raises(TypeError):
        Small(1, 2)


def test_an_argument_more_stands_before_the_rest() -> None:
    @arguments_of(Flat, name="x")
    class Named(Flat):
        def __init__(self, size: int, name: str, **kwargs: int) -> None:
            super().__init__(size, **kwargs)

    assert list(inspect.signature(Named).parameters) == ["size", "name", "kwargs"]


def test_docstrings_share_a_section() -> None:
    @documented(
        """
        Args:
          x: {what}.
        """,
        what="a number",
    )
    def double(x: int) -> int:
        """Twice.

        And no more.
        """
        return 2 * x

    assert inspect.getdoc(double) == "Twice.\n\nAnd no more.\n\nArgs:\n  x: a number."


def test_a_function_gets_a_name() -> None:
    @named("half", "The half.")
    def function(x: float) -> float:
        return x / 2

    assert (function.__name__, function.__qualname__, function.__doc__) == ("half", "half", "The half.")


def test_a_function_says_itself_what_it_returns() -> None:
    def _sized(size: int = 3, wide: bool = False) -> None:
        """The arguments of the one below."""

    @takes(_sized, first="rank")
    def area(rank: int, size: int, **options: bool) -> list[int]:
        return [rank, size, *options.values()]

    assert area(2, wide=True) == [2, 3, True]
    assert str(inspect.signature(area)) == "(rank, size: 'int' = 3, wide: 'bool' = False) -> 'list[int]'"
