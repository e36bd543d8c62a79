"""Contexts of conditionals and loops.  While one is entered, every node that is made belongs to it:
its inputs from outside come in through Switch (a branch) or Enter (a loop), and nodes without inputs
wait for the context's pivot, so that they run only when, and as often as, the context runs.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from headrace.core.fields import reads
from headrace.functions.values import nest
from headrace.graph.defaults import get_default_graph
from headrace.graph.graph import Graph
from headrace.graph.keys import GraphKeys
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor
from headrace.ops.array.source import identity, no_op
from headrace.ops.control import control_flow as primitives
from headrace.ops.control.function_call import symbolic_gradient
from headrace.ops.declaration.declare import Op
from headrace.ops.declaration.indexed_slices import IndexedSlices
from headrace.ops.declaration.traits import ENTER, EXIT, MERGE, NEXT_ITERATION, SWITCH


def output_context(node: Node) -> Any:
    """The context in which a node's outputs live: an Exit's outputs are outside of its loop."""
    context = node._get_control_flow_context()
    if EXIT in node.declaration.traits and context is not None:
        context = context.outer_context
    return context


def is_around(loop: Any, other: Any) -> bool:
    """Is `other` this loop, or inside of it?"""
    while other is not None:
        if other is loop:
            return True
        other = None if other.outer_context is None else other.outer_context.while_context()
    return False


class FlowContext:
    """What conditionals and loops share."""

    def __init__(self, graph: Graph | None = None) -> None:
        self.graph = graph or get_default_graph()
        self._outer = self.graph._get_control_flow_context()
        self._stack: list[Any] = []
        self._values: set[Tensor] = set()  # tensors that may be used inside as they are
        self._inside: dict[Tensor, Tensor] = {}  # outside -> what stands for it inside
        self.name = ""
        self.nested: list[FlowContext] = []  # the contexts with nodes right inside of this one
        self._has_nodes = False

    outer_context: Any = reads("_outer")

    @property
    def grad_state(self) -> Any:
        """The state of the gradient loop that this context belongs to."""
        raise NotImplementedError

    @property
    def back_prop(self) -> bool:
        raise NotImplementedError

    def Enter(self) -> None:
        self._stack.append(self.graph._get_control_flow_context())
        self.graph._set_control_flow_context(self)

    def Exit(self) -> None:
        self.graph._set_control_flow_context(self._stack.pop())

    @contextlib.contextmanager
    def entered(self) -> Iterator[None]:
        self.Enter()
        try:
            yield
        finally:
            self.Exit()

    def contains(self, context: Any) -> bool:
        """Is `context` this one, or inside of it?"""
        while context is not None:
            if context is self:
                return True
            context = context.outer_context
        return False

    def has_node(self, node: Node) -> bool:
        return self.contains(output_context(node))

    def check_use(self, source: Node, kind: Op, user: str, current: Any) -> None:
        """May a node `user` of this kind, made in the context `current`, use what `source` gives?"""
        mine = output_context(source)
        mine = None if mine is None else mine.while_context()
        loop = None if current is None else current.while_context()
        if mine is None or is_around(mine, loop):
            return
        if loop is None and kind.traits & {ENTER, SWITCH}:
            return  # made outside, and given their context afterwards
        if loop is not None and loop.grad_state is not None:
            forward = loop.grad_state.forward_context
            if is_around(mine, forward) or is_around(forward, mine):
                return
        why = f"'{source.name}' is in a while loop" if loop is None else "they are in different while loops"
        raise ValueError(
            f"Cannot use '{source.name}' as input to '{user}' because {why}. See info log for more details."
        )

    def has_nodes(self) -> None:
        """A node belongs to the context, or to one inside of it: the context around knows it from now on."""
        if not self._has_nodes:
            self._has_nodes = True
            if self._outer is not None:
                self._outer.nested.append(self)
                self._outer.has_nodes()

    def AddName(self, tensor: Tensor) -> None:
        self._values.add(tensor)

    def AddValue(self, tensor: Tensor) -> Tensor:
        raise NotImplementedError

    def AddOp(self, node: Node) -> None:
        raise NotImplementedError

    def AddInnerOp(self, node: Node) -> None:
        """A node of a context inside of this one was made."""
        if self._outer is not None:
            self._outer.AddInnerOp(node)

    def leave(self, results: Sequence[Tensor]) -> None:
        """What comes out is a value of the outer context."""
        if self._outer is not None:
            for tensor in results:
                self._outer.AddName(tensor)

    @property
    def control_pivot(self) -> Any:
        """A tensor that is live where (and as often as) the context runs."""
        raise NotImplementedError

    def while_context(self) -> Any:
        """The innermost loop around, this context included."""
        return None if self._outer is None else self._outer.while_context()

    GetWhileContext = while_context

    def _keep_private(self, node: Node) -> None:
        """What runs on a branch or many times can not be fed or fetched from outside."""
        if self._outer is not None or EXIT not in node.declaration.traits:
            self.graph.prevent_fetching(node)
            for tensor in node.outputs:
                self.graph.prevent_feeding(tensor)

    def _drop_outside_control(self, node: Node) -> list[Node]:
        """Control inputs from outside are dropped: the pivot has waited for them."""
        inside = [n for n in node.control_inputs if self._controls_inside(n)]
        outside = [n for n in node.control_inputs if n not in inside]
        if outside:
            node._remove_all_control_inputs()
            node._add_control_inputs(inside)
        return outside

    def _controls_inside(self, node: Node) -> bool:
        loop, mine = _loop_of(output_context(node)), self.while_context()
        return loop is mine if mine is not None else True


def _loop_of(context: Any) -> Any:
    return None if context is None else context.while_context()


class CondContext(FlowContext):
    """One branch of a conditional: `branch` is 1 where `pred` is true."""

    def __init__(self, pred: Tensor, pivot: Tensor, branch: int, name: str = "cond_text") -> None:
        super().__init__(pred.graph)
        self.name = self.graph.unique_name(name)
        self._pred, self._pivot, self.branch = pred, pivot, branch
        self.label = ""  # set: other branches must not use what this one makes
        self._values |= {pred, pivot}

    pred: Tensor = reads("_pred")
    pivot: Tensor = reads("_pivot")

    control_pivot = pivot

    @property
    def grad_state(self) -> Any:
        loop = self.while_context()
        return None if loop is None else loop.grad_state

    @property
    def back_prop(self) -> bool:
        loop = self.while_context()
        return False if loop is None else bool(loop.back_prop)

    def AddValue(self, tensor: Tensor) -> Tensor:
        if tensor in self._values:
            return self._inside.get(tensor, tensor)
        self._refuse_other_branch(tensor)
        self._values.add(tensor)
        source = tensor
        if self._outer is not None:
            source = self._outer.AddValue(tensor)
            self._values.add(source)
            self._inside[source] = source
        with self.graph.control_dependencies(None):
            inside: Tensor = switch_any(source, self._pred)[self.branch]
            if self._outer is not None:
                self._outer.AddInnerOp(inside.op)
        self.graph.prevent_fetching(inside.op)
        inside.op._set_control_flow_context(self)
        self._show([inside])
        self._inside[tensor] = inside
        return inside

    def _refuse_other_branch(self, tensor: Tensor) -> None:
        context = output_context(tensor.op)
        while context is not None and not context.contains(self):
            label = getattr(context, "label", "")
            if label and self.label:
                name = tensor.name.rpartition("/")[2]
                raise ValueError(f"Tensor {name} in {label} is accessed from {self.label}.")
            context = context.outer_context

    def AddOp(self, node: Node) -> None:
        if not node.inputs:
            self._drop_outside_control(node)
            if not any(self.has_node(n) for n in node.control_inputs):
                node._add_control_input(self._pivot.op)
        else:
            for index, tensor in enumerate(list(node.inputs)):
                if _is_back_edge(tensor.op, node):
                    continue
                inside = self.AddValue(tensor)
                if inside is not tensor:
                    node._update_input(index, inside)
            self._drop_outside_control(node)
            if node.type in self.graph._functions or node.declaration is symbolic_gradient:
                node._add_control_input(self._pivot.op)
        self._show(node.outputs)
        self._keep_private(node)
        if self._outer is not None:
            self._outer.AddInnerOp(node)

    def _show(self, tensors: Sequence[Tensor]) -> None:
        """The contexts around see a branch's tensors as their own: gradients use them there."""
        context: Any = self
        while context is not None:
            context._values.update(tensors)
            context = context.outer_context

    def output(self, tensor: Tensor) -> Tensor:
        """A result of the branch: a tensor from outside goes through the Switch too."""
        if tensor not in self._values:
            return self.AddValue(tensor)
        return self._inside.get(tensor, tensor)


def with_summaries(function: Callable[[], Any]) -> Any:
    """The result of a branch or body, after the summaries made in it.

    Where they run cannot be asked for from outside, so they leave the collection, and the result
    waits for them.
    """
    graph = get_default_graph()
    collected = graph.get_collection_ref(GraphKeys._SUMMARY_COLLECTION)
    count = len(collected)
    result = function()
    new = collected[count:]
    if not new:
        return result
    del collected[count:]
    with graph.control_dependencies(new):
        if result is None:
            return no_op()
        return nest.map_structure(
            lambda x: x if hasattr(x, "with_flow") else identity(x), result, expand_composites=True
        )


def switch_any(data: Any, pred: Tensor, name: str = "Switch") -> Any:
    """Switch, or RefSwitch for a reference; of slices, each part."""
    if isinstance(data, IndexedSlices):
        parts = (data.values, data.indices, data.dense_shape)
        sides: list[Any] = [(None, None) if p is None else switch_any(p, pred, name) for p in parts]
        return tuple(IndexedSlices(*(side[k] for side in sides)) for k in (0, 1))
    with data.graph.colocate_with(data.op, ignore_existing=True):
        if data.dtype.is_ref:
            return primitives.ref_switch(data, pred, name=name)
        return primitives.switch(data, pred, name=name)


def merge_any(inputs: Sequence[Tensor], name: str | None = None) -> Any:
    if all(t.dtype.is_ref for t in inputs):
        return primitives.ref_merge(list(inputs), name=name)
    return primitives.merge(list(inputs), name=name)


def _is_back_edge(source: Node, node: Node) -> bool:
    return NEXT_ITERATION in source.declaration.traits and MERGE in node.declaration.traits
