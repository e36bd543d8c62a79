"""headrace doctor: what is in use on this machine, and why."""

from __future__ import annotations

import argparse
import importlib.metadata
import platform
from collections.abc import Sequence

from headrace.core import options
from headrace.core.modules import late
from headrace.version import __version__

disk = late("headrace.codegen.machine.disk")
onednn_api = late("headrace.codegen.onednn.onednn_api")
target = late("headrace.codegen.machine.target")
threads = late("headrace.codegen.machine.threads")

_PACKAGES = ("numpy", "ml_dtypes", "protobuf", "llvmlite", "onednn-cpu-gomp")


def main(words: Sequence[str]) -> int:
    argparse.ArgumentParser(prog="headrace doctor", description=__doc__).parse_args(list(words))
    print(f"headrace    {__version__}, Python {platform.python_version()}, {platform.platform()}")
    for package in _PACKAGES:
        print(f"{package:<18}{_version(package)}")
    for name, what in _native().items():
        print(f"{name:<12}{what}")
    print(f"cache       {options.cache_directory()}: {_kept()}")
    return 0


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def _kept() -> str:
    """What is in the cache, of what it makes room for."""
    found = []
    for folder in (disk.KERNELS, disk.PROGRAMS):
        count, nbytes = folder.size()
        found.append(f"{count} {folder.name} ({nbytes / 1e6:.1f} MB)")
    return ", ".join(found)


def _native() -> dict[str, str]:
    """Who runs what: generated loops, the threads they share with oneDNN, matrix products."""
    if not options.compile_enabled():
        return {"compile": "off (HEADRACE_COMPILE=0): the NumPy reference runs everything"}

    problem = target.problem()
    if problem is not None:
        return {"compile": f"off ({problem}): the NumPy reference runs everything"}

    cpu = target.host()
    if threads.libgomp() is not None:
        team = "of libgomp, shared with oneDNN"
    else:
        team = "our own (no libgomp)" if threads.own() is not None else "(no libgomp)"
    return {
        "compile": f"on, for {cpu.cpu} with vectors of {cpu.vector_bits} bits",
        "threads": f"{threads.count()}, {team}",
        "oneDNN": _onednn(),
    }


def _onednn() -> str:
    where = onednn_api.path()
    if onednn_api.library() is not None:
        return where or "loaded"
    if where is None:
        reason = "no onednn-cpu-gomp on this system"
    elif "onednn" in options.without():
        reason = "HEADRACE_WITHOUT"
    elif threads.libgomp() is None:
        reason = "no libgomp"
    else:
        reason = f"{where} does not load"
    return f"not used ({reason}): generated kernels take its place"
