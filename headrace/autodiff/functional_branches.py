"""The gradients of calls and of functional conditionals (If, Case).

The forward node is made to give what its gradient needs, as more outputs at its end: one place for
each value, which the branches share where type and shape agree; a branch that has nothing for a place
puts a value there that nobody reads.  The gradient is a node of the same kind.  Nothing is computed
again, and gradients of any order are the gradients of such nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headrace.autodiff import halves
from headrace.autodiff.halves import Halves
from headrace.autodiff.registry import SAVERS
from headrace.core.shapes import Shape
from headrace.graph.attrs import FunctionName
from headrace.graph.defaults import get_default_graph
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor
from headrace.ops.control.function_call import (
    case,
    gradient_type,
    if_,
    partitioned_call,
    stateful_partitioned_call,
    stateless_if,
    symbolic_gradient,
    symbolic_gradient_of,
)
from headrace.ops.graphdef.function_body import Body
from headrace.ops.graphdef.function_library import Function


@dataclass
class Saving:
    """What a node hands on to its gradient."""

    outputs: int  # the gradients of the first ones are asked for
    is_shared: bool  # another gradient may use what is saved, too
    saved: list[Tensor]
    operands: list[int]  # those that the gradient takes, too
    flows: list[int]  # the outputs whose gradients it takes
    wanted: list[int]  # the operands that get one
    bodies: list[Body]  # what the node calls now
    branches: list[Function]  # (saved..., operands..., dys...) -> dxs...


def _branches(node: Node) -> list[FunctionName]:
    if "branches" in node.attrs:
        return list(node.attrs["branches"])
    keys = ("f",) if "f" in node.attrs else ("then_branch", "else_branch")
    return [node.attrs[key] for key in keys]


def _naming(node: Node, names: Sequence[FunctionName]) -> dict[str, Any]:
    """The attributes of a node that say which functions it calls."""
    if "branches" in node.attrs:
        return {"branches": tuple(names)}
    keys = ("f",) if "f" in node.attrs else ("then_branch", "else_branch")
    return dict(zip(keys, names))


def _gradient(node: Node, *dys: Any) -> Any:
    with halves.lock:
        saving = _saving(node, dys)
    if saving is None:
        return _computed_again(node, dys)
    first = 0 if "f" in node.attrs else 1  # the condition comes before the operands
    given = [
        *saving.saved,
        *(node.inputs[first + i] for i in saving.operands),
        *(halves.result(node.outputs[i], dys[i]) for i in saving.flows),
    ]
    for function in saving.branches:
        function.add_to_graph(get_default_graph())
    names = [FunctionName(f.name) for f in saving.branches]
    types = [t.dtype.base for t in saving.branches[0].body().outputs]
    results: Sequence[Tensor] = ()
    if types:
        results = node.declaration(*node.inputs[:first], given, Tout=types, **_naming(node, names))
    found: list[Any] = [None] * len(node.inputs)
    for i, dx in zip(saving.wanted, results):
        dx.set_shape(_common([f.body().outputs[saving.wanted.index(i)].shape for f in saving.branches]))
        found[first + i] = dx
    return found


def _common(shapes: Sequence[Shape]) -> Shape:
    found = shapes[0]
    for shape in shapes[1:]:
        found = found.most_specific_compatible_shape(shape)
    return found


def _saving(node: Node, dys: Sequence[Any]) -> Saving | None:
    """What the node saves, or None if one of its functions can not be cut."""
    known: Saving | None = node.saving
    count = len(dys)
    if known is not None and all(dy is None for dy in dys[known.outputs :]):
        if known.is_shared:
            return known
        count = known.outputs
    bodies: Sequence[Body | None] = known.bodies if known is not None else ()
    bodies = bodies or [halves.find(node.graph, f) for f in _branches(node)]
    if any(body is None for body in bodies):
        return None
    parts = [halves.of(body, count) for body in bodies if body is not None]
    wanted = [i for i in range(len(parts[0].dxs)) if any(p.dxs[i] is not None for p in parts)]
    for part in parts:
        part.fill(wanted)
    node.saving = _extended(node, parts, wanted)
    return node.saving  # type: ignore[no-any-return]


def _extended(node: Node, parts: Sequence[Halves], wanted: list[int]) -> Saving:
    """Give the node its new outputs, and make the functions of its gradient."""
    results = [[p.dxs[i] for i in wanted] for p in parts]
    taken = [p.needed(r) for p, r in zip(parts, results)]  # type: ignore[arg-type]
    operands = sorted({_argument(p, t) for p, ts in zip(parts, taken) for t in ts} - {-1})
    inner = [[t for t in ts if _argument(p, t) < 0] for p, ts in zip(parts, taken)]
    places = _Places([p.body.graph for p in parts], inner)
    bodies, earlier, later = [], [], []
    for number, (part, function) in enumerate(zip(parts, _functions(node))):
        body = halves.widened(part.body, [], places.filled(number))
        bodies.append(body)
        earlier.append(halves.as_function(halves.whole(body), f"{function.name}_forward", function))
        later.append(_gradient_function(part, places, number, operands, results[number], function))
    for made in earlier:
        made.add_to_graph(node.graph)
    attrs = _naming(node, [FunctionName(f.name) for f in earlier])
    attrs["Tout"] = (*node.attrs["Tout"], *(t.dtype.base for t in places.examples))
    shapes = places.shapes
    if node.attrs.get("output_shapes"):
        attrs["output_shapes"] = (*node.attrs["output_shapes"], *shapes)
    saved = halves.extended(node, [], places.examples, shapes, attrs)
    is_shared = all(p.is_shared for p in parts)
    return Saving(parts[0].count, is_shared, saved, operands, parts[0].flows, wanted, bodies, later)


def _functions(node: Node) -> list[Function]:
    return [node.graph._functions[f.name] for f in _branches(node)]


def _argument(part: Halves, tensor: Tensor) -> int:
    """Which argument of the body a tensor is; -1 if none."""
    return next((i for i, t in enumerate(part.body.inputs) if t is tensor), -1)


class _Places:
    """New outputs.  `rows[k]` has the tensors of branch k, None for a place it does not need."""

    def __init__(self, graphs: Sequence[Any], needed: Sequence[Sequence[Tensor]]) -> None:
        self.graphs = graphs
        self.examples: list[Tensor] = []
        self.rows: list[list[Tensor | None]] = [[] for _ in needed]
        for number, tensors in enumerate(needed):
            for tensor in tensors:
                self.rows[number][self._place(tensor, number)] = tensor

    def _place(self, tensor: Tensor, number: int) -> int:
        for i, example in enumerate(self.examples):
            if self.rows[number][i] is None and _alike(tensor, example):
                return i
        self.examples.append(tensor)
        for row in self.rows:
            row.append(None)
        return len(self.examples) - 1

    def filled(self, number: int) -> list[Tensor]:
        """What branch `number` puts there."""
        graph = self.graphs[number]
        with graph.as_default(), graph.control_dependencies(None):
            return [
                halves.placeholder_like(like) if mine is None else halves.live(mine)
                for mine, like in zip(self.rows[number], self.examples)
            ]

    @property
    def shapes(self) -> list[Shape]:
        """A branch without a value gives one of zero elements where a size is not known."""
        alone = len(self.rows) == 1
        return [t.shape if alone or t.shape.is_full else Shape(None) for t in self.examples]


def _alike(a: Tensor, b: Tensor) -> bool:
    return a.dtype.base is b.dtype.base and a.shape.is_full and a.shape._sizes == b.shape._sizes


def _gradient_function(
    part: Halves,
    places: _Places,
    number: int,
    operands: Sequence[int],
    results: Sequence[Any],
    function: Function,
) -> Function:
    graph = part.body.graph
    inputs = []
    with graph.as_default(), graph.control_dependencies(None):
        for mine, like in zip(places.rows[number], places.examples):
            inputs.append(halves.argument_like(like, graph) if mine is None else mine)
    inputs += [part.body.inputs[i] for i in operands]
    return halves.as_function(part.later(inputs, results), f"{function.name}_gradient", function)


def _computed_again(node: Node, dys: Sequence[Any]) -> Any:
    """The gradient where a function can not be cut: its own gradient function, or one that computes
    the values again."""
    if "f" in node.attrs:
        return symbolic_gradient_of(node, node.attrs["f"], dys)
    inputs = node.inputs[1:]
    given = [halves.result(y, dy) for y, dy in zip(node.outputs, dys)]
    types = tuple(map(gradient_type, inputs))
    taken = tuple(t.dtype.base for t in (*inputs, *given))
    names = [
        FunctionName(symbolic_gradient.name, (("Tin", taken), ("Tout", types), ("f", f)))
        for f in _branches(node)
    ]
    results = node.declaration(node.inputs[0], [*inputs, *given], Tout=types, **_naming(node, names))
    return [None, *results]


def _save(node: Node) -> None:
    with halves.lock:
        _saving(node, [None] * len(node.outputs))


for _op in (partitioned_call, stateful_partitioned_call, if_, stateless_if, case):
    _op.gradient(_gradient)
    SAVERS[_op.name] = _save
