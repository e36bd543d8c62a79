"""Functions of derivatives of eager mode: by arguments, and by the variables that a function reads.

In: a function of tensors.  Out: a function that runs it under a tape of its own.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from headrace.autodiff.tape import GradientTape
from headrace.functions.values import nest
from headrace.ops.array.source import identity
from headrace.ops.declaration.convert import convert_to_tensor

Function = Callable[..., Any]


def _positions(f: Function, params: Any, args: Sequence[Any]) -> Sequence[int]:
    """Which arguments derivatives are by."""
    try:
        names = list(inspect.signature(f).parameters)
    except (TypeError, ValueError) as error:
        if params is None:
            return range(len(args))
        if all(isinstance(p, int) for p in params):
            return list(params)
        raise ValueError(
            "Either callable provided is not a function or could not inspect its arguments by name: "
            f"{f}. Original error: {error}"
        ) from None
    if params is None:
        return range(len(args))
    if all(isinstance(p, str) for p in params):
        return [names.index(p) for p in params]
    if all(isinstance(p, int) for p in params):
        return list(params)
    raise ValueError(f"params must be all strings or all integers; got {params}.")


def make_vjp(f: Function, params: Any = None, persistent: bool = True) -> Function:
    """A function that gives the value of f and a function of derivatives.

    Args:
      f: a function of tensors.
      params: names or numbers of the arguments that derivatives are by; all of them by default.
      persistent: the function of derivatives may be called again.
    """

    def decorated(*args: Any, **kwds: Any) -> tuple[Any, Function]:
        if kwds:
            raise ValueError("The gradient function can't take keyword arguments.")
        places = _positions(f, params, args)
        tape = GradientTape(persistent=persistent, watch_accessed_variables=False)
        # Each argument is a tensor of its own, though two be the same one.
        given = [identity(convert_to_tensor(a)) if i in places else a for i, a in enumerate(args)]
        sources = [given[i] for i in places]
        with tape:
            tape.watch(sources)
            result = f(*given)
            _check_result(result, f)
            flat = [identity(convert_to_tensor(x)) for x in nest.flatten(result)]
        result = nest.pack_sequence_as(result, flat)

        def vjp(dy: Any = None) -> Any:
            weights = None if dy is None else [convert_to_tensor(x) for x in nest.flatten(dy)]
            return tape.gradient(flat, sources, weights)

        return result, vjp

    return decorated


def _check_result(result: Any, f: Function) -> None:
    if result is None:
        raise ValueError(
            "Cannot differentiate a function that returns None; did you forget to return a value from "
            f"{getattr(f, '__name__', f)}?"
        )


def value_and_gradients_function(f: Function, params: Any = None) -> Function:
    """A function that gives the value of f and its derivatives by arguments.

    Args:
      f: a function of tensors; what it returns is summed.
      params: names or numbers of arguments; all of them by default.
    """

    def decorated(*args: Any, **kwds: Any) -> tuple[Any, Any]:
        dy = kwds.pop("dy", None)
        if kwds:
            raise ValueError("Functions to be differentiated cannot receive keyword arguments.")
        value, vjp = make_vjp(f, params)(*args)
        return value, vjp(dy)

    return decorated


def gradients_function(f: Function, params: Any = None) -> Function:
    """A function that gives derivatives of f by arguments.

    Args:
      f: a function of tensors; what it returns is summed.
      params: names or numbers of arguments; all of them by default.

    Example:
      >>> tfe.gradients_function(lambda x: x * x)(3.0)        # [6.0]
    """

    def decorated(*args: Any, **kwds: Any) -> Any:
        return value_and_gradients_function(f, params)(*args, **kwds)[1]

    return decorated


def implicit_value_and_gradients(f: Function) -> Function:
    """A function that gives the value of f, and (derivative, variable) for the trainable variables it
    reads."""

    def grad_fn(*args: Any, **kwds: Any) -> tuple[Any, list[tuple[Any, Any]]]:
        with GradientTape() as tape:
            end = f(*args, **kwds)
        _check_result(end, f)
        variables = sorted(tape.watched_variables(), key=lambda v: v._creation_number)
        if not variables:
            raise ValueError("No trainable variables were accessed while the function was being computed.")
        return end, list(zip(tape.gradient(end, variables), variables))

    return grad_fn


def implicit_gradients(f: Function) -> Function:
    """A function that gives (derivative, variable) for the trainable variables that f reads."""

    def grad_fn(*args: Any, **kwds: Any) -> list[tuple[Any, Any]]:
        return implicit_value_and_gradients(f)(*args, **kwds)[1]  # type: ignore[no-any-return]

    return grad_fn
