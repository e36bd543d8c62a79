"""Contexts of conditionals and loops as messages, so that an imported graph can be differentiated."""

from __future__ import annotations

from typing import Any

from headrace.formats import proto
from headrace.functions.control.flow_context import CondContext, FlowContext
from headrace.functions.control.while_context import WhileContext
from headrace.graph.graph import Graph
from headrace.graph.scope_names import add_scope, strip_scope
from headrace.graph.tensor import Tensor


# -- out ----------------------------------------------------------------------------------------
def to_proto(context: FlowContext, export_scope: str | None = None) -> Any:
    """A CondContextDef or WhileContextDef; None where the context is not inside `export_scope`."""
    if export_scope and not context.name.startswith(export_scope):
        return None
    if isinstance(context, CondContext):
        message = _cond_to_proto(context, export_scope)
    else:
        assert isinstance(context, WhileContext)
        message = _while_to_proto(context, export_scope)
    _fill_values(message.values_def, context, export_scope)
    for inner in context.nested:
        nested = message.nested_contexts.add()
        field = nested.cond_ctxt if isinstance(inner, CondContext) else nested.while_ctxt
        field.CopyFrom(to_proto(inner))
    return message


def _cond_to_proto(context: CondContext, scope: str | None) -> Any:
    return proto.CondContextDef(
        context_name=strip_scope(context.name, scope),
        pred_name=strip_scope(context.pred.name, scope),
        pivot_name=strip_scope(context.pivot.name, scope),
        branch=context.branch,
    )


def _while_to_proto(context: WhileContext, scope: str | None) -> Any:
    def name(tensor: Tensor | None) -> str:
        return "" if tensor is None else strip_scope(tensor.name, scope)

    return proto.WhileContextDef(
        context_name=strip_scope(context.name, scope),
        parallel_iterations=context.parallel_iterations,
        back_prop=context.back_prop,
        swap_memory=context.swap_memory,
        pivot_name=name(context.pivot),
        pivot_for_pred_name=name(context.pivot_for_pred),
        pivot_for_body_name=name(context.pivot_for_body),
        loop_exit_names=[name(t) for t in context.loop_exits],
        loop_enter_names=[name(t) for t in context.loop_enters],
        maximum_iterations_name=name(context.maximum_iterations),
    )


def _fill_values(message: Any, context: FlowContext, scope: str | None) -> None:
    message.values.extend(sorted(strip_scope(t.name, scope) for t in context._values))
    external = dict(context._inside)
    if isinstance(context, CondContext):
        external[context.pred] = context.pred
    for outside, inside in external.items():
        message.external_values[strip_scope(outside.name, scope)] = strip_scope(inside.name, scope)


# -- in -----------------------------------------------------------------------------------------
def cond_from_proto(message: Any, import_scope: str | None = None) -> CondContext:
    """The context that a message describes; its nodes are in the default graph."""
    context = CondContext.__new__(CondContext)
    FlowContext.__init__(context)
    find = _finder(context.graph, import_scope)
    context.name = add_scope(message.context_name, import_scope)
    context._pred, context._pivot = find(message.pred_name), find(message.pivot_name)
    context.branch, context.label = message.branch, ""
    around = context._pivot.op._get_control_flow_context()
    _restore(context, message, import_scope)
    context._pivot.op._set_control_flow_context(around)  # it decides whether the branch runs
    return context


def while_from_proto(message: Any, import_scope: str | None = None) -> WhileContext:
    """The context that a message describes; its nodes are in the default graph."""
    context = WhileContext.__new__(WhileContext)
    FlowContext.__init__(context)
    find = _finder(context.graph, import_scope)
    context.name = add_scope(message.context_name, import_scope)
    context.maximum_iterations = find(message.maximum_iterations_name)
    context.parallel_iterations = message.parallel_iterations
    context._back_prop, context.swap_memory = message.back_prop, message.swap_memory
    context._grad_state = None
    context.pivot = find(message.pivot_name)
    context.pivot_for_pred = find(message.pivot_for_pred_name)
    context.pivot_for_body = find(message.pivot_for_body_name)
    context.loop_enters = [find(n) for n in message.loop_enter_names]
    context.loop_exits = [find(n) for n in message.loop_exit_names]
    _restore(context, message, import_scope)
    for tensor in context._values:
        if "frame_name" in tensor.op.attrs and tensor.op._get_control_flow_context() is context:
            tensor.op._set_attr("frame_name", context.name)  # new nodes will enter by this name
    return context


def _finder(graph: Graph, scope: str | None) -> Any:
    def find(name: str) -> Any:
        return graph.get_tensor_by_name(add_scope(name, scope)) if name else None

    return find


def _restore(context: FlowContext, message: Any, scope: str | None) -> None:
    """The values that the context knows; its nodes belong to it; then the contexts inside of it."""
    graph = context.graph
    graph._names_in_use.setdefault(context.name.lower(), 1)  # a loop is known by its name
    for name in message.values_def.values:
        tensor = _tensor_or_none(graph, add_scope(name, scope))
        if tensor is not None:
            context._values.add(tensor)
            if name not in message.values_def.external_values:
                tensor.op._set_control_flow_context(context)
    for outside, inside in message.values_def.external_values.items():
        source = _tensor_or_none(graph, add_scope(outside, scope))
        if source is not None:
            context._inside[source] = graph.get_tensor_by_name(add_scope(inside, scope))
    with context.entered():
        for nested in message.nested_contexts:
            if nested.WhichOneof("ctxt") == "cond_ctxt":
                cond_from_proto(nested.cond_ctxt, scope)
            else:
                while_from_proto(nested.while_ctxt, scope)


def _tensor_or_none(graph: Graph, name: str) -> Tensor | None:
    """What an exported scope took from outside is not in the graph that it is imported to."""
    node, _, index = name.rpartition(":")
    found = graph._nodes.get(node)
    return found.outputs[int(index)] if found is not None else None
