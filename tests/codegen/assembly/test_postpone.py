"""Large gradients wait until memory is free: less memory, the same numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import headrace as tf
from headrace.codegen.assembly import lay_out, postpone
from headrace.codegen.ir.kernel_ir import Array
from headrace.runtime.containers import Containers
from tests.codegen.compare import Runner, assert_same

pytestmark = pytest.mark.native


@dataclass(eq=False)
class Fake:
    name: str
    reads: list[Any] = field(default_factory=list)
    writes: list[Any] = field(default_factory=list)


def order(steps, variables, peak):
    return [s.name for s in postpone.postpone(steps, lambda t: t, variables, peak)]


def names(*words):
    return [Array((64 << 20,), np.float32, name=w) for w in words]


def test_what_may_wait():
    x, big, new, old, y, z = names("x", "big", "new", "old", "y", "z")
    gradient, update = Fake("gradient", [x], [big]), Fake("update", [big, old], [new])
    rest = [Fake("back", [x], [y]), Fake("more", [y], [z])]

    def late_is_less(steps):  # bytes; the gradient is cheap at the end alone
        return (1 if [s.name for s in steps][-2:] == ["gradient", "update"] else 2) << 30

    steps = [gradient, update, *rest]
    assert order(steps, {new: old}, late_is_less) == ["back", "more", "gradient", "update"]
    assert order(steps, {new: old}, lambda s: 1 << 30) == [s.name for s in steps]  # no gain
    # Nothing that is not the end of an update; nothing whose operands are overwritten meanwhile.
    assert order(steps, {}, late_is_less) == [s.name for s in steps]
    over = [*steps, Fake("overwrites", [z], [x])]
    assert order(over, {new: old}, late_is_less) == [s.name for s in over]
    # A variable that the chain reads changes in between.
    other = Array((1,), np.float32)
    rate = [gradient, Fake("update", [big, old, y], [new]), Fake("rate", [z], [other])]
    assert order(rate, {new: old, other: y}, late_is_less) == [s.name for s in rate]


def trained(optimizer, steps=3):
    rng = np.random.default_rng(0)
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 16, 16, 8])
        w = [
            tf.Variable(rng.normal(size=s).astype(np.float32) * 0.1)
            for s in ((3, 3, 8, 8), (2048, 64), (64, 4))
        ]
        h = tf.nn.relu(tf.nn.conv2d(x, w[0], [1, 1, 1, 1], "SAME"))
        h = tf.tanh(tf.matmul(tf.reshape(h, [-1, 2048]), w[1]))
        loss = tf.reduce_mean(tf.square(tf.matmul(h, w[2])))
        train = optimizer().minimize(loss)
        init = tf.global_variables_initializer()
    step, start = Runner(graph, [x], [loss], [train]), Runner(graph, [], [], [init])
    ours, theirs = Containers(), Containers()
    start.expected(ours, [])
    start.expected(theirs, [])
    for k in range(steps):
        image = np.random.default_rng(k).normal(size=(8, 16, 16, 8)).astype(np.float32)
        assert_same(step.run(ours, [image])[0], step.expected(theirs, [image])[0], 1e-4)
    values = {k: slot.value for k, slot in ours._items.items() if k[1] == "variable"}
    programs = [p for u in step.program.units for p in u.machine.programs.values()]
    return max(p.program.arena_bytes for p in programs), values


@pytest.mark.parametrize("optimizer", ["GradientDescent", "Adam", "Adagrad", "RMSProp"])
def test_training_is_the_same(optimizer, monkeypatch):
    make = getattr(tf.train, f"{optimizer}Optimizer")
    monkeypatch.setattr(postpone, "SMALL", 0)
    less, values = trained(lambda: make(0.01))
    monkeypatch.setattr(lay_out, "postpone", lambda steps, *rest: steps)
    more, wanted = trained(lambda: make(0.01))
    assert less <= more
    for key, want in wanted.items():
        np.testing.assert_array_equal(values[key], want, str(key))
