"""headrace doctor: what is in use on this machine, and why."""

from __future__ import annotations

import importlib.metadata
import platform
from collections.abc import Sequence

from headrace.core import options
from headrace.version import __version__

_PACKAGES = (
    "numpy", "ml_dtypes", "protobuf", "llvmlite", "onednn-cpu-gomp", "scipy-openblas32",
)  # fmt: skip


def main(words: Sequence[str]) -> int:
    print(f"headrace    {__version__}, Python {platform.python_version()}, {platform.platform()}")
    for package in _PACKAGES:
        print(f"{package:<18}{_version(package)}")
    for name, what in _native().items():
        print(f"{name:<12}{what}")
    print(f"cache       {options.cache_directory()}")
    return 0


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def _native() -> dict[str, str]:
    """Who runs what: generated loops, the threads they share with oneDNN, matrix products."""
    if not options.compile_enabled():
        return {"compile": "off (HEADRACE_COMPILE=0): the NumPy reference runs everything"}
    from headrace.codegen import target

    if not target.is_available():
        return {"compile": "off (no llvmlite): the NumPy reference runs everything"}
    from headrace.codegen import blas, onednn_api, threads

    cpu = target.host()
    team = "" if threads.libgomp() else " (no libgomp on this system)"
    return {
        "compile": f"on, for {cpu.cpu} with vectors of {cpu.vector_bits} bits",
        "threads": f"{threads.count()}{team}",
        "oneDNN": onednn_api.path() or "absent" if onednn_api.library() else "not loaded",
        "BLAS": blas.library() or "absent: generated loops multiply float64",
    }
