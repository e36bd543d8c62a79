"""What each node of a plan waits for, as a set of bits.

In: a plan, with or without primitives of control flow.  Out: for every node the sources of waiting and
of dead values that it depends on.  Nodes with equal sets become ready at the same moment, in the
same iteration of the same frame, and are dead or alive together: they may run as one.

A source is a node that may wait (Recv, a queue), a side of a condition, what enters a frame, and every
Merge, Exit and NextIteration: behind these three stands their own bit alone, since they are alive
where some of what they depend on is dead.  Recvs whose values wait for nothing are one
source.  A set that goes through a source always gets a bit that it did not have: so no path leads from a
group of equal sets through a source back into it.
"""

from __future__ import annotations

from typing import Any

from headrace.ops.declaration.traits import BLOCKING, CONTROL_FLOW, DEFERRED, ENTER, SWITCH
from headrace.plan.guards import AT_ONCE
from headrace.plan.plan import Edge, Plan, PlanNode

WAITS = frozenset({BLOCKING, DEFERRED})


class Needs:
    """`of`: a node's name -> its set."""

    def __init__(self, plan: Plan) -> None:
        self.of: dict[str, int] = {}
        self._outputs: dict[str, list[int]] = {}  # what users of each output need
        self._control: dict[str, int] = {}  # what those need who only wait for the node
        self._bits: dict[Any, int] = {}
        for node in plan.nodes.values():
            self._add(node)

    def _add(self, node: PlanNode) -> None:
        """What a node needs is what its inputs need; a Switch adds, per output, that its side is taken."""
        need = 0
        for edge in node.inputs:
            if edge.node in self._outputs:  # else from the iteration before, to a Merge
                need |= self._outputs[edge.node][edge.index]
        for name in node.control:
            need |= self._control[name]
        self.of[node.name] = need
        behind = self._behind(node, need)
        self._control[node.name] = behind
        if SWITCH in node.op.traits:
            sides = (self._side(node, k, need) for k in range(len(node.outputs)))
            self._outputs[node.name] = [need | side for side in sides]
        else:
            self._outputs[node.name] = [behind] * len(node.outputs)

    def _behind(self, node: PlanNode, need: int) -> int:
        traits = node.op.traits
        if ENTER in traits:
            # Values that enter a frame together are one source.
            return self._bit((ENTER, node.attrs["frame_name"], node.attrs["is_constant"], need))
        if node.attrs.get(AT_ONCE) and not node.control:
            return self._bit(AT_ONCE)  # these come together: what needs some of them may wait for all
        if SWITCH in traits or traits & WAITS:
            return need | self._bit(node.name)
        return self._bit(node.name) if CONTROL_FLOW in traits else need

    def _side(self, node: PlanNode, k: int, need: int) -> int:
        """All Switches of one predicate choose the same side; one behind another is a new source."""
        shared = self._bit((SWITCH, *_predicate(node), k))
        return self._bit((SWITCH, node.name, k)) if need & shared else shared

    def _bit(self, source: Any) -> int:
        return self._bits.setdefault(source, 1 << len(self._bits))


def _predicate(switch: PlanNode) -> Edge:
    return switch.inputs[1]
