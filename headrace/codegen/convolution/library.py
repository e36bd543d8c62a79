"""Library calls behind one interface: products of matrices by kernels of our own or by oneDNN, max
pooling by our own, the rest by oneDNN.

In: a `LibraryCall`.  Out: the instructions of a program.  `choose` says who does it, so that a region
can be lowered accordingly: a call that nobody does is expressed in stages (codegen.lowering.fallback) or
declined.
"""

from __future__ import annotations

from math import prod

from headrace.codegen.convolution import pools, winograd
from headrace.codegen.fusion import costs
from headrace.codegen.ir.kernel_ir import Array
from headrace.codegen.ir.stages import Called
from headrace.codegen.ir.stages import memory as memory_of
from headrace.codegen.onednn import onednn
from headrace.codegen.onednn.onednn_api import LibraryError
from headrace.codegen.onednn.onednn_calls import work_of
from headrace.codegen.products import gemm, gemv, limits
from headrace.codegen.products.matrices import matrix
from headrace.codegen.program import native
from headrace.codegen.program.instruction import Instruction, of_entry
from headrace.codegen.program.program import Entry
from headrace.core.sizes import hint
from headrace.ops.declaration.emit import LibraryCall


def is_empty(call: LibraryCall) -> bool:
    return any(0 in v.shape for v in call.views.values())


def choose(call: LibraryCall) -> str | None:
    """'own' kernels, 'onednn', or None where nobody does it."""
    if pools.supports(call):
        pools.pair(call)
        return "own"
    if gemm.supports(call) and not onednn.supports(call):
        return "own"
    if onednn.supports(call):
        try:
            onednn.describe(call)
        except LibraryError:
            pass
        else:
            return "onednn"
    return "own" if gemm.supports(call) else None


def instructions(called: Called, outputs: list[Array], products: gemm.Products) -> list[Instruction]:
    """The instructions of a call that `choose` accepted."""
    found = _instructions(called, outputs, products)
    if limits.FLAGS in called.call.options and not is_empty(called.call):
        found = limits.limited(found, called.call)
    work = 0 if is_empty(called.call) else hint(work_of(called.call))
    costs.note_products(found, work, {memory_of(t) for t in outputs})
    return found


def _instructions(called: Called, outputs: list[Array], products: gemm.Products) -> list[Instruction]:
    """Who does the call: own code where it is known to be faster or oneDNN can not, else oneDNN."""
    call = called.call
    if is_empty(call):
        return [_zeros(memory_of(t)) for t in outputs if t.count]
    if gemv.prefers(call):
        return gemv.instructions(call, label(call))
    own = gemm.supports(call)
    if own and (products.prefers(call) or not onednn.supports(call)):
        return products.instructions(call, label(call))
    if pools.supports(call):
        return pools.instructions(call)
    if onednn.supports(call):
        entry = onednn.product(call)
        if entry is not None:
            return [of_entry(entry, label(call))]
        if limits.FLAGS in call.options:
            return products.instructions(call, label(call))
        try:
            made = onednn.executions(call)
        except LibraryError:
            if not own:
                raise
        else:
            if winograd.prefers(call):
                return winograd.instructions(call, made)
            return [of_entry(onednn.entry_of(e), e.label or label(call)) for e in made]
    return products.instructions(call, label(call))


def label(call: LibraryCall) -> str:
    """What a profile shows: a product with its sizes, as stored operands have them."""
    if call.kind != "matmul":
        return call.kind
    (*lead, m, n), k = call.views["dst"].shape, call.views["src"].shape[-1]
    turned = "".join(
        "T" if (found := matrix(call.views[name])) is not None and found[0] else "N"
        for name in ("src", "weights")
    )
    return f"matmul {m}x{k}x{n} {turned}" + (f" x{prod(lead)}" if prod(lead) > 1 else "")


def _zeros(array: Array) -> Instruction:
    """A product over nothing."""
    return Instruction([], [array], Entry(native.FILL, [array.nbytes], [(array, True)], []))
