"""How a step passes through a graph: pruned to what is fetched, node after node, with branches that are not
taken and loops whose turns are told apart.

TensorFlow's rules of dead values: a node with a dead input is dead, a Merge where all its inputs are, and a
loop that is never entered leaves dead values.  The order is that of a heap: writers last, then the graph's.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.state.memory import WRITERS
from tests.state.nodes import Edge, Node, edge

DEAD = object()  # the value of a branch that is not taken
MOST_OUTPUTS = 64  # of a node
Tag = tuple[tuple[str, int], ...]  # the loops that a node is in, and their turns


@dataclass(eq=False)
class Instance:
    """A node that runs, in a turn of its loops."""

    node: Node
    tag: Tag
    bit: int  # its place in masks
    mask: int = 0  # who ran before it by data and control edges, itself too
    inputs: dict[int, Any] = field(default_factory=dict)
    waiting: int = 0
    is_dead: bool = False
    has_run: bool = False

    def __lt__(self, other: Instance) -> bool:
        return self.key < other.key

    @property
    def key(self) -> tuple[bool, int, Tag]:
        return self.node.op in WRITERS, self.node.number, self.tag


class Flow:
    """One step.  What nodes compute is another matter: `compute` and `fetch`."""

    def __init__(self, nodes: dict[str, Node], feeds: dict[Edge, Any]) -> None:
        self.graph, self.feeds = nodes, feeds
        self.nodes: dict[str, Node] = {}  # that the step needs
        self.ready: list[Instance] = []
        self.instances: dict[tuple[str, Tag], Instance] = {}
        self.turns: dict[tuple[Tag, str], int] = {}  # of loops, that have begun
        self.constants: dict[tuple[Tag, str], list[tuple[Instance, Any]]] = defaultdict(list)
        self.held: list[tuple[Instance, Any]] = []  # values for the next turn of a loop
        self.left: set[tuple[str, Tag]] = set()  # exits that a value left by
        self.dead_exits: dict[tuple[str, Tag], Instance] = {}

    def compute(self, now: Instance, inputs: list[Any]) -> Sequence[Any]:
        """The outputs of a node that runs."""
        raise NotImplementedError

    def fetch(self, now: Instance, wanted: Edge, value: Any) -> None:
        """A value that is fetched was made."""
        raise NotImplementedError

    # -- the step ------------------------------------------------------------------------------
    def go(self, fetches: Sequence[str]) -> None:
        self.fetched = {edge(f) for f in fetches if ":" in f} - set(self.feeds)
        self.nodes = self.needed([f for f in fetches if ":" not in f])
        self.users = self.consumers()
        self.one_by_one = {  # loops whose turns do not overlap
            n.attr("frame_name")
            for n in self.nodes.values()
            if n.op in ("Enter", "RefEnter") and n.attr("parallel_iterations") == 1
        }
        for node in self.nodes.values():
            if not self.sources(node) and not self.waits(node):
                self.instance(node, ())
        while self.ready or self.resume():
            if self.ready:
                self.execute(heapq.heappop(self.ready))

    def needed(self, targets: Sequence[str]) -> dict[str, Node]:
        stack = [name for name, _ in self.fetched] + list(targets)
        seen = set(stack)
        while stack:
            node = self.graph[stack.pop()]
            more = [name for name, _ in self.sources(node)]
            more += self.waits(node)
            stack += [n for n in dict.fromkeys(more) if n not in seen]
            seen.update(more)
        return {name: node for name, node in self.graph.items() if name in seen}

    def is_fed(self, name: str) -> bool:
        """A fed placeholder does not run."""
        return self.graph[name].op == "Placeholder" and (name, 0) in self.feeds

    def sources(self, node: Node) -> list[Edge]:
        return [e for e in node.inputs if e not in self.feeds]

    def waits(self, node: Node) -> list[str]:
        return [c for c in dict.fromkeys(node.control) if not self.is_fed(c)]

    def consumers(self) -> dict[str, list[tuple[Node, int, int]]]:
        """Of each node: who takes which output as which input; control edges have output -1."""
        found: dict[str, list[tuple[Node, int, int]]] = defaultdict(list)
        for node in self.nodes.values():
            for place, (name, output) in enumerate(node.inputs):
                if (name, output) not in self.feeds:
                    found[name].append((node, output, place))
            for name in self.waits(node):
                found[name].append((node, -1, -1))
        return found

    # -- instances -----------------------------------------------------------------------------
    def instance(self, node: Node, tag: Tag) -> Instance:
        found = self.instances.get((node.name, tag))
        if found is None:
            found = Instance(node, tag, len(self.instances))
            found.mask = 1 << found.bit
            found.inputs = {i: self.feeds[e] for i, e in enumerate(node.inputs) if e in self.feeds}
            found.waiting = len(self.sources(node)) + len(self.waits(node))
            if node.op == "Merge":  # one input is enough
                found.waiting -= len(self.sources(node)) - 1
            self.instances[node.name, tag] = found
            self.start(found)
        return found

    def start(self, instance: Instance) -> None:
        if instance.waiting == 0 and not instance.has_run:
            heapq.heappush(self.ready, instance)

    def execute(self, now: Instance) -> None:
        if now.has_run:
            return
        now.has_run = True
        if now.is_dead:
            self.propagate(now, [DEAD] * MOST_OUTPUTS)
        else:
            inputs = [now.inputs.get(i) for i in range(len(now.node.inputs))]
            self.propagate(now, self.compute(now, inputs))

    def propagate(self, now: Instance, outputs: Sequence[Any]) -> None:
        """Where the outputs go: into a loop, to its next turn, out of it, or to the same turn."""
        op, tag = now.node.op, now.tag
        if op in ("Enter", "RefEnter"):
            frame = now.node.attr("frame_name")
            last = 0
            if now.node.attr("is_constant"):  # the same value in all turns
                self.constants[tag, frame].append((now, outputs))
                last = self.turns.get((tag, frame), 0)
            for turn in range(last + 1):
                self.deliver(now, outputs, (*tag, (frame, turn)))
            return
        if op == "NextIteration":
            if not now.is_dead:
                self.held.append((now, outputs))
                if tag[-1][0] not in self.one_by_one:
                    self.turn()
            return
        if op in ("Exit", "RefExit"):
            tag = tag[:-1]
            if now.is_dead:
                self.dead_exits[now.node.name, tag] = now
                return
            self.dead_exits.pop((now.node.name, tag), None)
            self.left.add((now.node.name, tag))
        self.deliver(now, outputs, tag)

    def turn(self) -> None:
        """The values that were held in the innermost loop go into its next turn."""
        frame, turn = self.held[-1][0].tag[-1]
        outer = self.held[-1][0].tag[:-1]
        ended, tag = (*outer, (frame, turn)), (*outer, (frame, turn + 1))
        held = [h for h in self.held if h[0].tag == ended]
        self.held = [h for h in self.held if h[0].tag != ended]
        if self.turns.get((outer, frame), 0) <= turn:
            self.turns[outer, frame] = turn + 1
            for source, outputs in self.constants[outer, frame]:
                self.deliver(source, outputs, tag)
        for source, outputs in held:
            if frame in self.one_by_one:
                source.mask |= self.all_of(ended)
            self.deliver(source, outputs, tag)

    def all_of(self, tag: Tag) -> int:
        """Who ran in a turn of a loop, and in the loops inside of it."""
        mask = 0
        for instance in self.instances.values():
            if instance.tag[: len(tag)] == tag and instance.has_run:
                mask |= instance.mask
        return mask

    def resume(self) -> bool:
        """Nothing can run: the innermost loop begins its next turn, or was never entered and leaves
        dead values."""
        self.held.sort(key=lambda held: len(held[0].tag))
        depth = max((len(instance.tag) for instance in self.dead_exits.values()), default=0)
        if self.held and len(self.held[-1][0].tag) >= depth:
            self.turn()
        elif depth:
            leaving = {k: v for k, v in self.dead_exits.items() if len(v.tag) == depth}
            for (name, tag), instance in leaving.items():
                del self.dead_exits[name, tag]
                if (name, tag) not in self.left:
                    self.deliver(instance, [DEAD], tag)
        return bool(self.ready or self.held or self.dead_exits)

    def deliver(self, now: Instance, outputs: Sequence[Any], tag: Tag) -> None:
        for i, value in enumerate(outputs):
            if tag == () and (now.node.name, i) in self.fetched:
                self.fetch(now, (now.node.name, i), value)
        for node, output, place in self.users[now.node.name]:
            self.arrive(node, tag, place, None if output < 0 else outputs[output], now)

    def arrive(self, node: Node, tag: Tag, place: int, value: Any, source: Instance) -> None:
        target = self.instance(node, tag)
        is_dead = value is DEAD or (place < 0 and source.is_dead)
        if node.op == "Merge" and place >= 0:
            self.arrive_at_merge(target, place, value, source)
            return
        target.mask |= source.mask
        target.inputs[place] = value
        target.is_dead |= is_dead
        target.waiting -= 1
        self.start(target)

    def arrive_at_merge(self, target: Instance, place: int, value: Any, source: Instance) -> None:
        """The first living value is the result; it is dead where all are."""
        target.inputs[place] = value
        is_loop = any(self.nodes[n].op == "NextIteration" for n, _ in target.node.inputs)
        count = 1 if is_loop else len(target.node.inputs)
        if value is DEAD:
            arrived = [v for k, v in target.inputs.items() if k >= 0]
            if len(arrived) < count or any(v is not DEAD for v in arrived):
                return
            target.is_dead = True
        target.mask |= source.mask
        target.waiting -= 1
        self.start(target)
