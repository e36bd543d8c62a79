"""The gradient of max pooling by a kernel of our own, where the library noted the maxima.

In: a LibraryCall "max_pool_data" whose forward call wrote the places of its maxima.  Out: an instruction of
a program.
"""

from __future__ import annotations

import ctypes
from math import prod

from headrace.codegen.convolution.llvm_pool import PoolWriter
from headrace.codegen.ir.stages import memory
from headrace.codegen.machine import threads
from headrace.codegen.machine.cache import kernel_address
from headrace.codegen.machine.target import host
from headrace.codegen.onednn.onednn_calls import Blocked
from headrace.codegen.program import native
from headrace.codegen.program.instruction import Instruction
from headrace.codegen.program.program import Entry
from headrace.ops.declaration.emit import LibraryCall, View

TEAM_WORK = 1 << 15  # elements below which one thread does it
LAST = (0, 3, 1, 2)  # channels last, seen in the library's order


def supports(call: LibraryCall) -> bool:
    """Float images with whole vectors of channels innermost, all laid out alike."""
    if call.kind != "max_pool_data" or "first" not in call.options or host().vector_bits < 128:
        return False
    views = [call.options["first"].views["dst"], call.views["diff_dst"], call.views["diff_src"]]
    if any(v.operand.kind.name != "f32" or len(v.shape) != 4 for v in views):
        return False
    inner = {_innermost(v) for v in views}
    is_noted_in_bytes = call.options["places"].count == prod(views[0].shape)
    return len(inner) == 1 and inner.pop() > 0 and is_noted_in_bytes


def _innermost(view: View) -> int:
    """Channels that lie side by side; 0 where that is no multiple of a vector."""
    if isinstance(view, Blocked):
        found = view.block
    else:
        found = view.shape[1] if view.order == LAST else 0
    return found if found % host().lanes(32) == 0 else 0


def instructions(call: LibraryCall) -> list[Instruction]:
    grad, target = call.views["diff_dst"], call.views["diff_src"]
    channels = _innermost(target)
    batch, depth, height, width = target.shape
    out_height, out_width = grad.shape[2:]
    (top, _), (left, _) = call.options["pads"]
    params = [height, width, out_height, out_width, channels, top, left]
    writer = PoolWriter(host().lanes(32), tuple(call.options["window"]), call.options["strides"])
    address = kernel_address(writer.identity(), writer.write)
    table = (ctypes.c_int64 * len(params))(*params)
    work = batch * depth // channels * height
    team = threads.count() if prod(target.shape) >= TEAM_WORK else 1
    reads, writes = [memory(grad.operand), call.options["places"]], [memory(target.operand)]
    entry = Entry(
        native.KERNEL,
        [address, ctypes.addressof(table), work, team, 1, 3],
        [*((t, False) for t in reads), *((t, True) for t in writes)],
        [],
        keep=[table],
        uses_team=team > 1,
        kernel=writer.identity(),
    )
    return [Instruction(reads, writes, entry, name="max_pool_data")]
