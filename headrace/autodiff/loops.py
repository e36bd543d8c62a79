"""The gradient of one while loop: a loop that runs as many iterations, backwards.

A forward value that the gradient needs is pushed on a stack in every forward iteration and popped in
the matching backward one.  Counters bind the two: the forward loop counts its iterations, the backward
loop counts down.  Pushes happen before the forward counter moves on (`forward_sync`), pops before the
backward one does (`grad_sync`), so that they meet in order however the iterations overlap.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from headrace.core import dtypes
from headrace.core.modules import late
from headrace.functions.array.array import zeros
from headrace.functions.control.flow_context import CondContext, output_context, switch_any
from headrace.functions.control.while_context import WhileContext, is_constant_enter
from headrace.graph.graph import Graph
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor
from headrace.ops.array.constant import constant
from headrace.ops.array.copies import ref_identity
from headrace.ops.array.source import identity
from headrace.ops.control import control_flow as primitives
from headrace.ops.control import stack
from headrace.ops.declaration import array
from headrace.ops.declaration.traits import CONSTANT, SWITCH
from headrace.ops.math import arithmetic, comparison
from headrace.ops.math.add_n import add_n

variable_parts = late("headrace.ops.state.variable_parts")


def inside(context: Any) -> Any:
    """Enter a context, if there is one."""
    return nullcontext() if context is None else context.entered()


@contextmanager
def outside(context: Any) -> Iterator[None]:
    """Leave a context that is entered, for a while."""
    context.Exit()
    try:
        yield
    finally:
        context.Enter()


@contextmanager
def without_waiting(graph: Graph, context: Any) -> Iterator[None]:
    """Nodes made inside belong to `context`, and wait for nothing: what the user waits for at the
    moment may be the forward loop itself."""
    with graph.control_dependencies(None), inside(context):
        yield


class GradLoop:
    """The backward loop of `forward_context`."""

    def __init__(self, forward: WhileContext, outer: GradLoop | None) -> None:
        self.forward_context, self.outer = forward, outer
        self.graph = forward.graph
        self.exits = list(forward.loop_exits)
        self.history: dict[Tensor, Tensor] = {}  # forward value -> what stands for it backwards
        self.switch_merges: dict[Node, Tensor] = {}  # loop Switch -> Merge of its gradient
        self.unused_exits: list[Tensor] = []
        self.deferred_exits: list[Tensor] = []
        self.pending_exits = len(self.exits)
        self.grad_context: WhileContext
        self._forward_sync: Node | None = None
        self._grad_sync: Node | None = None
        around = outer.forward_context if outer is not None else forward.outer_context
        with self.graph.as_default(), without_waiting(self.graph, around):
            count, self.forward_index = self._count_forward()
        if outer is not None:
            outer.forward_context.AddName(count)
            saved = outer.accumulate(count)
            with without_waiting(self.graph, outer.grad_context):
                self.grad_context = self._context()
                self.grad_index = self._count_backward(outer.recall(saved, count))
        else:
            with without_waiting(self.graph, forward.outer_context):
                self.grad_context = self._context()
                self.grad_index = self._count_backward(count)

    def _context(self) -> WhileContext:
        forward = self.forward_context
        return WhileContext(
            forward.maximum_iterations,
            forward.parallel_iterations,
            forward.back_prop,
            forward.swap_memory,
            name=forward.name,
            grad_state=self,
            graph=self.graph,
        )

    # -- counters ------------------------------------------------------------------------------
    def _count_forward(self) -> tuple[Tensor, Tensor]:
        """Give the forward loop a counter; returns the total and the index of an iteration."""
        loop = self.forward_context
        start = constant(0, name="f_count")
        if self.outer is not None:
            # One run of the inner loop pushes before the next run does.
            start.op._add_control_input(self.outer.forward_index.op.inputs[0].op)
        with loop.entered():
            loop.AddName(start)
            enter = _enter(loop, start, "f_count")
            merge = primitives.merge([enter, enter])[0]
            switch = primitives.switch(merge, loop.pivot)
            index = arithmetic.add(switch[1], 1)
            following: Tensor = primitives.next_iteration(index)
            merge.op._update_input(1, following)
            total: Tensor = primitives.exit_(switch[0], name="f_count")
            loop.loop_exits.append(total)
            loop.leave([total])
        return total, following

    def _count_backward(self, count: Tensor) -> Tensor:
        """Let the backward loop count from the total down to zero."""
        loop = self.grad_context
        one = constant(1, name="b_count")
        with loop.entered():
            loop.AddName(count)
            enter = _enter(loop, count, "b_count")
            merge = primitives.merge([enter, enter])[0]
            loop.pivot_for_pred = merge
            loop.pivot = primitives.loop_cond(comparison.greater_equal(merge, one), name="b_count")
            switch = primitives.switch(merge, loop.pivot)
            index = arithmetic.sub(switch[1], one)
            loop.pivot_for_body = index
            following: Tensor = primitives.next_iteration(index)
            merge.op._update_input(1, following)
            final: Tensor = primitives.exit_(switch[0], name="b_count")
            loop.loop_exits.append(final)
            if self.outer is not None:
                self.outer.grad_sync._add_control_input(final.op)
            loop.leave([final])
        return following

    @property
    def grad_sync(self) -> Node:
        if self._grad_sync is None:
            self._grad_sync = self._trigger("b_sync", self.grad_context)
            self.grad_index.op._add_control_input(self._grad_sync)
        return self._grad_sync

    @property
    def forward_sync(self) -> Node:
        if self._forward_sync is None:
            self._forward_sync = self._trigger("f_sync", self.forward_context)
            self.forward_index.op._add_control_input(self._forward_sync)
        return self._forward_sync

    def _trigger(self, name: str, context: Any) -> Node:
        with self.graph.control_dependencies(None):
            node: Node = primitives.control_trigger(name=name)
        node._set_control_flow_context(context)
        if context.outer_context is not None:
            context.outer_context.AddInnerOp(node)
        return node

    # -- history -------------------------------------------------------------------------------
    def accumulate(self, value: Tensor, dead_branch: bool = False) -> Tensor:
        """Push `value` in every forward iteration; returns the stack's handle."""
        loop = self.forward_context
        current = self.graph._get_control_flow_context()
        with self.graph.control_dependencies(None):
            with inside(current):
                history: Tensor = stack.stack_v2(
                    constant(-1, dtypes.int32), elem_type=value.dtype.base, name="f_acc"
                )
            handle = loop.AddValue(history)
            where = output_context(value.op)
            if where is loop:
                with loop.entered():
                    push = stack.stack_push_v2(handle, value)
                self.forward_index.op._add_control_input(push.op)
            elif dead_branch:
                # The push of a branch that was not taken: made outside of it, counted inside.
                with inside(where.outer_context):
                    push = stack.stack_push_v2(handle, value)
                push.op._set_control_flow_context(where)
                self.forward_sync._add_control_input(push.op)
            else:
                with where.entered():
                    push = stack.stack_push_v2(handle, value)
                self.forward_sync._add_control_input(push.op)
        push.op._add_control_input(self.forward_index.op.inputs[0].op)
        return history

    def recall(self, history: Tensor, value: Tensor, dead_branch: bool = False) -> Tensor:
        """Pop, in every backward iteration, what `accumulate` pushed."""
        branch = self._branch_between(value, output_context(history.op))
        with self.graph.control_dependencies(None), self.grad_context.entered():
            handle = history
            if branch is not None:
                side = 1 - branch.branch if dead_branch else branch.branch
                handle = switch_any(history, self._known_pred(branch.pred))[side]
            popped: Tensor = stack.stack_pop_v2(handle, elem_type=value.dtype.base)
            popped.set_shape(value.shape)
        if self.grad_context.parallel_iterations > 1:
            self.grad_sync._add_control_input(popped.op)
        return popped

    def _branch_between(self, value: Tensor, limit: Any) -> CondContext | None:
        """The innermost conditional that `value` is in, below the context of its history."""
        context = output_context(value.op)
        while context is not None and context is not limit:
            if isinstance(context, CondContext):
                return context
            context = context.outer_context
        return None

    def _known_pred(self, pred: Tensor) -> Tensor:
        loop: GradLoop | None = self
        while loop is not None:
            if pred in loop.history:
                return loop.history[pred]
            loop = loop.outer
        return pred

    def real_value(self, value: Tensor) -> Tensor:
        """What stands for a forward value in the backward loop."""
        if value not in self.history:
            self.history[value] = self._find(value)
        return self.history[value]

    def _find(self, value: Tensor) -> Tensor:
        current, loop = value, self
        while True:
            enter = _constant_enter(current)
            if enter is not None:
                # The same in all iterations: look outside of the loop.
                current = enter.inputs[0]
                if loop.outer is None:
                    return self.grad_context.AddValue(current)
                loop = loop.outer
            elif CONSTANT in current.op.declaration.traits:
                literal = current.op.attrs["value"]
                return constant(literal.array, current.dtype, name=current.op.name.rpartition("/")[2])
            else:
                break
        with outside(self.grad_context):
            history = loop.accumulate(current)
        real = loop.recall(history, current)
        return real if loop is self else self.grad_context.AddValue(real)

    def real_pred(self, pred: Tensor) -> Tensor:
        """The predicate of a conditional inside of the loop, as it was in each iteration."""
        if pred not in self.history:
            with outside(self.grad_context):
                history = self.accumulate(pred)
            self.history[pred] = self.recall(history, pred)
        return self.history[pred]


def _enter(loop: WhileContext, tensor: Tensor, name: str) -> Tensor:
    entered: Tensor = primitives.enter(
        tensor,
        frame_name=loop.name,
        is_constant=False,
        parallel_iterations=loop.parallel_iterations,
        name=name,
    )
    entered._shape = tensor._shape
    loop.loop_enters.append(entered)
    return entered


def _constant_enter(value: Tensor) -> Node | None:
    node = value.op
    while SWITCH in node.declaration.traits or node.declaration in (identity, ref_identity):
        node = node.inputs[0].op
    return node if is_constant_enter(node) else None


# -- sums over iterations -------------------------------------------------------------------------
def accumulate_gradient(loop: WhileContext, node: Node, dy: Tensor) -> Tensor:
    """The gradient of a loop's constant: the sum of what the iterations give.  Called inside `loop`."""
    with outside(loop):
        start = _zeros_outside(loop, node.inputs[0], dy)
    loop.AddName(start)
    enter = _enter(loop, start, "b_acc")
    merge = primitives.merge([enter, enter], name="b_acc")[0]
    switch = primitives.switch(merge, loop.pivot)
    total = add_n([switch[1], dy]) if _is_list(dy) else arithmetic.add(switch[1], dy)
    following = primitives.next_iteration(total)
    merge.op._update_input(1, following)
    result: Tensor = primitives.exit_(switch[0], name="b_acc")
    loop.loop_exits.append(result)
    loop.leave([result])
    return result


def _is_list(tensor: Tensor) -> bool:
    """A list's zero is made from the list: its shape says nothing."""
    return tensor.dtype.base.kind == "v"


def _zeros_outside(loop: WhileContext, value: Tensor, dy: Tensor) -> Tensor:
    if _is_list(dy):
        return _zero_list(loop, value)
    if dy.shape.is_full:
        with inside(loop.outer_context):
            return constant(0, dy.dtype.base, shape=dy.shape, name="b_acc")
    outer = loop.outer_context
    if isinstance(outer, WhileContext) and outer.grad_state is not None:
        state = loop.grad_state
        with without_waiting(loop.graph, state.forward_context.outer_context):
            sizes = full_shape(value)
        saved = state.outer.accumulate(sizes)
        with outer.entered():
            sizes = state.outer.recall(saved, sizes)
            return zeros(sizes, dy.dtype.base)
    with inside(outer):
        return zeros(full_shape(value), dy.dtype.base)


def _zero_list(loop: WhileContext, value: Tensor) -> Tensor:
    outer = loop.outer_context
    with inside(outer):
        if isinstance(outer, WhileContext) and outer.grad_state is not None:
            value = outer.grad_state.real_value(value)
        zero: Tensor = array.zeros_like(value)
        return zero


def full_shape(value: Tensor) -> Any:
    """The shape of a value, or of the variable that a handle leads to."""
    behind = value.dtype.base.kind == "r"
    return variable_parts.shape_of_variable(value) if behind else array.shape(value)
