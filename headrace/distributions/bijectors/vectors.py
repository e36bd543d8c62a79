"""Bijectors of vectors: permuted, or put onto the simplex."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core.shapes import Shape
from headrace.distributions.bijectors.bijector import Bijector
from headrace.functions.array.array import get_static_value, shape, zeros_like
from headrace.functions.array.checks import assert_equal, assert_greater
from headrace.functions.array.indexing import gather
from headrace.functions.array.sort import sort
from headrace.functions.array.stacking import concat
from headrace.functions.control.grouping import with_dependencies
from headrace.functions.math.math import range_
from headrace.functions.math.reduce import reduce_logsumexp, reduce_sum
from headrace.functions.nn.softmax import softmax
from headrace.functions.platform.scopes import name_scope
from headrace.functions.values.conversion import convert_to_tensor
from headrace.ops.array.constant import constant
from headrace.ops.array.transpose import invert_permutation
from headrace.ops.math.arithmetic import log
from headrace.ops.nn.activation import softplus

_EACH_ONCE = "Permutation over `d` must contain exactly one of each of `{0, 1, ..., d}`."


class Permute(Bijector):
    """y[..., i] = x[..., permutation[i]].

    Args:
      permutation: a vector of integers, each of 0 to d once.
      validate_args: check this when the graph runs, where it is not known before.
      name: prefix of the names of nodes.
    """

    def __init__(self, permutation: Any, validate_args: bool = False, name: str | None = None) -> None:
        with name_scope(name, "permute", values=[permutation]):
            given = convert_to_tensor(permutation, name="permutation")
            if not given.dtype.is_integer:
                raise TypeError(f"permutation.dtype ({given.dtype.name}) should be `int`-like.")
            known = get_static_value(given)
            if known is not None and set(known.tolist()) != set(range(known.size)):
                raise ValueError(_EACH_ONCE)
            if known is None and validate_args:
                check = assert_equal(sort(given), range_(shape(given)[-1]), message=_EACH_ONCE)
                given = with_dependencies([check], given)
            self._permutation = given
            super().__init__(
                forward_min_event_ndims=1,
                is_constant_jacobian=True,
                validate_args=validate_args,
                name=name or "permute",
            )

    permutation: Any = property(lambda self: self._permutation)

    def _forward(self, x: Any) -> Any:
        return gather(x, self.permutation, axis=-1)

    def _inverse(self, y: Any) -> Any:
        return gather(y, invert_permutation(self.permutation), axis=-1)

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        return constant(0.0, dtype=y.dtype.base_dtype)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return constant(0.0, dtype=x.dtype.base_dtype)


class SoftmaxCentered(Bijector):
    """y = softmax([x, 0]): d numbers of any size become d + 1 positive ones whose sum is 1."""

    def __init__(self, validate_args: bool = False, name: str = "softmax_centered") -> None:
        super().__init__(forward_min_event_ndims=1, validate_args=validate_args, name=name)

    def _forward_event_shape(self, input_shape: Any) -> Any:
        return _longer(input_shape, 1)

    def _forward_event_shape_tensor(self, input_shape: Any) -> Any:
        return input_shape[-1:] + 1

    def _inverse_event_shape(self, output_shape: Any) -> Any:
        made = _longer(Shape(output_shape), -1)
        if made.rank is not None and made.as_list()[-1] == 0:
            raise ValueError("output_shape[-1] = 1 <= 1")
        return made

    def _inverse_event_shape_tensor(self, output_shape: Any) -> Any:
        if self.validate_args:
            message = "Need last dimension greater than 1."
            check = assert_greater(output_shape[-1], np.int32(1), message=message)
            output_shape = with_dependencies([check], output_shape)
        return output_shape[-1:] - 1

    def _forward(self, x: Any) -> Any:
        return softmax(concat([x, zeros_like(x[..., :1])], -1))

    def _inverse(self, y: Any) -> Any:
        x = log(y)
        return x[..., :-1] - x[..., -1:]

    # The matrix of slopes is diag(y) - y y' of the first d elements, whose determinant is the product of all.
    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        return -reduce_sum(log(y), axis=-1)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        norm = softplus(reduce_logsumexp(x, axis=-1, keepdims=True))
        return reduce_sum(x - norm, axis=-1) - norm[..., 0]


def _longer(known: Shape, by: int) -> Shape:
    """The shape of one event, by so many elements longer."""
    last = known.as_list()[-1] if known.rank else None
    return known if last is None else Shape([last + by])
