"""Loops: tf.while_loop."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from headrace.core.shapes import Shape
from headrace.functions.control.shape_invariants import flat_invariants
from headrace.functions.control.while_context import WhileContext
from headrace.functions.values import nest
from headrace.functions.values.structure import name_scope
from headrace.graph.defaults import get_default_graph
from headrace.graph.keys import GraphKeys
from headrace.graph.tensor import Tensor
from headrace.ops.array.constant import constant
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.math import logical


def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    shape_invariants: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
    maximum_iterations: int | Tensor | None = None,
    return_same_structure: bool = False,
) -> Any:
    """Repeat `body` while `cond` is true.

    Args:
      cond: a function of the loop variables that gives a scalar bool tensor.
      body: a function of the loop variables that gives their next values.
      loop_vars: a structure of tensors, TensorArrays, ...: the values at the start.
      shape_invariants: shapes that hold in every iteration, where they are less specific than those
        at the start.
      parallel_iterations: how many iterations may overlap.
      back_prop: gradients may be asked for.
      swap_memory: accepted; everything is in main memory already.
      name: a scope for the nodes.
      maximum_iterations: stop after so many iterations in any case.
      return_same_structure: return the structure of loop_vars even if it holds a single tensor.

    Returns: the loop variables after the last iteration.

    Example:
      >>> i = tf.constant(0)
      >>> tf.while_loop(lambda i: i < 10, lambda i: i + 1, [i])        # 10
    """
    if not callable(cond):
        raise TypeError("cond must be callable.")
    if not callable(body):
        raise TypeError("body must be callable.")
    if parallel_iterations < 1:
        raise TypeError("parallel_iterations must be a positive integer.")
    if get_default_graph().runs_at_once:
        return _run_at_once(cond, body, loop_vars, maximum_iterations, return_same_structure)
    with name_scope(name, "while", [t for t in nest.flatten(loop_vars) if isinstance(t, Tensor)]):
        if not loop_vars:
            raise ValueError("No loop variables provided")
        if maximum_iterations is None:
            context = _context(None, parallel_iterations, back_prop, swap_memory)
            result = _run(context, cond, body, loop_vars, shape_invariants)
            count = len(nest.flatten(result, expand_composites=True))
            return result if return_same_structure or count > 1 else result[0]
        maximum = _maximum(maximum_iterations)
        single = len(loop_vars) == 1 and not return_same_structure
        counted = _counted(cond, body, loop_vars, shape_invariants, maximum, single)
        context = _context(maximum, parallel_iterations, back_prop, swap_memory)
        return _run(context, *counted)[1]


def _run_at_once(cond: Any, body: Any, loop_vars: Any, maximum: Any, same_structure: bool) -> Any:
    """Python's own loop, in eager mode."""
    if not loop_vars:
        raise ValueError("No loop variables provided")
    is_single = len(loop_vars) == 1 and not same_structure
    values, is_bare = loop_vars, False
    for _ in itertools.count() if maximum is None else range(int(maximum)):
        if not cond(*values):
            break
        values = body(*values)
        if is_single and not isinstance(values, (list, tuple)):
            values, is_bare = (values,), True
        nest.assert_same_structure(list(loop_vars), list(values), expand_composites=True)
    found = nest.map_structure(lambda x: x if hasattr(x, "with_flow") else _converted(x), values)
    return found[0] if is_bare else found


def _context(maximum: Any, parallel: int, back_prop: bool, swap_memory: bool) -> WhileContext:
    context = WhileContext(maximum, parallel, back_prop, swap_memory)
    if context.outer_context is None:  # the outermost one describes those inside
        context.graph.add_to_collection(GraphKeys.WHILE_CONTEXT, context)
    return context


def _maximum(given: Any) -> Tensor:
    maximum = convert_to_tensor(given, name="maximum_iterations")
    if maximum.shape.rank != 0:
        raise ValueError(f"maximum_iterations must be a scalar, saw shape: {maximum.shape}")
    return maximum


def _counted(
    cond: Any, body: Any, loop_vars: Any, invariants: Any, maximum: Tensor, single: bool
) -> tuple[Any, Any, Any, Any]:
    """The loop with a counter in front of the loop variables."""
    counter = constant(0, dtype=maximum.dtype.base, name="iteration_counter")
    values = loop_vars[0] if single else loop_vars
    if invariants is not None:
        invariants = (Shape([]), invariants[0] if single else invariants)

    def spread(values: Any) -> Any:
        return (values,) if single else values

    return (
        lambda i, values: logical.logical_and(i < maximum, cond(*spread(values))),
        lambda i, values: (i + 1, body(*spread(values))),
        (counter, values),
        invariants,
    )


def _run(context: WhileContext, cond: Any, body: Any, loop_vars: Any, invariants: Any) -> Any:
    """The structure that the body returns, of the values after the last iteration."""
    # Converted outside: what enters the loop is made before it.
    variables = [_converted(x) for x in nest.flatten(loop_vars)]
    shapes = flat_invariants(variables, None if invariants is None else _flat_like(loop_vars, invariants))
    starts = nest.flatten(variables, expand_composites=True)
    with context.entered():
        result, exits = context.build(
            cond,
            body,
            starts,
            shapes,
            lambda tensors: _packed(loop_vars, tensors),
            lambda result: [_flow(x) for x in nest.flatten(result, expand_composites=True)],
        )
    return _packed(result, exits)


def _flat_like(loop_vars: Any, invariants: Any) -> list[Any]:
    nest.assert_same_structure(loop_vars, invariants, expand_composites=False)
    return nest.flatten(invariants)


def _packed(structure: Any, tensors: Sequence[Tensor]) -> Any:
    """Tensors in the place of the structure's; where it has a tensor array, with it as flow."""
    old = nest.flatten(structure, expand_composites=True)
    new = [x.with_flow(t) if hasattr(x, "with_flow") else t for x, t in zip(old, tensors)]
    return nest.pack_sequence_as(structure, new, expand_composites=True)


def _converted(value: Any) -> Any:
    return value if nest.is_composite(value) else _flow(value)


def _flow(value: Any) -> Tensor:
    return value.flow if hasattr(value, "with_flow") else convert_to_tensor(value)
