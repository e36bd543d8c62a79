"""Mean pooling by oneDNN, and its gradient.  (Max pooling is our own: convolution/pools.py.)"""

from __future__ import annotations

from typing import Any

from headrace.codegen.onednn import onednn_api as dnn
from headrace.codegen.onednn.onednn_api import Description, Layout
from headrace.codegen.onednn.onednn_calls import Blocked, Execution, Sequence, plain
from headrace.ops.declaration.emit import LibraryCall


def _forward(call: LibraryCall, kind: int) -> Description:
    return dnn.described(
        "pooling_forward",
        dnn.engine(),
        kind,
        dnn.POOL_AVERAGE_INSIDE,
        _pooled(call, "src"),
        _pooled(call, "dst"),
        *_geometry(call.options),
        dnn.attributes(),
    )


def _backward(call: LibraryCall) -> Description:
    return dnn.described(
        "pooling_backward",
        dnn.engine(),
        dnn.POOL_AVERAGE_INSIDE,
        _pooled(call, "src"),
        _pooled(call, "dst"),
        *_geometry(call.options),
        _forward(call, dnn.FORWARD_TRAINING),
        dnn.attributes(),
    )


def _geometry(options: dict[str, Any]) -> list[dnn.Dims]:  # a call's options: by its kind
    """Strides, window, dilations, padding before and after."""
    window, (before, after) = options["window"], zip(*options["pads"])
    return [dnn.dims(sizes) for sizes in (options["strides"], window, [0] * len(window), before, after)]


def _pooled(call: LibraryCall, name: str) -> Layout:
    """Pooling keeps the layout: blocks, if one of the images has them."""
    block = next((v.block for v in call.views.values() if isinstance(v, Blocked)), 0)
    view = call.views[name]
    return dnn.blocked(view.shape, view.operand.kind.name, block) if block else plain(view)


def avg_pool(call: LibraryCall) -> list[Execution]:
    run = Sequence(_forward(call, dnn.FORWARD_INFERENCE))
    run.read("src", call.views["src"])
    run.write("dst", call.views["dst"])
    return run.done()


def avg_pool_data(call: LibraryCall) -> list[Execution]:
    run = Sequence(_backward(call))
    run.read("diff_dst", call.views["dst"])
    run.write("diff_src", call.views["src"])
    return run.done()
