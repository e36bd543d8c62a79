"""scipy.integrate.odeint, with the derivative from the adjoint equation, solved backwards in time."""

from __future__ import annotations

from typing import Any

import scipy.integrate

import headrace.autograd.numpy as np
from headrace.autograd.builtins import tuple as traced_tuple
from headrace.autograd.core import defvjp_argnums, primitive
from headrace.autograd.differential_operators import make_vjp
from headrace.autograd.misc.flatten import flatten

odeint = primitive(scipy.integrate.odeint)


def _odeint_vjps(argnums: Any, ans: Any, args: Any, kwargs: Any) -> Any:
    """By the first state, the times and the further arguments (as one structure)."""
    func, _, times = args[:3]
    extra = args[3] if len(args) > 3 else kwargs.get("args", ())
    flat_extra, unflatten = flatten(extra)
    size, count = ans.shape[1], len(times)

    def flat_func(y: Any, t: Any, flat: Any) -> Any:
        return func(y, t, *unflatten(flat))

    def backwards(state: Any, t: Any, flat: Any) -> Any:
        """The adjoint of (y, derivative by y, by the arguments), as time runs back: t is minus the time."""
        y, adjoint = state[:size], state[size : 2 * size]
        vjp, value = make_vjp(flat_func, argnum=(0, 1, 2))(y, -t, flat)
        by_y, by_t, by_flat = vjp(adjoint)
        return np.concatenate((-value, by_y, np.atleast_1d(by_t), by_flat))

    def vjp_all(g: Any) -> tuple[Any, Any, Any]:
        by_y, by_t0 = g[-1, :], 0.0
        by_flat = np.zeros(np.size(flat_extra))
        by_times = []
        for i in range(count - 1, 0, -1):
            at_time = np.dot(func(ans[i, :], times[i], *extra), g[i, :])
            by_times.append(at_time)
            by_t0 = by_t0 - at_time
            state = np.concatenate((ans[i, :], by_y, np.atleast_1d(by_t0), by_flat))
            span = np.array([-times[i], -times[i - 1]])
            state = odeint(backwards, state, span, traced_tuple((flat_extra,)), rtol=1e-9, atol=1e-9)[1]
            by_y = state[size : 2 * size] + g[i - 1, :]
            by_t0, by_flat = state[2 * size], state[2 * size + 1 :]
        return by_y, np.array([*by_times, by_t0])[::-1], unflatten(by_flat)

    def vjps(g: Any) -> Any:
        found = vjp_all(g)
        return tuple(found[n - 1] for n in argnums)

    return vjps


defvjp_argnums(odeint, _odeint_vjps)
