"""Bijectors of numbers, each by itself: y and x have one shape, and a stretch for every element."""

from __future__ import annotations

from typing import Any

from headrace.distributions.bijectors.bijector import Bijector
from headrace.distributions.logarithms import softplus_inverse
from headrace.functions.array.array import ones_like, zeros
from headrace.functions.array.checks import (
    assert_less,
    assert_non_negative,
    assert_none_equal,
    assert_positive,
)
from headrace.functions.control.grouping import with_dependencies
from headrace.functions.math.elementwise import abs_, sqrt, square
from headrace.functions.math.math import sigmoid
from headrace.functions.platform.scopes import name_scope
from headrace.functions.values.conversion import convert_to_tensor
from headrace.ops.array.constant import constant
from headrace.ops.array.source import identity
from headrace.ops.math.arithmetic import exp, expm1, log, log1p
from headrace.ops.nn.activation import softplus, softsign


class _Elementwise(Bijector):
    """Of numbers, without parameters."""

    def __init__(self, validate_args: bool, name: str, is_constant_jacobian: bool = False) -> None:
        super().__init__(
            forward_min_event_ndims=0,
            is_constant_jacobian=is_constant_jacobian,
            validate_args=validate_args,
            name=name,
        )

    def _checked(self, check: Any, x: Any, *limits: Any, message: str) -> Any:
        """The tensor, behind a check if checks are wanted."""
        return with_dependencies([check(x, *limits, message=message)], x) if self.validate_args else x


class Identity(_Elementwise):
    """y = x."""

    def __init__(self, validate_args: bool = False, name: str = "identity") -> None:
        super().__init__(validate_args, name, is_constant_jacobian=True)

    def _forward(self, x: Any) -> Any:
        return x

    def _inverse(self, y: Any) -> Any:
        return y

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        return constant(0.0, dtype=y.dtype)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return constant(0.0, dtype=x.dtype)


class PowerTransform(_Elementwise):
    """y = (1 + power x) ** (1 / power), which becomes exp(x) as power becomes 0.

    Args:
      power: a number that is not negative.
      validate_args, name: as for every bijector.
    """

    def __init__(
        self, power: float = 0.0, validate_args: bool = False, name: str = "power_transform"
    ) -> None:
        if power is None or power < 0:
            raise ValueError("`power` must be a non-negative TensorFlow constant.")
        self._power = power
        super().__init__(validate_args, name)

    power: Any = property(lambda self: self._power)

    def _forward(self, x: Any) -> Any:
        if self.validate_args and self.power != 0:
            message = f"Forward transformation input must be at least {-1.0 / self.power}."
            x = with_dependencies([assert_non_negative(1.0 + x * self.power, message=message)], x)
        return exp(x) if self.power == 0 else exp(log1p(x * self.power) / self.power)

    def _inverse(self, y: Any) -> Any:
        y = self._above_zero(y)
        return log(y) if self.power == 0 else expm1(log(y) * self.power) / self.power

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        return (self.power - 1.0) * log(self._above_zero(y))

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return x if self.power == 0 else (1.0 / self.power - 1.0) * log1p(x * self.power)

    def _above_zero(self, y: Any) -> Any:
        return self._checked(
            assert_positive, y, message="Inverse transformation input must be greater than 0."
        )


class Exp(PowerTransform):
    """y = exp(x)."""

    def __init__(self, validate_args: bool = False, name: str = "exp") -> None:
        super().__init__(0.0, validate_args, name)


class Sigmoid(_Elementwise):
    """y = 1 / (1 + exp(-x))."""

    def __init__(self, validate_args: bool = False, name: str = "sigmoid") -> None:
        super().__init__(validate_args, name)

    def _forward(self, x: Any) -> Any:
        return sigmoid(x)

    def _inverse(self, y: Any) -> Any:
        return log(y) - log1p(-y)

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        return -log1p(-y) - log(y)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return -softplus(-x) - softplus(x)


class Softplus(_Elementwise):
    """y = c log(1 + exp(x / c)).

    Args:
      hinge_softness: c, not zero; 1 if it is not given.
      validate_args, name: as for every bijector.
    """

    def __init__(
        self, hinge_softness: Any = None, validate_args: bool = False, name: str = "softplus"
    ) -> None:
        with name_scope(name, values=[hinge_softness]):
            softness = None
            if hinge_softness is not None:
                softness = convert_to_tensor(hinge_softness, name="hinge_softness")
                if validate_args:
                    message = "hinge_softness must be non-zero"
                    zero = constant(0, dtype=softness.dtype)
                    softness = with_dependencies(
                        [assert_none_equal(softness, zero, message=message)], softness
                    )
        self._hinge_softness = softness
        super().__init__(validate_args, name)

    hinge_softness: Any = property(lambda self: self._hinge_softness)

    def _over(self, x: Any) -> Any:
        return x if self.hinge_softness is None else x / self.hinge_softness

    def _forward(self, x: Any) -> Any:
        y = softplus(self._over(x))
        return y if self.hinge_softness is None else self.hinge_softness * y

    def _inverse(self, y: Any) -> Any:
        x = softplus_inverse(self._over(y))
        return x if self.hinge_softness is None else self.hinge_softness * x

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        return -log(-expm1(-self._over(y)))

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return -softplus(-self._over(x))


class Softsign(_Elementwise):
    """y = x / (1 + |x|)."""

    def __init__(self, validate_args: bool = False, name: str = "softsign") -> None:
        super().__init__(validate_args, name)

    def _forward(self, x: Any) -> Any:
        return softsign(x)

    def _inverse(self, y: Any) -> Any:
        y = self._inside(y)
        return y / (1.0 - abs_(y))

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return -2.0 * log1p(abs_(x))

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        return -2.0 * log1p(-abs_(self._inside(y)))

    def _inside(self, y: Any) -> Any:
        if not self.validate_args:
            return y
        above = assert_less(-ones_like(y), y, message="Inverse transformation input must be greater than -1.")
        below = assert_less(y, ones_like(y), message="Inverse transformation input must be less than 1.")
        return with_dependencies([above, below], y)


class Square(_Elementwise):
    """y = x ** 2, of numbers that are not negative."""

    def __init__(self, validate_args: bool = False, name: str = "square") -> None:
        super().__init__(validate_args, name)

    def _forward(self, x: Any) -> Any:
        return square(self._whole(x, "Forward transformation input must be non-negative."))

    def _inverse(self, y: Any) -> Any:
        return sqrt(self._whole(y, "Inverse transformation input must be non-negative."))

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        x = self._whole(x, "Forward transformation input must be non-negative.")
        return constant(0.6931471805599453, x.dtype) + log(x)

    def _whole(self, x: Any, message: str) -> Any:
        return self._checked(assert_non_negative, x, message=message)


class AbsoluteValue(_Elementwise):
    """y = |x|, whose inverse is both -y and y."""

    def __init__(self, validate_args: bool = False, name: str = "absolute_value") -> None:
        super().__init__(validate_args, name, is_constant_jacobian=True)

    @property
    def _is_injective(self) -> bool:
        return False

    def _forward(self, x: Any) -> Any:
        return abs_(x)

    def _inverse(self, y: Any) -> Any:
        y = self._checked(assert_non_negative, y, message="Argument y was negative")
        return -y, y

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        zero = zeros([], dtype=y.dtype)
        if self.validate_args:
            zero = with_dependencies([assert_non_negative(y, message="Argument y was negative")], zero)
        return zero, zero


class AffineScalar(_Elementwise):
    """y = scale x + shift.

    Args:
      shift, scale: tensors; nothing is added, or multiplied with, where they are not given.
      validate_args: check that no scale is zero.
      name: prefix of the names of nodes.
    """

    def __init__(
        self, shift: Any = None, scale: Any = None, validate_args: bool = False, name: str = "affine_scalar"
    ) -> None:
        with name_scope(name, values=[scale, shift]):
            self._shift = None if shift is None else convert_to_tensor(shift, name="shift")
            self._scale = None if scale is None else convert_to_tensor(scale, name="scale")
            if validate_args and self._scale is not None:
                zero = constant(0, dtype=self._scale.dtype)
                self._scale = with_dependencies([assert_none_equal(self._scale, zero)], identity(self._scale))
        super().__init__(validate_args, name, is_constant_jacobian=True)

    shift: Any = property(lambda self: self._shift)
    scale: Any = property(lambda self: self._scale)

    def _forward(self, x: Any) -> Any:
        y = identity(x) if self.scale is None else x * self.scale
        return y if self.shift is None else y + self.shift

    def _inverse(self, y: Any) -> Any:
        x = identity(y) if self.shift is None else y - self.shift
        return x if self.scale is None else x / self.scale

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return constant(0.0, dtype=x.dtype) if self.scale is None else log(abs_(self.scale))
