"""How parameters follow their derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.minitorch.module import Parameter
from headrace.minitorch.scalar import Scalar


class Optimizer:
    def __init__(self, parameters: Sequence[Parameter]) -> None:
        self.parameters = parameters

    def zero_grad(self) -> None:
        """Forget the derivatives of the last step."""
        for p in self.parameters:
            for name in ("derivative", "grad"):
                if getattr(p.value, name, None) is not None:
                    setattr(p.value, name, None)

    def step(self) -> None:
        raise NotImplementedError


def _derivative(value: Any) -> Any:
    """Of a scalar or a tensor; None where there is none."""
    found = getattr(value, "derivative", None)
    return getattr(value, "grad", None) if found is None else found


class SGD(Optimizer):
    """Against the derivative, in proportion."""

    def __init__(self, parameters: Sequence[Parameter], lr: float = 1.0) -> None:
        super().__init__(parameters)
        self.lr = lr

    def step(self) -> None:
        for p in self.parameters:
            d = _derivative(p.value)
            if d is not None:
                p.update(_moved(p.value, d * -self.lr))


def _moved(value: Any, by: Any) -> Any:
    """The value at the end of a step, without the history of the step."""
    if isinstance(value, Scalar):
        return Scalar(value.data + by)
    return (value.detach() + by).detach()


class Adam(Optimizer):
    """Adam (Kingma and Ba, 2014), of parameters that are tensors."""

    def __init__(
        self,
        parameters: Sequence[Parameter],
        lr: float = 1e-3,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-8,
    ) -> None:
        super().__init__(parameters)
        self.lr, self.beta1, self.beta2, self.eps = lr, beta1, beta2, eps
        self._states: dict[int, list[Any]] = {}

    def step(self) -> None:
        for i, p in enumerate(self.parameters):
            if p.value.grad is None:
                continue
            g = p.value.grad.to_numpy()
            state = self._states.setdefault(i, [0, 0.0, 0.0])
            state[0] += 1
            state[1] = self.beta1 * state[1] + (1 - self.beta1) * g
            state[2] = self.beta2 * state[2] + (1 - self.beta2) * g**2
            mean = state[1] / (1 - self.beta1 ** state[0])
            square = state[2] / (1 - self.beta2 ** state[0])
            by = -self.lr * mean / (square**0.5 + self.eps)
            data = type(p.value._tensor)(by.reshape(-1), p.value.shape)
            p.update(_moved(p.value, p.value._new(data)))
