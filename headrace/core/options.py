"""Settings from the environment, in one table.  Most are read once, at the first question.

HEADRACE_SHOW     words of: plan passes place pieces regions stages kernels llvm memory step
HEADRACE_VERIFY   words of: 1: verify every stage and run the reference beside the compiled program
                  bounds: check every load and store of compiled code, and fences around what libraries
                  write (codegen.assembly.bounds); a step takes many times as long
HEADRACE_COMPILE  0: never compile, run the NumPy reference; always: interpret nothing first;
                  open: the same, with all sizes open from the start (for tests)
HEADRACE_FAULTS   raise: a fault of the compiler ends the step, where else it is a warning
HEADRACE_WITHOUT  words of: llvm onednn gomp winograd pillow; as if these were not there.
                  kept: programs on disk are neither read nor written
HEADRACE_TRANSPORTS  words of: memory local grpc; how our tasks may reach each other; default: all
HEADRACE_PROGRESS 0: no bars of progress where somebody watches a terminal
HEADRACE_DATA     a directory with data sets
HEADRACE_CACHE    where compiled kernels, programs and downloaded data sets are kept
Those of clusters (HEADRACE_CLUSTER_SECRET, HEADRACE_TLS_*, ...): distributed/security/settings.py
"""

from __future__ import annotations

import os
import sys
from functools import cache
from pathlib import Path

STAGES = ("plan", "passes", "place", "pieces", "regions", "stages", "kernels", "llvm", "memory", "step")


@cache
def shown() -> frozenset[str]:
    """The stages that the user wants to see."""
    words = frozenset(os.environ.get("HEADRACE_SHOW", "").replace(",", " ").split())
    for word in sorted(words.difference(STAGES)):
        print(f"headrace: HEADRACE_SHOW: no stage {word} (there are {', '.join(STAGES)})", file=sys.stderr)
    return words.intersection(STAGES)


def show(word: str, text: str) -> None:
    """Print a stage if the user asked for it."""
    if word in shown():
        print(f"--- {word}\n{text}", file=sys.stderr, flush=True)


def is_watched() -> bool:
    """Whether somebody at a terminal sees bars of progress on standard error."""
    wanted = os.environ.get("HEADRACE_PROGRESS", "1") not in ("", "0")
    return wanted and sys.stderr is not None and sys.stderr.isatty()


@cache
def verify() -> bool:
    return bool(_verified() - {"0", "bounds"})


@cache
def bounds() -> bool:
    return "bounds" in _verified()


def _verified() -> frozenset[str]:
    return frozenset(os.environ.get("HEADRACE_VERIFY", "0").replace(",", " ").split())


def compile_enabled() -> bool:
    """Asked when a plan is prepared, not in every step."""
    return os.environ.get("HEADRACE_COMPILE", "1") not in ("", "0")


@cache
def without() -> frozenset[str]:
    return frozenset(os.environ.get("HEADRACE_WITHOUT", "").replace(",", " ").split())


def cache_directory() -> Path:
    base = os.environ.get("HEADRACE_CACHE")
    if base:
        return Path(base)
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "headrace"
    except RuntimeError:  # a user without a home: nothing is kept
        return Path(os.devnull) / "headrace"
