"""Loops: tf.while_loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.core.shapes import Shape
from headrace.functions import nest
from headrace.functions.nest_paths import flatten_up_to
from headrace.functions.structure import name_scope
from headrace.functions.while_context import WhileContext
from headrace.graph.keys import GraphKeys
from headrace.graph.tensor import Tensor
from headrace.ops import arithmetic, comparison, logical
from headrace.ops.constant import constant
from headrace.ops.convert import convert_to_tensor


def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    shape_invariants: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
    maximum_iterations: Any = None,
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
    with name_scope(name, "while", [t for t in nest.flatten(loop_vars) if isinstance(t, Tensor)]):
        if not loop_vars:
            raise ValueError("No loop variables provided")
        if not callable(cond):
            raise TypeError("cond must be callable.")
        if not callable(body):
            raise TypeError("body must be callable.")
        if parallel_iterations < 1:
            raise TypeError("parallel_iterations must be a positive integer.")
        loop_vars = list(loop_vars) if isinstance(loop_vars, list) else loop_vars
        single = not return_same_structure and len(loop_vars) == 1
        try_pack = single
        if maximum_iterations is not None:
            return _bounded(
                cond, body, loop_vars, shape_invariants, parallel_iterations, back_prop,
                swap_memory, maximum_iterations, try_pack, return_same_structure,
            )  # fmt: skip
        if shape_invariants is not None:
            nest.assert_same_structure(loop_vars, shape_invariants, expand_composites=False)
        context = WhileContext(
            None, parallel_iterations, back_prop, swap_memory, name="while_context"
        )
        if context.outer_context is None:
            context.graph.add_to_collection(GraphKeys.WHILE_CONTEXT, context)
        result = _run(context, cond, body, loop_vars, shape_invariants)
        return _returned(result, try_pack)


def _returned(result: Any, single: bool) -> Any:
    if single and isinstance(result, (list, tuple)) and len(result) == 1:
        return result[0]
    return result


def _bounded(
    cond: Any, body: Any, loop_vars: Any, invariants: Any, parallel_iterations: int,
    back_prop: bool, swap_memory: bool, maximum: Any, single: bool, same_structure: bool,
) -> Any:  # fmt: skip
    """With a counter in front of the loop variables."""
    maximum = convert_to_tensor(maximum, name="maximum_iterations")
    if maximum.shape.rank not in (None, 0):
        raise ValueError(f"maximum_iterations must be a scalar, saw shape: {maximum.shape}")
    if not maximum.dtype.is_integer:
        raise TypeError(f"maximum_iterations must be an integer, saw: {maximum.dtype}")
    counter = constant(0, dtype=maximum.dtype, name="iteration_counter")

    def bounded_cond(i: Tensor, values: Any) -> Any:
        return logical.logical_and(comparison.less(i, maximum), convert_to_tensor(cond(*values)))

    def bounded_body(i: Tensor, values: Any) -> Any:
        result = body(*values)
        if len(values) == 1 and not _is_sequence_like(result):
            result = (result,) if isinstance(values, tuple) else [result]
        return (arithmetic.add(i, constant(1, dtype=i.dtype)), _as_type(values, result))

    if invariants is not None:
        invariants = (Shape([]), invariants)
    context = WhileContext(maximum, parallel_iterations, back_prop, swap_memory)
    if context.outer_context is None:
        context.graph.add_to_collection(GraphKeys.WHILE_CONTEXT, context)
    _, result = _run(context, bounded_cond, bounded_body, (counter, loop_vars), invariants)
    return _returned(result, single)


def _is_sequence_like(value: Any) -> bool:
    return isinstance(value, (list, tuple, dict)) or hasattr(value, "_fields")


def _as_type(like: Any, value: Any) -> Any:
    """A body may return a tuple for a list."""
    if isinstance(like, list) and isinstance(value, tuple) and not hasattr(value, "_fields"):
        return list(value)
    if isinstance(like, tuple) and not hasattr(like, "_fields") and isinstance(value, list):
        return tuple(value)
    return value


def _run(context: WhileContext, cond: Any, body: Any, loop_vars: Any, invariants: Any) -> Any:
    # Converted outside: what enters the loop is made before it.
    flat = [_to_tensor(x) for x in nest.flatten(loop_vars, expand_composites=True)]
    with context.entered():

        def rebuild(structure: Any, tensors: Sequence[Tensor]) -> Any:
            items = nest.flatten(loop_vars, expand_composites=True)
            final = [
                old.with_flow(new) if hasattr(old, "with_flow") else new
                for old, new in zip(items, tensors)
            ]
            return nest.pack_sequence_as(structure, final, expand_composites=True)

        def to_tensors(result: Any) -> list[Tensor]:
            return [_to_tensor(x) for x in nest.flatten(result, expand_composites=True)]

        _, exits = context.build(
            cond,
            body,
            loop_vars,
            flat,
            _flat_invariants(loop_vars, invariants),
            rebuild,
            to_tensors,
        )
    return rebuild(loop_vars, exits)


def _flat_invariants(loop_vars: Any, invariants: Any) -> list[Any] | None:
    if invariants is None:
        return None
    out: list[Any] = []
    shallow = flatten_up_to(loop_vars, invariants)
    for var, shape in zip(nest.flatten(loop_vars), shallow):
        parts = getattr(var, "_invariant_shapes", None)
        if parts is not None:
            out += parts(shape)
        else:
            out.append(shape)
    return out


def _to_tensor(value: Any) -> Tensor:
    flow = getattr(value, "flow", None)
    return flow if isinstance(flow, Tensor) else convert_to_tensor(value)
