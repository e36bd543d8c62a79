"""One op, at once: in: the op, its inputs and attributes; out: a node whose outputs have their values.

What it takes to run an op with these attributes and types is found once, and kept (`Kernel`).  Small work
goes to the op's reference, which costs least to call.  Large work, and what only a plan gives a meaning
(calls of functions, whose bodies are put in their place), goes to a program of one node.
"""

from __future__ import annotations

import itertools
import weakref
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.autodiff.registry import SAVERS
from headrace.core import origin
from headrace.core.collecting import paused
from headrace.core.dtypes import DType
from headrace.core.errors import BuildError, InvalidArgumentError, OpError, at
from headrace.core.interrupts import noted
from headrace.core.shapes import UNKNOWN
from headrace.eager.context import Context
from headrace.graph import recorders
from headrace.graph.attrs import FunctionName
from headrace.graph.eager_tensor import EagerNode, EagerTensor
from headrace.graph.graph import Graph
from headrace.graph.tensor import Tensor
from headrace.ops.array.source import placeholder
from headrace.ops.declaration.building.build import carry_handle_data, infer_shapes, make_node
from headrace.ops.declaration.declare import Op
from headrace.ops.declaration.resources import Handle
from headrace.ops.declaration.traits import CONSTANT
from headrace.plan.plan import Output, PlanNode
from headrace.runtime.kernel import kernel_of
from headrace.session.run_cache import Prepared, prepare

LARGE = 1 << 13  # elements in and out: from here on a program is worth its call
LIMIT = 4096  # kernels; the one that was not used for longest is forgotten
_kernels: OrderedDict[Any, Kernel] = OrderedDict()
_numbers = itertools.count(1)


class Kernel:
    """An op with these attributes and types of inputs."""

    def __init__(self, context: Context, op: Op, types: Sequence[DType], attrs: dict[str, Any]) -> None:
        self.context, self.op, self.types, self.attrs = context, op, tuple(types), attrs
        self.outputs = output_types(op, attrs)
        self.gives_handles = any(d.base.kind in "rv" for d in self.outputs)
        self.node = PlanNode(
            name=f"{op.name}_{next(_numbers)}",  # under it the state of a random op is kept
            op=op,
            inputs=(),
            control=(),
            attrs=attrs,
            outputs=tuple(Output(d, UNKNOWN) for d in self.outputs),
            input_types=self.types,
            device=context.default_device,
        )
        self.is_planned = op.reference is None or _calls_functions(attrs)
        self.can_compile = bool(op.lower_rule or op.library_rules) and not _has_handles(self)
        self.call = None if self.is_planned else kernel_of(self.node, self.types)
        self.prepared: Prepared | None = None
        self.shared_step = context.step()  # of kernels that never look at it

    def run(self, values: list[Any]) -> Sequence[Any]:
        if self.is_planned or (self.can_compile and _size(values) >= LARGE):
            return self._run_program(values)
        step = self.context.step() if self.op.wants_context else self.shared_step
        assert self.call is not None
        with np.errstate(all="ignore"):
            found = self.call(values, step)
        return found.result() if hasattr(found, "add_done_callback") else found  # type: ignore[attr-defined]

    def _run_program(self, values: list[Any]) -> Sequence[Any]:
        if self.prepared is None:
            self.prepared = self._prepare()
        quick = getattr(self.prepared.only, "quick", None)
        if quick is not None:
            found = quick.run(self.context.containers, values, self.context.ending)
            if found is not None:
                return found  # type: ignore[no-any-return]
        step = self.context.step()
        with noted(step.cancel) as ctrl_c:
            found = self.prepared.run(step, values)
            if ctrl_c.is_pressed:
                raise KeyboardInterrupt
        return found

    def _prepare(self) -> Prepared:
        graph = Graph()
        graph._functions = self.context._functions
        with paused, graph.as_default():
            places = [
                make_node(graph, placeholder, (), (), {"dtype": d.base, "shape": UNKNOWN}, "x").outputs[0]
                for d in self.types
            ]
            node = make_node(graph, self.op, places, self.types, dict(self.attrs), self.node.name)
            targets = () if node.outputs else (node,)
            return prepare(graph, places, node.outputs, targets, self.context.settings)


def forget_state() -> None:
    """Random ops begin anew."""
    _kernels.clear()


def _calls_functions(attrs: dict[str, Any]) -> bool:
    return any(isinstance(v, FunctionName) for v in attrs.values())


def _has_handles(kernel: Kernel) -> bool:
    return any(d.is_ref or d.base.kind in "rv" for d in (*kernel.types, *kernel.outputs))


def _size(values: Sequence[Any]) -> int:
    return sum(v.size for v in values if type(v) is np.ndarray)


def _kernel(context: Context, op: Op, types: Sequence[DType], attrs: dict[str, Any]) -> Kernel:
    try:
        key = (op, tuple(types), tuple(attrs.items()))
        found = _kernels.get(key)
    except TypeError:  # an attribute that can not be a key
        return Kernel(context, op, types, attrs)
    if found is None:
        found = Kernel(context, op, types, attrs)
        _kernels[key] = found
        if len(_kernels) > LIMIT:
            _kernels.popitem(last=False)
    return found


def run_at_once(
    context: Context,
    op: Op,
    name: str | None,
    inputs: Sequence[Tensor],
    types: Sequence[DType],
    attrs: dict[str, Any],
) -> EagerNode:
    """Run the op; tapes that watch one of its inputs record it."""
    if CONSTANT in op.traits:
        outputs = [EagerTensor(context, attrs["value"].array, attrs["dtype"])]
        return EagerNode(context, op, (), (), attrs, outputs)
    node = EagerNode(context, op, inputs, types, attrs, ())
    if op.name in SAVERS and recorders.active and recorders.is_watched(node):
        node.results += [EagerTensor(context, None, d.base) for d in output_types(op, attrs)]
        SAVERS[op.name](node)
    if "shared_name" in attrs and not inputs:
        _run_maker(context, node)
    else:
        _fill(node, _kernel(context, op, node.inputs.types, node.attrs))
    if recorders.active:
        recorders.record(node)
    return node


def _run_maker(context: Context, node: EagerNode) -> None:
    """What makes a resource makes one of its own, unless it names one.  It lives as long as the tensor
    that leads to it."""
    shared = node.attrs["shared_name"] or f"{node.type}_{next(_numbers)}"
    node.attrs = node.attrs | {"shared_name": shared}
    _fill(node, Kernel(context, node.declaration, (), node.attrs))
    for tensor in node.results:
        _end_with(tensor, context)


def _fill(node: EagerNode, kernel: Kernel) -> None:
    """Run the kernel, and give the outputs their values."""
    try:
        values = kernel.run([t._constant for t in node.inputs])  # type: ignore[attr-defined]
    except Exception as error:
        raise _refused(error, node) from error.__cause__
    if node.results:
        for tensor, value in zip(node.results, values):
            tensor._constant = value
    else:
        node.results += [EagerTensor(node.graph, v, d.base) for v, d in zip(values, kernel.outputs)]
    if kernel.gives_handles:
        carry_handle_data(node)


def _end_with(tensor: EagerTensor, context: Context) -> None:
    """A resource of eager mode lives as long as the tensor that leads to it."""
    handle = tensor._constant
    if isinstance(handle, Handle):
        weakref.finalize(
            tensor, context.containers.remove, handle.container, handle.kind, handle.name
        ).atexit = False


def _refused(error: Exception, node: EagerNode) -> BaseException:
    """What a graph would have said of these inputs, if it refuses them; else what the kernel says."""
    op, attrs = node.declaration, node.attrs
    node.origin = origin.here()
    if not (isinstance(error, OpError) and type(error) is not InvalidArgumentError):
        try:
            infer_shapes(op, node.inputs, attrs, len(output_types(op, attrs)), op.name)
        except BuildError as refused:
            return InvalidArgumentError(None, node, str(refused.message))
    return at(error, node)


def output_types(op: Op, attrs: dict[str, Any]) -> list[DType]:
    return [d for arg in op.signature.outputs for d in arg.types(attrs)]
