"""A number that remembers what it was made of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np

from headrace.core.modules import late
from headrace.minitorch.autodiff import Context, Variable, backpropagate, central_difference

functions = late("headrace.minitorch.scalar_functions")
_numbers = count(1)


@dataclass
class ScalarHistory:
    """The function that made a scalar, and of what; nothing of one that the user made."""

    last_fn: Any = None
    ctx: Context | None = None
    inputs: Sequence[Any] = ()


class Scalar:
    """Acts like a number, and can tell derivatives."""

    def __init__(self, v: float, back: ScalarHistory | None = None, name: str | None = None) -> None:
        self.unique_id = next(_numbers)
        self.data = float(v)
        self.history: ScalarHistory | None = ScalarHistory() if back is None else back
        self.derivative: float | None = None
        self.name = str(self.unique_id) if name is None else name

    def __repr__(self) -> str:
        return f"Scalar({self.data:f})"

    def __hash__(self) -> int:
        return self.unique_id

    def __bool__(self) -> bool:
        return bool(self.data)

    def __mul__(self, b: Any) -> Scalar:
        return functions.Mul.apply(self, b)  # type: ignore[no-any-return]

    __rmul__ = __mul__

    def __add__(self, b: Any) -> Scalar:
        return functions.Add.apply(self, b)  # type: ignore[no-any-return]

    __radd__ = __add__

    def __neg__(self) -> Scalar:
        return functions.Neg.apply(self)  # type: ignore[no-any-return]

    def __sub__(self, b: Any) -> Scalar:
        return functions.Add.apply(self, -b)  # type: ignore[no-any-return]

    def __rsub__(self, b: Any) -> Scalar:
        return functions.Add.apply(-self, b)  # type: ignore[no-any-return]

    def __truediv__(self, b: Any) -> Scalar:
        return functions.Mul.apply(self, functions.Inv.apply(b))  # type: ignore[no-any-return]

    def __rtruediv__(self, b: Any) -> Scalar:
        return functions.Inv.apply(self) * b  # type: ignore[no-any-return]

    def __lt__(self, b: Any) -> Scalar:
        return functions.LT.apply(self, b)  # type: ignore[no-any-return]

    def __gt__(self, b: Any) -> Scalar:
        return functions.LT.apply(b, self)  # type: ignore[no-any-return]

    def __eq__(self, b: Any) -> Scalar:  # type: ignore[override]
        return functions.EQ.apply(self, b)  # type: ignore[no-any-return]

    def log(self) -> Scalar:
        return functions.Log.apply(self)  # type: ignore[no-any-return]

    def exp(self) -> Scalar:
        return functions.Exp.apply(self)  # type: ignore[no-any-return]

    def sigmoid(self) -> Scalar:
        return functions.Sigmoid.apply(self)  # type: ignore[no-any-return]

    def relu(self) -> Scalar:
        return functions.ReLU.apply(self)  # type: ignore[no-any-return]

    # -- a variable of the chain rule -------------------------------------------------------------
    def accumulate_derivative(self, x: Any) -> None:
        """Add to the derivative of a leaf."""
        if not self.is_leaf():
            raise ValueError("only the derivatives of leaves are kept")
        self.derivative = (self.derivative or 0.0) + x

    def is_leaf(self) -> bool:
        return self.history is not None and self.history.last_fn is None

    def is_constant(self) -> bool:
        return self.history is None

    @property
    def parents(self) -> Iterable[Variable]:
        return self._made_by().inputs

    def chain_rule(self, d_output: Any) -> Iterable[tuple[Variable, Any]]:
        """What it was made of, each with its derivative."""
        history = self._made_by()
        return list(zip(history.inputs, history.last_fn._backward(history.ctx, d_output)))

    def _made_by(self) -> ScalarHistory:
        if self.history is None or self.history.last_fn is None:
            raise ValueError("nothing made this scalar")
        return self.history

    def backward(self, d_output: float | None = None) -> None:
        """Derivatives of this, into the leaves."""
        backpropagate(self, 1.0 if d_output is None else d_output)

    def requires_grad_(self, x: bool) -> None:
        self.history = ScalarHistory() if x else None


def derivative_check(f: Any, *scalars: Scalar) -> None:
    """The derivatives of f agree with differences."""
    f(*scalars).backward()
    for i, x in enumerate(scalars):
        expected = central_difference(f, *scalars, arg=i)
        found = x.derivative
        assert found is not None, f"no derivative by argument {i}"
        np.testing.assert_allclose(
            found, expected.data, 1e-2, 1e-2, err_msg=f"the derivative of {f} by argument {i} at {scalars}"
        )
