"""Pooling by oneDNN, and its gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.codegen.ir.stages import Called
from headrace.codegen.ir.stages import memory as memory_of
from headrace.codegen.onednn import onednn_api as dnn
from headrace.codegen.onednn.onednn_api import Description, Layout
from headrace.codegen.onednn.onednn_calls import Blocked, Execution, Sequence, plain, reorder, temporary
from headrace.ops.declaration.emit import LibraryCall


def _pool_forward(call: LibraryCall, algorithm: int, kind: int) -> Description:
    o = call.options
    return dnn.described(
        "pooling_forward",
        dnn.engine(),
        kind,
        algorithm,
        _pooled(call, "src"),
        _pooled(call, "dst"),
        dnn.dims(o["strides"]),
        dnn.dims(o["window"]),
        dnn.dims([0] * len(o["window"])),
        *_pads(o),
        dnn.attributes(),
    )


def _pool_backward(call: LibraryCall, algorithm: int, source: str, grad: str) -> Description:
    o = call.options
    hint = _pool_forward(call, algorithm, dnn.FORWARD_TRAINING)
    return dnn.described(
        "pooling_backward",
        dnn.engine(),
        algorithm,
        _pooled(call, source),
        _pooled(call, grad),
        dnn.dims(o["strides"]),
        dnn.dims(o["window"]),
        dnn.dims([0] * len(o["window"])),
        *_pads(o),
        hint,
        dnn.attributes(),
    )


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


def _pads(options: dict[str, Any]) -> tuple[Any, Any]:
    return dnn.dims([p[0] for p in options["pads"]]), dnn.dims([p[1] for p in options["pads"]])


def pool(algorithm: int) -> Callable[[LibraryCall], list[Execution]]:
    def build(call: LibraryCall) -> list[Execution]:
        places = call.options.get("places")
        kind = dnn.FORWARD_INFERENCE if places is None else dnn.FORWARD_TRAINING
        run = Sequence(_pool_forward(call, algorithm, kind))
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
    if first is None or first.kind != "max_pool":
        return
    same = all(first.options[k] == call.options[k] for k in ("window", "strides", "pads"))
    x, y = (memory_of(c.views["src"].operand) for c in (first, call))
    if x is not y or not same or first.views["src"].order != call.views["src"].order:
        return
    if "places" not in first.options:
        made = _pool_forward(first, dnn.POOL_MAX, dnn.FORWARD_TRAINING)
        first.options["places"] = temporary(max(made.size("workspace"), 1))
    call.options.update(first=first, places=first.options["places"])


def avg_pool_data(call: LibraryCall) -> list[Execution]:
    src, dst = call.views["src"], call.views["dst"]
    run = Sequence(_pool_backward(call, dnn.POOL_AVERAGE_INSIDE, "src", "dst"))
    run.read("diff_dst", dst)
    run.write("diff_src", src)
    return run.done()


def max_pool_data(call: LibraryCall) -> list[Execution]:
    """The library wants to know where the maxima were: from the forward call, or once more."""
    places = call.options.get("places")
    before: list[Execution] = []
    if places is None:
        forward = _pool_forward(call, dnn.POOL_MAX, dnn.FORWARD_TRAINING)
        places = temporary(max(forward.size("workspace"), 1))
        again = Sequence(forward)
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
            before = [reorder(have, start, want, places)]
    run = Sequence(back)
    run.read("diff_dst", call.views["diff_dst"])
    run.extra("workspace", want, places)
    run.write("diff_src", call.views["diff_src"])
    return [*before, *run.done()]
