"""One bijector after the other: Chain([f, g]) is f(g(x))."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from headrace.distributions.bijectors.bijector import Bijector
from headrace.ops.array.constant import constant


class Chain(Bijector):
    """Bijectors one after the other, the last of them first.

    Args:
      bijectors: a list of them; of none it is the identity.
      validate_args, name: as for every bijector.
    """

    def __init__(
        self,
        bijectors: Sequence[Bijector] | None = None,
        validate_args: bool = False,
        name: str | None = None,
    ) -> None:
        several = tuple(bijectors or ())
        for bijector in several:
            if not bijector._is_injective:
                raise NotImplementedError(
                    f"Invert is not implemented for non-injective bijector ({bijector.name})"
                )
        kinds = list({b.dtype for b in several if b.dtype is not None})
        if len(kinds) > 1:
            raise ValueError(f"incompatible dtypes: {kinds}")
        self._bijectors = several
        names = [b.name for b in several]
        super().__init__(
            graph_parents=[parent for b in several for parent in b.graph_parents],
            forward_min_event_ndims=_least((b.forward_min_event_ndims, _gain(b)) for b in reversed(several)),
            inverse_min_event_ndims=_least((b.inverse_min_event_ndims, -_gain(b)) for b in several),
            is_constant_jacobian=all(b.is_constant_jacobian for b in several),
            validate_args=validate_args,
            dtype=kinds[0] if kinds else None,
            name=name or ("_of_".join(["chain", *names]) if names else "identity"),
        )

    bijectors: Any = property(lambda self: self._bijectors)

    # -- shapes --------------------------------------------------------------------------------
    def _forward_event_shape(self, input_shape: Any) -> Any:
        for b in reversed(self.bijectors):
            input_shape = b.forward_event_shape(input_shape)
        return input_shape

    def _forward_event_shape_tensor(self, input_shape: Any) -> Any:
        for b in reversed(self.bijectors):
            input_shape = b.forward_event_shape_tensor(input_shape)
        return input_shape

    def _inverse_event_shape(self, output_shape: Any) -> Any:
        for b in self.bijectors:
            output_shape = b.inverse_event_shape(output_shape)
        return output_shape

    def _inverse_event_shape_tensor(self, output_shape: Any) -> Any:
        for b in self.bijectors:
            output_shape = b.inverse_event_shape_tensor(output_shape)
        return output_shape

    # -- both ways: each may be given arguments of its own, by its name --------------------------
    def _forward(self, x: Any, **kwargs: Any) -> Any:
        for b in reversed(self.bijectors):
            x = b.forward(x, **kwargs.get(b.name, {}))
        return x

    def _inverse(self, y: Any, **kwargs: Any) -> Any:
        for b in self.bijectors:
            y = b.inverse(y, **kwargs.get(b.name, {}))
        return y

    def _forward_log_det_jacobian(self, x: Any, **kwargs: Any) -> Any:
        total, event_ndims = constant(0.0, dtype=x.dtype, name="fldj"), self.forward_min_event_ndims
        for b in reversed(self.bijectors):
            own = kwargs.get(b.name, {})
            total = total + b.forward_log_det_jacobian(x, event_ndims=event_ndims, **own)
            x, event_ndims = b.forward(x, **own), event_ndims + _gain(b)
        return total

    def _inverse_log_det_jacobian(self, y: Any, **kwargs: Any) -> Any:
        total, event_ndims = constant(0.0, dtype=y.dtype, name="ildj"), self.inverse_min_event_ndims
        for b in self.bijectors:
            own = kwargs.get(b.name, {})
            total = total + b.inverse_log_det_jacobian(y, event_ndims=event_ndims, **own)
            y, event_ndims = b.inverse(y, **own), event_ndims - _gain(b)
        return total


def _gain(bijector: Bijector) -> int:
    """How many dimensions more than its inputs its outputs have."""
    return bijector.inverse_min_event_ndims - bijector.forward_min_event_ndims


def _least(steps: Iterable[tuple[int, int]]) -> int:
    """How many dimensions the first must get, that each may have what it needs."""
    needed, gained = 0, 0
    for needs, gain in steps:
        needed = max(needed, needs - gained)
        gained += gain
    return needed
