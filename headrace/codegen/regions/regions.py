"""Which nodes compile together.  In: a plan without control flow.  Out: units in running order,
each a `Region` (compiled as a whole) or a single node (run by the host).

How an op is run is decided here and nowhere else: `lower` (a rule for generated loops) or
`library` (a call), else the host.  Nodes that touch the same variable keep the plan's order.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from math import prod

from headrace.codegen.ir.kernel_ir import F16, kind_of
from headrace.codegen.machine.target import has_half
from headrace.codegen.regions.array_ops import CREATORS, RULES
from headrace.core.dtypes import DType
from headrace.ops.declaration.emit import Decline
from headrace.ops.declaration.in_region import InRegion
from headrace.ops.declaration.traits import (
    BLOCKING,
    CONSTANT,
    CONTROL_FLOW,
    DIFFERENT_EACH_TIME,
    HOST,
    IDENTITY,
    STATEFUL,
    VARIABLE,
)
from headrace.plan.plan import Edge, Plan, PlanNode, is_handle
from headrace.plan.units import SEGMENT, handed_on, inner_nodes, inner_plans, is_unit

_NEVER = {HOST, CONTROL_FLOW, BLOCKING, DIFFERENT_EACH_TIME}

FEW = 64  # numbers that may be sizes
_IS_THERE = {CONSTANT, VARIABLE}  # nodes of which nothing is computed
RANKS = 8  # numbers that are a shape, most likely
_ROUNDS = 20  # of placing: arrays pull their users to one level

Key = tuple[Hashable, ...]  # names a variable: ("name", container, name), or ("edge", edge)


@dataclass(slots=True, eq=False)
class Region:
    """Nodes that become one program."""

    nodes: list[PlanNode]
    inputs: list[Edge] = field(default_factory=list)  # values from outside
    outputs: list[Edge] = field(default_factory=list)  # values that others need
    kept: list[Edge] = field(default_factory=list)  # what the user asked to run: computed, unseen
    variables: dict[Key, PlanNode | Edge] = field(default_factory=dict)  # where each comes from

    @property
    def name(self) -> str:
        return f"region of {len(self.nodes)} nodes ending in {self.nodes[-1].name}"

    def deciding(
        self, name: str, asked: Sequence[int], plan: Plan, shapes: Sequence[tuple[int, ...]]
    ) -> list[list[Edge]]:
        """The inputs on which the node depends that are few integers, perhaps sizes: first those that are no
        more than a shape has, then all.  `asked` are the places of the operands whose values it asked for.  A
        node that asked for none is computed where all are known: that is arithmetic on sizes, or hopeless."""
        operands = plan.nodes[name].inputs
        needed = {operands[i].node for i in asked} if asked else {name}
        for node in reversed(self.nodes):
            if node.name in needed or any(n.name in needed for n in inner_nodes(node)):
                needed.add(node.name)
                needed.update(e.node for e in node.inputs)
        found = [
            (prod(shape), e)
            for e, shape in zip(self.inputs, shapes)
            if e.node in needed and prod(shape) <= FEW and plan.dtype(e).base.is_integer
        ]
        return [[e for count, e in found if count <= most] for most in ((RANKS, FEW) if asked else (RANKS,))]


Unit = Region | PlanNode


def why_not(node: PlanNode) -> str | None:
    """Why the host must run this node; None if it may compile."""
    op = node.op
    if VARIABLE in op.traits:
        return _strange([node.attrs["dtype"]])
    if is_unit(node):
        return _why_not_inside(node)
    if op.region_role in RULES:
        elements = [node.attrs[name] for name in ("dtype", "elem_type") if name in node.attrs]
        if any(dtype.base.kind == "c" for dtype in elements):
            return "arrays of complex numbers stay on the host"
        if any(dtype.base.kind in "rv" for dtype in elements):
            return "stacks of arrays stay on the host"
        return _strange([*elements, *node.input_types, *(o.dtype for o in node.outputs)])
    if op.traits & _NEVER and not is_draw(node):
        return "runs on the host"
    if not (op.lower_rule or op.library_rules or CONSTANT in op.traits or is_nothing(node)):
        if STATEFUL in op.traits or op.reference is None or op.wants_context:
            return "has no compiled rule"
        # Arithmetic on shapes: known when the program is made.
        if not all(o.dtype.is_integer or o.dtype.is_bool for o in node.outputs):
            return "has no compiled rule"
    return _strange([*node.input_types, *(o.dtype for o in node.outputs)])


def _strange(types: list[DType]) -> str | None:
    """Why values of these types are not compiled; handles are."""
    try:
        for dtype in types:
            if dtype.base.kind in "rc":
                continue
            if kind_of(dtype.base) is F16 and not has_half():
                return "this processor does not convert float16"
    except Decline as reason:
        return str(reason)
    return None


def _why_not_inside(unit: PlanNode) -> str | None:
    """A loop or branch compiles with everything in it."""
    if unit.op is SEGMENT:
        return "runs on the host"
    made = {Edge(n.name, 0) for n in inner_nodes(unit) if VARIABLE in n.op.traits}
    for plan in inner_plans(unit):
        feeds = set(plan.feeds)
        for node in plan.nodes.values():
            if node.name in feeds:
                continue
            reason = why_not(node)
            if reason is None and any(e in made for e in node.inputs):
                reason = "names a variable inside"
            if reason is not None:
                return f"{node.name} ({node.op.name}): {reason}"
    return None


def creates(node: PlanNode) -> bool:
    """Makes an array or a stack; of a branch, one that a later branch uses too."""
    made_inside = is_unit(node) and any(o.dtype.base.kind == "r" for o in node.outputs)
    return made_inside or node.op.region_role in CREATORS


def is_draw(node: PlanNode) -> bool:
    """Draws from a generator of its own, which is a variable to the compiled rule."""
    op = node.op
    return DIFFERENT_EACH_TIME in op.traits and op.wants_context and op.lower_rule is not None


def generator_key(node: PlanNode) -> Key:
    return ("generator", node.name)


def is_nothing(node: PlanNode) -> bool:
    """Only orders others: NoOp."""
    return not node.inputs and not node.outputs and STATEFUL not in node.op.traits


def _is_small(node: PlanNode) -> bool:
    """A constant of few numbers."""
    return CONSTANT in node.op.traits and node.attrs["value"].array.size <= FEW


class Cutter:
    """Cuts one plan; `declined` are nodes that turned out not to compile, with the reason."""

    def __init__(self, plan: Plan, declined: dict[str, str]) -> None:
        self.plan, self.feeds = plan, set(plan.feeds)
        self.declined = declined
        self.keys: dict[Edge, Key] = {}
        self.level: dict[str, int] = {}
        self.compiled: dict[str, bool] = {}
        self.touched: dict[Key, list[str]] = {}
        self.least: dict[str, int] = {}  # levels that nodes have at least
        self.apart: set[str] = set()  # users of arrays that do not fit into one region

    def units(self) -> list[Unit]:
        """Level by level: what compiles as a region, the others one by one."""
        nodes = [n for n in self.plan.nodes.values() if n.name not in self.feeds]
        self.settle(nodes)
        out: list[Unit] = []
        for level in range(max(self.level.values(), default=-1) + 1):
            here = [n for n in nodes if self.level[n.name] == level]
            inside = [n for n in here if self.compiled[n.name]]
            if all(n.op.traits & _IS_THERE for n in inside):
                out.extend(n for n in inside if VARIABLE in n.op.traits or self.is_taken(n))
            else:
                out.append(self.region(inside, self.constants_of(inside)))
            out.extend(n for n in here if not self.compiled[n.name])
        return out

    def is_taken(self, constant: PlanNode) -> bool:
        """Whether others than regions, which have small constants of their own, use a constant."""
        if not _is_small(constant):
            return True
        edge, users = Edge(constant.name, 0), self.plan.nodes.values()
        return edge in self.plan.fetches or any(
            edge in user.inputs for user in users if not self.compiled.get(user.name)
        )

    def constants_of(self, nodes: list[PlanNode]) -> list[PlanNode]:
        """Small constants of other regions that these nodes use: each region has its own, so that what is
        decided by their values is known when it is compiled."""
        inside = {n.name for n in nodes}
        used = dict.fromkeys(e.node for n in nodes for e in n.inputs if e.node not in inside)
        found = (self.plan.nodes[name] for name in used if self.compiled.get(name))
        return list(filter(_is_small, found))

    def settle(self, nodes: list[PlanNode]) -> None:
        """Give every node its level."""
        for turn in count(1):
            self.level, self.compiled, self.touched = {}, {}, {}
            for node in nodes:
                self.place(node)
            moving = self.gather_arrays(nodes)
            if moving is None:
                break
            # Where the host stands between users of an array, each pulls the other up for ever.
            if turn % _ROUNDS == 0:
                self.apart |= moving
                self.least = {}

    def place(self, node: PlanNode) -> None:
        """A region's level: one more than the host nodes that it waits for."""
        name = node.name
        compiled = name not in self.declined and name not in self.apart and why_not(node) is None
        self.compiled[name] = compiled
        level = self.least.get(name, 0)
        for source in self.sources(node):
            if source in self.level:
                waits = compiled and not self.compiled[source]
                level = max(level, self.level[source] + waits)
        self.level[name] = level
        for key in self.own_keys(node):
            self.touched.setdefault(key, []).append(name)

    def gather_arrays(self, nodes: list[PlanNode]) -> set[str] | None:
        """An array or stack lives in one region, with all that use it: move them to one level, or
        to the host.  The users of arrays that move to another level; None if all stay."""
        leaving = {self.root(e) for e in self.plan.fetches if self.plan.dtype(e).base.kind == "r"}
        moving: set[str] = set()
        changed = False
        for key, members in self.users(nodes).items():
            is_whole = key not in leaving and all(self.compiled[n.name] for n in members)
            if not any(map(creates, members)):
                members, is_whole = [n for n in members if n.op.region_role in RULES], False
            names = {n.name for n in members}
            if not is_whole:
                changed = changed or not names <= self.apart
                self.apart |= names
                continue
            level = max(self.level[name] for name in names)
            late = {name for name in names if self.level[name] < level}
            self.least |= dict.fromkeys(late, level)
            moving |= names if late else set()
        return moving if changed or moving else None

    def users(self, nodes: list[PlanNode]) -> dict[Key, list[PlanNode]]:
        """Who uses each array."""
        users: dict[Key, list[PlanNode]] = {}
        for node in nodes:
            edges = list(node.inputs)
            if creates(node):
                edges += [Edge(node.name, i) for i in range(len(node.outputs))]
            keys = {self.root(e) for e in edges if self.plan.dtype(e).base.kind == "r"}
            for key in keys:
                users.setdefault(key, []).append(node)
        return users

    def root(self, edge: Edge) -> Key:
        """The array that a handle names; that of a gradient counts as the same."""
        node = self.plan.nodes[edge.node]
        while node.op.region_role is InRegion.GRADIENT or IDENTITY in node.op.traits:
            edge = node.inputs[0]
            node = self.plan.nodes[edge.node]
        return self.key(edge)

    def sources(self, node: PlanNode) -> Iterator[str]:
        """What must run before: operands, control inputs, earlier users of the same variables."""
        yield from (e.node for e in node.inputs)
        yield from node.control
        for key in self.own_keys(node):
            yield from self.touched.get(key, ())

    def own_keys(self, node: PlanNode) -> list[Key]:
        return [self.key(e) for e in node.inputs if is_handle(self.plan.dtype(e))]

    def key(self, edge: Edge) -> Key:
        """The variable that a reference or handle names, as far as the plan shows it."""
        found = self.keys.get(edge)
        if found is None:
            found = self.keys[edge] = self._find_key(edge)
        return found

    def _find_key(self, edge: Edge) -> Key:
        node = self.plan.nodes[edge.node]
        if VARIABLE in node.op.traits:
            return ("name", node.attrs["container"], node.attrs["shared_name"] or node.name)
        if is_unit(node):
            handed = handed_on(node, edge.index)
            return ("edge", edge) if handed is None else self.key(handed)
        if node.outputs[edge.index].dtype.is_ref:
            for source in node.inputs:
                if self.plan.dtype(source).is_ref:
                    return self.key(source)
        if IDENTITY in node.op.traits and not self.is_array(node.inputs[0]):
            return self.key(node.inputs[0])
        return ("edge", edge)

    def region(self, nodes: list[PlanNode], constants: Sequence[PlanNode] = ()) -> Region:
        """The region of these nodes, and of constants that others have too: what comes in, what others need
        of it, and the variables (and generators of random numbers) that it reads or writes."""
        region = Region([*constants, *nodes])
        inside = {n.name for n in region.nodes}
        for node in nodes:
            if VARIABLE in node.op.traits:
                region.variables[self.key(Edge(node.name, 0))] = node
            for drawing in (node, *inner_nodes(node)):
                if is_draw(drawing):
                    region.variables[generator_key(drawing)] = drawing
        for node in nodes:
            for edge in node.inputs:
                if is_handle(self.plan.dtype(edge)):
                    key = self.key(edge)
                    if key not in region.variables and not self.is_array(edge):
                        source = self.variable_node(key)
                        region.variables[key] = edge if source is None else source
                elif edge.node not in inside and edge not in region.inputs:
                    region.inputs.append(edge)
        used = set()
        for n in self.plan.nodes.values():
            if n.name not in inside:
                is_compiled = self.compiled.get(n.name)
                used |= {e for e in n.inputs if not (is_compiled and _is_small(self.plan.nodes[e.node]))}
        wanted = used | set(self.plan.fetches)
        for node in nodes:
            edges = (Edge(node.name, i) for i in range(len(node.outputs)))
            for edge in edges:
                if edge in wanted:
                    region.outputs.append(edge)
                    if is_handle(self.plan.dtype(edge)):
                        self.key(edge)
                elif node.name in self.plan.targets and not is_handle(self.plan.dtype(edge)):
                    region.kept.append(edge)
        return region

    def is_array(self, edge: Edge) -> bool:
        return self.plan.nodes[edge.node].op.region_role in RULES

    def variable_node(self, key: Key) -> PlanNode | None:
        if key[0] != "name":
            return None
        for node in self.plan.nodes.values():
            if VARIABLE in node.op.traits and self.key(Edge(node.name, 0)) == key:
                return node
        return None


def describe(units: list[Unit], declined: dict[str, str]) -> str:
    lines = []
    for unit in units:
        if isinstance(unit, Region):
            lines.append(f"{unit.name}: " + ", ".join(n.name for n in unit.nodes))
        else:
            reason = declined.get(unit.name) or why_not(unit) or ""
            lines.append(f"host {unit.name} ({unit.op.name}): {reason}")
    return "\n".join(lines)
