"""A plan node as a Python call: fetches its arguments from registers, calls the op's reference, checks
what comes back.  References are followed here: an input that is not declared as one gets the value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from headrace.core.dtypes import DType
from headrace.core.errors import UnimplementedError, require
from headrace.formats import files
from headrace.ops.declaration.building.build import group
from headrace.ops.declaration.declare import Op
from headrace.ops.declaration.resources import Handle, Slot
from headrace.ops.declaration.traits import ALLOWS_UNINITIALIZED, FILES
from headrace.plan.plan import PlanNode
from headrace.runtime.step import KernelContext, Step

Call = Callable[[Sequence[Any], Step], Sequence[Any]]


def kernel_of(node: PlanNode, source_types: Sequence[DType]) -> Call:
    """values, step -> outputs.  `source_types` are the types at the other end of the inputs."""
    op = node.op
    if op.reference is None:
        raise UnimplementedError(None, node, f"no kernel runs {op.name} here")
    reference = op.reference
    attrs: dict[str, Any] = {name: node.attrs[name] for name in op.wants}
    wants_context = op.wants_context
    followed = tuple(
        i
        for i, (source, declared) in enumerate(zip(source_types, node.input_types))
        if source.is_ref and not declared.is_ref
    )
    # A kernel that needs a value must not see a variable without one.
    checked = tuple(
        i
        for i, declared in enumerate(node.input_types)
        if declared.is_ref and ALLOWS_UNINITIALIZED not in op.traits
    )
    # An op on a resource gets a handle, whatever was fed.
    handles = tuple(
        i
        for i, (declared, fixed) in enumerate(zip(node.input_types, _fixed(op, node)))
        if declared.kind == "r" and fixed
    )
    # A handle is a scalar; ops that know of arrays only (stack, gather) see it as one of objects.
    boxed = tuple(
        i
        for i, (declared, fixed) in enumerate(zip(node.input_types, _fixed(op, node)))
        if declared.kind == "r" and not fixed
    )
    lists = any(arg.is_list for arg in op.signature.inputs)
    finish = _finisher(node)

    def call(values: Sequence[Any], step: Step) -> Sequence[Any]:
        """Inputs as the op declares them: references are read or checked, handles boxed, lists
        grouped."""
        if followed:
            values = list(values)
            for i in followed:
                if isinstance(values[i], Slot):
                    values[i] = values[i].read()
        for i in checked:
            values[i].read()
        for i in handles:
            if not isinstance(values[i], Handle):
                values = _opened(values, i)
        if boxed:
            values = list(values)
            for i in boxed:
                values[i] = np.asarray(values[i], dtype=object)
        arguments = group(values, op, node.attrs) if lists else values
        if wants_context:
            return finish(reference(KernelContext(node, step), *arguments, **attrs))
        return finish(reference(*arguments, **attrs))

    return _fenced(call) if FILES in op.traits else call


def _fenced(call: Call) -> Call:
    """The same for an op that touches files: in the folders that the step may use."""

    def inside(values: Sequence[Any], step: Step) -> Sequence[Any]:
        with files.fenced(step.folders):
            return call(values, step)

    return inside


def _opened(values: Sequence[Any], i: int) -> list[Any]:
    """The handle that an array holds in its place; nothing else is one."""
    found = values[i].reshape(-1) if isinstance(values[i], np.ndarray) else np.empty(0)
    require(
        found.size == 1 and isinstance(found[0], Handle),
        f"input {i} must be the handle of a resource, not {type(values[i]).__name__}",
    )
    return [*values[:i], found[0], *values[i + 1 :]]


def _fixed(op: Op, node: PlanNode) -> list[bool]:
    """For each input: is its type fixed by the declaration?"""
    found: list[bool] = []
    for arg in op.signature.inputs:
        found += [arg.dtype is not None] * len(arg.types(node.attrs))
    return found


def _finisher(node: PlanNode) -> Callable[[Any], Sequence[Any]]:
    """Results as a flat sequence of values of the declared types."""
    types = [None if o.dtype.is_ref or o.dtype.kind == "r" else o.dtype.numpy for o in node.outputs]
    if len(types) == 1 and not node.op.signature.outputs[0].is_list:
        wanted = types[0]
        if node.outputs[0].dtype.kind == "r":
            return lambda result: (_handle(result),)
        if wanted is None:
            return lambda result: (result,)
        return lambda result: (_value(result, wanted),)
    if not types:
        return lambda result: () if not hasattr(result, "add_done_callback") else result

    def finish(result: Any) -> Sequence[Any]:
        if hasattr(result, "add_done_callback"):
            return result  # type: ignore[no-any-return]
        flat: list[Any] = []
        for part in result:
            if isinstance(part, (list, tuple)):
                flat.extend(part)
            else:
                flat.append(part)
        assert len(flat) == len(types), f"{node.op.name}: {len(flat)} results, {len(types)} outputs"
        return [r if t is None else _value(r, t) for r, t in zip(flat, types)]

    return finish


def _handle(result: Any) -> Any:
    """A scalar array of a handle is that handle."""
    return result.item() if isinstance(result, np.ndarray) and result.ndim == 0 else result


def _value(result: Any, wanted: np.dtype[Any]) -> Any:
    if type(result) is np.ndarray and result.dtype == wanted:
        return result
    if hasattr(result, "add_done_callback"):
        return result
    if wanted.kind == "O" and not isinstance(result, np.ndarray):
        out = np.empty((), dtype=object)
        out[()] = result
        return out
    with np.errstate(all="ignore"):
        return np.asarray(result).astype(wanted, copy=False)
