"""Where an iteration ends, with the derivative of that point: from the implicit function theorem."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.autograd.core import defvjp, primitive, vspace
from headrace.autograd.differential_operators import make_vjp


@primitive
def fixed_point(
    f: Callable[[Any], Callable[[Any], Any]], a: Any, x0: Any, distance: Callable[[Any, Any], Any], tol: float
) -> Any:
    """x = f(a)(x), from x0 on, up to a distance of `tol` between the last two."""
    step = f(a)
    x, before = step(x0), x0
    while distance(x, before) > tol:
        x, before = step(x), x
    return x


def _fixed_point_vjp(ans: Any, f: Any, a: Any, x0: Any, distance: Any, tol: float) -> Any:
    def back_step(g: Any) -> Any:
        vjp_x, _ = make_vjp(lambda x: f(a)(x))(ans)
        space = vspace(g)
        return lambda u: space.add(vjp_x(u), g)

    def vjp(g: Any) -> Any:
        vjp_a, _ = make_vjp(lambda a: f(a)(ans))(a)
        return vjp_a(fixed_point(back_step, g, vspace(ans).zeros(), distance, tol))

    return vjp


defvjp(fixed_point, None, _fixed_point_vjp, None)
