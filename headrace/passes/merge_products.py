"""A sum of products over short dimensions becomes one product over the long one.

    x' y + z' w  ->  [x; z]' [y; w]        ' is transposition, ; puts rows below rows

The gradient of a weight that an unrolled loop uses in every step is such a sum: many thin products,
each as large as the weight, and then their sum.  Only the order of additions changes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.shapes import make_shape
from headrace.graph.attrs import Literal
from headrace.ops.array.concat import concat_v2
from headrace.ops.array.constant import const
from headrace.ops.declaration.traits import CONTROL_FLOW
from headrace.ops.linalg.matrix import matmul
from headrace.ops.math.add_n import add_n
from headrace.plan.plan import Edge, Output, Plan, PlanNode


def merge_products(plan: Plan) -> Plan:
    sums = [n for n in plan.nodes.values() if n.op is add_n and len(n.inputs) > 1]
    if not sums or any(CONTROL_FLOW in n.op.traits for n in plan.nodes.values()):
        return plan
    merger = _Merger(plan)
    for node in sums:
        merger.try_to(node)
    return plan.rebuilt(merger.nodes.values()) if merger.changed else plan


class _Merger:
    def __init__(self, plan: Plan) -> None:
        self.plan, self.nodes, self.changed = plan, dict(plan.nodes), False
        self.users = plan.consumers()
        waited = (name for n in plan.nodes.values() for name in n.control)
        self.seen = {*waited, *plan.targets, *(e.node for e in plan.fetches)}

    def try_to(self, total: PlanNode) -> None:
        """Replace the products among the terms of a sum by one."""
        groups: dict[Any, list[int]] = {}
        for place, edge in enumerate(total.inputs):
            product = self.plan.nodes[edge.node]
            if self.is_thin(product):
                groups.setdefault((product.device, product.outputs[0]), []).append(place)
        places = max(groups.values(), key=len, default=[])
        if len(places) < 2:
            return
        self.changed = True
        products = [self.plan.nodes[total.inputs[p].node] for p in places]
        merged = self.merged(total, products)
        rest = [e for p, e in enumerate(total.inputs) if p not in places]
        if not rest:
            self.nodes[total.name] = replace(merged, name=total.name, control=total.control)
            return
        name = f"{total.name}/_product"
        self.nodes[name] = replace(merged, name=name)
        terms = (*rest, Edge(name, 0))
        self.nodes[total.name] = replace(
            total,
            inputs=terms,
            input_types=total.input_types[: len(terms)],
            attrs={**total.attrs, "N": len(terms)},
        )

    def is_thin(self, node: PlanNode) -> bool:
        """A product x' y, used once, of fewer rows than it pays to copy."""
        if node.op is not matmul or node.control or node.name in self.seen:
            return False
        if not node.attrs["transpose_a"] or node.attrs["transpose_b"]:
            return False
        if len(self.users.get(Edge(node.name, 0), ())) != 1:
            return False
        if any(self.plan.dtype(e).is_ref for e in node.inputs):
            return False
        left, right = (self.sizes(e) for e in node.inputs)
        if len(left) != 2 or len(right) != 2:
            return False
        (rows, m), n = left, right[1]
        return bool(m and n) and (rows is None or rows * (m + n) <= m * n)

    def sizes(self, edge: Edge) -> list[Any]:
        """The dimensions, None where one is not known; none at all for an unknown rank."""
        shape = self.plan.shape(edge)
        return [] if shape.rank is None else list(shape.as_list())

    def merged(self, total: PlanNode, products: list[PlanNode]) -> PlanNode:
        """One product in place of a sum of them: left operands side by side, right ones too."""
        axis = f"{total.name}/_axis"
        zero = np.zeros((), np.int32)
        self.nodes[axis] = replace(
            total,
            name=axis,
            op=const,
            inputs=(),
            input_types=(),
            control=(),
            attrs={"value": Literal(zero, dtypes.int32), "dtype": dtypes.int32},
            outputs=(Output(dtypes.int32, make_shape(())),),
        )
        operands = []
        for side, name in enumerate(("_left", "_right")):
            edges = [p.inputs[side] for p in products]
            operands.append(self.joined(total, f"{total.name}/{name}", edges, Edge(axis, 0)))
        origins = tuple(dict.fromkeys(o for n in (total, *products) for o in n.origins))
        return replace(products[0], inputs=tuple(operands), origins=origins, number=total.number)

    def joined(self, total: PlanNode, name: str, edges: list[Edge], axis: Edge) -> Edge:
        """The operands, one below the other."""
        dtype = self.plan.dtype(edges[0])
        sizes = [self.sizes(e) for e in edges]
        rows = [s[0] for s in sizes]
        height = None if None in rows else sum(rows)
        self.nodes[name] = replace(
            total,
            name=name,
            op=concat_v2,
            inputs=(*edges, axis),
            control=(),
            input_types=(*[dtype] * len(edges), dtypes.int32),
            attrs={"N": len(edges), "T": dtype, "Tidx": dtypes.int32},
            outputs=(Output(dtype, make_shape((height, sizes[0][1]))),),
        )
        return Edge(name, 0)
