"""Library calls behind one interface: plain products by kernels of our own, the rest by oneDNN
where it can, else by a BLAS.

In: a `LibraryCall`.  Out: the steps of a program.  `choose` says who does it, so that a region
can be lowered accordingly: a call that nobody does is expressed in stages (codegen.fallback) or
declined.
"""

from __future__ import annotations

from typing import Any

from headrace.codegen import blas, gemm, native, onednn
from headrace.codegen.kernel_ir import Tensor
from headrace.codegen.onednn_api import LibraryError
from headrace.codegen.program import Entry
from headrace.codegen.stages import Called
from headrace.codegen.stages import memory as memory_of
from headrace.ops.emit import LibraryCall


def is_empty(call: LibraryCall) -> bool:
    return any(0 in v.shape for v in call.views.values())


def choose(call: LibraryCall) -> str | None:
    """'own' kernels, 'onednn', 'blas', or None where nobody does it."""
    if gemm.supports(call) and not onednn.supports(call):
        return "own"
    if onednn.supports(call):
        try:
            onednn.describe(call)
        except LibraryError:
            pass
        else:
            return "onednn"
    if gemm.supports(call):
        return "own"
    return "blas" if blas.supports(call) else None


def steps(called: Called, outputs: list[Tensor], step: Any, products: gemm.Products) -> list[Any]:
    """The program steps of a call that `choose` accepted."""
    call = called.call
    if is_empty(call):
        return [_zeros(memory_of(t), step) for t in outputs if t.count]
    own = gemm.supports(call)
    if own and (products.prefers(call) or not onednn.supports(call)):
        return products.steps(call, step)
    if onednn.supports(call):
        entry = onednn.product(call)
        if entry is not None:
            return [_step(entry, call.kind, step)]
        try:
            made = onednn.executions(call)
        except LibraryError:
            pass
        else:
            return [_step(onednn.entry_of(e), e.label or call.kind, step) for e in made]
    if own:
        return products.steps(call, step)
    return [_step(e, call.kind, step) for e in blas.entries(call)]


def _zeros(tensor: Tensor, step: Any) -> Any:
    """A product over nothing."""
    return step([], [tensor], Entry(native.FILL, [tensor.nbytes], [(tensor, True)], []))


def _step(entry: Entry, name: str, step: Any) -> Any:
    read = [t for t, written in entry.places if not written]
    wrote = [t for t, written in entry.places if written]
    return step(read, wrote, entry, name=name)
