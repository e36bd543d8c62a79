"""Bijectors that depend on more than what they map: named arguments go through to the subclass's methods."""

from __future__ import annotations

from typing import Any

from headrace.distributions.bijectors.bijector import Bijector


class ConditionalBijector(Bijector):
    """A bijector whose `_forward` and the others take named arguments."""

    def forward(self, x: Any, name: str = "forward", **condition_kwargs: Any) -> Any:
        return self._call_forward(x, name, **condition_kwargs)

    def inverse(self, y: Any, name: str = "inverse", **condition_kwargs: Any) -> Any:
        return self._call_inverse(y, name, **condition_kwargs)

    def inverse_log_det_jacobian(
        self, y: Any, event_ndims: Any, name: str = "inverse_log_det_jacobian", **condition_kwargs: Any
    ) -> Any:
        return self._call_inverse_log_det_jacobian(y, event_ndims, name, **condition_kwargs)

    def forward_log_det_jacobian(
        self, x: Any, event_ndims: Any, name: str = "forward_log_det_jacobian", **condition_kwargs: Any
    ) -> Any:
        return self._call_forward_log_det_jacobian(x, event_ndims, name, **condition_kwargs)

    # A rule that a subclass leaves out is absent, whatever the arguments: the other way's stands in.
    def _inverse_log_det_jacobian(self, y: Any, **condition_kwargs: Any) -> Any:
        return super()._inverse_log_det_jacobian(y)

    def _forward_log_det_jacobian(self, x: Any, **condition_kwargs: Any) -> Any:
        return super()._forward_log_det_jacobian(x)
