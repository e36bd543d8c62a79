"""A program as bytes: a line of JSON, then arrays.  kept_reader.py makes it a program again.

No address is written: a kernel is its identity, a primitive its recipe (onednn/recipes.py), a
function of a library follows from the kind of its entry.  A node is its place among all nodes of
the region, a variable its place among the region's variables.
"""

from __future__ import annotations

import json

from headrace.codegen.machine.refusals import Declined
from headrace.codegen.onednn import onednn_api, recipes
from headrace.codegen.program import native
from headrace.codegen.program.program import CheckInfo, Entry, Face, Key, NativeProgram, Result, Specialized
from headrace.codegen.program_cache.kept_keys import Json
from headrace.codegen.regions.regions import Region
from headrace.core.dtypes import NDArray, as_dtype
from headrace.plan.plan import PlanNode
from headrace.plan.units import inner_nodes

MOST = 64 << 20  # bytes of arrays
# Words of `head` that hold addresses, which are found anew.
ADDRESSES = {native.KERNEL: 2, native.SGEMM: 1}


class Unwritable(Exception):
    """Something in the program has no written form."""


def nodes_of(region: Region) -> list[PlanNode]:
    """All nodes of a region, those inside of loops and branches too."""
    return [n for node in region.nodes for n in (node, *inner_nodes(node))]


def write(made: Specialized, region: Region) -> bytes:
    """Raises Unwritable."""
    return _Writer(region).write(made)


def write_refusal(refusal: Declined) -> bytes:
    """Why nodes do not compile.  Another time memory may suffice."""
    if any(reason.startswith(MemoryError.__name__) for reason in refusal.reasons.values()):
        raise Unwritable("memory")
    return json.dumps({"declined": refusal.reasons, "asked": refusal.asked, "arrays": []}).encode() + b"\n"


class _Writer:
    def __init__(self, region: Region) -> None:
        self.places = {id(n): i for i, n in enumerate(nodes_of(region))}
        self.keys = {key: i for i, key in enumerate(region.variables)}
        self.recipes = recipes.Writer()
        self.kernels: dict[str, int] = {}
        self.arrays: list[bytes] = []

    def write(self, made: Specialized) -> bytes:
        packing = made.program.packing
        text: dict[str, Json] = {
            "program": self.program(made.program),
            "packing": packing and [self.program(packing.program), packing.places],
            "variables": [self.key(k) for k in made.variables],
            "updated": [self.key(k) for k in made.updated],
            "outputs": [p if isinstance(p, int) else [self.key(p)] for p in made.outputs],
        }
        text |= {"rows": self.recipes.rows, "kernels": list(self.kernels)}
        text["arrays"] = [len(a) for a in self.arrays]
        if sum(text["arrays"]) > MOST:
            raise Unwritable("constants")
        return b"".join([json.dumps(text, separators=(",", ":")).encode(), b"\n", *self.arrays])

    def key(self, key: Key) -> int:
        if key not in self.keys:
            raise Unwritable(str(key))
        return self.keys[key]

    def program(self, p: NativeProgram) -> dict[str, Json]:
        """All that a program is, as JSON can hold it; addresses are left out, the reader finds its
        own."""
        numbers = {id(e): i for i, e in enumerate(p.entries)}
        return {
            "inputs": [face(f) for f in p.inputs],
            "writes": p.writes,
            "fresh": [face(f) for f in p.fresh],
            "results": [self.result(r) for r in p.results],
            "constants": self.array(p.constants),
            "checks": [self.check(c) for c in p.checks],
            "arena": p.arena_bytes,
            "moving": p.moving,
            "growing": p.growing,
            "largest": p.largest,
            "entries": [self.entry(e, numbers) for e in p.entries],
        }

    def array(self, value: NDArray) -> int:
        self.arrays.append(value.tobytes())
        return len(self.arrays) - 1

    def result(self, r: Result) -> list[Json]:
        constant = None if r.constant is None else self.array(r.constant)
        return [r.group, r.number, *face((r.shape, r.dtype)), constant]

    def check(self, c: CheckInfo) -> list[Json]:
        node = None if c.node is None else self.places.get(id(c.node), -1)
        if c.node is not None and node == -1:
            raise Unwritable(f"a check of {c.node.name}")
        return [c.shape, c.message, c.extent, node, c.bad, c.value]

    def entry(self, e: Entry, numbers: dict[int, int]) -> list[Json]:
        """[kind, head, pairs, name, stores, team?, and by name what few entries have]."""
        hidden = ADDRESSES.get(e.kind, 0)
        more: dict[str, Json] = {}
        if e.kind == native.KERNEL:
            if not e.kernel:
                raise Unwritable(f"the kernel {e.name}")
            more["kernel"] = self.kernels.setdefault(e.kernel, len(self.kernels))
            more["params"] = [int(n) for n in e.params]
        if e.instantiate is not None:
            more["call"] = self.call(e.instantiate)
        if e.check >= 0:
            more["check"] = e.check
        if e.jump is not None:
            more["jump"] = e.jump.at
        if e.branches:
            more["branches"] = [label.at for label in e.branches]
        if e.limits is not None:
            more["limits"] = [numbers[id(e.limits[0])], e.limits[1]]
        if e.grows >= 0:
            more["grows"] = e.grows
        if e.tail or e.code is not None:
            raise Unwritable(f"the entry {e.name}")
        return [e.kind, e.head[hidden:], e.pairs, e.name, e.stores, e.uses_team, more]

    def call(self, made: Json) -> list[Json]:
        if not isinstance(made, onednn_api.Call):
            raise Unwritable("a call")
        arguments = [[name, self.recipes.number(layout)] for name, layout in made.arguments]
        return [self.recipes.number(made.primitive), arguments, made.team]


def face(f: Face) -> list[Json]:
    shape, dtype = f
    name = as_dtype(dtype).name
    if as_dtype(name).numpy is not dtype:
        raise Unwritable(f"the type {dtype}")
    return [shape, name]
