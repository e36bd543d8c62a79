"""headrace doctor: what is in use on this machine, and why."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from collections.abc import Sequence

from headrace.core import options
from headrace.version import __version__


def main(words: Sequence[str]) -> int:
    print(f"headrace    {__version__}, Python {platform.python_version()}, {platform.platform()}")
    print(
        f"cores       {len(os.sched_getaffinity(0)) if hasattr(os, 'sched_getaffinity') else os.cpu_count()}"
    )
    for package in (
        "numpy",
        "ml_dtypes",
        "protobuf",
        "llvmlite",
        "onednn-cpu-gomp",
        "scipy-openblas32",
    ):
        print(f"{package:<18}{_version(package)}")
    print(f"compile     {'on' if options.compile_enabled() else 'off (HEADRACE_COMPILE=0)'}")
    for line in _native():
        print(line)
    print(f"cache       {options.cache_directory()}")
    return 0


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def _native() -> list[str]:
    try:
        from headrace.codegen import describe
    except ImportError as error:
        return [f"native      the NumPy reference runs everything ({error})"]
    return list(describe())
