"""Library calls as oneDNN primitives: matrix products, convolutions, pooling, normalisation.

In: a `LibraryCall` on arrays with concrete shapes.  Out: executions, each a primitive with its
arguments; where the library wants another layout than the array has, a reorder stands before or
after.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

from headrace.codegen import native, threads
from headrace.codegen import onednn_api as dnn
from headrace.codegen.blas import bits_of, matrix
from headrace.codegen.kernel_ir import Tensor
from headrace.codegen.lift import strides
from headrace.codegen.onednn_api import ARG, Description, Layout, Unsupported
from headrace.codegen.program import Entry
from headrace.codegen.stages import Called, Temporary
from headrace.codegen.stages import memory as memory_of
from headrace.ops.emit import LibraryCall, View

LARGE_RESULT = 1_000_000  # elements
MANY_TAPS = 9  # elements of a filter per channel
TEAM_WORK = 8_000_000  # multiplications and additions below which one thread does a call


@dataclass(slots=True, eq=False)
class Execution:
    """One primitive and what it works on."""

    description: Description
    arguments: list[tuple[str, Layout, Tensor]]
    written: tuple[str, ...]
    label: str = ""
    team: int = 1
    primitive: dnn.Handle | None = None

    @property
    def implementation(self) -> str:
        return self.description.implementation


def temporary(nbytes: int) -> Tensor:
    return Tensor((nbytes,), "uint8", source=Temporary(), name="temporary")


@dataclass(frozen=True, slots=True)
class Blocked(View):
    """An array (batch, blocks of channels, space..., channels of a block), seen as images."""

    block: int = 0

    @property
    def shape(self) -> tuple[int, ...]:
        n, blocks, *space, block = self.operand.shape
        return (n, blocks * block, *space)


def plain(view: View) -> Layout:
    """The layout that the array has, dimensions in the library's order."""
    if isinstance(view, Blocked):
        return dnn.blocked(view.shape, view.operand.kind.name, view.block)
    steps = strides(view.whole)
    return dnn.strided(view.shape, view.operand.kind.name, [steps[a] for a in view.order])


def free(view: View) -> Layout:
    return dnn.any_layout(view.shape, view.operand.kind.name)


def image(call: LibraryCall, name: str) -> Layout:
    """The layout of an image in a call.  Beside one with blocks, the library chooses for the other:
    it has code for few combinations."""
    view = call.views[name]
    mixed = any(isinstance(v, Blocked) for v in call.views.values())
    return free(view) if mixed and not isinstance(view, Blocked) else plain(view)


def is_available() -> bool:
    return dnn.library() is not None


def supports(call: LibraryCall) -> bool:
    kinds = {v.operand.kind.name for v in call.views.values()}
    return (
        call.kind in _BUILDERS and kinds <= {"f32", "bf16"} and len(kinds) == 1 and is_available()
    )


def describe(call: LibraryCall) -> list[Execution]:
    """What would be executed, in order.  Raises LibraryError where the library cannot do it, or has
    only its reference implementation for it, which is hundreds of times slower than ours."""
    with threads.limited_to(team_of(call)):
        made = _BUILDERS[call.kind](call)
    for execution in made:
        if execution.implementation.startswith(("ref", "simple:any")):
            raise Unsupported(f"{execution.label or call.kind} by {execution.implementation}")
    return made


def executions(call: LibraryCall) -> list[Execution]:
    """Primitives in order.  They run with as many threads as they were made for."""
    team, made = team_of(call), describe(call)
    with threads.limited_to(team):
        for execution in made:
            execution.team = team
            execution.primitive = execution.description.primitive()
    return made


def has_groups(call: LibraryCall) -> bool:
    """Whether the filters have a leading dimension of groups."""
    return len(call.views["weights"].shape) > len(call.views["src"].shape)


def team_of(call: LibraryCall) -> int:
    """A small call is done before a team would have started."""
    src, weights = call.views["src"], call.views.get("weights")
    if call.kind == "matmul" and weights is not None:
        work = 2 * prod(src.shape) * weights.shape[-1]
    elif weights is not None:
        # Every output element reads one filter.
        filters = weights.shape[: 1 + has_groups(call)]
        work = 2 * prod(call.views["dst"].shape) * prod(weights.shape) // max(prod(filters), 1)
    else:
        work = 32 * prod(src.shape)
    return threads.count() if work >= TEAM_WORK else 1


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
    moved = _finish(made, [("src", source, start), ("dst", target, end)], ("dst",))
    moved.label = "reorder"
    return moved


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


def product(call: LibraryCall) -> Entry | None:
    """The library's plain product of matrices, where that is faster (measured): small ones with a
    transposed first operand, and large results."""
    if call.kind != "matmul" or set(call.views) != {"src", "weights", "dst"}:
        return None
    a, b, c = (call.views[k] for k in ("src", "weights", "dst"))
    found = [matrix(v) for v in (a, b, c)]
    if len(c.shape) != 2 or a.operand.kind.name != "f32" or any(f is None for f in found):
        return None
    (ta, lda), (tb, ldb), (tc, ldc) = (f for f in found if f is not None)
    (m, k), n = a.shape, b.shape[-1]
    team = team_of(call)
    is_small = team == 1 and ta and not tb
    if tc or not (is_small or (m * n >= LARGE_RESULT and team > 1)):
        return None
    lib = dnn.library()
    assert lib is not None
    head = [
        native.address_of(lib.dnnl_sgemm), ord("T" if ta else "N"), ord("T" if tb else "N"), m, n, k,
        lda, ldb, ldc, bits_of(1.0), bits_of(0.0), team,
    ]  # fmt: skip
    places: list[tuple[Any, Any]] = [
        (memory_of(a.operand), False), (memory_of(b.operand), False), (memory_of(c.operand), True),
    ]  # fmt: skip
    return Entry(native.SGEMM, head, places, [], uses_team=team > 1)


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


def _forward_description(
    call: LibraryCall, attr: Any = None, src: Layout | None = None, dst: Layout | None = None
) -> Description:
    bias = call.views.get("bias")
    return Description(
        "convolution_forward", dnn.engine(), dnn.FORWARD_TRAINING, dnn.CONVOLUTION_DIRECT,
        src or image(call, "src"), free(call.views["weights"]),
        plain(bias) if bias else None, dst or image(call, "dst"), *_geometry(call),
        attr or dnn.attributes(), keep=(attr,),
    )  # fmt: skip


def _convolution(call: LibraryCall) -> list[Execution]:
    attr = dnn.attributes(call.options.get("post_ops", ()))
    run = _Sequence(_forward_description(call, attr))
    run.read("src", call.views["src"])
    if "packed" in call.options:
        run.extra("weights", run.description.layout("weights"), call.options["packed"])
    else:
        run.read("weights", call.views["weights"])
    if "bias" in call.views:
        bias = call.views["bias"]
        run.extra("bias", plain(bias), memory_of(bias.operand))
    run.write("dst", call.views["dst"])
    return run.done()


def preferred_block(call: LibraryCall) -> int:
    """Channels per block of the images that the library would choose; 0 where it wants none."""
    src, dst = free(call.views["src"]), free(call.views["dst"])
    with threads.limited_to(team_of(call)):
        if call.kind == "convolution_weights":
            made, names = _weights_description(call, src, dst), ("src", "diff_dst")
        else:
            made, names = _forward_description(call, src=src, dst=dst), ("src", "dst")
        return max(made.layout(name).block for name in names)


def weights_layout(call: LibraryCall) -> Layout:
    """How a convolution wants its weights."""
    with threads.limited_to(team_of(call)):
        return _forward_description(call).layout("weights")


def _pack(call: LibraryCall) -> list[Execution]:
    """Weights in the layout that the convolution `whole` wants."""
    src, place = call.views["src"], memory_of(call.views["dst"].operand)
    want = weights_layout(call.options["whole"])
    return [_reorder(plain(src), memory_of(src.operand), want, place)]


def _convolution_data(call: LibraryCall) -> list[Execution]:
    src, weights, dst = (call.views[k] for k in ("src", "weights", "dst"))
    hint = _forward_description(call)
    made = Description(
        "convolution_backward_data", dnn.engine(), dnn.CONVOLUTION_DIRECT, image(call, "src"),
        free(weights), image(call, "dst"), *_geometry(call), hint, dnn.attributes(), keep=(hint,),
    )  # fmt: skip
    run = _Sequence(made)
    run.read("diff_dst", dst)
    run.read("weights", weights)
    run.write("diff_src", src)
    return run.done()


def _convolution_weights(call: LibraryCall) -> list[Execution]:
    src, dst = call.views["src"], call.views["dst"]
    made = _weights_description(call, image(call, "src"), image(call, "dst"))
    if _gathers(call, made):
        made = _weights_description(call, free(src), free(dst))
    run = _Sequence(made)
    run.read("src", src)
    run.read("diff_dst", dst)
    run.write("diff_weights", call.views["weights"])
    return run.done()


def _weights_description(call: LibraryCall, src: Layout, dst: Layout) -> Description:
    hint = _forward_description(call, src=src, dst=dst)
    return Description(
        "convolution_backward_weights", dnn.engine(), dnn.CONVOLUTION_DIRECT, src,
        free(call.views["weights"]), None, dst, *_geometry(call), hint, dnn.attributes(),
        keep=(hint,),
    )  # fmt: skip


def _gathers(call: LibraryCall, made: Description) -> bool:
    """A direct kernel without BRGEMM picks channels-last images together for every tap of the
    filter: where there are many taps, images in the library's own layout are faster, their
    reorders included (measured: by a fifth for filters of 3x3)."""
    if has_groups(call) or any(isinstance(v, Blocked) for v in call.views.values()):
        return False
    taps = prod(call.views["weights"].shape[-len(call.options["strides"]) :])
    return taps >= MANY_TAPS and "brg" not in made.implementation


# -- pooling -------------------------------------------------------------------------------------
def _pool_forward(call: LibraryCall, algorithm: int, kind: int) -> Description:
    o = call.options
    return Description(
        "pooling_forward", dnn.engine(), kind, algorithm, _pooled(call, "src"),
        _pooled(call, "dst"), dnn.dims(o["strides"]), dnn.dims(o["window"]),
        dnn.dims([0] * len(o["window"])), *_pads(o), dnn.attributes(),
    )  # fmt: skip


def _pool_backward(call: LibraryCall, algorithm: int, source: str, grad: str) -> Description:
    o = call.options
    hint = _pool_forward(call, algorithm, dnn.FORWARD_TRAINING)
    return Description(
        "pooling_backward", dnn.engine(), algorithm, _pooled(call, source), _pooled(call, grad),
        dnn.dims(o["strides"]), dnn.dims(o["window"]), dnn.dims([0] * len(o["window"])), *_pads(o),
        hint, dnn.attributes(), keep=(hint,),
    )  # fmt: skip


def _pooled(call: LibraryCall, name: str) -> Layout:
    """Pooling keeps the layout: blocks, if one of the images has them."""
    block = next((v.block for v in call.views.values() if isinstance(v, Blocked)), 0)
    view = call.views[name]
    return dnn.blocked(view.shape, view.operand.kind.name, block) if block else plain(view)


def measure_places(call: LibraryCall) -> None:
    """How much memory the places of maxima take, now that the layout is known."""
    if call.kind == "max_pool" and "places" in call.options:
        made = _pool_forward(call, dnn.POOL_MAX, dnn.FORWARD_TRAINING)
        call.options["places"].shape = (max(made.size("workspace"), 1),)


def _reordered(call: LibraryCall) -> list[Execution]:
    src, dst = call.views["src"], call.views["dst"]
    return [_reorder(plain(src), memory_of(src.operand), plain(dst), memory_of(dst.operand))]


def _pads(options: dict[str, Any]) -> tuple[Any, Any]:
    return dnn.dims([p[0] for p in options["pads"]]), dnn.dims([p[1] for p in options["pads"]])


def _pool(algorithm: int) -> Callable[[LibraryCall], list[Execution]]:
    def build(call: LibraryCall) -> list[Execution]:
        places = call.options.get("places")
        kind = dnn.FORWARD_INFERENCE if places is None else dnn.FORWARD_TRAINING
        run = _Sequence(_pool_forward(call, algorithm, kind))
        run.read("src", call.views["src"])
        run.write("dst", call.views["dst"])
        if places is not None:
            run.extra("workspace", run.description.layout("workspace"), places, written=True)
        return run.done()

    return build


def pair(call: LibraryCall) -> None:
    """Max pooling notes where the maxima were, if its gradient (this call) asks for them."""
    if call.kind != "max_pool_data":
        return
    source = memory_of(call.views["dst"].operand).source
    first = source.call if isinstance(source, Called) else None
    if first is None or first.kind != "max_pool" or not supports(first):
        return
    same = all(first.options[k] == call.options[k] for k in ("window", "strides", "pads"))
    x, y = (memory_of(c.views["src"].operand) for c in (first, call))
    if x is not y or not same or first.views["src"].order != call.views["src"].order:
        return
    if "places" not in first.options:
        made = _pool_forward(first, dnn.POOL_MAX, dnn.FORWARD_TRAINING)
        first.options["places"] = temporary(max(made.size("workspace"), 1))
    call.options.update(first=first, places=first.options["places"])


def _avg_pool_data(call: LibraryCall) -> list[Execution]:
    src, dst = call.views["src"], call.views["dst"]
    run = _Sequence(_pool_backward(call, dnn.POOL_AVERAGE_INSIDE, "src", "dst"))
    run.read("diff_dst", dst)
    run.write("diff_src", src)
    return run.done()


def _max_pool_data(call: LibraryCall) -> list[Execution]:
    """The library wants to know where the maxima were: from the forward call, or once more."""
    places = call.options.get("places")
    before: list[Execution] = []
    if places is None:
        forward = _pool_forward(call, dnn.POOL_MAX, dnn.FORWARD_TRAINING)
        places = temporary(max(forward.size("workspace"), 1))
        again = _Sequence(forward)
        again.read("src", call.views["src"])
        spare = forward.layout("dst")
        again.extra("dst", spare, temporary(spare.nbytes), written=True)
        again.extra("workspace", forward.layout("workspace"), places, written=True)
        before = again.done()
    back = _pool_backward(call, dnn.POOL_MAX, "diff_src", "diff_dst")
    want = back.layout("workspace")
    if "first" in call.options:
        noted = _pool_forward(call.options["first"], dnn.POOL_MAX, dnn.FORWARD_TRAINING)
        have = noted.layout("workspace")
        if have != want:  # the images changed their layout in between
            start, places = places, temporary(want.nbytes)
            before = [_reorder(have, start, want, places)]
    run = _Sequence(back)
    run.read("diff_dst", call.views["diff_dst"])
    run.extra("workspace", want, places)
    run.write("diff_src", call.views["diff_src"])
    return [*before, *run.done()]


_BUILDERS: dict[str, Callable[[LibraryCall], list[Execution]]] = {
    "max_pool": _pool(dnn.POOL_MAX),
    "avg_pool": _pool(dnn.POOL_AVERAGE_INSIDE),
    "avg_pool_data": _avg_pool_data,
    "max_pool_data": _max_pool_data,
    "matmul": _matmul,
    "pack": _pack,
    "reorder": _reordered,
    "convolution": _convolution,
    "convolution_data": _convolution_data,
    "convolution_weights": _convolution_weights,
}


# -- entries -------------------------------------------------------------------------------------
def entry_of(execution: Execution) -> Entry:
    """The table entry; memory objects and stream are made per frame, since runs may overlap."""
    primitive, arguments, team = execution.primitive, execution.arguments, execution.team
    assert primitive is not None
    places: list[tuple[Any, Any]] = [
        (place, name in execution.written or name == "scratchpad") for name, _, place in arguments
    ]

    def instantiate() -> tuple[list[int], list[int], Any]:
        memories = [dnn.memory(layout) for _, layout, _ in arguments]
        table = (dnn.Argument * len(arguments))()
        for slot, (name, _, _), held in zip(table, arguments, memories):
            slot.arg, slot.memory = ARG[name], held.pointer
        line = dnn.stream()
        head = [primitive.pointer, line.pointer, ctypes.addressof(table), team, len(arguments)]
        return head, [m.pointer for m in memories], (memories, table, line, primitive)

    entry = Entry(native.EXECUTE, [], places, [], keep=[primitive], uses_team=team > 1)
    entry.instantiate = instantiate
    return entry
