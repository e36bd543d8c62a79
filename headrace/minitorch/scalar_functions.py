"""Functions of scalars: forward in numbers, backward in derivatives."""

from __future__ import annotations

from typing import Any

from headrace.minitorch import operators
from headrace.minitorch.autodiff import Context, wrap_tuple
from headrace.minitorch.scalar import Scalar, ScalarHistory


class ScalarFunction:
    """`forward(ctx, *numbers)` is the value; `backward(ctx, d)` what d of it is in derivatives of the
    numbers."""

    @classmethod
    def _backward(cls, ctx: Context, d_out: float) -> tuple[float, ...]:
        return wrap_tuple(cls.backward(ctx, d_out))  # type: ignore[attr-defined]

    @classmethod
    def _forward(cls, ctx: Context, *inps: float) -> float:
        return cls.forward(ctx, *inps)  # type: ignore[attr-defined, no-any-return]

    @classmethod
    def apply(cls, *vals: Any) -> Scalar:
        scalars = [v if isinstance(v, Scalar) else Scalar(v) for v in vals]
        ctx = Context(False)
        c = cls._forward(ctx, *(s.data for s in scalars))
        if not isinstance(c, (float, int)):
            raise TypeError(f"{cls.__name__}.forward gave {type(c).__name__}, not a number")
        return Scalar(c, ScalarHistory(cls, ctx, scalars))


class Add(ScalarFunction):
    @staticmethod
    def forward(ctx: Context, a: float, b: float) -> float:
        return a + b

    @staticmethod
    def backward(ctx: Context, d_output: float) -> tuple[float, ...]:
        return d_output, d_output


class Mul(ScalarFunction):
    @staticmethod
    def forward(ctx: Context, a: float, b: float) -> float:
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx: Context, d_output: float) -> tuple[float, ...]:
        a, b = ctx.saved_values
        return d_output * b, d_output * a


class Neg(ScalarFunction):
    @staticmethod
    def forward(ctx: Context, a: float) -> float:
        return -a

    @staticmethod
    def backward(ctx: Context, d_output: float) -> float:
        return -d_output


class Inv(ScalarFunction):
    @staticmethod
    def forward(ctx: Context, a: float) -> float:
        ctx.save_for_backward(a)
        return operators.inv(a)

    @staticmethod
    def backward(ctx: Context, d_output: float) -> float:
        (a,) = ctx.saved_values
        return operators.inv_back(a, d_output)


class Log(ScalarFunction):
    @staticmethod
    def forward(ctx: Context, a: float) -> float:
        ctx.save_for_backward(a)
        return operators.log(a)

    @staticmethod
    def backward(ctx: Context, d_output: float) -> float:
        (a,) = ctx.saved_values
        return operators.log_back(a, d_output)


class Exp(ScalarFunction):
    @staticmethod
    def forward(ctx: Context, a: float) -> float:
        found = operators.exp(a)
        ctx.save_for_backward(found)
        return found

    @staticmethod
    def backward(ctx: Context, d_output: float) -> float:
        (found,) = ctx.saved_values
        return float(d_output * found)


class Sigmoid(ScalarFunction):
    @staticmethod
    def forward(ctx: Context, a: float) -> float:
        found = operators.sigmoid(a)
        ctx.save_for_backward(found)
        return found

    @staticmethod
    def backward(ctx: Context, d_output: float) -> float:
        (found,) = ctx.saved_values
        return float(d_output * found * (1.0 - found))


class ReLU(ScalarFunction):
    @staticmethod
    def forward(ctx: Context, a: float) -> float:
        ctx.save_for_backward(a)
        return operators.relu(a)

    @staticmethod
    def backward(ctx: Context, d_output: float) -> float:
        (a,) = ctx.saved_values
        return operators.relu_back(a, d_output)


class LT(ScalarFunction):
    """Flat wherever it has a derivative."""

    @staticmethod
    def forward(ctx: Context, a: float, b: float) -> float:
        return operators.lt(a, b)

    @staticmethod
    def backward(ctx: Context, d_output: float) -> tuple[float, ...]:
        return 0.0, 0.0


class EQ(ScalarFunction):
    """Flat wherever it has a derivative."""

    @staticmethod
    def forward(ctx: Context, a: float, b: float) -> float:
        return operators.eq(a, b)

    @staticmethod
    def backward(ctx: Context, d_output: float) -> tuple[float, ...]:
        return 0.0, 0.0
