"""Matrix products through a BLAS: scipy-openblas32 if installed.  Serves float64, and float32 where
oneDNN is missing."""

from __future__ import annotations

import ctypes
import struct
from functools import lru_cache
from importlib.util import find_spec
from math import prod
from pathlib import Path
from typing import Any

from headrace.codegen import native
from headrace.codegen.lift import strides
from headrace.codegen.program import Entry
from headrace.codegen.stages import memory as memory_of
from headrace.ops.emit import LibraryCall, View

NO_TRANSPOSE, TRANSPOSE = 111, 112


@lru_cache(maxsize=1)
def library() -> Any | None:
    spec = find_spec("scipy_openblas32")
    if spec is None or spec.origin is None:
        return None
    for path in sorted((Path(spec.origin).parent / "lib").glob("libscipy_openblas*")):
        try:
            return ctypes.CDLL(str(path))
        except OSError:
            continue
    return None


def supports(call: LibraryCall) -> bool:
    if call.kind != "matmul" or "bias" in call.views or call.options.get("post_ops"):
        return False
    if {v.operand.kind.name for v in call.views.values()} not in ({"f32"}, {"f64"}):
        return False
    return library() is not None and all(matrix(v) is not None for v in call.views.values())


def matrix(view: View) -> tuple[bool, int] | None:
    """Whether the last two dimensions are exchanged in memory, and the step between rows."""
    if len(view.shape) < 2:
        return None
    steps = strides(view.operand.shape)
    row, column = steps[view.order[-2]], steps[view.order[-1]]
    rows, columns = view.shape[-2:]
    if column == 1 or columns == 1:
        return False, max(row if rows > 1 else columns, columns, 1)
    if row == 1 or rows == 1:
        return True, max(column, rows, 1)
    return None


def entries(call: LibraryCall) -> list[Entry]:
    """One entry: a batch is a loop over equal steps, so the leading dimensions must be
    contiguous."""
    a, b, c = (call.views[k] for k in ("src", "weights", "dst"))
    (ta, lda), (tb, ldb), (_, ldc) = (matrix(v) or (False, 0) for v in (a, b, c))
    m, k = a.shape[-2:]
    n = b.shape[-1]
    batch = prod(c.shape[:-2])
    wide = c.operand.kind.name == "f64"
    size = 8 if wide else 4
    function = getattr(library(), "scipy_cblas_dgemm" if wide else "scipy_cblas_sgemm")
    steps = [prod(v.shape[-2:]) * size if prod(v.shape[:-2]) > 1 else 0 for v in (a, b, c)]
    head = [
        native.address_of(function), TRANSPOSE if ta else NO_TRANSPOSE,
        TRANSPOSE if tb else NO_TRANSPOSE, m, n, k, lda, ldb, ldc,
        bits_of(1.0), bits_of(0.0), batch, *steps,
    ]  # fmt: skip
    places: list[tuple[Any, Any]] = [
        (memory_of(a.operand), False), (memory_of(b.operand), False), (memory_of(c.operand), True),
    ]  # fmt: skip
    return [Entry(native.GEMM64 if wide else native.GEMM32, head, places, [])]


def bits_of(value: float) -> int:
    found: int = struct.unpack("<q", struct.pack("<d", value))[0]
    return found
