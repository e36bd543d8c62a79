"""tf.custom_gradient: a function whose gradient its author gives."""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable, Sequence
from typing import Any

from headrace.autodiff.gradients import gradients
from headrace.autodiff.registry import RegisterGradient
from headrace.autodiff.tape import GradientTape
from headrace.core import log
from headrace.functions.control.init_scope import outermost
from headrace.functions.values import nest
from headrace.graph.defaults import get_default_graph
from headrace.graph.keys import GraphKeys
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor
from headrace.ops.array.source import identity, identity_n
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.variables.resource_base import BaseResourceVariable
from headrace.variables.scope import get_variable_scope

_numbers = itertools.count()


def custom_gradient(f: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: `f` returns its results and a function that gives their gradient.

    Args:
      f: f(*x) -> (y, grad), where grad(*dy) returns one gradient per x.  Where `f` uses variables,
        grad(*dy, variables=None) returns (gradients of x, gradients of the variables).

    Returns: a function like `f` that returns y alone.

    Example:
      >>> @tf.custom_gradient
      ... def log1pexp(x):
      ...     e = tf.exp(x)
      ...     return tf.log(1 + e), lambda dy: dy * (1 - 1 / (1 + e))
    """

    @functools.wraps(f)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        if get_default_graph().runs_at_once:
            return _call_at_once(f, args, kwargs)
        if kwargs:
            raise ValueError(
                "The custom_gradient decorator currently supports keywords arguments only when "
                "eager execution is enabled."
            )
        return _call(f, args)

    return decorated


def _call(f: Callable[..., Any], args: Sequence[Any]) -> Any:
    graph = get_default_graph()
    inputs = [convert_to_tensor(x) for x in args]
    before = set(_variables_in_scope())
    result, grad_fn = f(*inputs)
    for variable in _variables_in_scope():
        if variable not in before and not isinstance(variable, BaseResourceVariable):
            raise TypeError(
                f"The variables of a function with @custom_gradient must be `ResourceVariable`s; "
                f"{variable.name} is not: make it with use_resource=True."
            )
    outputs = [convert_to_tensor(y) for y in nest.flatten(result)]
    variables = _used_variables(inputs, outputs)
    _check_signature(grad_fn, variables)
    name = f"CustomGradient-{next(_numbers)}"

    RegisterGradient(name)(_gradient_rule(grad_fn, len(outputs), len(inputs), variables))

    # One node passes on results, arguments and variables; its gradient is the one given.
    everything = outputs + inputs + [convert_to_tensor(v) for v in variables]
    with graph.gradient_override_map({identity_n.name: name}):
        passed = identity_n(everything)
    for old, new in zip(everything, passed):
        new.handle_data = old.handle_data
    return nest.pack_sequence_as(result, passed[: len(outputs)])


def _gradient_rule(grad_fn: Any, outputs: int, inputs: int, variables: Sequence[Any]) -> Callable[..., Any]:
    """The gradient of the node that passes on results, arguments and variables: the one that was given."""

    def gradient(node: Node, *dys: Any) -> list[Any]:
        given = dys[:outputs]
        if variables:
            dxs, dvs = grad_fn(*given, variables=variables)
            if len(dvs) != len(variables):
                raise ValueError("Must return gradient for each variable from @custom_gradient grad_fn.")
        else:
            dxs, dvs = grad_fn(*given), []
        flat = nest.flatten(dxs)
        if len(flat) != inputs:
            raise ValueError(
                f"custom_gradient function expected to return {inputs} gradients but returned {len(flat)} "
                "instead."
            )
        return [None] * outputs + flat + list(dvs)

    return gradient


def _call_at_once(f: Callable[..., Any], args: Sequence[Any], kwargs: Any) -> Any:
    """In eager mode: what the function reads is seen by a tape."""
    inputs = [convert_to_tensor(x) for x in args]
    with GradientTape() as tape:
        result, grad_fn = f(*inputs, **kwargs)
    variables = [v for v in tape.watched_variables() if all(v is not a for a in args)]
    _check_signature(grad_fn, variables)
    outputs = [convert_to_tensor(y) for y in nest.flatten(result)]
    read = [v.handle for v in variables]
    passed = identity_n(outputs + inputs + read)
    passed[0].op.own_gradient = _gradient_rule(grad_fn, len(outputs), len(inputs), variables)
    return nest.pack_sequence_as(result, passed[: len(outputs)])


def _variables_in_scope() -> list[Any]:
    scope = get_variable_scope()
    return [*scope.global_variables(), *scope.local_variables()]


def _used_variables(inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> list[Any]:
    """The trainable variables on the way back from outputs to inputs."""
    by_node = {}
    for variable in get_default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES):
        handle = getattr(variable, "handle", None)
        node = handle.op if isinstance(handle, Tensor) else variable.op
        by_node[node] = variable
    found: dict[Any, None] = {}
    stop = set(inputs)
    stack = [t.op for t in outputs if t not in stop]
    seen = set(stack)
    while stack:
        node = stack.pop()
        variable = by_node.get(node)
        if variable is not None and variable.trainable:
            found[variable] = None
        for source in node.inputs:
            if source not in stop and source.op not in seen:
                seen.add(source.op)
                stack.append(source.op)
    return list(found)


def _check_signature(grad_fn: Callable[..., Any], variables: Sequence[Any]) -> None:
    spec = inspect.getfullargspec(grad_fn)
    takes = "variables" in spec.args or "variables" in spec.kwonlyargs or bool(spec.varkw)
    if variables and not takes:
        raise TypeError(
            "A function with @custom_gradient that uses variables must return a grad_fn that takes "
            "them: grad_fn(*dys, variables=None)."
        )
    if takes and not variables:
        if not (get_variable_scope().use_resource or outermost(get_default_graph()).runs_at_once):
            raise TypeError(
                "A function with @custom_gradient that takes `variables` must be called in a variable "
                "scope with use_resource=True."
            )
        log.warn(
            "@custom_gradient grad_fn has 'variables' in signature, but no ResourceVariables were "
            "used on the forward pass."
        )


def recompute_grad(f: Callable[..., Any]) -> Callable[..., Any]:
    """`f`, computed again for its gradient: its intermediate values need not be kept.

    Args:
      f: a function from tensors to a tensor or several.
    """

    @custom_gradient
    def inner(*args: Any) -> Any:
        result = f(*args)

        def grad(*dys: Any, variables: Any = None) -> Any:
            with get_default_graph().control_dependencies(list(dys)):
                again = [identity(x) for x in args]
                results = nest.flatten(f(*again))
            used = list(variables or ())
            found = gradients(results, again + used, list(dys))
            dxs = found[: len(again)]
            return (dxs, found[len(again) :]) if used else dxs

        return result, _fitting(grad, args, result)

    return inner


def _fitting(grad: Callable[..., Any], args: Sequence[Any], result: Any) -> Callable[..., Any]:
    """`grad` with a parameter for variables only where the results depend on some."""
    inputs = [a for a in args if isinstance(a, Tensor)]
    outputs = [t for t in nest.flatten(result) if isinstance(t, Tensor)]
    return grad if _used_variables(inputs, outputs) else (lambda *dys: grad(*dys))


def grad_pass_through(f: Callable[..., Any]) -> Callable[..., Any]:
    """`f`, whose gradient is that of the identity.

    Example:
      >>> y = tf.grad_pass_through(tf.round)(x)      # dy/dx is 1
    """

    @custom_gradient
    def inner(*args: Any) -> Any:
        def grad(*dys: Any, variables: Any = None) -> Any:
            if variables is None:
                return dys
            return dys, [None] * len(variables)

        result = f(*args)
        return result, _fitting(grad, args, result)

    return inner
