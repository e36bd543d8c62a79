"""Library calls as oneDNN primitives: matrix products, convolutions, pooling, normalisation.

In: a `LibraryCall` on arrays with concrete shapes.  Out: executions, each a primitive with its arguments;
where the library wants another layout than the array has, a reorder stands before or after.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

from headrace.codegen import native
from headrace.codegen import onednn_api as dnn
from headrace.codegen.kernel_ir import Tensor
from headrace.codegen.lift import strides
from headrace.codegen.onednn_api import ARG, Description, Layout
from headrace.codegen.program import Entry
from headrace.codegen.stages import Temporary
from headrace.codegen.stages import memory as memory_of
from headrace.ops.emit import LibraryCall, View


@dataclass(slots=True, eq=False)
class Execution:
    """One primitive and what it works on."""

    description: Description
    arguments: list[tuple[str, Layout, Tensor]]
    written: tuple[str, ...]

    @property
    def implementation(self) -> str:
        return self.description.implementation


def temporary(nbytes: int) -> Tensor:
    return Tensor((nbytes,), "uint8", source=Temporary(), name="temporary")


def plain(view: View) -> Layout:
    """The layout that the array has, dimensions in the library's order."""
    steps = strides(view.operand.shape)
    return dnn.strided(view.shape, view.operand.kind.name, [steps[a] for a in view.order])


def free(view: View) -> Layout:
    return dnn.any_layout(view.shape, view.operand.kind.name)


def is_available() -> bool:
    return dnn.library() is not None


def supports(call: LibraryCall) -> bool:
    kinds = {v.operand.kind.name for v in call.views.values()}
    return (
        call.kind in _BUILDERS and kinds <= {"f32", "bf16"} and len(kinds) == 1 and is_available()
    )


def executions(call: LibraryCall) -> list[Execution]:
    """Primitives in order."""
    return _BUILDERS[call.kind](call)


def _finish(
    description: Description,
    arguments: list[tuple[str, Layout, Tensor]],
    written: tuple[str, ...],
) -> Execution:
    size = description.size("scratchpad")
    if size:
        place = temporary(size)
        arguments = [*arguments, ("scratchpad", description.layout("scratchpad"), place)]
    return Execution(description, arguments, written)


def _reorder(source: Layout, start: Tensor, target: Layout, end: Tensor) -> Execution:
    made = Description("reorder", source, dnn.engine(), target, dnn.engine(), dnn.attributes())
    return _finish(made, [("src", source, start), ("dst", target, end)], ("dst",))


class _Sequence:
    """A primitive with reorders around it where the layouts differ."""

    def __init__(self, description: Description) -> None:
        self.description = description
        self.before: list[Execution] = []
        self.after: list[Execution] = []
        self.arguments: list[tuple[str, Layout, Tensor]] = []
        self.written: list[str] = []

    def read(self, name: str, view: View) -> None:
        have, want = plain(view), self.description.layout(name)
        place = memory_of(view.operand)
        if have != want:
            moved = temporary(want.nbytes)
            self.before.append(_reorder(have, place, want, moved))
            place = moved
        self.arguments.append((name, want, place))

    def write(self, name: str, view: View) -> None:
        have, want = plain(view), self.description.layout(name)
        place = memory_of(view.operand)
        if have != want:
            moved = temporary(want.nbytes)
            self.after.append(_reorder(want, moved, have, place))
            place = moved
        self.arguments.append((name, want, place))
        self.written.append(name)

    def extra(self, name: str, layout: Layout, place: Tensor, written: bool = False) -> None:
        self.arguments.append((name, layout, place))
        if written:
            self.written.append(name)

    def done(self) -> list[Execution]:
        made = _finish(self.description, self.arguments, tuple(self.written))
        return [*self.before, made, *self.after]


# -- matrix products -----------------------------------------------------------------------------
def _matmul(call: LibraryCall) -> list[Execution]:
    src, weights, dst = (call.views[k] for k in ("src", "weights", "dst"))
    bias = call.views.get("bias")
    layouts = [plain(src), plain(weights), plain(bias) if bias else None, plain(dst)]
    attr = dnn.attributes(call.options.get("post_ops", ()))
    made = Description("matmul", dnn.engine(), *layouts, attr, keep=(attr,))
    run = _Sequence(made)
    run.read("src", src)
    run.read("weights", weights)
    if bias:
        run.extra("bias", plain(bias), memory_of(bias.operand))
    run.write("dst", dst)
    return run.done()


# -- convolutions --------------------------------------------------------------------------------
def _geometry(call: LibraryCall) -> tuple[Any, ...]:
    """Strides, dilations (0 means none) and paddings on both sides."""
    o = call.options
    pads = o["pads"]
    return (
        dnn.dims(o["strides"]),
        dnn.dims([d - 1 for d in o["dilations"]]),
        dnn.dims([p[0] for p in pads]),
        dnn.dims([p[1] for p in pads]),
    )


def _forward_description(call: LibraryCall, attr: Any = None) -> Description:
    src, weights, dst = (call.views[k] for k in ("src", "weights", "dst"))
    bias = call.views.get("bias")
    return Description(
        "convolution_forward", dnn.engine(), dnn.FORWARD_TRAINING, dnn.CONVOLUTION_DIRECT,
        plain(src), free(weights), plain(bias) if bias else None, plain(dst), *_geometry(call),
        attr or dnn.attributes(), keep=(attr,),
    )  # fmt: skip


def _convolution(call: LibraryCall) -> list[Execution]:
    attr = dnn.attributes(call.options.get("post_ops", ()))
    run = _Sequence(_forward_description(call, attr))
    run.read("src", call.views["src"])
    run.read("weights", call.views["weights"])
    if "bias" in call.views:
        bias = call.views["bias"]
        run.extra("bias", plain(bias), memory_of(bias.operand))
    run.write("dst", call.views["dst"])
    return run.done()


def _convolution_data(call: LibraryCall) -> list[Execution]:
    src, weights, dst = (call.views[k] for k in ("src", "weights", "dst"))
    hint = _forward_description(call)
    made = Description(
        "convolution_backward_data", dnn.engine(), dnn.CONVOLUTION_DIRECT, plain(src), free(weights),
        plain(dst), *_geometry(call), hint, dnn.attributes(), keep=(hint,),
    )  # fmt: skip
    run = _Sequence(made)
    run.read("diff_dst", dst)
    run.read("weights", weights)
    run.write("diff_src", src)
    return run.done()


def _convolution_weights(call: LibraryCall) -> list[Execution]:
    src, weights, dst = (call.views[k] for k in ("src", "weights", "dst"))
    hint = _forward_description(call)
    made = Description(
        "convolution_backward_weights", dnn.engine(), dnn.CONVOLUTION_DIRECT, plain(src),
        free(weights), None, plain(dst), *_geometry(call), hint, dnn.attributes(), keep=(hint,),
    )  # fmt: skip
    run = _Sequence(made)
    run.read("src", src)
    run.read("diff_dst", dst)
    run.write("diff_weights", weights)
    return run.done()


_BUILDERS = {
    "matmul": _matmul,
    "convolution": _convolution,
    "convolution_data": _convolution_data,
    "convolution_weights": _convolution_weights,
}


# -- entries -------------------------------------------------------------------------------------
def entry_of(execution: Execution) -> Entry:
    """The table entry; memory objects and stream are made per frame, since runs may overlap."""
    primitive = execution.description.primitive()
    arguments = execution.arguments
    places: list[tuple[Any, Any]] = [
        (place, name in execution.written or name == "scratchpad") for name, _, place in arguments
    ]

    def instantiate() -> tuple[list[int], list[int], Any]:
        memories = [dnn.memory(layout) for _, layout, _ in arguments]
        table = (dnn.Argument * len(arguments))()
        for slot, (name, _, _), held in zip(table, arguments, memories):
            slot.arg, slot.memory = ARG[name], held.pointer
        line = dnn.stream()
        head = [primitive.pointer, line.pointer, ctypes.addressof(table), len(arguments)]
        return head, [m.pointer for m in memories], (memories, table, line, primitive)

    entry = Entry(native.EXECUTE, [], places, [], keep=[primitive], uses_team=True)
    entry.instantiate = instantiate
    return entry
