"""The chain rule over whatever remembers what it was made of: scalars and tensors alike."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol


def central_difference(f: Any, *vals: Any, arg: int = 0, epsilon: float = 1e-6) -> Any:
    """An estimate of the derivative of f by one argument: (f(x + e) - f(x - e)) / 2e."""
    above, below = list(vals), list(vals)
    above[arg] = vals[arg] + epsilon
    below[arg] = vals[arg] - epsilon
    return (f(*above) - f(*below)) / (2 * epsilon)


class Variable(Protocol):
    """What the chain rule needs of a value."""

    def accumulate_derivative(self, x: Any) -> None: ...

    @property
    def unique_id(self) -> int: ...

    def is_leaf(self) -> bool: ...

    def is_constant(self) -> bool: ...

    @property
    def parents(self) -> Iterable[Variable]: ...

    def chain_rule(self, d_output: Any) -> Iterable[tuple[Variable, Any]]: ...


def topological_sort(variable: Variable) -> Iterable[Variable]:
    """All variables that this one was made of, each after its users.  Constants are left out."""
    order: list[Variable] = []
    seen: set[int] = set()
    stack: list[tuple[Variable, bool]] = [(variable, False)]
    while stack:
        found, are_parents_done = stack.pop()
        if are_parents_done:
            order.append(found)
        elif found.unique_id not in seen and not found.is_constant():
            seen.add(found.unique_id)
            stack.append((found, True))
            if not found.is_leaf():
                stack.extend((parent, False) for parent in found.parents)
    return order[::-1]


def backpropagate(variable: Variable, deriv: Any) -> None:
    """Derivatives into every leaf that the variable was made of."""
    derivatives = {variable.unique_id: deriv}
    for found in topological_sort(variable):
        d_output = derivatives.pop(found.unique_id, None)
        if d_output is None:
            continue
        if found.is_leaf():
            found.accumulate_derivative(d_output)
            continue
        for parent, d in found.chain_rule(d_output):
            if not parent.is_constant():
                before = derivatives.get(parent.unique_id)
                derivatives[parent.unique_id] = d if before is None else before + d


@dataclass
class Context:
    """What the way forward leaves for the way back."""

    no_grad: bool = False
    saved_values: tuple[Any, ...] = ()

    def save_for_backward(self, *values: Any) -> None:
        if not self.no_grad:
            self.saved_values = values

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        return self.saved_values


def wrap_tuple(x: Any) -> tuple[Any, ...]:
    """One value, or several: always several."""
    return x if isinstance(x, tuple) else (x,)
