"""The processor we compile for.  Loads llvmlite, so it is asked only when something is compiled."""

from __future__ import annotations

import hashlib
import platform
import warnings
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Any

from headrace.core import options


@dataclass(frozen=True)
class Target:
    """The host processor as LLVM sees it."""

    cpu: str
    features: str
    vector_bits: int
    machine: Any  # llvmlite's, which is not typed

    @property
    def key(self) -> str:
        """What compiled code depends on besides its source."""
        import llvmlite

        text = f"{self.cpu} {self.features} {llvmlite.__version__}"
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def lanes(self, bits: int) -> int:
        return max(self.vector_bits // bits, 1)

    @property
    def fetches_ahead(self) -> bool:
        """Whether it pays to ask for memory that a kernel will read: not on AMD's processors, which
        find out themselves (layer norm takes 0.63 of the time without), but on Intel's."""
        return not self.cpu.startswith("znver")

    @property
    def has_half(self) -> bool:
        """Whether float16 converts in hardware; without it LLVM would call functions we lack."""
        return "+f16c" in self.features or platform.machine() in ("aarch64", "arm64")


@cache
def host() -> Target:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features()
    wide = 512 if features.get("avx512f") else 256 if features.get("avx2") else 128
    flat = features.flatten()
    target = llvm.Target.from_default_triple()
    cpu = llvm.get_host_cpu_name()
    machine = target.create_target_machine(
        cpu=cpu, features=flat, opt=2, reloc="pic", codemodel="default", jit=True
    )
    return Target(cpu, flat, wide, machine)


@cache
def is_installed() -> bool:
    """Whether llvmlite is there; whether it works is found out when something is compiled."""
    return "llvm" not in options.without() and find_spec("llvmlite") is not None


@cache
def is_available() -> bool:
    """Whether llvmlite is installed, and works."""
    return problem() is None


@cache
def problem() -> str | None:
    """Why nothing can be compiled; None where all is well.  One that is installed and broken is
    worth a warning: everything runs much slower."""
    if not is_installed():
        return "HEADRACE_WITHOUT" if "llvm" in options.without() else "no llvmlite"
    try:
        host()
    except (ImportError, AttributeError, OSError, RuntimeError) as error:
        warnings.warn(f"llvmlite does not work, so nothing is compiled: {error!r}", stacklevel=2)
        return f"llvmlite does not work: {error!r}"
    return None


def has_half() -> bool:
    """Whether float16 can be compiled."""
    return is_available() and host().has_half
