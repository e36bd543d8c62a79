r"""The context of a while loop, and how its nodes are wired.

    Enter -> Merge -> Switch -> (true)  Identity -> body -> NextIteration -> back to Merge
                   \-> LoopCond   (false) Exit

What the body uses from outside enters as a constant of the loop.  In the context of a gradient loop,
values of the forward loop come from its history (`grad_state`, see autodiff.loops).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.core.fields import reads
from headrace.core.shapes import Shape
from headrace.functions.control.flow_context import FlowContext, output_context, switch_any, with_summaries
from headrace.functions.control.shape_invariants import check_invariant, set_invariant
from headrace.functions.values import nest
from headrace.graph.graph import Graph
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor
from headrace.ops.array.source import identity
from headrace.ops.control import control_flow as primitives
from headrace.ops.control.function_call import symbolic_gradient
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.declaration.traits import ENTER, OF_SHAPE


def is_constant_enter(node: Node) -> bool:
    return ENTER in node.declaration.traits and bool(node.attrs["is_constant"])


def loop_of(node: Node) -> Any:
    """The innermost loop that a node's outputs live in."""
    context = output_context(node)
    return None if context is None else context.while_context()


class WhileContext(FlowContext):
    def __init__(
        self,
        maximum_iterations: Tensor | None = None,
        parallel_iterations: int = 10,
        back_prop: bool = True,
        swap_memory: bool = False,
        name: str = "while_context",
        grad_state: Any = None,
        graph: Graph | None = None,
    ) -> None:
        super().__init__(graph)
        self.name = self.graph.unique_name(name)
        self.maximum_iterations, self.parallel_iterations = maximum_iterations, parallel_iterations
        self._back_prop, self.swap_memory = back_prop, swap_memory
        self._grad_state = grad_state
        self.pivot: Tensor | None = None  # the loop's condition
        self.pivot_for_pred: Tensor | None = None
        self.pivot_for_body: Tensor | None = None
        self.loop_enters: list[Tensor] = []
        self.loop_exits: list[Tensor] = []

    back_prop: bool = reads("_back_prop")
    grad_state: Any = reads("_grad_state")

    def while_context(self) -> Any:
        return self

    GetWhileContext = while_context

    @property
    def control_pivot(self) -> Any:
        """What a node without inputs waits for: it then runs once in every iteration."""
        return self.pivot_for_body if self.pivot_for_body is not None else self.pivot_for_pred

    # -- values from outside -------------------------------------------------------------------
    def AddValue(self, tensor: Tensor) -> Tensor:
        if tensor in self._values:
            return self._inside.get(tensor, tensor)
        self._values.add(tensor)
        from_history = self._forward_value(tensor)
        if from_history is not None:
            self._inside[tensor] = from_history
            return from_history
        source = tensor if self._outer is None else self._outer.AddValue(tensor)
        with self.graph.control_dependencies(None):
            inside = self._enter(source, is_constant=True)
            if self._outer is not None:
                self._outer.AddInnerOp(inside.op)
        self._adopt([inside])
        self._values.add(inside)
        self._inside[tensor] = inside
        return inside

    def _forward_value(self, tensor: Tensor) -> Tensor | None:
        """In a gradient loop: what the forward loop had in the same iteration."""
        current = self.graph._get_control_flow_context()
        current = None if current is None else current.while_context()
        if current is None or current.grad_state is None:
            return None
        forward = loop_of(tensor.op)
        if forward is None or forward is not current.grad_state.forward_context:
            return None
        result: Tensor | None = current.grad_state.real_value(tensor)
        return result

    def _enter(self, tensor: Tensor, is_constant: bool) -> Tensor:
        enter = primitives.ref_enter if tensor.dtype.is_ref else primitives.enter
        result: Tensor = enter(
            tensor,
            frame_name=self.name,
            is_constant=is_constant,
            parallel_iterations=self.parallel_iterations,
        )
        self.graph.prevent_feeding(result)
        result._shape = tensor._shape
        return result

    def _adopt(self, tensors: Sequence[Tensor]) -> None:
        """Enters belong to the loop; they wait outside."""
        for tensor in tensors:
            node = tensor.op
            node._set_control_flow_context(self)
            outside = [n for n in node.control_inputs if self._waits_outside(n)]
            if len(outside) != len(node.control_inputs):
                node._remove_all_control_inputs()
                node._add_control_inputs(outside)
            # Blocks that were open when the loop began still count.
            blocks = self.graph._control_dependencies_for_inputs([t.op for t in node.inputs])
            node._add_control_inputs([n for n in blocks if self._waits_outside(n)])
            self.graph._record_op_seen_by_control_dependencies(node)

    def _waits_outside(self, node: Node) -> bool:
        outer = None if self._outer is None else self._outer.while_context()
        return loop_of(node) is outer

    # -- nodes ---------------------------------------------------------------------------------
    def AddOp(self, node: Node) -> None:
        if OF_SHAPE in node.declaration.traits and len(node.inputs) == 1 and self._moves_to_forward(node):
            return
        self.add(node)

    def _moves_to_forward(self, node: Node) -> bool:
        """A gradient needs only the shape of a forward value: keep that, not the value."""
        current = self.graph._get_control_flow_context()
        current = None if current is None else current.while_context()
        if current is None or current.grad_state is None:
            return False
        source = node.inputs[0].op
        if loop_of(source) is not current.grad_state.forward_context:
            return False
        context = output_context(source)
        node._remove_all_control_inputs()  # the forward pass does not wait for the gradient
        node._set_control_flow_context(context)
        (context.add if isinstance(context, WhileContext) else context.AddOp)(node)
        return True

    def add(self, node: Node) -> None:
        if not node.inputs:
            outside = self._drop_outside_control(node)
            if not node.control_inputs:
                node._add_control_input(self.control_pivot.op)
        else:
            for index, tensor in enumerate(list(node.inputs)):
                inside = self.AddValue(tensor)
                if inside is not tensor:
                    node._update_input(index, inside)
            outside = self._drop_outside_control(node)
            if self._is_free(node):
                node._add_control_input(self.control_pivot.op)
        self._values |= set(node.outputs)
        if outside:
            self._pull_in(node, outside)
        self._keep_private(node)
        if self._outer is not None:
            self._outer.AddInnerOp(node)

    def _is_free(self, node: Node) -> bool:
        """Depends on constants of the loop alone: without the pivot it would run once, not each time."""
        if node.control_inputs:
            return False
        if node.type in self.graph._functions or node.declaration is symbolic_gradient:
            return True
        return all(is_constant_enter(t.op) for t in node.inputs)

    def _pull_in(self, node: Node, outside: Sequence[Node]) -> None:
        """A control input from outside becomes a constant of the loop, and waits inside."""
        sources = [n.outputs[0] for n in outside if n.outputs]
        with self.graph.control_dependencies(None), self.entered():
            inside = [identity(t).op for t in sources]
        node._add_control_inputs(inside)

    # -- the loop ------------------------------------------------------------------------------
    def build(
        self,
        pred: Callable[..., Any],
        body: Callable[..., Any],
        loop_vars: Sequence[Tensor],
        invariants: Sequence[Shape],
        rebuild: Callable[[Sequence[Tensor]], Any],
        to_tensors: Callable[[Any], list[Tensor]],
    ) -> tuple[Any, list[Tensor]]:
        """Wire the loop; returns the body's result and the exits."""
        self._values |= set(loop_vars)
        sources = list(loop_vars)
        if self._outer is not None:
            sources = [self._outer.AddValue(x) for x in loop_vars]
        self.loop_enters = enters = self._enter_variables(sources, invariants)
        # From here on an initial value is a value from outside like any other.
        self._values = set(enters)
        self._inside.clear()
        merges = [_merge([x, x]) for x in enters]
        self.pivot_for_pred = merges[0]
        condition = convert_to_tensor(pred(*rebuild(merges)))
        self.pivot = primitives.loop_cond(condition, name="LoopCond")
        assert self.pivot is not None
        switches = [switch_any(x, self.pivot) for x in merges]
        inner = [identity(x[1]) for x in switches]
        self.pivot_for_body = inner[0]
        packed = rebuild(inner)
        result = with_summaries(lambda: body(*packed))
        if not nest.is_sequence_or_composite(result):
            result = [result]
        nest.assert_same_structure(list(packed), list(result), expand_composites=True)
        values = to_tensors(result)
        if len(values) != len(merges):
            raise ValueError(
                f"Number of inputs and outputs of body must match loop_vars: {len(merges)}, {len(values)}"
            )
        for merge_var, value in zip(merges, values):
            add_back_edge(merge_var, value, enforce=True)
        self.loop_exits = [_exit(x[0]) for x in switches]
        for x, y in zip(merges, self.loop_exits):
            y._shape = x._shape
        self.leave(self.loop_exits)
        return result, self.loop_exits

    def _enter_variables(self, sources: Sequence[Tensor], invariants: Sequence[Shape]) -> list[Tensor]:
        with self.graph.control_dependencies(None):
            enters = [self._enter(x, is_constant=False) for x in sources]
            for x in enters:
                if self._outer is not None:
                    self._outer.AddInnerOp(x.op)
        if self._outer is not None:
            pivot = self._outer.control_pivot
            for x in enters:
                if pivot is not None and is_constant_enter(x.op.inputs[0].op):
                    x.op._add_control_input(pivot.op)
        for source, x, shape in zip(sources, enters, invariants):
            set_invariant(source, x, shape)
        self._adopt(enters)
        return enters


def _merge(tensors: Sequence[Tensor]) -> Tensor:
    merge = primitives.ref_merge if tensors[0].dtype.is_ref else primitives.merge
    result: Tensor = merge(list(tensors))[0]
    return result


def _exit(tensor: Tensor) -> Tensor:
    exit_ = primitives.ref_exit if tensor.dtype.is_ref else primitives.exit_
    result: Tensor = exit_(tensor)
    return result


def add_back_edge(merge: Tensor, value: Any, enforce: bool = False) -> Tensor:
    """NextIteration of `value`, as the second input of the Merge."""
    value = convert_to_tensor(value)
    step = primitives.ref_next_iteration if value.dtype.is_ref else primitives.next_iteration
    following: Tensor = step(value)
    if enforce:
        check_invariant(merge, following)
    elif not merge.shape.is_compatible_with(following.shape):
        merge._shape = Shape(None)
    merge.op._update_input(1, following)
    return following
