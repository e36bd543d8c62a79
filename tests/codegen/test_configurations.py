"""Every configuration that `headrace doctor` tells of: ops on arrays and on expressions, and the networks
of the benchmark, give what the reference gives.  A configuration is a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from functools import cache
from pathlib import Path

import pytest

from tests.codegen.test_ops import FAMILIES

pytestmark = [pytest.mark.native, pytest.mark.process]
CONFIGURATIONS = ["", "onednn", "llvm"]  # without; test_without.py has more
OTHERS = CONFIGURATIONS[1:]  # the ops of the first are in test_ops.py
ROOT = Path(__file__).parents[2]
DEEP = ("googlenet", "resnet50")  # thousands of nodes


def run(*arguments, without="", **settings):
    """What a program of ours prints, in a configuration of its own."""
    found = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        timeout=1200,
        cwd=ROOT,
        env=os.environ | {"HEADRACE_WITHOUT": f"{without},kept"} | settings,
    )
    assert found.returncode == 0, (found.stdout + found.stderr)[-5000:]
    return found.stdout


@pytest.mark.parametrize("without", OTHERS)
def test_ops(without):
    run(
        "-m", "pytest", "-m", "not slow", "tests/codegen/test_ops.py", without=without, OPS=",".join(FAMILIES)
    )


@pytest.mark.slow
@pytest.mark.parametrize("without", OTHERS)
def test_every_op(without):
    run("-m", "pytest", "tests/codegen/test_ops.py", "tests/ops/test_declared.py", without=without)


LOSSES = textwrap.dedent(
    """
    import json, sys
    import headrace as tf
    from bench.workloads import sizes, tf1

    def losses(build):
        step = build(sizes.TINY)
        results = [step.run() for _ in range(3)]
        if step.check:
            results = [step.check()]
        step.close()
        return [float(x) for x in results]

    builders = tf1.builders(tf)
    print(json.dumps({name: losses(builders[name]) for name in sys.argv[1:]}))
    """
)


def networks(is_deep):
    import headrace as tf
    from bench.workloads import tf1

    return [name for name in tf1.builders(tf) if name.startswith(DEEP) == is_deep]


@cache
def reference(is_deep):
    return json.loads(run("-c", LOSSES, *networks(is_deep), HEADRACE_COMPILE="0"))


@pytest.mark.parametrize("without", CONFIGURATIONS)
@pytest.mark.parametrize("is_deep", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_networks(without, is_deep):
    """Losses of the first steps: they train in the same way.  Deep ones with batch normalisation over a
    few numbers amplify: 1e-6 of the input is 1e-4 in the second loss and 3e-2 in the third."""
    text = run("-c", LOSSES, *networks(is_deep), without=without, HEADRACE_COMPILE="always")
    got, want = json.loads(text), reference(is_deep)
    steps, loose = (2, 1e-3) if is_deep else (3, 1e-4)
    for name in networks(is_deep):
        assert got[name][:steps] == pytest.approx(want[name][:steps], rel=loose, abs=1e-6), name
