"""From an operator on functions of one argument to one on functions of many."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.autograd.util import subvals


def unary_to_nary(unary_operator: Callable[..., Any]) -> Callable[..., Any]:
    """`operator(fun, x, ...)` becomes `operator(fun, argnum=0, ...)(*args, **kwargs)`.

    `argnum` names the argument that the operator is about; a tuple of them stands for the tuple of arguments.
    """

    def nary_operator(
        fun: Callable[..., Any], argnum: Any = 0, *nary_op_args: Any, **nary_op_kwargs: Any
    ) -> Any:
        op, of = get_name(unary_operator), get_name(fun)
        if not (
            type(argnum) is int or (type(argnum) in (tuple, list) and all(type(n) is int for n in argnum))
        ):
            raise TypeError(f"argnum must be an int or a sequence of ints, not {argnum!r}")

        def nary_f(*args: Any, **kwargs: Any) -> Any:
            if type(argnum) is int:
                try:
                    x = args[argnum]
                except IndexError:
                    raise IndexError(
                        f"{get_name(fun)} was given {len(args)} arguments, and none has the number {argnum}"
                    ) from None

                def unary_f(value: Any) -> Any:
                    return fun(*subvals(args, ((argnum, value),)), **kwargs)
            else:
                x = tuple(args[n] for n in argnum)

                def unary_f(value: Any) -> Any:
                    return fun(*subvals(args, zip(argnum, value)), **kwargs)

            unary_f.__name__ = of
            return unary_operator(unary_f, x, *nary_op_args, **nary_op_kwargs)

        nary_f.__name__ = f"{op}_of_{of}_wrt_argnum_{argnum}"
        nary_f.__doc__ = (
            f"    {op} of function {of} with respect to argument number {argnum}.\n"
            f"    It takes the arguments that {of} takes.\n\n    {getattr(fun, '__doc__', None)}"
        )
        return nary_f

    nary_operator.__name__ = get_name(unary_operator)
    nary_operator.__doc__ = unary_operator.__doc__
    return nary_operator


def wraps(
    fun: Any, namestr: str = "{fun}", docstr: str = "{doc}", **kwargs: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: name and documentation after those of `fun`."""

    def named(f: Callable[..., Any]) -> Callable[..., Any]:
        f.__name__ = namestr.format(fun=get_name(fun), **kwargs)
        f.__doc__ = docstr.format(fun=get_name(fun), doc=getattr(fun, "__doc__", ""), **kwargs)
        return f

    return named


def get_name(f: Any) -> str:
    return str(getattr(f, "__name__", "[unknown name]"))


def get_doc(f: Any) -> str:
    return str(getattr(f, "__doc__", ""))
