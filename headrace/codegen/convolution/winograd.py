"""Convolutions of 3x3 by Winograd's method: where it pays, how the work is cut, what happens to Inf.

In: a LibraryCall "convolution", "convolution_data" or "convolution_weights".  Out: instructions of a program.
The transforms turn an Inf into NaN next to it, so the kernels note whether all results are finite;
where they are not, the library does the call again, directly.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import Protocol

from headrace.codegen.convolution.winograd_filters import Filters, Gradient, Sums, TurnedFilters
from headrace.codegen.convolution.winograd_images import Images
from headrace.codegen.convolution.winograd_text import GAP, POSITIONS, RESULT, TAPS, WORDS, Variant
from headrace.codegen.fusion.generalize import strides
from headrace.codegen.ir.kernel_ir import F32, Array
from headrace.codegen.ir.stages import Temporary
from headrace.codegen.ir.stages import memory as memory_of
from headrace.codegen.machine import threads
from headrace.codegen.machine.cache import kernel_address
from headrace.codegen.machine.target import host
from headrace.codegen.onednn import onednn, onednn_conv
from headrace.codegen.onednn.onednn_calls import Blocked, Execution, temporary
from headrace.codegen.program import native
from headrace.codegen.program.instruction import Instruction, of_entry
from headrace.codegen.program.program import Entry, Place, Scratch
from headrace.core import options
from headrace.core.records import record
from headrace.core.sizes import hint
from headrace.ops.declaration.emit import LibraryCall, View

CONVOLUTIONS = ("convolution", "convolution_data", "convolution_weights")
FEW_CHANNELS = 16
FEW_TILES = 16  # below which the transforms of weights cost too much
NEAR = 640 << 10  # bytes of transformed patches that stay in the second cache beside the rest
FEWEST, MOST = 66, 96  # tiles of a block
FEWEST_GRADIENT = 48
FEWEST_OWN = 24  # tiles of a thread; with fewer, threads share the channels
GROUP = 8  # blocks of output channels between two transforms back
WIDE = (32, 16)  # blocks of channels in a group of the gradient of weights
SUMS = 32 << 20  # bytes: sums that are larger have narrower groups instead of more parts
FLAG = 8  # bytes


# -- what can be done ----------------------------------------------------------------------------
@record
class Image:
    """An array of images as the kernels see it; steps in elements."""

    count: int
    channels: int
    height: int
    width: int
    steps: tuple[int, int, int, int]  # from image to image, block, row, place


@record
class Size:
    """A convolution as numbers: from one array of images to the other."""

    source: Image
    result: Image
    top: int
    left: int
    lanes: int

    @property
    def across(self) -> int:
        return ceil(self.result.width / RESULT)

    @property
    def down(self) -> int:
        return ceil(self.result.height / RESULT)

    @property
    def tiles(self) -> int:
        return self.source.count * self.across * self.down

    @property
    def ins(self) -> int:
        return self.source.channels // self.lanes

    @property
    def outs(self) -> int:
        return self.result.channels // self.lanes

    @property
    def filters(self) -> int:
        """Elements from position to position of transformed weights."""
        return self.source.channels * self.result.channels + GAP

    def geometry(self, block: int) -> list[int]:
        s, r = self.source, self.result
        return [self.tiles, block, self.across, self.down, self.top, self.left, s.height, s.width,
                r.height, r.width, self.ins, self.outs, *s.steps, *r.steps]  # fmt: skip


def size_of(call: LibraryCall) -> Size | None:
    """None where this is not a convolution that can be done so."""
    if call.kind not in CONVOLUTIONS or "winograd" in options.without():
        return None
    o, weights = call.options, call.views["weights"]
    if tuple(o["strides"]) != (1, 1) or tuple(o["dilations"]) != (1, 1) or o.get("post_ops"):
        return None
    if len(weights.shape) != 4 or weights.shape[2:] != (TAPS, TAPS):
        return None
    if any(v.operand.kind is not F32 or 0 in v.shape for v in call.views.values()):
        return None
    out, into = weights.shape[:2]
    steps = strides(weights.whole)
    if [steps[a] for a in weights.order] != [1, out, TAPS * into * out, into * out]:
        return None
    lanes = _lanes(call)
    src, dst = (_image(call.views[name], lanes) for name in ("src", "dst"))
    if not lanes or src is None or dst is None:
        return None
    (top, _), (left, _) = o["pads"]
    if call.kind == "convolution_data":
        return Size(dst, src, TAPS - 1 - top, TAPS - 1 - left, lanes)
    return Size(src, dst, top, left, lanes)


def _lanes(call: LibraryCall) -> int:
    """Channels per vector: those of a block, or as many as fit; 0 where there are too few."""
    most = host().lanes(32)
    views = [call.views[name] for name in ("src", "dst")]
    found = {v.block for v in views if isinstance(v, Blocked)} or {n for n in (16, 8) if n <= most}
    for lanes in sorted(found, reverse=True):
        if 8 <= lanes <= most and not any(v.shape[1] % lanes for v in views):
            return lanes
    return 0


def _image(view: View, lanes: int) -> Image | None:
    n, channels, height, width = view.shape
    if isinstance(view, Blocked):
        plane = height * width * lanes
        steps = (channels // lanes * plane, plane, width * lanes, lanes) if lanes else (0,) * 4
        return Image(n, channels, height, width, steps)
    whole = strides(view.whole)
    image, channel, row, place = (whole[a] for a in view.order)
    return Image(n, channels, height, width, (image, lanes, row, place)) if channel == 1 else None


def prefers(call: LibraryCall) -> bool:
    """Whether this beats the library, by measurement (docs/decisions/0012-winograd.md).  Weights
    are packed here if the convolution that reads them is done here."""
    if call.kind == "pack":
        return prefers(call.options["whole"])
    size = size_of(call)
    if size is None or not onednn.supports(call):
        return False
    fewest = min(size.source.channels, size.result.channels)
    return hint(fewest) >= FEW_CHANNELS and hint(size.tiles) >= FEW_TILES


# -- instructions ---------------------------------------------------------------------------------------
def instructions(call: LibraryCall, direct: list[Execution]) -> list[Instruction]:
    """The convolution, and the library's (`direct`) in case that results are not finite."""
    if call.kind == "pack":
        return _pack(call, direct)
    size = size_of(call)
    assert size is not None
    flag = temporary(FLAG)
    made = [Instruction([], [flag], Entry(native.FILL, [FLAG], [(flag, True)], []), name="winograd flag")]
    write = _gradient if call.kind == "convolution_weights" else _images
    made += write(call, size, flag)
    for execution in direct:
        entry = onednn.entry_of(execution)
        entry.kind = native.REPEAT
        entry.places.insert(0, (flag, False))
        made.append(of_entry(entry, f"{execution.label or call.kind} if not finite"))
    return made


def packed_words(call: LibraryCall) -> int:
    """Elements of the weights that `instructions` packs: the library's, then ours."""
    size = size_of(call)
    assert size is not None
    return _skipped(call) + POSITIONS * size.filters


def _pack(call: LibraryCall, direct: list[Execution]) -> list[Instruction]:
    """Weights to be kept for the convolution `whole`."""
    whole = call.options["whole"]
    size = size_of(whole)
    assert size is not None
    made = [of_entry(onednn.entry_of(e), "pack") for e in direct]
    weights, place = (memory_of(call.views[name].operand) for name in ("src", "dst"))
    return [*made, _filters_instruction(False, size, weights, place, _skipped(whole))]


def _skipped(call: LibraryCall) -> int:
    return -(-onednn_conv.weights_layout(call).nbytes // 64) * 16


def _images(call: LibraryCall, size: Size, flag: Array) -> list[Instruction]:
    """A convolution, or the gradient of its image, which is a convolution with turned filters: transform
    the weights unless they were packed so before, then one kernel for patches, products and results."""
    is_data = call.kind == "convolution_data"
    src, dst = (memory_of(call.views[name].operand) for name in ("src", "dst"))
    if is_data:
        src, dst = dst, src
    made, weights, skipped = [], call.options.get("packed"), 0
    if weights is None:
        weights = _floats(POSITIONS * size.filters)
        given = memory_of(call.views["weights"].operand)
        made.append(_filters_instruction(is_data, size, given, weights, 0))
    else:
        skipped = _skipped(call)
    bias = [memory_of(call.views["bias"].operand)] if "bias" in call.views else []
    variant = Variant("images", size.lanes, 6 if size.lanes == 8 else 12, 2, bool(bias))
    cut = cut_images(size, variant.rows)
    group = min(GROUP, ceil(size.outs / cut.parts))
    v_step, m_step = (n * cut.block * size.lanes + GAP for n in (size.ins, group))
    scratch = _scratch(v_step + m_step, cut.block)
    params = [*size.geometry(cut.block), group, cut.parts, v_step, m_step, size.filters, scratch, skipped]
    units = cut.blocks * cut.parts
    places: list[Place] = [(src, False), (weights, False), (dst, True), Scratch(0), (flag, True)]
    places += [(b, False) for b in bias]
    entry = _entry(Images, variant, params, units, cut.team, places)
    made.append(of_entry(entry, f"winograd {call.kind}", scratch * cut.team))
    return made


def _gradient(call: LibraryCall, size: Size, flag: Array) -> list[Instruction]:
    """The gradient of the weights in two kernels: sums for parts of the tiles (so that all threads have
    work), then their total, transformed back."""
    src, grad, target = (memory_of(call.views[name].operand) for name in ("src", "dst", "weights"))
    cut = cut_gradient(size)
    sums = _floats(cut.parts * POSITIONS * size.filters)
    variant = Variant("gradient", size.lanes, size.lanes // 2, 3)
    v_step, d_step = (n * cut.block * size.lanes + GAP for n in (cut.in_group, cut.out_group))
    scratch = _scratch(v_step + d_step, cut.block)
    groups = [ceil(size.ins / cut.in_group), ceil(size.outs / cut.out_group)]
    params = [
        *size.geometry(cut.block),
        cut.in_group,
        cut.out_group,
        *groups,
        cut.parts,
        v_step,
        d_step,
        size.filters,
        scratch,
    ]
    places: list[Place] = [(src, False), (grad, False), (sums, True), Scratch(0)]
    units = groups[0] * groups[1] * cut.parts
    entry = _entry(Gradient, variant, params, units, cut.team, places)
    first = of_entry(entry, f"winograd {call.kind}", scratch * cut.team)
    params = [size.ins, size.outs, size.filters, cut.parts]
    places = [(sums, False), (target, True), (flag, True)]
    entry = _entry(Sums, Variant("sums", size.lanes, 1, 1), params, size.outs, cut.team, places)
    return [first, of_entry(entry, "winograd sums")]


def _filters_instruction(
    is_turned: bool, size: Size, weights: Array, target: Array, skipped: int
) -> Instruction:
    variant = Variant("turned filters" if is_turned else "filters", size.lanes, 1, 1)
    ins, outs = (size.outs, size.ins) if is_turned else (size.ins, size.outs)
    units = ins if is_turned else outs
    writer: Callable[[Variant], Writer] = TurnedFilters if is_turned else Filters
    places: list[Place] = [(weights, False), (target, True)]
    entry = _entry(writer, variant, [ins, outs, size.filters, skipped], units, threads.count(), places)
    return of_entry(entry, "winograd filters")


# -- how the work is cut -------------------------------------------------------------------------
@record
class Cut:
    """Tiles of a block, blocks, parts of the output channels, threads."""

    block: int
    blocks: int
    parts: int
    team: int


def cut_images(size: Size, rows: int) -> Cut:
    team = threads.count()
    most = max(min(NEAR // (4 * POSITIONS * size.source.channels), MOST), FEWEST)
    tiles = hint(size.tiles)
    blocks = ceil(tiles / most)
    if blocks < team and tiles < team * FEWEST_OWN:  # few tiles: threads share the channels
        parts = min(ceil(team / blocks), size.outs)
    else:
        parts, blocks = 1, ceil(blocks / team) * team
    block = ceil(ceil(tiles / blocks) / rows) * rows
    return Cut(block, -(-size.tiles // block), parts, team)


@record
class GradientCut:
    """Tiles of a block, blocks of channels in a group, parts of the tiles, threads."""

    block: int
    in_group: int
    out_group: int
    parts: int
    team: int


def cut_gradient(size: Size) -> GradientCut:
    for wide in WIDE:
        found = _gradient_cut(size, wide)
        if 4 * found.parts * POSITIONS * size.filters <= SUMS:
            break
    return found


def _gradient_cut(size: Size, wide: int) -> GradientCut:
    team = threads.count()
    groups = ceil(size.ins / wide), ceil(size.outs / wide)
    in_group, out_group = ceil(size.ins / groups[0]), ceil(size.outs / groups[1])
    near = NEAR // (4 * POSITIONS * size.lanes * (in_group + out_group))
    block = max(min(near, MOST), FEWEST_GRADIENT)
    units, blocks = groups[0] * groups[1], ceil(hint(size.tiles) / block)
    parts = next((n for n in range(1, team + 1) if units * n % team == 0), 1)
    parts = min(parts, blocks)
    block = ceil(hint(size.tiles) / blocks)
    if size.tiles <= (parts - 1) * block:
        raise AssertionError("a part without tiles")  # a guard, where their number is open
    return GradientCut(block, in_group, out_group, parts, team)


# -- entries -------------------------------------------------------------------------------------
class Writer(Protocol):
    """Writes the text of a kernel under a name."""

    def write(self, symbol: str) -> str: ...


def _entry(
    writer: Callable[[Variant], Writer],
    variant: Variant,
    params: list[int],
    units: int,
    team: int,
    places: list[Place],
) -> Entry:
    """The entry of one kernel; `units` of work are shared out to the team."""
    kernel = writer(variant)
    identity = variant.identity()
    address = kernel_address(identity, kernel.write)
    team = min(team, hint(units))
    head = [address, 0, units, team, 1, len(places)]
    return Entry(native.KERNEL, head, places, [], params=params, uses_team=team > 1, kernel=identity)


def _floats(count: int) -> Array:
    return Array((count,), "float32", source=Temporary(), name="winograd")


def _scratch(elements: int, block: int) -> int:
    """Bytes that a thread needs: positions of a block, and where its tiles are."""
    return -(-(4 * POSITIONS * elements + 8 * WORDS * block) // 64) * 64
