"""Checks of derivatives by finite differences, in random directions."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

from headrace.autograd.core import make_jvp, make_vjp, vspace
from headrace.autograd.wrap_util import get_name, unary_to_nary

TOL, RTOL = 1e-6, 1e-6
EPS = 1e-6


def scalar_close(a: Any, b: Any) -> bool:
    return bool(abs(a - b) < TOL or abs(a - b) / abs(a + b) < RTOL)


def make_numerical_jvp(f: Callable[[Any], Any], x: Any) -> Callable[[Any], Any]:
    """The derivative along a direction, by differences."""
    y = f(x)
    x_vs, y_vs = vspace(x), vspace(y)

    def numerical_jvp(v: Any) -> Any:
        step = x_vs.scalar_mul(v, EPS / 2)
        above, below = f(x_vs.add(x, step)), f(x_vs.add(x, x_vs.scalar_mul(step, -1.0)))
        return y_vs.scalar_mul(y_vs.add(above, y_vs.scalar_mul(below, -1.0)), 1.0 / EPS)

    return numerical_jvp


def check_vjp(f: Callable[[Any], Any], x: Any) -> None:
    """The derivative backwards agrees with differences."""
    vjp, y = make_vjp(f, x)
    jvp = make_numerical_jvp(f, x)
    x_vs, y_vs = vspace(x), vspace(y)
    x_v, y_v = x_vs.randn(), y_vs.randn()
    vjp_y = x_vs.covector(vjp(y_vs.covector(y_v)))
    assert vspace(vjp_y) == x_vs
    got, expected = x_vs.inner_prod(x_v, vjp_y), y_vs.inner_prod(y_v, jvp(x_v))
    assert scalar_close(got, expected), (
        f"Derivative (VJP) check of {get_name(f)} failed with arg {x}:\nanalytic: {got}\nnumeric:  {expected}"
    )


def check_jvp(f: Callable[[Any], Any], x: Any) -> None:
    """The derivative forwards agrees with differences."""
    jvp, numerical = make_jvp(f, x), make_numerical_jvp(f, x)
    v = vspace(x).randn()
    check_equivalent(jvp(v)[1], numerical(v))


def check_equivalent(x: Any, y: Any) -> None:
    """Two values of one space agree in a random direction."""
    x_vs, y_vs = vspace(x), vspace(y)
    assert x_vs == y_vs, f"VSpace mismatch:\nx: {x_vs}\ny: {y_vs}"
    v = x_vs.randn()
    got, expected = x_vs.inner_prod(x, v), x_vs.inner_prod(y, v)
    assert scalar_close(got, expected), f"Value mismatch:\nx: {x}\ny: {y}"


@unary_to_nary
def check_grads(f: Any, x: Any, modes: Any = ("fwd", "rev"), order: int = 2) -> None:
    """
    Checks derivatives of f at x by differences, and derivatives of these up to an order."""
    unknown = [m for m in modes if m not in ("fwd", "rev")]
    if unknown:
        raise ValueError(f"modes are 'fwd' and 'rev', not {unknown[0]!r}")
    for mode, check, along in (("fwd", check_jvp, _forwards), ("rev", check_vjp, _backwards)):
        if mode not in modes:
            continue
        check(f, x)
        if order > 1:
            derivative, direction = along(f, x)
            check_grads(derivative, (0, 1), modes, order=order - 1)(x, direction)


def _forwards(f: Any, x: Any) -> tuple[Any, Any]:
    def jvp(x: Any, v: Any) -> Any:
        return make_jvp(f, x)(v)[1]

    jvp.__name__ = f"jvp_{get_name(f)}"
    return jvp, vspace(x).randn()


def _backwards(f: Any, x: Any) -> tuple[Any, Any]:
    def vjp(x: Any, v: Any) -> Any:
        return make_vjp(f, x)[0](v)

    vjp.__name__ = f"vjp_{get_name(f)}"
    return vjp, vspace(f(x)).randn()


def combo_check(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[..., None]:
    """Checks derivatives for every combination of the given arguments."""
    check = check_grads(fun, *args, **kwargs)

    def combined(*lists: Any, **named: Any) -> None:
        for values in product(*lists):
            for chosen in product(*named.values()):
                check(*values, **dict(zip(named, chosen)))

    return combined
