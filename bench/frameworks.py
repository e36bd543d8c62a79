"""Who is measured: headrace, its peers, and the machine itself.

A peer lives in an interpreter of its own, named by an environment variable; without it the peer is left
out.  Nothing of a peer is imported before `load`, which runs in the worker's process."""

from __future__ import annotations

import importlib
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.workloads.program import Step
from bench.workloads.sizes import Sizes

ROOT = Path(__file__).resolve().parent.parent
OURS = "headrace"
MACHINE = "machine"
INTERPRETERS = {
    "tf": "HEADRACE_TF_PYTHON",
    "torch": "HEADRACE_TORCH_PYTHON",
    "torch_cl": "HEADRACE_TORCH_PYTHON",  # channels-last: pictures only
    "torch_compile": "HEADRACE_TORCH_PYTHON",
    "jax": "HEADRACE_JAX_PYTHON",
}
TITLES = {
    OURS: "Headrace",
    "tf": "TensorFlow",
    "torch": "PyTorch",
    "torch_cl": "PyTorch, channels last",
    "torch_compile": "PyTorch, compiled",
    "jax": "JAX",
}
WITH = {"torch": ("torch", "torch_cl")}  # what a name on the command line brings along


def peers(asked: str | None) -> list[str]:
    """The peers of `--peers`; by default all that have an interpreter, but for torch.compile."""
    if asked is None:
        names = [n for n in INTERPRETERS if n != "torch_compile" and interpreter(n)]
    else:
        given = [n for n in asked.split(",") if n and n != "none"]
        names = [each for n in given for each in WITH.get(n, (n,))]
    for name in names:
        if name not in INTERPRETERS:
            raise SystemExit(f"no peer is called {name}; there are {', '.join(INTERPRETERS)}")
        if not interpreter(name):
            raise SystemExit(f"{INTERPRETERS[name]} must name an interpreter that has {name}")
    return names


def interpreter(name: str) -> str | None:
    return os.environ.get(INTERPRETERS[name]) if name in INTERPRETERS else sys.executable


def command(name: str, *words: str) -> list[str]:
    return [str(interpreter(name)), "-m", "bench.worker", name, *words]


def environment(name: str, **variables: str) -> dict[str, str]:
    """Peers are installed and have their bytecode; ours is kept aside, so that a start from a checkout
    that must stay clean costs what an installed one costs."""
    quiet = {"TF_CPP_MIN_LOG_LEVEL": "3", "TF_USE_LEGACY_KERAS": "1", "JAX_PLATFORMS": "cpu"}
    given = {**os.environ, **quiet, "PYTHONPATH": str(ROOT), **variables}
    if name not in INTERPRETERS:
        given.pop("PYTHONDONTWRITEBYTECODE", None)
        given["PYTHONPYCACHEPREFIX"] = str(Path(tempfile.gettempdir()) / "headrace-bench-bytecode")
    return given


def load(name: str) -> tuple[str, dict[str, Callable[[Sizes], Step]]]:
    """Import a framework: its version, and a builder for every workload it has."""
    if name == OURS:
        tf = importlib.import_module("headrace")
        return tf.__version__, importlib.import_module("bench.workloads.tf1").builders(tf)
    if name == "tf":
        return tensorflow()
    module = {"jax": "jax_steps", MACHINE: "machine"}.get(name, "pytorch")
    peer: Any = importlib.import_module(f"bench.peers.{module}")
    return peer.version, peer.builders(name)


def tensorflow() -> tuple[str, dict[str, Callable[[Sizes], Step]]]:
    """TensorFlow 2 in the manner of 1: graphs, sessions, references to variables."""
    tf = importlib.import_module("tensorflow.compat.v1")
    tf.logging.set_verbosity(tf.logging.ERROR)
    tf.disable_v2_behavior()
    return tf.__version__, importlib.import_module("bench.workloads.tf1").builders(tf)
