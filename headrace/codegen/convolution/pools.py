"""Max pooling and its gradients by kernels of our own.

In: a LibraryCall "max_pool", "max_pool_data" (whose gradient goes to the first maximum) or
"near_max_data" (to all that are as large, nearly).  Out: instructions of a program.  oneDNN would drop NaN,
and take the lowest finite number for the largest of nothing but -inf.

Forward and backward agree about where a maximum is because the forward call notes it (`pair`); a
gradient without its forward call finds the places once more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod

from headrace.codegen.convolution.llvm_pool import (
    Form,
    MaxPoolGradWriter,
    MaxPoolWriter,
    NearGradWriter,
    PoolWriter,
)
from headrace.codegen.convolution.llvm_pool_rows import RowMaxPoolGradWriter, RowMaxPoolWriter
from headrace.codegen.convolution.llvm_pool_rows import supports as rows_support
from headrace.codegen.ir.kernel_ir import Array, Kind
from headrace.codegen.ir.stages import Called, Temporary, memory
from headrace.codegen.machine import threads
from headrace.codegen.machine.cache import kernel_address
from headrace.codegen.machine.target import host
from headrace.codegen.onednn.onednn_calls import Blocked
from headrace.codegen.program import native
from headrace.codegen.program.instruction import Instruction
from headrace.codegen.program.program import Entry
from headrace.core.records import record
from headrace.core.sizes import hint
from headrace.ops.declaration.emit import LibraryCall, View

TEAM_WORK = 1 << 15  # elements below which one thread does it
KINDS = ("max_pool", "max_pool_data", "near_max_data")
ROWS: dict[
    type[PoolWriter], type[PoolWriter]
] = {  # where a row's elements lie side by side, and channels do not
    MaxPoolWriter: RowMaxPoolWriter,
    MaxPoolGradWriter: RowMaxPoolGradWriter,
}
FLOATS = ("f16", "bf16", "f32", "f64")


def supports(call: LibraryCall) -> bool:
    """Floats in two or three dimensions of space."""
    if call.kind not in KINDS or len(call.views["src"].shape) not in (4, 5):
        return False
    return all(v.operand.kind.name in FLOATS for v in call.views.values())


def pair(call: LibraryCall) -> None:
    """Max pooling notes where the maxima were, if its gradient (this call) asks for them."""
    if call.kind != "max_pool_data":
        return
    source = memory(call.views["dst"].operand).source
    first = source.call if isinstance(source, Called) else None
    if first is None or first.kind != "max_pool":
        return
    same = all(first.options[k] == call.options[k] for k in ("window", "strides", "pads"))
    x, y = (memory(c.views["src"].operand) for c in (first, call))
    if x is not y or not same or first.views["src"].order != call.views["src"].order:
        return
    if "places" not in first.options:
        first.options["places"] = _places(first)
    call.options.update(first=first, places=first.options["places"])


def _places(call: LibraryCall) -> Array:
    dtype = "uint8" if _form(call, 1).place_type == "i8" else "int32"
    return Array((prod(call.views["dst"].shape),), dtype, source=Temporary(), name="places of maxima")


@record
class _Part:
    """An array that a kernel works on, laid out as a view says; without a kind it holds places."""

    array: Array
    view: View
    kind: Kind | None


def _seen(view: View) -> _Part:
    return _Part(memory(view.operand), view, view.operand.kind)


def instructions(call: LibraryCall) -> list[Instruction]:
    """The places of maxima lie as the result does."""
    src, dst, places = _seen(call.views["src"]), call.views["dst"], call.options.get("places")
    if call.kind == "max_pool":
        noted = [] if places is None else [_Part(places, dst, None)]
        return [_instruction(call, MaxPoolWriter, [src], [_seen(dst), *noted])]
    grad, target = _seen(call.views["diff_dst"]), [_seen(call.views["diff_src"])]
    if call.kind == "near_max_data":
        writer = partial(NearGradWriter, near=call.options["near"])
        return [_instruction(call, writer, [grad, src, _seen(dst)], target)]
    before = []
    if places is None:
        places = _places(call)
        spare = Array(dst.operand.shape, dst.dtype, source=Temporary(), name="maxima")
        found = [_Part(spare, dst, dst.operand.kind), _Part(places, dst, None)]
        before = [_instruction(call, MaxPoolWriter, [src], found)]
    noted_as = call.options["first"].views["dst"] if "first" in call.options else dst
    return [*before, _instruction(call, MaxPoolGradWriter, [grad, _Part(places, noted_as, None)], target)]


def _instruction(
    call: LibraryCall,
    writer_of: Callable[[Form, list[Kind | None]], PoolWriter],
    reads: list[_Part],
    writes: list[_Part],
) -> Instruction:
    """The kernel for this layout, with sizes and strides as its parameters: one thread's unit of work is
    a row of one block of channels."""
    parts = [*reads, *writes]
    block = min((p.view.block for p in parts if isinstance(p.view, Blocked)), default=0)
    channels = call.views["src"].shape[1]
    is_last = all(_strides(p.view)[1] == 1 for p in parts)
    inner = block or (channels if is_last else 1)
    bits = max(p.kind.bits for p in parts if p.kind is not None)
    lanes = _lanes(inner, bits) if is_last else 1
    form = _form(call, lanes)
    if not is_last and writer_of in ROWS and all(_strides(p.view)[-1] == 1 for p in parts):
        wide = _form(call, _lanes(2 * call.views["dst"].shape[-1] - 1, bits))
        if wide.lanes > 1 and rows_support(wide):
            form, writer_of = wide, ROWS[writer_of]
    writer = writer_of(form, [p.kind for p in parts])
    address = kernel_address(writer.identity(), writer.write)
    image, result = (_space(call.views[name].shape[2:], 1) for name in ("src", "dst"))
    pads = _space([before for before, _ in call.options["pads"]], 0)
    params = [channels // inner, inner, *image, *result, *pads]
    for part in parts:
        params += _steps(part.view, inner)
    depth, height, _ = result if writer.rows else image
    work = call.views["src"].shape[0] * channels // inner * depth * height
    team = threads.count() if prod(call.views["src"].shape) >= TEAM_WORK else 1
    entry = Entry(
        native.KERNEL,
        [address, 0, work, team, 1, len(parts)],
        [*((p.array, False) for p in reads), *((p.array, True) for p in writes)],
        [],
        params=params,
        uses_team=team > 1,
        kernel=writer.identity(),
    )
    return Instruction([p.array for p in reads], [p.array for p in writes], entry, name=call.kind)


def _lanes(elements: int, bits: int) -> int:
    """The largest vector that so many elements fill."""
    return 1 << (min(hint(elements), host().lanes(max(bits, 32))).bit_length() - 1)


def _form(call: LibraryCall, lanes: int) -> Form:
    return Form(lanes, _space(call.options["window"], 1), _space(call.options["strides"], 1))


def _space(sizes: Sequence[int], missing: int) -> tuple[int, ...]:
    """Images as volumes."""
    return (*(missing,) * (3 - len(sizes)), *(int(n) for n in sizes))


def _strides(view: View) -> tuple[int, ...]:
    """Elements of memory from one index to the next: image, channel (of a block), space..."""
    if isinstance(view, Blocked):
        _, blocks, *space, block = view.operand.shape
        return (blocks * prod(space) * block, 1, *(block * prod(space[i + 1 :]) for i in range(len(space))))
    return tuple(view.steps[axis] for axis in view.order)


def _steps(view: View, inner: int) -> list[int]:
    """`STEPS` of an array whose channels are seen in groups of `inner`."""
    image, channel, *space = _strides(view)
    group = prod(view.shape[2:]) * inner if isinstance(view, Blocked) else channel * inner
    return [image, group, *_space(space, 0), channel]
