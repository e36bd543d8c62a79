"""Learning rates as functions of the step.  Objects hold the numbers; called, they make nodes."""

from __future__ import annotations

import inspect
import math as numbers
from dataclasses import dataclass
from typing import Any, ClassVar

from headrace.functions.array import array
from headrace.functions.control.case import case
from headrace.functions.control.cond import cond
from headrace.functions.math import math
from headrace.functions.math.cast import cast
from headrace.functions.random import random
from headrace.functions.values.structure import name_scope
from headrace.graph.tensor import Tensor
from headrace.ops.array.constant import constant
from headrace.ops.declaration.convert import convert_n_to_tensor, convert_to_tensor
from headrace.ops.math import arithmetic, exponential, trigonometry


class LearningRateSchedule:
    """A learning rate that depends on the step."""

    def __call__(self, step: Any) -> Any:
        raise NotImplementedError("Learning rate schedule must override __call__")

    def get_config(self) -> dict[str, Any]:
        raise NotImplementedError("Learning rate schedule must override get_config")

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        return cls(**config)


class _Schedule(LearningRateSchedule):
    """Keeps its arguments under their names: they are the fields of a dataclass."""

    def get_config(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}


def _rate(value: Any) -> Any:
    return convert_to_tensor(value, name="initial_learning_rate")


@dataclass(eq=False, repr=False)
class _DecayByRate(_Schedule):
    """A rate that falls by `decay_rate` per `decay_steps`."""

    _scope: ClassVar[str]

    initial_learning_rate: Any
    decay_steps: Any
    decay_rate: Any
    staircase: bool = False
    name: str | None = None

    def __call__(self, step: Any) -> Any:
        with name_scope(self.name or self._scope) as scope:
            rate = _rate(self.initial_learning_rate)
            decay_steps, decay_rate = (cast(x, rate.dtype) for x in (self.decay_steps, self.decay_rate))
            passed: Any = cast(step, rate.dtype) / decay_steps
            if self.staircase:
                passed = arithmetic.floor(passed)
            return self._decayed(rate, decay_rate, passed, scope)

    def _decayed(self, rate: Any, decay_rate: Any, passed: Any, name: str) -> Any:
        raise NotImplementedError


class ExponentialDecay(_DecayByRate):
    """rate * decay_rate ^ (step / decay_steps)."""

    _scope = "ExponentialDecay"

    def _decayed(self, rate: Any, decay_rate: Any, passed: Any, name: str) -> Any:
        return arithmetic.mul(rate, math.pow_(decay_rate, passed), name=name)


class InverseTimeDecay(_DecayByRate):
    """rate / (1 + decay_rate * step / decay_steps)."""

    _scope = "InverseTimeDecay"

    def _decayed(self, rate: Any, decay_rate: Any, passed: Any, name: str) -> Any:
        one = cast(constant(1), rate.dtype)
        return math.divide(rate, arithmetic.add(one, arithmetic.mul(decay_rate, passed)), name=name)


class PiecewiseConstantDecay(_Schedule):
    """values[i] between boundaries[i - 1] (exclusive) and boundaries[i] (inclusive)."""

    def __init__(self, boundaries: Any, values: Any, name: str | None = None) -> None:
        if len(boundaries) != len(values) - 1:
            raise ValueError("The length of boundaries should be 1 less than the length of values")
        self.boundaries, self.values, self.name = boundaries, values, name

    def __call__(self, step: Any) -> Any:
        with name_scope(self.name or "PiecewiseConstant"):
            boundaries: list[Any] = list(convert_n_to_tensor(self.boundaries))
            values = convert_n_to_tensor(self.values)
            at: Any = convert_to_tensor(step)
            for i, b in enumerate(boundaries):
                if b.dtype.base_dtype is not at.dtype.base_dtype:
                    boundaries[i] = cast(b, at.dtype.base_dtype)
            pairs = [(at <= boundaries[0], lambda: values[0]), (at > boundaries[-1], lambda: values[-1])]
            for low, high, value in zip(boundaries[:-1], boundaries[1:], values[1:-1]):
                pairs.append(((at > low) & (at <= high), _returning(value)))
            return case(pairs, default=lambda: values[0], exclusive=True)


def _returning(value: Tensor) -> Any:
    return lambda: value


@dataclass(eq=False, repr=False)
class PolynomialDecay(_Schedule):
    """From the initial to the end rate along (1 - step / decay_steps) ^ power."""

    initial_learning_rate: Any
    decay_steps: Any
    end_learning_rate: Any = 0.0001
    power: Any = 1.0
    cycle: bool = False
    name: str | None = None

    def __call__(self, step: Any) -> Any:
        with name_scope(self.name or "PolynomialDecay") as scope:
            rate = _rate(self.initial_learning_rate)
            end, power, at, steps = (
                cast(x, rate.dtype) for x in (self.end_learning_rate, self.power, step, self.decay_steps)
            )
            if self.cycle:
                steps = arithmetic.mul(steps, _cycles(at, self.decay_steps))
            else:
                at = arithmetic.minimum(at, self.decay_steps)
            left: Any = 1 - math.divide(at, steps)
            return arithmetic.add(arithmetic.mul(rate - end, math.pow_(left, power)), end, name=scope)


def _cycles(at: Any, steps: Any) -> Any:
    """In which multiple of `steps` a step is; 1 for step 0."""
    return cond(math.equal(at, 0), lambda: 1.0, lambda: arithmetic.ceil(at / steps))


def _half_cosine(fraction: Any) -> Any:
    """From 1 at 0 to 0 at 1."""
    return 0.5 * (1.0 + trigonometry.cos(constant(numbers.pi) * fraction))


@dataclass(eq=False, repr=False)
class CosineDecay(_Schedule):
    """Along half a cosine, from the initial rate to alpha times it."""

    initial_learning_rate: Any
    decay_steps: Any
    alpha: Any = 0.0
    name: str | None = None

    def __call__(self, step: Any) -> Any:
        with name_scope(self.name or "CosineDecay"):
            rate = _rate(self.initial_learning_rate)
            steps, at = (cast(x, rate.dtype) for x in (self.decay_steps, step))
            fraction: Any = arithmetic.minimum(at, steps) / steps
            decayed = (1 - self.alpha) * _half_cosine(fraction) + self.alpha
            return arithmetic.mul(rate, decayed)


@dataclass(eq=False, repr=False)
class CosineDecayRestarts(_Schedule):
    """Half cosines one after the other, each t_mul times as long and m_mul times as high (SGDR)."""

    initial_learning_rate: Any
    first_decay_steps: Any
    t_mul: Any = 2.0
    m_mul: Any = 1.0
    alpha: Any = 0.0
    name: str | None = None

    def __call__(self, step: Any) -> Any:
        with name_scope(self.name or "SGDRDecay") as scope:
            rate = _rate(self.initial_learning_rate)
            steps, alpha, t_mul, m_mul, at = (
                cast(x, rate.dtype)
                for x in (self.first_decay_steps, self.alpha, self.t_mul, self.m_mul, step)
            )
            periods: Any = at / steps

            def equal_periods() -> Any:
                restart: Any = arithmetic.floor(periods)
                return restart, periods - restart

            def growing_periods() -> Any:
                restart: Any = arithmetic.floor(
                    arithmetic.log(1.0 - periods * (1.0 - t_mul)) / arithmetic.log(t_mul)
                )
                before = (1.0 - t_mul**restart) / (1.0 - t_mul)
                return restart, (periods - before) / t_mul**restart

            restart, fraction = cond(math.equal(t_mul, 1.0), equal_periods, growing_periods)
            decayed = m_mul**restart * _half_cosine(fraction)
            return arithmetic.mul(rate, (1 - alpha) * decayed + alpha, name=scope)


@dataclass(eq=False, repr=False)
class LinearCosineDecay(_Schedule):
    """A falling line times a cosine of num_periods periods."""

    initial_learning_rate: Any
    decay_steps: Any
    num_periods: Any = 0.5
    alpha: Any = 0.0
    beta: Any = 0.001
    name: str | None = None

    def _default_name(self) -> str:
        return "LinearCosineDecay"

    def _noise(self, at: Any, line: Any) -> Any:
        return line

    def __call__(self, step: Any) -> Any:
        with name_scope(self.name or self._default_name()) as scope:
            rate = _rate(self.initial_learning_rate)
            steps, periods, alpha, beta, at = (
                cast(x, rate.dtype) for x in (self.decay_steps, self.num_periods, self.alpha, self.beta, step)
            )
            at = arithmetic.minimum(at, steps)
            line = self._noise(at, (steps - at) / steps)
            wave = _half_cosine(2.0 * periods * (at / steps))
            return arithmetic.mul(rate, (alpha + line) * wave + beta, name=scope)


class NoisyLinearCosineDecay(LinearCosineDecay):
    """LinearCosineDecay with noise on the line, whose variance falls with the steps."""

    def __init__(
        self,
        initial_learning_rate: Any,
        decay_steps: int | Tensor,
        initial_variance: Any = 1.0,
        variance_decay: Any = 0.55,
        num_periods: Any = 0.5,
        alpha: Any = 0.0,
        beta: Any = 0.001,
        name: str | None = None,
    ) -> None:
        super().__init__(initial_learning_rate, decay_steps, num_periods, alpha, beta, name)
        self.initial_variance, self.variance_decay = initial_variance, variance_decay

    def _default_name(self) -> str:
        return "NoisyLinearCosineDecay"

    def _noise(self, at: Any, line: Any) -> Any:
        start, power = (cast(x, at.dtype) for x in (self.initial_variance, self.variance_decay))
        deviation = exponential.sqrt(start / math.pow_(1.0 + at, power))
        return line + random.random_normal(array.shape(line), stddev=deviation, dtype=at.dtype)
