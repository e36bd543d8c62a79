"""Products over rows of which a loop filled only some: they end with the last one that is filled.

How long a product's sums are is a word of its entry, or of its kernel's parameters; a LIMIT entry before
it writes that word, in the instance's own copy.
"""

from __future__ import annotations

from headrace.codegen.ir.kernel_ir import Array
from headrace.codegen.products import gemm
from headrace.codegen.products.llvm_gemm_text import PARAMS
from headrace.codegen.program import native
from headrace.codegen.program.instruction import Instruction
from headrace.codegen.program.program import Entry
from headrace.ops.declaration.emit import LibraryCall

FLAGS = "filled"  # the option of a call that names the flags (native_control) of its rows
_WORDS = {native.KERNEL: PARAMS.index("k"), native.SGEMM: 7}


def supports(call: LibraryCall) -> bool:
    """Whether the call can become an entry with such a word."""
    return gemm.supports(call)


def limited(instructions: list[Instruction], call: LibraryCall) -> list[Instruction]:
    """A product's instructions, the last of which looks no further than the flags say."""
    flags: Array = call.options[FLAGS]
    product: Entry = instructions[-1].entry
    cells = flags.shape[0]
    rows = call.views["src"].shape[-1] // cells
    limit = (product, _WORDS[product.kind])
    entry = Entry(native.LIMIT, [0, cells, rows], [(flags, False)], [], limits=limit)
    return [*instructions[:-1], Instruction([flags], [], entry, name="limit"), instructions[-1]]
