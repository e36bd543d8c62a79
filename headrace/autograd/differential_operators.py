"""Operators on functions: in: a function of Python over NumPy; out: the function of its derivative."""

from __future__ import annotations

import inspect
import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import headrace.autograd.numpy as np
from headrace.autograd.builtins import tuple as atuple
from headrace.autograd.core import defvjp_argnum, primitive, vspace
from headrace.autograd.core import make_jvp as _make_jvp
from headrace.autograd.core import make_vjp as _make_vjp
from headrace.autograd.wrap_util import unary_to_nary

Function = Callable[..., Any]


@unary_to_nary
def make_vjp(fun: Function, x: Any) -> Any:
    """
    Returns a function which computes vector-Jacobian products of fun at x, and the value fun(x)."""
    return _make_vjp(fun, x)


@unary_to_nary
def make_jvp(fun: Function, x: Any) -> Any:
    """
    Returns a function which computes, for a direction v, fun(x) and the derivative of fun at x along v."""
    return _make_jvp(fun, x)


@unary_to_nary
def grad(fun: Function, x: Any) -> Any:
    """
    Returns a function which computes the gradient of `fun` with respect to positional argument number
    `argnum`.

    `fun` gives a scalar.  The gradient has the structure and shape of the argument; it is a function like
    others, so gradients of gradients are had in the same way.
    """
    vjp, ans = _make_vjp(fun, x)
    space = vspace(ans)
    if not space.size == 1:
        raise TypeError(
            "Grad only applies to real scalar-output functions. "
            "Try jacobian, elementwise_grad or holomorphic_grad."
        )
    if space.iscomplex:
        raise TypeError(
            "Grad only applies to real scalar-output functions. Try holomorphic_grad for complex ones."
        )
    return vjp(space.ones())


@unary_to_nary
def elementwise_grad(fun: Function, x: Any) -> Any:
    """
    Returns a function that computes the sum of each column of the Jacobian of `fun`, in one pass.

    Where each element of the result depends on one of the argument alone, that is the derivative of each.
    """
    vjp, ans = _make_vjp(fun, x)
    if vspace(ans).iscomplex:
        raise TypeError("Elementwise_grad only applies to real-output functions.")
    return vjp(vspace(ans).ones())


@unary_to_nary
def deriv(fun: Function, x: Any) -> Any:
    """
    Returns a function which computes the derivative of `fun` with respect to a scalar, forwards."""
    return _make_jvp(fun, x)(vspace(x).ones())[1]


@unary_to_nary
def jacobian(fun: Function, x: Any) -> Any:
    """
    Returns a function which computes the Jacobian of `fun`: its shape is that of the result and then that
    of the argument."""
    vjp, ans = _make_vjp(fun, x)
    shape = vspace(ans).shape + vspace(x).shape
    grads = [vjp(g) for g in vspace(ans).standard_basis()]
    return np.reshape(np.stack(grads), shape)


@unary_to_nary
def holomorphic_grad(fun: Function, x: Any) -> Any:
    """
    Returns a function which computes the derivative of a holomorphic function of a complex number."""
    if not vspace(x).iscomplex:
        warnings.warn("Input to holomorphic_grad is not complex", stacklevel=4)
    return grad(lambda x: np.real(fun(x)))(x)


def grad_named(fun: Function, argname: str) -> Function:
    """Takes the gradient with respect to a named argument of the function."""
    return grad(fun, list(inspect.signature(fun).parameters).index(argname))  # type: ignore[no-any-return]


@unary_to_nary
def hessian(fun: Function, x: Any) -> Any:
    """
    Returns a function that computes the exact Hessian."""
    return jacobian(jacobian(fun))(x)


@unary_to_nary
def make_hvp(fun: Function, x: Any) -> Any:
    """
    Returns a function that multiplies by the Hessian of fun at x, and the gradient there."""
    return _make_vjp(grad(fun), x)


def hessian_tensor_product(fun: Function, argnum: int = 0) -> Function:
    """Builds a function that computes the exact product of the Hessian and a tensor, its last argument."""
    fun_grad = grad(fun, argnum)

    def vector_dot_grad(*args: Any, **kwargs: Any) -> Any:
        *rest, vector = args
        return np.tensordot(fun_grad(*rest, **kwargs), vector, np.ndim(vector))

    return grad(vector_dot_grad, argnum)  # type: ignore[no-any-return]


hessian_vector_product = hessian_tensor_product


def tensor_jacobian_product(fun: Function, argnum: int = 0) -> Function:
    """Builds a function that computes the exact product of a tensor, its last argument, and the Jacobian."""

    def vector_dot_fun(*args: Any, **kwargs: Any) -> Any:
        *rest, vector = args
        return np.tensordot(vector, fun(*rest, **kwargs), axes=np.ndim(vector))

    return jacobian(vector_dot_fun, argnum)  # type: ignore[no-any-return]


vector_jacobian_product = tensor_jacobian_product


@unary_to_nary
def make_jvp_reversemode(fun: Function, x: Any) -> Any:
    """
    Builds a function that computes Jacobian-vector products out of two passes backwards."""
    vjp, ans = _make_vjp(fun, x)
    back, _ = _make_vjp(vjp, vspace(ans).zeros())
    return back


def _half_square(x: Any) -> Any:
    return np.sum(x**2, axis=-1) / 2.0


def make_ggnvp(f: Function, g: Function = _half_square, f_argnum: int = 0) -> Function:
    """Builds a function that multiplies by the generalized Gauss-Newton matrix J^T H J, of f and then g."""

    @unary_to_nary
    def _make_ggnvp(f: Function, x: Any) -> Any:
        f_vjp, f_x = _make_vjp(f, x)
        g_hvp, _grad_g_x = _make_vjp(grad(g), f_x)
        f_jvp, _ = _make_vjp(f_vjp, vspace(_grad_g_x).zeros())
        return lambda v: f_vjp(g_hvp(f_jvp(v)))

    return _make_ggnvp(f, f_argnum)  # type: ignore[no-any-return]


@unary_to_nary
def value_and_grad(fun: Function, x: Any) -> Any:
    """
    Returns a function that returns both value and gradient."""
    vjp, ans = _make_vjp(fun, x)
    if not vspace(ans).size == 1:
        raise TypeError(
            "value_and_grad only applies to real scalar-output functions. "
            "Try jacobian, elementwise_grad or holomorphic_grad."
        )
    return ans, vjp(vspace(ans).ones())


@unary_to_nary
def grad_and_aux(fun: Function, x: Any) -> Any:
    """
    Builds a function that returns the gradient of the first output and the (unmodified) second output of a
    function that returns two outputs."""
    vjp, (ans, aux) = _make_vjp(lambda x: atuple(fun(x)), x)
    return vjp((vspace(ans).ones(), vspace(aux).zeros())), aux


def multigrad_dict(fun: Function) -> Function:
    """Takes gradients with respect to all arguments at once, and gives them by name."""
    signature = inspect.signature(fun)

    def dict_fun(given: dict[str, Any]) -> Any:
        bound = signature.bind_partial()
        bound.arguments = OrderedDict(given)
        return fun(*bound.args, **bound.kwargs)

    def gradfun(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return grad(lambda given: dict_fun({k: given[k] for k in given}))(dict(bound.arguments))

    return gradfun


def checkpoint(fun: Function) -> Function:
    """A function like fun that keeps nothing for the way back but its arguments, and runs again there."""

    def vjpmaker(argnum: int, ans: Any, args: Any, kwargs: Any) -> Any:
        return lambda g: make_vjp(fun, argnum)(*args, **kwargs)[0](g)

    wrapped = primitive(fun)
    defvjp_argnum(wrapped, vjpmaker)
    return wrapped
