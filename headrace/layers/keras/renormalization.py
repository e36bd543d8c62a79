"""Batch renormalisation (Ioffe 2017): training uses the batch's moments, corrected by r and d so that
the result is as if moving averages had been used; and steps of moving averages."""

from __future__ import annotations

from typing import Any

from headrace.functions.array.array import identity, ones_like, zeros_like
from headrace.functions.control.cond import smart_cond
from headrace.functions.math.cast import cast
from headrace.functions.math.elementwise import sqrt
from headrace.functions.values.structure import name_scope
from headrace.graph.defaults import get_default_graph
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.math.arithmetic import maximum, minimum
from headrace.variables.update import assign, assign_sub

_LIMITS = ("rmax", "rmin", "dmax")


def drift(variable: Any, value: Any, momentum: Any) -> Any:
    """Move an average towards `value`: what is left of the difference is `momentum`."""
    with name_scope("AssignMovingAvg") as scope, get_default_graph().colocate_with(variable.op):
        decay = convert_to_tensor(1.0 - momentum, name="decay")
        if decay.dtype != variable.dtype.base_dtype:
            decay = cast(decay, variable.dtype.base_dtype)
        step = (variable - cast(value, variable.dtype.base_dtype)) * decay
        return assign_sub(variable, step, name=scope)


def stored(variable: Any, value: Any) -> Any:
    """Give a variable a new value."""
    with name_scope("AssignNewValue") as scope, get_default_graph().colocate_with(variable.op):
        return assign(variable, value, name=scope)


class Renormalization:
    """The part of BatchNormalization that corrects moments."""

    epsilon: float
    moving_mean_initializer: Any
    moving_variance_initializer: Any
    _average: Any

    def _set_renorm(self, renorm: bool, clipping: Any, momentum: Any) -> None:
        self.renorm = renorm
        if renorm:
            clipping = clipping or {}
            if set(clipping) - set(_LIMITS):
                raise ValueError(f"renorm_clipping {clipping} contains keys not in {list(_LIMITS)}")
            self.renorm_clipping, self.renorm_momentum = clipping, momentum

    def _build_renorm(self, size: Any) -> None:
        if not self.renorm:
            return

        def stddev(*args: Any, **kwargs: Any) -> Any:
            return sqrt(self.moving_variance_initializer(*args, **kwargs))

        self.moving_stddev = self._average("moving_stddev", size, stddev)
        self.renorm_mean = self._average("renorm_mean", size, self.moving_mean_initializer)
        self.renorm_stddev = self._average("renorm_stddev", size, stddev)

    def _renormalised(self, mean: Any, variance: Any, training: Any) -> tuple[Any, ...]:
        """(r, d, mean, variance): corrections, and moments as of after the averages' update."""
        graph = get_default_graph()
        stddev = sqrt(variance + self.epsilon)
        # Early in training the average may be next to nothing.
        average = maximum(self.renorm_stddev, sqrt(self.epsilon))
        r = stddev / average
        d = (mean - self.renorm_mean) / average
        with graph.control_dependencies([r, d]):  # they use averages from before the update
            mean, stddev = identity(mean), identity(stddev)
        r, d = self._clipped(r, d)
        r = smart_cond(training, lambda: r, lambda: ones_like(r))
        d = smart_cond(training, lambda: d, lambda: zeros_like(d))
        updates = [
            self._renorm_update(self.renorm_mean, mean, training),
            self._renorm_update(self.renorm_stddev, stddev, training),
        ]
        with graph.control_dependencies(updates):
            return r, d, identity(mean), identity(variance)

    def _clipped(self, r: Any, d: Any) -> tuple[Any, Any]:
        limits = self.renorm_clipping
        if limits.get("rmin") is not None:
            r = maximum(r, limits["rmin"])
        if limits.get("rmax") is not None:
            r = minimum(r, limits["rmax"])
        if limits.get("dmax") is not None:
            d = minimum(maximum(d, -limits["dmax"]), limits["dmax"])
        return r, d

    def _renorm_update(self, variable: Any, value: Any, training: Any) -> Any:
        value = identity(value)
        return smart_cond(
            training, lambda: drift(variable, value, self.renorm_momentum), lambda: identity(variable)
        )
