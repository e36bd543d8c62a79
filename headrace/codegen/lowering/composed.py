"""Ops that are small graphs of others (`Emitter.composed`): the graph is built for these shapes, made a
plan, improved, and walked in the op's place, loops included.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from headrace.codegen.ir.kernel_ir import Array
from headrace.codegen.lowering import control
from headrace.core.dtypes import DType
from headrace.core.shapes import Shape
from headrace.functions.array.array import zeros
from headrace.functions.control.tensor_array import TensorArray
from headrace.functions.control.while_loop import while_loop
from headrace.graph.graph import Graph
from headrace.graph.tensor import Tensor
from headrace.ops.array.constant import constant
from headrace.ops.array.source import placeholder
from headrace.ops.declaration.constants import constant_value
from headrace.ops.declaration.emit import Decline
from headrace.ops.declaration.traits import CONTROL_FLOW
from headrace.ops.math.cast import cast
from headrace.passes.pipeline import improve
from headrace.plan.prune import prune
from headrace.plan.structure import structured

if TYPE_CHECKING:
    from headrace.codegen.lowering.specialize import Specializer

KNOWN_LIMIT = 64  # elements of an operand that the graph knows


def compose(s: Specializer, rule: Callable[..., Sequence[Tensor]], operands: Sequence[Array]) -> list[Array]:
    """The results of rule(build, *tensors); `s` is the Specializer."""
    outer = s.emitter.node
    assert outer is not None
    graph, fed, given = Graph(), [], []
    with graph.as_default(), graph.name_scope(outer.name):
        arguments = []
        for operand in operands:
            if operand.value is not None and operand.count <= KNOWN_LIMIT:
                arguments.append(constant(operand.value.astype(operand.dtype.numpy), operand.dtype))
                continue
            arguments.append(placeholder(dtype=operand.dtype, shape=[int(n) for n in operand.shape]))
            fed.append(arguments[-1])
            given.append(operand)
        outputs = rule(Build(), *arguments)
    plan = improve(prune(graph, fed, list(outputs), []))
    is_straight = not any(CONTROL_FLOW in n.op.traits for n in plan.nodes.values())
    straight = plan if is_straight else structured(plan)
    if straight is None:
        raise Decline("a composition that is not made of loops and conditionals")
    found = control.walk(s, straight, given)
    s.emitter.node = outer
    results = [x for x in found if isinstance(x, Array)]
    if len(results) < len(found):
        raise Decline("a composition that gives no value")
    return results


class Build:
    """ops.declaration.emit.Build"""

    def scan(
        self,
        step: Callable[..., tuple[list[Tensor], list[Tensor]]],
        starts: Sequence[Tensor],
        rows: Sequence[Tensor],
        count: Tensor,
        backwards: bool = False,
    ) -> tuple[list[Tensor], list[Tensor]]:
        """A loop over the rows of arrays, for rules that are composed of other ops: the values at
        the end, and what every step gives, stacked.  Rows that `count` leaves out are filled."""
        limit = rows[0].shape.dim(0)
        assert limit is not None
        steps = cast(count, DstT="int32")
        arrays = [TensorArray(r.dtype, limit).unstack(r) for r in rows]
        first = [placeholder(dtype=r.dtype, shape=r.shape[1:]) for r in rows]
        types = [(t.dtype, t.shape) for t in step(starts, first)[1]]  # nothing needs these nodes
        kept = [TensorArray(dtype, limit, element_shape=shape) for dtype, shape in types]

        def body(i: Tensor, carried: list[Tensor], collected: list[TensorArray]) -> list[object]:
            t = steps - 1 - i if backwards else i
            following, results = step(carried, [a.read(t) for a in arrays])
            return [i + 1, following, [a.write(t, r) for a, r in zip(collected, results)]]

        _, ends, kept = while_loop(
            lambda i, *_: i < steps, body, [constant(0), list(starts), kept], back_prop=False
        )
        if constant_value(count) != limit:
            kept = _rest(kept, types, steps, limit)
        return list(ends), [a.stack() for a in kept]


def _rest(
    kept: list[TensorArray], types: list[tuple[DType, Shape]], count: Tensor, limit: int
) -> list[TensorArray]:
    """The arrays with zeros where the scan did not come."""
    nothing = [zeros(shape, dtype) for dtype, shape in types]

    def body(t: Tensor, collected: list[TensorArray]) -> list[object]:
        return [t + 1, [a.write(t, z) for a, z in zip(collected, nothing)]]

    _, filled = while_loop(lambda t, *_: t < limit, body, [count, kept], back_prop=False)
    return list(filled)
