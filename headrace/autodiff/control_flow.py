"""What the backward walk asks about loops and conditionals: which backward loop a node's gradient
belongs to, when a loop's exits are ready, and what zero is where a branch was not taken."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from headrace.autodiff import flow_rules as _rules  # gives the primitives their gradients
from headrace.autodiff import functional_branches as _branches  # calls and conditionals theirs
from headrace.autodiff import functional_loops as _loops  # and functional loops theirs
from headrace.autodiff.loops import GradLoop, inside, outside, without_waiting
from headrace.core.modules import late
from headrace.functions.array.array import zeros
from headrace.functions.control.flow_context import CondContext, switch_any
from headrace.functions.control.while_context import WhileContext
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor
from headrace.ops.array.constant import constant
from headrace.ops.array.source import identity
from headrace.ops.control import control_flow as primitives
from headrace.ops.declaration import array
from headrace.ops.declaration.traits import EXIT, SWITCH

variable_parts = late("headrace.ops.state.variable_parts")

assert _rules is not None and _branches is not None and _loops is not None


def is_exit(node: Node) -> bool:
    return EXIT in node.declaration.traits


def is_switch(node: Node) -> bool:
    return SWITCH in node.declaration.traits


def is_loop_switch(node: Node) -> bool:
    return is_switch(node) and isinstance(node._get_control_flow_context(), WhileContext)


def enters_own_loop(node: Node) -> bool:
    """Gradients are asked for inside of a loop, and the walk has come to the loop's beginning."""
    context = node._get_control_flow_context()
    return is_loop_switch(node) and context is node.graph._get_control_flow_context()


def _loop(node: Node) -> Any:
    context = node._get_control_flow_context()
    return None if context is None else context.while_context()


class State:
    """The loops between xs and ys.  Graphs without loops need little of it."""

    def __init__(self, between: dict[Node, None]) -> None:
        self.loops: dict[WhileContext, GradLoop] = {}
        for node in list(between):
            if is_exit(node):
                self._add_loop(_loop(node), between)

    def _add_loop(self, forward: WhileContext, between: dict[Node, None]) -> None:
        if forward in self.loops:
            return
        outer = forward.outer_context
        outer = None if outer is None else outer.while_context()
        loop = GradLoop(forward, None if outer is None else self.loops.get(outer))
        self.loops[forward] = loop
        for tensor in loop.exits:  # all exits take part, used or not
            between.setdefault(tensor.op, None)

    def _of(self, node: Node, before: bool) -> GradLoop | None:
        """The backward loop in which a node's gradient is computed (before: in which it arrives)."""
        loop = _loop(node)
        if before and is_exit(node) and loop is not None:
            loop = None if loop.outer_context is None else loop.outer_context.while_context()
        return self.loops.get(loop)

    @contextmanager
    def arriving(self, node: Node) -> Iterator[None]:
        loop = self._of(node, before=True)
        with inside(None if loop is None else loop.grad_context):
            yield

    @contextmanager
    def computing(self, node: Node) -> Iterator[None]:
        loop = self._of(node, before=False)
        with inside(None if loop is None else loop.grad_context):
            yield

    # -- order ---------------------------------------------------------------------------------
    def unused_exits(self, pending: dict[Node, int], starts: set[Node]) -> list[Tensor]:
        """Exits that nothing on the way to ys uses, of loops all of whose exits are so."""
        found: list[Tensor] = []
        for loop in self.loops.values():
            for tensor in loop.exits:
                if pending.get(tensor.op, 0) == 0:
                    loop.pending_exits -= 1
                    if tensor.op not in starts:
                        loop.unused_exits.append(tensor)
            if loop.pending_exits == 0:
                found += loop.unused_exits
            for tensor in loop.forward_context.loop_enters:
                if not pending.get(tensor.op):
                    pending[tensor.op] = 1
        return found

    def released(self, node: Node, pending: dict[Node, int], walk: Any) -> list[Node]:
        """The nodes that may be differentiated now that one more user of `node` was."""
        ready = pending[node] == 0
        if not ready and self.loops:
            ready = pending[node] > 0 and is_loop_switch(node)
        if not ready:
            return []
        if not is_exit(node):
            return [node]
        loop = self._of(node, before=False)
        if loop is None:
            return [node]
        # The exits of a loop go together: the backward loop has one beginning.
        loop.deferred_exits.append(node.outputs[0])
        loop.pending_exits -= 1
        if loop.pending_exits:
            return []
        used = [t for t in loop.deferred_exits if walk.has_gradient(t.op)]
        unused = [t for t in loop.deferred_exits if t not in used] + loop.unused_exits
        if used:
            for tensor in unused:
                walk.add_zero_exit(tensor)
        return [t.op for t in used + unused]

    # -- values --------------------------------------------------------------------------------
    def zeros(self, node: Node, index: int) -> Any:
        """Zero, for an output that got no gradient.  Called in the context of the gradient."""
        if is_loop_switch(node):
            return None
        tensor = node.outputs[index]
        if tensor.dtype.base.kind == "r" and tensor.handle_data is None:
            return None
        loop = self.loops.get(_loop(node))
        if loop is None:
            return _zeros_outside_loops(node, tensor)
        return _zeros_in_loop(loop, node, tensor)

    def zeros_for_exit(self, tensor: Tensor) -> Any:
        """Zero, for an exit that is not used: made where the exit's value lives."""
        outer = _loop(tensor.op).outer_context
        outer = None if outer is None else outer.while_context()
        loop = None if outer is None else self.loops.get(outer)
        if _is_list(tensor):
            with inside(None if loop is None else loop.grad_context):
                return _zeros_like(tensor)
        if tensor.shape.is_full:
            with inside(None if loop is None else loop.grad_context):
                return _filled(tensor.shape.as_list(), tensor)
        if loop is None:
            return _zeros_like(tensor)
        with without_waiting(tensor.graph, _loop(tensor.op).outer_context):
            sizes = _shape(tensor)
        saved = loop.accumulate(sizes)
        with loop.grad_context.entered():
            return _filled(loop.recall(saved, sizes), tensor)

    def finish(self) -> None:
        """A loop variable whose next value does not depend on it has no back edge yet: zeros."""
        for loop in self.loops.values():
            for merge in loop.switch_merges.values():
                if merge.op.inputs[0] is not merge.op.inputs[1]:
                    continue
                shape = merge.op.inputs[0].shape
                if shape.is_full and not _is_list(merge):
                    with loop.grad_context.entered():
                        zero = constant(0, merge.dtype.base, shape=shape)
                        following = primitives.next_iteration(zero)
                else:
                    with inside(loop.grad_context.outer_context):
                        zero = _zeros_like(merge.op.inputs[0].op.inputs[0])
                    with loop.grad_context.entered():
                        following = primitives.next_iteration(zero)
                merge.op._update_input(1, following)


def _shape(tensor: Tensor) -> Tensor:
    return array.shape(tensor)


def _filled(sizes: Any, like: Tensor) -> Any:
    return zeros(sizes, like.dtype.base)


def _zeros_like(tensor: Tensor) -> Any:
    return array.zeros_like(tensor)


def _is_list(tensor: Tensor) -> bool:
    """A list's zero is made from the list: its shape says nothing."""
    return tensor.dtype.base.kind == "v"


def _zeros_behind(handle: Tensor) -> Any:
    """Zeros like the variable that a handle leads to."""
    assert handle.handle_data is not None
    dtype, _ = handle.handle_data
    return zeros(variable_parts.shape_of_variable(handle), dtype)


def _zeros_outside_loops(node: Node, tensor: Tensor) -> Any:
    behind = tensor.dtype.base.kind == "r"
    context = node._get_control_flow_context()
    if not is_switch(node) or not isinstance(context, CondContext):
        return _zeros_behind(tensor) if behind else _zeros_like(tensor)
    # Zeros of the branch that was not taken: made there alone.
    other = switch_any(node.inputs[0], context.pred)[1 - context.branch]
    pivot = identity(other)
    with node.graph.control_dependencies([pivot]):
        if behind:
            return _zeros_behind(other)
        if _is_list(tensor):
            return _zeros_like(other)
    sizes = _shape(other)
    with node.graph.control_dependencies([pivot]):
        return _filled(sizes, tensor)


def _zeros_in_loop(loop: GradLoop, node: Node, tensor: Tensor) -> Any:
    context = node._get_control_flow_context()
    dead = is_switch(node)
    behind = tensor.dtype.base.kind == "r"
    if behind or _is_list(tensor) or tensor.shape.is_full:
        if behind or _is_list(tensor):
            real = loop.real_value(node.inputs[0] if dead else tensor)
            zero = _zeros_behind(real) if behind else _zeros_like(real)
        else:
            zero = constant(0, tensor.dtype.base, shape=tensor.shape)
        if dead:
            zero = switch_any(zero, loop.real_pred(context.pred))[1 - context.branch]
        return zero
    if dead:
        with without_waiting(node.graph, context.outer_context):
            other = switch_any(node.inputs[0], context.pred)[1 - context.branch]
            sizes = _shape(other)
        other.op._set_control_flow_context(context)
        sizes.op._set_control_flow_context(context)
    else:
        with without_waiting(node.graph, context):
            sizes = _shape(tensor)
    with outside(loop.grad_context):
        saved = loop.accumulate(sizes, dead_branch=dead)
    return _filled(loop.recall(saved, sizes, dead_branch=dead), tensor)
