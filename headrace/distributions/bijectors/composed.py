"""Bijectors of other bijectors or of functions: a chain of them, one turned round, one of given functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.distributions.bijectors.bijector import Bijector


class Invert(Bijector):
    """The bijector that takes y back to x.

    Args:
      bijector: the one that is turned round.
      validate_args, name: as for every bijector.
    """

    def __init__(self, bijector: Bijector, validate_args: bool = False, name: str | None = None) -> None:
        if not bijector._is_injective:
            raise NotImplementedError("Invert is not implemented for non-injective bijectors.")
        self._bijector = bijector
        super().__init__(
            graph_parents=bijector.graph_parents,
            forward_min_event_ndims=bijector.inverse_min_event_ndims,
            inverse_min_event_ndims=bijector.forward_min_event_ndims,
            is_constant_jacobian=bijector.is_constant_jacobian,
            validate_args=validate_args,
            dtype=bijector.dtype,
            name=name or "_".join(["invert", bijector.name]),
        )

    bijector: Any = property(lambda self: self._bijector)

    def _forward(self, x: Any, **kwargs: Any) -> Any:
        return self.bijector._inverse(x, **kwargs)

    def _inverse(self, y: Any, **kwargs: Any) -> Any:
        return self.bijector._forward(y, **kwargs)

    def _forward_log_det_jacobian(self, x: Any, **kwargs: Any) -> Any:
        return self.bijector._inverse_log_det_jacobian(x, **kwargs)

    def _inverse_log_det_jacobian(self, y: Any, **kwargs: Any) -> Any:
        return self.bijector._forward_log_det_jacobian(y, **kwargs)

    def _forward_event_shape(self, input_shape: Any) -> Any:
        return self.bijector._inverse_event_shape(input_shape)

    def _forward_event_shape_tensor(self, input_shape: Any) -> Any:
        return self.bijector._inverse_event_shape_tensor(input_shape)

    def _inverse_event_shape(self, output_shape: Any) -> Any:
        return self.bijector._forward_event_shape(output_shape)

    def _inverse_event_shape_tensor(self, output_shape: Any) -> Any:
        return self.bijector._forward_event_shape_tensor(output_shape)


class Inline(Bijector):
    """A bijector of functions.

    Args:
      forward_fn, inverse_fn: x to y, and back.
      inverse_log_det_jacobian_fn, forward_log_det_jacobian_fn: how each stretches; one of them is enough.
      forward_event_shape_fn, forward_event_shape_tensor_fn: shapes of x to those of y, if they differ.
      inverse_event_shape_fn, inverse_event_shape_tensor_fn: and back.
      is_constant_jacobian: the stretch is the same everywhere.
      validate_args, name: as for every bijector.
      forward_min_event_ndims, inverse_min_event_ndims: how many dimensions the functions see as one event.
    """

    def __init__(
        self,
        forward_fn: Callable[..., Any] | None = None,
        inverse_fn: Callable[..., Any] | None = None,
        inverse_log_det_jacobian_fn: Callable[..., Any] | None = None,
        forward_log_det_jacobian_fn: Callable[..., Any] | None = None,
        forward_event_shape_fn: Callable[..., Any] | None = None,
        forward_event_shape_tensor_fn: Callable[..., Any] | None = None,
        inverse_event_shape_fn: Callable[..., Any] | None = None,
        inverse_event_shape_tensor_fn: Callable[..., Any] | None = None,
        is_constant_jacobian: bool = False,
        validate_args: bool = False,
        forward_min_event_ndims: int | None = None,
        inverse_min_event_ndims: int | None = None,
        name: str = "inline",
    ) -> None:
        super().__init__(
            forward_min_event_ndims=forward_min_event_ndims,
            inverse_min_event_ndims=inverse_min_event_ndims,
            is_constant_jacobian=is_constant_jacobian,
            validate_args=validate_args,
            name=name,
        )
        self._functions = {
            "forward": forward_fn,
            "inverse": inverse_fn,
            "inverse_log_det_jacobian": inverse_log_det_jacobian_fn,
            "forward_log_det_jacobian": forward_log_det_jacobian_fn,
        }
        self._shapes = {
            "forward_event_shape": forward_event_shape_fn,
            "forward_event_shape_tensor": forward_event_shape_tensor_fn,
            "inverse_event_shape": inverse_event_shape_fn,
            "inverse_event_shape_tensor": inverse_event_shape_tensor_fn,
        }

    def _of(self, what: str, x: Any, kwargs: Any) -> Any:
        function = self._functions[what]
        if not callable(function):
            raise NotImplementedError(f"{what}_fn is not a callable function.")
        return function(x, **kwargs)

    def _shape_of(self, what: str, shape: Any) -> Any:
        function = self._shapes[what]
        return shape if function is None else function(shape)

    def _forward(self, x: Any, **kwargs: Any) -> Any:
        return self._of("forward", x, kwargs)

    def _inverse(self, y: Any, **kwargs: Any) -> Any:
        return self._of("inverse", y, kwargs)

    def _inverse_log_det_jacobian(self, y: Any, **kwargs: Any) -> Any:
        return self._of("inverse_log_det_jacobian", y, kwargs)

    def _forward_log_det_jacobian(self, x: Any, **kwargs: Any) -> Any:
        return self._of("forward_log_det_jacobian", x, kwargs)

    def _forward_event_shape(self, input_shape: Any) -> Any:
        return self._shape_of("forward_event_shape", input_shape)

    def _forward_event_shape_tensor(self, input_shape: Any) -> Any:
        return self._shape_of("forward_event_shape_tensor", input_shape)

    def _inverse_event_shape(self, output_shape: Any) -> Any:
        return self._shape_of("inverse_event_shape", output_shape)

    def _inverse_event_shape_tensor(self, output_shape: Any) -> Any:
        return self._shape_of("inverse_event_shape_tensor", output_shape)
