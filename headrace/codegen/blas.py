"""Matrix products through a BLAS: scipy-openblas32 if installed, else the OpenBLAS that NumPy brings.
Serves float64, and float32 where oneDNN is missing."""

from __future__ import annotations

import ctypes
import struct
from functools import lru_cache
from importlib.util import find_spec
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from headrace.codegen import native
from headrace.codegen.cache import kernel_address
from headrace.codegen.lift import strides
from headrace.codegen.program import Entry
from headrace.codegen.stages import memory as memory_of
from headrace.core import options
from headrace.ops.emit import LibraryCall, View

NO_TRANSPOSE, TRANSPOSE = 111, 112


@lru_cache(maxsize=1)
def library() -> str | None:
    """Which BLAS is in use: the package scipy-openblas32, or the one that NumPy's wheel brings."""
    if "blas" in options.without():
        return None
    if _package() is not None:
        return "scipy-openblas32"
    return "NumPy's OpenBLAS" if _of_numpy() is not None else None


@lru_cache(maxsize=2)
def product(wide: bool) -> int:
    """The address of cblas_dgemm (or sgemm), with sizes of 32 bits."""
    name = "scipy_cblas_dgemm" if wide else "scipy_cblas_sgemm"
    package = _package()
    if package is not None:
        return native.address_of(getattr(package, name))
    return _narrowed(f"{name}64_", "double" if wide else "float")


def _package() -> Any | None:
    spec = find_spec("scipy_openblas32")
    if spec is None or spec.origin is None:
        return None
    return _load(sorted((Path(spec.origin).parent / "lib").glob("libscipy_openblas*")))


@lru_cache(maxsize=1)
def _of_numpy() -> Any | None:
    """NumPy's own, if it is an OpenBLAS with sizes of 64 bits beside the package, as in its wheels."""
    folder = Path(np.__file__).parent.parent / "numpy.libs"
    found = _load(sorted(folder.glob("libscipy_openblas64_*")))
    return found if found is not None and hasattr(found, "scipy_cblas_dgemm64_") else None


def _load(paths: list[Path]) -> Any | None:
    for path in paths:
        try:
            return ctypes.CDLL(str(path))
        except OSError:
            continue
    return None


_ADAPTER = """
declare void @{name}(i32, i32, i32, i64, i64, i64, {real}, ptr, i64, ptr, i64, {real}, ptr, i64)

define void @{symbol}(i32 %order, i32 %ta, i32 %tb, i32 %m, i32 %n, i32 %k, {real} %alpha, ptr %a,
                      i32 %lda, ptr %b, i32 %ldb, {real} %beta, ptr %c, i32 %ldc) {{
  %m64 = sext i32 %m to i64
  %n64 = sext i32 %n to i64
  %k64 = sext i32 %k to i64
  %lda64 = sext i32 %lda to i64
  %ldb64 = sext i32 %ldb to i64
  %ldc64 = sext i32 %ldc to i64
  call void @{name}(i32 %order, i32 %ta, i32 %tb, i64 %m64, i64 %n64, i64 %k64, {real} %alpha,
                    ptr %a, i64 %lda64, ptr %b, i64 %ldb64, {real} %beta, ptr %c, i64 %ldc64)
  ret void
}}
"""


def _narrowed(name: str, real: str) -> int:
    """A function with sizes of 32 bits that calls one with sizes of 64."""

    def write(symbol: str) -> str:
        return _ADAPTER.format(symbol=symbol, name=name, real=real)

    address = native.address_of(getattr(_of_numpy(), name))
    return kernel_address(f"adapter of {name}", write, {name: address})


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
    steps = [prod(v.shape[-2:]) * size if prod(v.shape[:-2]) > 1 else 0 for v in (a, b, c)]
    head = [
        product(wide), TRANSPOSE if ta else NO_TRANSPOSE,
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
