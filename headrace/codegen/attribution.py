"""Whose time it was.  In: a region, its program and the ticks that each entry took.  Out: a span per
node.

An entry belongs to the node whose value it stores last.  A node that was fused into others stores
nothing: it gets a span without length, where the entry of its first user begins.
"""

from __future__ import annotations

from headrace.codegen.program import native
from headrace.codegen.program.program import Entry, NativeProgram
from headrace.codegen.regions.regions import Region
from headrace.core.dtypes import NDArray
from headrace.plan.plan import PlanNode

Span = tuple[PlanNode, float, float]  # begin and end, as parts of the whole


def spans(region: Region, program: NativeProgram, ticks: NDArray) -> list[Span]:
    """In the order in which the entries run."""
    total = max(float(ticks[: len(program.entries)].sum()), 1.0)
    nodes = {n.name: n for n in region.nodes}
    found: list[Span] = []
    begins: dict[str, float] = {}
    now = 0.0
    for owner, took in zip(owners(program.entries, nodes), ticks):
        end = now + float(took) / total
        if owner is not None:
            begins.setdefault(owner.name, now)
            found.append((owner, now, end))
        now = end
    fused = []
    for node in reversed(region.nodes):
        if node.name not in begins:
            begins[node.name] = min((begins[u] for u in users(node, region, begins)), default=1.0)
            fused.append((node, begins[node.name], begins[node.name]))
    return sorted([*found, *fused], key=lambda span: span[1])


def owners(entries: list[Entry], nodes: dict[str, PlanNode]) -> list[PlanNode | None]:
    """The node of each entry.  An entry whose results have no name belongs to the next entry's node."""
    found: list[PlanNode | None] = []
    following: PlanNode | None = None
    for entry in reversed(entries):
        named = [nodes[name] for name in entry.stores if name in nodes]
        following = named[-1] if named else following
        found.append(following)
    return found[::-1]


def users(node: PlanNode, region: Region, known: dict[str, float]) -> list[str]:
    return [n.name for n in region.nodes if n.name in known and any(e.node == node.name for e in n.inputs)]


def kind_of(entry: Entry) -> str:
    """What an entry does, without its sizes: `convolution`, `matmul`; all loops of ours are one kind."""
    if entry.kind >= native.JUMP:
        return "control"
    words = entry.name.split()
    if words[:1] == ["winograd"]:
        return " ".join(words[:2])
    is_product = "matmul" in words[:2]
    if entry.kind == native.KERNEL and not is_product:
        return "generated loop"
    return "matmul" if is_product else words[0] if words else "library call"
