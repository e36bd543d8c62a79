"""Instructions that read one large matrix come together, and nothing overtakes what it needs."""

from __future__ import annotations

import numpy as np
import pytest

import headrace as tf
from headrace.codegen.assembly import reuse
from headrace.codegen.ir.kernel_ir import Array
from headrace.codegen.program import native
from headrace.codegen.program.instruction import Instruction
from headrace.codegen.program.program import Entry


def instruction(name, reads, writes, kind=native.KERNEL):
    return Instruction(reads, writes, Entry(kind, [], [], []), name=name)


def small():
    return Array((4,), np.float32)


def two_layers(times):
    """Layer by layer in every time step, as an unrolled network's graph has it."""
    weights = [Array((1024, 1024), np.float32) for _ in range(2)]
    instructions, state = [], [small(), small()]
    for t in range(times):
        given = small()
        instructions.append(instruction(f"in{t}", [], [given]))
        for layer in range(2):
            made = small()
            instructions.append(instruction(f"{layer}.{t}", [given, state[layer], weights[layer]], [made]))
            state[layer] = given = made
    return instructions, weights


def ordered(instructions, variables=None, peak=len):
    return [s.name for s in reuse.layer_by_layer(instructions, lambda t: t, variables or {}, peak)]


def test_layers_one_after_another():
    instructions, _ = two_layers(4)
    inputs = [x for t in range(4) for x in (f"in{t}", f"0.{t}")]
    assert ordered(instructions) == inputs + [f"1.{t}" for t in range(4)]


def test_no_more_memory():
    instructions, _ = two_layers(4)
    assert ordered(instructions, peak=lambda s: 1 if s is instructions else 2) == [
        s.name for s in instructions
    ]


def test_few_readers_or_a_cycle_change_nothing():
    instructions, _ = two_layers(3)
    assert ordered(instructions) == [s.name for s in instructions]
    instructions, weights = two_layers(4)
    feedback = instruction("back", [instructions[2].writes[0], weights[0]], [small()])
    instructions[4].reads.append(feedback.writes[0])  # the second time step needs the first one's end
    instructions.insert(3, feedback)
    assert ordered(instructions) == [s.name for s in instructions]


def test_updates_wait_for_readers_and_checks():
    instructions, weights = two_layers(4)
    new = Array(weights[1].shape, np.float32)
    check = instruction("check", [instructions[0].writes[0]], [], native.CHECK)
    update = instruction("update", [weights[1]], [new])
    names = ordered([*instructions, check, update], {new: weights[1]})
    assert names[-2:] == ["check", "update"]
    late = instruction("late", [new], [small()])
    assert ordered([*instructions, check, update, late], {new: weights[1]})[-1] == "late"


def cell(x, c, h, kernel, bias):
    i, j, f, o = tf.split(tf.matmul(tf.concat([x, h], 1), kernel) + bias, 4, 1)
    c = c * tf.sigmoid(f + 1.0) + tf.sigmoid(i) * tf.tanh(j)
    return c, tf.tanh(c) * tf.sigmoid(o)


@pytest.mark.native
@pytest.mark.parametrize(
    ("batch", "width", "times", "dtype"),
    [(1, 3, 5, tf.float32), (5, 8, 4, tf.float64), (20, 16, 6, tf.float32), (3, 7, 1, tf.float32)],
)
def test_unrolled_networks_with_gradients(monkeypatch, batch, width, times, dtype):
    """Three layers, trained: the same numbers in every order as uncompiled."""
    monkeypatch.setattr(reuse, "LARGE", 16)
    monkeypatch.setattr(reuse, "OFTEN", 2)

    def losses(compiled):
        monkeypatch.setenv("HEADRACE_COMPILE", compiled)
        rng = np.random.default_rng(0)
        with tf.Graph().as_default(), tf.Session() as session:
            x = tf.placeholder(dtype, [batch, times, width])
            layers = [
                [
                    tf.Variable(rng.standard_normal(s), dtype=dtype)
                    for s in ((2 * width, 4 * width), (4 * width,))
                ]
                for _ in range(3)
            ]
            states = [[tf.zeros([batch, width], dtype)] * 2 for _ in layers]
            outputs = []
            for t in range(times):
                v = x[:, t, :]
                for k, (kernel, bias) in enumerate(layers):
                    states[k] = cell(v, *states[k], kernel, bias)
                    v = states[k][1]
                outputs.append(v)
            loss = tf.reduce_sum(tf.square(tf.stack(outputs) - 0.3))
            variables = tf.trainable_variables()
            gradients, _ = tf.clip_by_global_norm(tf.gradients(loss, variables), 5.0)
            pairs = zip(gradients, variables)
            train = tf.train.GradientDescentOptimizer(0.01).apply_gradients(pairs)
            session.run(tf.global_variables_initializer())
            fed = {x: rng.standard_normal((batch, times, width))}
            return [session.run([loss, train], fed)[0] for _ in range(4)]

    np.testing.assert_allclose(losses("always"), losses("0"), rtol=1e-4)
