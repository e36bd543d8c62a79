"""Library calls as oneDNN primitives: matrix products, convolutions, mean pooling.

In: a `LibraryCall` on arrays with concrete shapes.  Out: executions, each a primitive with its
arguments; where the library wants another layout than the array has, a reorder stands before or
after.
"""

from __future__ import annotations

from collections.abc import Callable

from headrace.codegen.ir.stages import memory as memory_of
from headrace.codegen.machine import threads
from headrace.codegen.onednn import onednn_api as dnn
from headrace.codegen.onednn import onednn_conv, onednn_pool
from headrace.codegen.onednn.onednn_api import Unsupported
from headrace.codegen.onednn.onednn_calls import Execution, Sequence, plain, reorder, team_of
from headrace.codegen.products.matrices import matrix
from headrace.codegen.program import native
from headrace.codegen.program.program import Entry, Place
from headrace.core.sizes import hint, hints
from headrace.ops.declaration.emit import LibraryCall

LARGE_RESULT, FEW_RESULTS = 1_000_000, 1 << 13  # elements
NARROW, DEEP = 32, 1024  # columns, terms of a sum


def is_available() -> bool:
    return dnn.library() is not None


def supports(call: LibraryCall) -> bool:
    kinds = {v.operand.kind.name for v in call.views.values()}
    return call.kind in _BUILDERS and kinds <= {"f32", "bf16"} and len(kinds) == 1 and is_available()


def describe(call: LibraryCall) -> list[Execution]:
    """What would be executed, in order.  Raises LibraryError where the library cannot do it, or has
    only its reference implementation for it, which is hundreds of times slower than ours."""
    with dnn.described_for(team_of(call)):
        made = _BUILDERS[call.kind](call)
    for execution in made if call.kind != "pack" else ():  # weights are packed once
        if execution.implementation.startswith(("ref", "simple:any")):
            raise Unsupported(f"{execution.label or call.kind} by {execution.implementation}")
    return made


def executions(call: LibraryCall) -> list[Execution]:
    """Primitives in order.  They run with as many threads as they were made for."""
    team, made = team_of(call), describe(call)
    with threads.limited_to(hint(team)):
        for execution in made:
            execution.team = team
            execution.primitive = execution.description.primitive()
    return made


# -- matrix products -----------------------------------------------------------------------------
def _matmul(call: LibraryCall) -> list[Execution]:
    src, weights, dst = (call.views[k] for k in ("src", "weights", "dst"))
    bias = call.views.get("bias")
    layouts = [plain(src), plain(weights), plain(bias) if bias else None, plain(dst)]
    attr = dnn.attributes(call.options.get("post_ops", ()))
    made = dnn.described("matmul", dnn.engine(), *layouts, attr)
    run = Sequence(made)
    run.read("src", src)
    run.read("weights", weights)
    if bias:
        run.extra("bias", plain(bias), memory_of(bias.operand))
    run.write("dst", dst)
    return run.done()


def product(call: LibraryCall) -> Entry | None:
    """The library's plain product of matrices, where that is faster (measured): small ones with a
    transposed first operand, large results, and long sums with nothing transposed, which it also adds
    up in shorter blocks."""
    if call.kind != "matmul" or set(call.views) != {"src", "weights", "dst"}:
        return None
    a, b, c = (call.views[k] for k in ("src", "weights", "dst"))
    found = [matrix(v) for v in (a, b, c)]
    if len(c.shape) != 2 or a.operand.kind.name != "f32" or any(f is None for f in found):
        return None
    (ta, lda), (tb, ldb), (tc, ldc) = (f for f in found if f is not None)
    (m, k), n = a.shape, b.shape[-1]
    team = team_of(call)
    is_small = hint(team) == 1 and ta and not tb
    m, n, k = hints((m, n, k))
    is_large = m * n >= LARGE_RESULT and hint(team) > 1
    is_deep = not ta and not tb and n >= NARROW and k >= (DEEP if m * n >= FEW_RESULTS else 4 * DEEP)
    if tc or not (is_small or is_large or is_deep):
        return None
    lib = dnn.library()
    assert lib is not None
    head = [
        native.address_of(lib.dnnl_sgemm),
        ord("T" if ta else "N"),
        ord("T" if tb else "N"),
        *(a.shape[0], b.shape[-1], a.shape[1]),
        lda,
        ldb,
        ldc,
        team,
    ]
    places: list[Place] = [
        (memory_of(a.operand), False),
        (memory_of(b.operand), False),
        (memory_of(c.operand), True),
    ]
    return Entry(native.SGEMM, head, places, [], uses_team=hint(team) > 1)


def _reordered(call: LibraryCall) -> list[Execution]:
    src, dst = call.views["src"], call.views["dst"]
    return [reorder(plain(src), memory_of(src.operand), plain(dst), memory_of(dst.operand))]


_BUILDERS: dict[str, Callable[[LibraryCall], list[Execution]]] = {
    "avg_pool": onednn_pool.avg_pool,
    "avg_pool_data": onednn_pool.avg_pool_data,
    "matmul": _matmul,
    "pack": onednn_conv.pack,
    "reorder": _reordered,
    "convolution": onednn_conv.convolution,
    "convolution_data": onednn_conv.convolution_data,
    "convolution_weights": onednn_conv.convolution_weights,
}


# -- entries -------------------------------------------------------------------------------------
def entry_of(execution: Execution) -> Entry:
    team = execution.team
    assert execution.primitive is not None
    places: list[Place] = [
        (place, name in execution.written or name == "scratchpad") for name, _, place in execution.arguments
    ]
    entry = Entry(native.EXECUTE, [], places, [], uses_team=hint(team) > 1)
    arguments = [(name, layout) for name, layout, _ in execution.arguments]
    entry.instantiate = dnn.Call(execution.primitive, arguments, team)
    return entry
