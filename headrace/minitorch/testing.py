"""Functions that every form of number is tried with: floats here, scalars and tensors in
`MathTestVariable`."""

from __future__ import annotations

from typing import Any

from headrace.minitorch import operators

EDGE = 6 / 5  # where the comparisons jump; not a number that a search for examples would come across

Named = list[tuple[str, Any]]


class MathTest:
    """Of floats and lists.  A name that ends in 2 takes two arguments, one in red a list."""

    @staticmethod
    def neg(a: Any) -> Any:
        return -a

    @staticmethod
    def addConstant(a: Any) -> Any:
        return 5 + a

    @staticmethod
    def square(a: Any) -> Any:
        return a * a

    @staticmethod
    def cube(a: Any) -> Any:
        return a * a * a

    @staticmethod
    def subConstant(a: Any) -> Any:
        return a - 5

    @staticmethod
    def multConstant(a: Any) -> Any:
        return 5 * a

    @staticmethod
    def div(a: Any) -> Any:
        return a / 5

    @staticmethod
    def inv(a: Any) -> Any:
        return operators.inv(a + 3.5)

    @staticmethod
    def sig(a: Any) -> Any:
        return operators.sigmoid(a)

    @staticmethod
    def log(a: Any) -> Any:
        return operators.log(a + 100000)

    @staticmethod
    def relu(a: Any) -> Any:
        return operators.relu(a + 5.5)

    @staticmethod
    def exp(a: Any) -> Any:
        return operators.exp(a - 200)

    @staticmethod
    def explog(a: Any) -> Any:
        return operators.log(a + 100000) + operators.exp(a - 200)

    @staticmethod
    def add2(a: Any, b: Any) -> Any:
        return a + b

    @staticmethod
    def mul2(a: Any, b: Any) -> Any:
        return a * b

    @staticmethod
    def div2(a: Any, b: Any) -> Any:
        return a / (b + 5.5)

    @staticmethod
    def gt2(a: Any, b: Any) -> Any:
        return operators.lt(b, a + EDGE)

    @staticmethod
    def lt2(a: Any, b: Any) -> Any:
        return operators.lt(a + EDGE, b)

    @staticmethod
    def eq2(a: Any, b: Any) -> Any:
        return operators.eq(a, b + 5.5)

    @staticmethod
    def sum_red(a: Any) -> Any:
        return operators.sum(a)

    @staticmethod
    def mean_red(a: Any) -> Any:
        return operators.sum(a) / float(len(a))

    @staticmethod
    def mean_full_red(a: Any) -> Any:
        return operators.sum(a) / float(len(a))

    @staticmethod
    def complex(a: Any) -> Any:
        inner = operators.relu(operators.relu(a * 10 + 7) * 6 + 5)
        return operators.log(operators.sigmoid(inner * 10)) / 50

    @classmethod
    def _tests(cls) -> tuple[Named, Named, Named]:
        """(name, function) of those with one argument, with two, and of reductions."""
        named = [(k, getattr(cls, k)) for k in dir(MathTest) if not k.startswith("_")]
        two = [pair for pair in named if pair[0].endswith("2")]
        reductions = [pair for pair in named if pair[0].endswith("red")]
        return [pair for pair in named if pair not in two and pair not in reductions], two, reductions

    @classmethod
    def _comp_testing(cls) -> tuple[list[Any], list[Any], list[Any]]:
        """(name, function of floats, function of this class), as `_tests` has them."""
        pairs = zip(cls._tests(), MathTest._tests())
        one, two, reductions = (
            [(name, plain, own) for (name, own), (_, plain) in zip(mine, theirs)] for mine, theirs in pairs
        )
        return one, two, reductions


class MathTestVariable(MathTest):
    """Of scalars and tensors."""

    @staticmethod
    def inv(a: Any) -> Any:
        return 1.0 / (a + 3.5)

    @staticmethod
    def sig(a: Any) -> Any:
        return a.sigmoid()

    @staticmethod
    def log(a: Any) -> Any:
        return (a + 100000).log()

    @staticmethod
    def relu(a: Any) -> Any:
        return (a + 5.5).relu()

    @staticmethod
    def exp(a: Any) -> Any:
        return (a - 200).exp()

    @staticmethod
    def explog(a: Any) -> Any:
        return (a + 100000).log() + (a - 200).exp()

    @staticmethod
    def sum_red(a: Any) -> Any:
        return a.sum(0)

    @staticmethod
    def mean_red(a: Any) -> Any:
        return a.mean(0)

    @staticmethod
    def mean_full_red(a: Any) -> Any:
        return a.mean()

    @staticmethod
    def eq2(a: Any, b: Any) -> Any:
        return a == (b + 5.5)

    @staticmethod
    def gt2(a: Any, b: Any) -> Any:
        return a + EDGE > b

    @staticmethod
    def lt2(a: Any, b: Any) -> Any:
        return a + EDGE < b

    @staticmethod
    def complex(a: Any) -> Any:
        return (((a * 10 + 7).relu() * 6 + 5).relu() * 10).sigmoid().log() / 50
