"""Whatever stage of the compiler fails, the step goes on with the reference: the same values, each update
once, and a warning that says so."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from typing import Any

import numpy as np
import pytest

import headrace as tf
from headrace.codegen.assembly import assemble, lay_out
from headrace.codegen.convolution import layouts, packing
from headrace.codegen.fusion import fusion
from headrace.codegen.lowering import specialize
from headrace.codegen.machine import cache
from headrace.codegen.machine import compile as compiler
from headrace.codegen.onednn import onednn, onednn_api
from headrace.codegen.program import memory
from headrace.codegen.program.program import NativeProgram
from headrace.codegen.program_cache import kept
from headrace.codegen.regions.regions import Cutter

pytestmark = pytest.mark.native
X = np.random.default_rng(0).normal(size=(2, 16, 16, 8)).astype(np.float32)
STEPS = 4

STAGES: dict[str, tuple[Any, str]] = {
    "regions": (Cutter, "units"),
    "one region": (Cutter, "region"),
    "lowering": (specialize.Specializer, "add_all"),
    "packed weights": (packing, "pack"),
    "layouts": (layouts, "assign"),
    "fusion": (fusion.Fusion, "add"),
    "order": (assemble, "order"),
    "kernels": (assemble, "kernel_instruction"),
    "memory": (memory, "plan"),
    "addresses": (lay_out, "placed"),
    "LLVM": (compiler, "to_object"),
    "linking": (compiler, "load"),
    "program": (NativeProgram, "__init__"),
}


def refuse(*args: Any, **kwargs: Any) -> Any:
    raise RuntimeError("on purpose")


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    """Nothing is found in memory or on disk (where damage is another test's, machine/test_cache.py), and
    a fault is what it is to a user."""
    monkeypatch.delenv("HEADRACE_FAULTS")
    monkeypatch.setattr(cache, "_addresses", {})
    monkeypatch.setattr(cache, "_soon", OrderedDict())
    monkeypatch.setattr(cache.KERNELS, "read", lambda key: None)
    monkeypatch.setattr(kept.PROGRAMS, "read", lambda key: None)
    with tf.Graph().as_default():
        yield


def network() -> tuple[Any, Any, Any]:
    x = tf.placeholder(tf.float32, [2, 16, 16, 8])
    filters = tf.constant(np.random.default_rng(1).normal(size=(5, 5, 8, 16)).astype(np.float32))
    h = tf.nn.relu(tf.nn.conv2d(x * 0.987654321, filters, [1, 2, 2, 1], "SAME"))
    w = tf.get_variable("w", initializer=np.float32(np.ones((16, 5)) * 0.0123))
    y = tf.cumsum(tf.reduce_mean(tf.nn.softmax(tf.matmul(tf.reduce_mean(h, [1, 2]), w)), 0))
    count = tf.get_variable("count", initializer=np.float32([0.0, 1.0]))
    loop = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, tf.tanh(a) + y), [0, y])[1]
    with tf.control_dependencies([loop]):
        moved = count.assign_add([1.0, 2.0])
    return x, [y, loop, moved], count


def run() -> tuple[list[Any], list[str]]:
    """What the steps give, and the warnings about faults."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        x, fetches, count = network()
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            found = [session.run(fetches, {x: X}) for _ in range(STEPS)]
            found.append(session.run(count))
    return found, [str(w.message) for w in seen if "uncompiled" in str(w.message)]


@pytest.fixture
def wanted(monkeypatch):
    monkeypatch.setenv("HEADRACE_COMPILE", "0")
    with tf.Graph().as_default():
        found, _ = run()
    monkeypatch.setenv("HEADRACE_COMPILE", "1")
    return found


def check(wanted: list[Any], is_warned: bool = True) -> None:
    found, texts = run()
    for got, want in zip(found, wanted):
        for a, b in zip(got, want):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)
    assert bool(texts) == is_warned, texts


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_fails(monkeypatch, wanted, stage):
    monkeypatch.setattr(*STAGES[stage], refuse)
    check(wanted)


def test_llvm_refuses_the_text(monkeypatch, wanted):
    real = compiler.to_object
    monkeypatch.setattr(compiler, "to_object", lambda text: real(text.replace("ret void", "ret i7 1.5", 1)))
    check(wanted)


@pytest.mark.skipif(not onednn.is_available(), reason="without oneDNN there are no primitives")
def test_onednn_makes_no_primitive(monkeypatch, wanted):
    monkeypatch.setattr(onednn_api.Description, "primitive", refuse)
    check(wanted)
