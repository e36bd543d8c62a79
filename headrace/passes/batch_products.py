"""An unrolled loop's products with one weight: the part that waits for nobody is done at once.

    [x_t, h_t] w     ->  (all x, row below row) w_top, rows of t  +  h_t w_bottom
    slice(dy_t w')   ->  rows of t of (all dy) w_top', or dy_t w_bottom'

A recurrent cell multiplies its input and its state, side by side, by one weight.  The states come one
after the other, the inputs do not: one large product then reads their half of the weight once, instead
of once in every step.  Only the order of additions changes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.shapes import make_shape
from headrace.graph.attrs import Literal
from headrace.ops.arithmetic import add_v2
from headrace.ops.concat import concat_v2
from headrace.ops.constant import const
from headrace.ops.matrix import matmul
from headrace.ops.slice import slice_
from headrace.ops.traits import CONSTANT, CONTROL_FLOW
from headrace.plan.plan import Edge, Output, Plan, PlanNode

FEWEST, MOST_ROWS = 4, 64  # products, and rows of one of them
LARGE = 1 << 20  # elements of a weight that a cache close to the core does not hold


@dataclass(frozen=True, slots=True)
class _Part:
    """A product that can be cut: its weight's first `cut` rows belong to the inputs."""

    product: PlanNode
    rows: int
    cut: int
    inner: PlanNode | None = None  # forward: the concatenation
    slices: tuple[tuple[int, PlanNode], ...] = ()  # backward: (where it begins, the slice)


def batch_products(plan: Plan) -> Plan:
    found = [n for n in plan.nodes.values() if n.op is matmul and not n.attrs["transpose_a"]]
    if len(found) < FEWEST or any(CONTROL_FLOW in n.op.traits for n in plan.nodes.values()):
        return plan
    batcher = _Batcher(plan)
    for is_back in (False, True):
        groups: dict[Any, list[_Part]] = {}
        for node in found:
            part = batcher.examine(node, is_back)
            if part is not None:
                groups.setdefault((node.inputs[1], node.device, part.cut), []).append(part)
        for parts in groups.values():
            if len(parts) >= FEWEST:
                batcher.rewrite(parts, is_back)
    return plan.rebuilt(batcher.nodes.values()) if batcher.changed else plan


class _Batcher:
    def __init__(self, plan: Plan) -> None:
        self.plan, self.nodes, self.changed = plan, dict(plan.nodes), False
        self.users = plan.consumers()
        waited = (name for n in plan.nodes.values() for name in n.control)
        self.seen = {*waited, *plan.targets, *(e.node for e in plan.fetches)}

    # -- finding -----------------------------------------------------------------------------
    def examine(self, node: PlanNode, is_back: bool) -> _Part | None:
        if node.attrs["transpose_b"] != is_back or node.control:
            return None
        if any(self.plan.dtype(e).is_ref for e in node.inputs):
            return None  # a variable that may change between two of them
        left, right = (self.sizes(e) for e in node.inputs)
        if left is None or right is None or left[0] > MOST_ROWS or np.prod(right) < LARGE:
            return None
        return self.cut_slices(node, left[0]) if is_back else self.cut_concat(node, left[0])

    def cut_concat(self, node: PlanNode, rows: int) -> _Part | None:
        inner = self.plan.nodes[node.inputs[0].node]
        if inner.op is not concat_v2 or inner.attrs["N"] != 2 or inner.control:
            return None
        axis, first = self.number(inner.inputs[2]), self.sizes(inner.inputs[0])
        if axis is None or int(axis) not in (1, -1) or first is None:
            return None
        return _Part(node, rows, first[1], inner)

    def cut_slices(self, node: PlanNode, rows: int) -> _Part | None:
        if node.name in self.seen:
            return None
        slices = []
        width = self.sizes(node.inputs[1])
        for user in self.users.get(Edge(node.name, 0), ()):
            if user.op is not slice_ or user.control:
                return None
            begin, size = self.number(user.inputs[1]), self.sizes(Edge(user.name, 0))
            if begin is None or size is None or begin[0] != 0 or size[0] != rows:
                return None
            slices.append((int(begin[1]), int(begin[1]) + size[1], user))
        cuts = {end for start, end, _ in slices if start == 0}
        cuts |= {start for start, _, _ in slices if start}
        if len(cuts) != 1 or width is None or len(slices) > 2:
            return None
        (cut,) = cuts
        if any(end not in (cut, width[0]) for _, end, _ in slices) or cut == width[0]:
            return None
        return _Part(node, rows, cut, slices=tuple((start, user) for start, _, user in slices))

    def sizes(self, edge: Edge) -> tuple[int, int] | None:
        """A matrix's sizes, if they are known."""
        shape = self.plan.shape(edge)
        if shape.rank != 2:
            return None
        rows, columns = shape.as_list()
        return None if rows is None or columns is None else (rows, columns)

    def number(self, edge: Edge) -> Any:
        node = self.plan.nodes[edge.node]
        return node.attrs["value"].array if CONSTANT in node.op.traits else None

    def reached(self, names: Iterable[str]) -> set[str]:
        """Everything that depends on these nodes."""
        after: dict[str, list[str]] = {}
        for n in self.nodes.values():
            for source in (*(e.node for e in n.inputs), *n.control):
                after.setdefault(source, []).append(n.name)
        found, stack = set(names), list(names)
        while stack:
            for name in after.get(stack.pop(), ()):
                if name not in found:
                    found.add(name)
                    stack.append(name)
        return found

    # -- rewriting ---------------------------------------------------------------------------
    def rewrite(self, parts: list[_Part], is_back: bool) -> None:
        batch = [p for p in parts if not is_back or any(start == 0 for start, _ in p.slices)]
        free = [p.inner.inputs[0] if p.inner else p.product.inputs[0] for p in batch]
        makers = [
            p.product.name if p.inner else next(s.name for start, s in p.slices if start == 0)
            for p in batch
        ]
        later = self.reached(makers)
        if len(batch) < FEWEST or any(e.node in later for e in free):
            return
        self.changed = True
        first = min((p.product for p in parts), key=lambda n: n.number)
        top, bottom = self.halves(first, parts[0].cut)
        every = self.large(first, free, [p.rows for p in batch], top)
        start = 0
        for p, target in zip(batch, makers):
            rows = self.rows_of(first, every, start, p.rows, target, is_back)
            start += p.rows
            if p.inner is not None:
                self.forward(p, rows, bottom)
        for p in parts if is_back else ():
            for begin, user in p.slices:
                if begin:
                    self.nodes[user.name] = replace(
                        p.product, name=user.name, inputs=(p.product.inputs[0], bottom),
                        outputs=user.outputs, number=user.number, origins=_origins(user, p.product),
                    )  # fmt: skip

    def forward(self, p: _Part, rows: Edge, bottom: Edge) -> None:
        """The rows of the large product, and the state's product, are added."""
        assert p.inner is not None
        node, name = p.product, f"{p.product.name}/_state"
        self.nodes[name] = replace(
            node, name=name, inputs=(p.inner.inputs[1], bottom), origins=_origins(node, p.inner)
        )
        self.nodes[node.name] = replace(
            node, op=add_v2, inputs=(rows, Edge(name, 0)), attrs={"T": node.attrs["T"]},
            input_types=(node.outputs[0].dtype,) * 2,
        )  # fmt: skip

    def halves(self, product: PlanNode, cut: int) -> tuple[Edge, Edge]:
        weight = product.inputs[1]
        sizes = self.sizes(weight)
        assert sizes is not None
        label = f"{weight.node}/_{weight.index}_{cut}"
        return (
            self.slice_of(product, weight, (0, 0), (cut, sizes[1]), f"{label}_top"),
            self.slice_of(product, weight, (cut, 0), (sizes[0] - cut, sizes[1]), f"{label}_bottom"),
        )

    def large(self, like: PlanNode, operands: list[Edge], rows: list[int], weight: Edge) -> Edge:
        """The product of all operands, one below the other."""
        dtype, height = like.outputs[0].dtype, sum(rows)
        sizes = self.sizes(operands[0])
        assert sizes is not None
        axis = self.vector(like, np.zeros((), np.int32), f"{like.name}/_axis")
        joined, name = f"{like.name}/_inputs", f"{like.name}/_products"
        self.nodes[joined] = replace(
            like, name=joined, op=concat_v2, inputs=(*operands, axis),
            input_types=(*[dtype] * len(operands), dtypes.int32),
            attrs={"N": len(operands), "T": dtype, "Tidx": dtypes.int32},
            outputs=(Output(dtype, make_shape((height, sizes[1]))),),
        )  # fmt: skip
        half = self.nodes[weight.node].outputs[0].shape.as_list()
        width = half[0] if like.attrs["transpose_b"] else half[1]
        self.nodes[name] = replace(
            like, name=name, inputs=(Edge(joined, 0), weight),
            outputs=(Output(dtype, make_shape((height, width))),),
        )  # fmt: skip
        return Edge(name, 0)

    def rows_of(
        self, like: PlanNode, every: Edge, start: int, count: int, target: str, is_back: bool
    ) -> Edge:
        """Some rows of the large product; backward under the name of the slice they replace."""
        width = self.nodes[every.node].outputs[0].shape.as_list()[1]
        assert width is not None
        name = target if is_back else f"{target}/_rows"
        old = self.plan.nodes[target]
        made = self.slice_of(like, every, (start, 0), (count, width), name)
        self.nodes[name] = replace(self.nodes[name], number=old.number, origins=_origins(old, like))
        return made

    def slice_of(
        self, like: PlanNode, source: Edge, begin: tuple[int, int], size: tuple[int, int], name: str
    ) -> Edge:
        dtype = like.outputs[0].dtype
        places = [
            self.vector(like, np.array(v, np.int32), f"{name}/_{what}")
            for what, v in (("begin", begin), ("size", size))
        ]
        self.nodes[name] = replace(
            like, name=name, op=slice_, inputs=(source, *places),
            input_types=(dtype, dtypes.int32, dtypes.int32),
            attrs={"T": dtype, "Index": dtypes.int32},
            outputs=(Output(dtype, make_shape(size)),),
        )  # fmt: skip
        return Edge(name, 0)

    def vector(self, like: PlanNode, value: np.ndarray[Any, Any], name: str) -> Edge:
        self.nodes[name] = replace(
            like, name=name, op=const, inputs=(), input_types=(),
            attrs={"value": Literal(value, dtypes.int32), "dtype": dtypes.int32},
            outputs=(Output(dtypes.int32, make_shape(value.shape)),),
        )  # fmt: skip
        return Edge(name, 0)


def _origins(*nodes: PlanNode) -> tuple[Any, ...]:
    return tuple(dict.fromkeys(o for n in nodes for o in n.origins))
