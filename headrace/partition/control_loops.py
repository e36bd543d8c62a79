r"""Loops over several devices: each device that takes part runs the iterations for itself.

A device that does not own the loop's condition gets a control loop, which carries no value: it only
makes the frame's iterations exist there, as long as the condition that it receives is true.

    Const -> Enter -> Merge -> Switch -> (true) NextIteration -> back to Merge
                        \        |
                        Recv (the condition)

Everything else that arrives inside the frame is received anew in every iteration: a Recv there waits for
the Merge by a control edge.  In a nested loop the outer control loop's Merge feeds the inner Enter.

No edge crosses out of an Enter or a NextIteration (their values exist in one iteration only, or come from
the one before): these are copied to the devices that use them, and their inputs cross instead.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.device_name import parse
from headrace.core.errors import InvalidArgumentError
from headrace.core.shapes import SCALAR
from headrace.graph.attrs import Literal
from headrace.ops.array.constant import const
from headrace.ops.control.control_flow import enter, loop_cond, merge, next_iteration, switch
from headrace.ops.declaration.declare import Op
from headrace.ops.declaration.traits import ENTER, NEXT_ITERATION
from headrace.plan.frames import Frames, Path
from headrace.plan.plan import Edge, Output, Plan, PlanNode, is_back_edge

_TRUTH = Output(dtypes.bool_, SCALAR)
_NONE: frozenset[Path] = frozenset()


def slug(device: str) -> str:
    """A device's name as part of a node's name: worker_0_1_CPU_0, or CPU_0 of this process."""
    spec = parse(device)
    task = "" if spec.job == "localhost" else f"{spec.job}_{spec.replica}_{spec.task}_"
    return f"{task}{spec.device_type}_{spec.device_index}"


# -- copies of Enter and NextIteration ------------------------------------------------------------
def localized(plan: Plan) -> Plan:
    """The plan with Enters and NextIterations on the devices that use them."""
    nodes: dict[str, PlanNode] = {}
    copied: set[tuple[str, str]] = set()
    waiting = deque((n, n.name, n.device) for n in plan.nodes.values())

    def local(name: str, device: str) -> str:
        source = plan.nodes[name]
        if source.device == device or not _is_copied(source):
            return name
        copy = f"{name}/_on_{slug(device)}"
        if (name, device) not in copied:
            copied.add((name, device))
            waiting.append((source, copy, device))
        return copy

    while waiting:
        node, name, device = waiting.popleft()
        inputs = tuple(Edge(local(e.node, device), e.index) for e in node.inputs)
        control = tuple(local(c, device) for c in node.control)
        nodes[name] = replace(node, name=name, inputs=inputs, control=control, device=device)
    return plan.rebuilt(nodes.values()) if copied else plan


def _is_copied(node: PlanNode) -> bool:
    passes_on = ENTER in node.op.traits or NEXT_ITERATION in node.op.traits
    return passes_on and not node.outputs[0].dtype.is_ref


# -- the loops of a plan --------------------------------------------------------------------------
@dataclass(slots=True)
class Loop:
    """A frame, as far as its control loops must know it."""

    path: Path
    condition: PlanNode | None = None
    entrance: PlanNode | None = None  # one of its Enters
    repeats: bool = False


def loops_of(plan: Plan, frames: Frames) -> dict[Path, Loop]:
    """The loops of a plan by frame: condition, one of the Enters, and whether they repeat at all."""
    found: dict[Path, Loop] = {}
    for node in plan.nodes.values():
        path = frames.gives[node.name]
        if not path:
            continue
        loop = found.setdefault(path, Loop(path))
        if node.op is loop_cond:
            if loop.condition is not None:
                raise _refused(node, loop, f"has a second condition, {loop.condition.name}")
            loop.condition = node
        elif ENTER in node.op.traits:
            loop.entrance = loop.entrance or node
        elif NEXT_ITERATION in node.op.traits:
            loop.repeats = True
    return found


def undriven(plan: Plan, frames: Frames, is_copied: Callable[[PlanNode], bool]) -> set[str]:
    """The nodes that need no turn of a loop around them, on their own device: what they work on has entered
    the loop once, for all iterations.  What comes from another device comes in every turn, but for small
    constants, which `is_copied`."""
    driven: dict[str, frozenset[Path]] = {}  # of every node the loops whose turns it needs
    found: set[str] = set()
    for node in plan.nodes.values():
        path = frames.gives[node.name]
        around = frozenset(path[: i + 1] for i in range(len(path)))
        if not around:
            continue
        own: set[Path] = set()
        for name in {*(e.node for e in node.inputs), *node.control}:
            source = plan.nodes[name]
            if is_back_edge(source, node):
                own.add(path)
            elif source.device != node.device and not is_copied(source):
                own |= around
            else:
                own |= driven.get(name, _NONE)
        driven[node.name] = around & own
        if not around <= own:
            found.add(node.name)
    return found


def check_crossing(source: PlanNode, node: PlanNode) -> None:
    """A reference that goes to another device leaves as its value: not into a loop's beginning."""
    if is_back_edge(source, node) or NEXT_ITERATION in source.op.traits:
        raise InvalidArgumentError(
            None, node, f"{node.name} is not on the device of {source.name}, which it refers to"
        )


def _refused(node: PlanNode, loop: Loop, why: str) -> InvalidArgumentError:
    name = "/".join(loop.path)
    return InvalidArgumentError(
        None, node, f"The loop '{name}' can not be split over several devices: it {why}"
    )


class ControlLoops:
    """Makes the control loops that are asked for; each only once."""

    def __init__(
        self,
        loops: Mapping[Path, Loop],
        add: Callable[[PlanNode], None],
        receive: Callable[[Edge, str], Edge],
    ) -> None:
        """`add` takes a new node; `receive` brings an edge to a device."""
        self.loops, self._add, self._receive = loops, add, receive
        self._beats: dict[tuple[Path, str], str] = {}

    def beat(self, path: Path, device: str) -> str:
        """The node on a device that runs, alive, once in every iteration of a frame."""
        found = self._beats.get((path, device))
        return self._make(path, device) if found is None else found

    def _make(self, path: Path, device: str) -> str:
        """A control loop: a truth goes around, driven by the condition that is received from the device that
        has it. A frame that does not repeat needs only its Enter."""
        loop = self.loops[path]
        assert loop.entrance is not None, "a frame is entered"
        name = f"{'/'.join(path)}/_control_{slug(device)}"
        like = replace(loop.entrance, device=device, control=())
        source = self._source(like, path[:-1], name)
        frame = {
            "frame_name": path[-1],
            "is_constant": False,
            "parallel_iterations": loop.entrance.attrs["parallel_iterations"],
        }
        entered = self._node(like, f"{name}/enter", enter, [source], frame)
        if not loop.repeats:
            self._beats[path, device] = entered.node
            return entered.node
        if loop.condition is None:
            raise _refused(loop.entrance, loop, "has no condition (LoopCond)")
        back = Edge(f"{name}/next", 0)
        index = Output(dtypes.int32, SCALAR)
        merged = self._node(like, f"{name}/merge", merge, [entered, back], {"N": 2}, (_TRUTH, index))
        self._beats[path, device] = merged.node
        again = self._receive(Edge(loop.condition.name, 0), device)
        parts = self._node(like, f"{name}/switch", switch, [merged, again], {}, (_TRUTH, _TRUTH))
        self._node(like, back.node, next_iteration, [Edge(parts.node, 1)])
        return merged.node

    def _source(self, like: PlanNode, outer: Path, name: str) -> Edge:
        """What enters: something that runs once wherever the loop may begin."""
        if outer:
            return Edge(self.beat(outer, like.device), 0)
        value = Literal(np.array(False), dtypes.bool_)
        attrs = {"value": value, "dtype": dtypes.bool_}
        return self._node(like, f"{name}/start", const, [], attrs, typed=False)

    def _node(
        self,
        like: PlanNode,
        name: str,
        op: Op,
        inputs: list[Edge],
        attrs: Mapping[str, Any] | None = None,
        outputs: tuple[Output, ...] = (_TRUTH,),
        typed: bool = True,
    ) -> Edge:
        """Add a node of the control loop, at the place of `like`."""
        own = {"T": dtypes.bool_} if typed else {}
        types = tuple(dtypes.bool_ for _ in inputs)
        node = PlanNode(
            name,
            op,
            tuple(inputs),
            (),
            own | dict(attrs or {}),
            outputs,
            types,
            like.device,
            like.origins,
            like.number,
        )
        self._add(node)
        return Edge(name, 0)
