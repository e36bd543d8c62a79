"""Convolutions of oneDNN: forward, both gradients, and weights in the layout that they want."""

from __future__ import annotations

from math import prod

from headrace.codegen.ir.stages import memory as memory_of
from headrace.codegen.onednn import onednn_api as dnn
from headrace.codegen.onednn.onednn_api import Description, Layout
from headrace.codegen.onednn.onednn_calls import (
    Blocked,
    Execution,
    Sequence,
    free,
    has_groups,
    image,
    plain,
    reorder,
    team_of,
)
from headrace.ops.declaration.emit import LibraryCall

MANY_TAPS = 9  # elements of a filter per channel


def _geometry(call: LibraryCall) -> tuple[object, ...]:
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
    call: LibraryCall, attr: dnn.Handle | None = None, src: Layout | None = None, dst: Layout | None = None
) -> Description:
    """The library chooses the layout of the weights; `src` and `dst` in the place of the call's own
    layouts, where they are given."""
    bias = call.views.get("bias")
    return dnn.described(
        "convolution_forward",
        dnn.engine(),
        dnn.FORWARD_TRAINING,
        dnn.CONVOLUTION_DIRECT,
        src or image(call, "src"),
        free(call.views["weights"]),
        plain(bias) if bias else None,
        dst or image(call, "dst"),
        *_geometry(call),
        attr or dnn.attributes(),
    )


def convolution(call: LibraryCall) -> list[Execution]:
    attr = dnn.attributes(call.options.get("post_ops", ()))
    run = Sequence(_forward_description(call, attr))
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
    with dnn.described_for(team_of(call)):
        if call.kind == "convolution_weights":
            made, names = _weights_description(call, src, dst), ("src", "diff_dst")
        else:
            made, names = _forward_description(call, src=src, dst=dst), ("src", "dst")
        return max(made.layout(name).block for name in names)


def weights_layout(call: LibraryCall) -> Layout:
    """How a convolution wants its weights."""
    with dnn.described_for(team_of(call)):
        return _forward_description(call).layout("weights")


def pack(call: LibraryCall) -> list[Execution]:
    """Weights in the layout that the convolution `whole` wants."""
    src, place = call.views["src"], memory_of(call.views["dst"].operand)
    want = weights_layout(call.options["whole"])
    return [reorder(plain(src), memory_of(src.operand), want, place)]


def convolution_data(call: LibraryCall) -> list[Execution]:
    """The library wants the forward convolution as a hint, from which it takes its implementation."""
    src, weights, dst = (call.views[k] for k in ("src", "weights", "dst"))
    hint = _forward_description(call)
    made = dnn.described(
        "convolution_backward_data",
        dnn.engine(),
        dnn.CONVOLUTION_DIRECT,
        image(call, "src"),
        free(weights),
        image(call, "dst"),
        *_geometry(call),
        hint,
        dnn.attributes(),
    )
    run = Sequence(made)
    run.read("diff_dst", dst)
    run.read("weights", weights)
    run.write("diff_src", src)
    return run.done()


def convolution_weights(call: LibraryCall) -> list[Execution]:
    src, dst = call.views["src"], call.views["dst"]
    made = _weights_description(call, image(call, "src"), image(call, "dst"))
    if _gathers(call, made):
        made = _weights_description(call, free(src), free(dst))
    run = Sequence(made)
    run.read("src", src)
    run.read("diff_dst", dst)
    run.write("diff_weights", call.views["weights"])
    return run.done()


def _weights_description(call: LibraryCall, src: Layout, dst: Layout) -> Description:
    hint = _forward_description(call, src=src, dst=dst)
    return dnn.described(
        "convolution_backward_weights",
        dnn.engine(),
        dnn.CONVOLUTION_DIRECT,
        src,
        free(call.views["weights"]),
        None,
        dst,
        *_geometry(call),
        hint,
        dnn.attributes(),
    )


def _gathers(call: LibraryCall, made: Description) -> bool:
    """A direct kernel without BRGEMM picks channels-last images together for every tap of the
    filter: where there are many taps, images in the library's own layout are faster, their
    reorders included (measured: by a fifth for filters of 3x3)."""
    if has_groups(call) or any(isinstance(v, Blocked) for v in call.views.values()):
        return False
    taps = prod(call.views["weights"].shape[-len(call.options["strides"]) :])
    return taps >= MANY_TAPS and "brg" not in made.implementation
