"""Random programs of loops and conditionals, one inside of the other, against plain Python."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import headrace as tf
from headrace.runtime.containers import Containers
from tests.codegen.compare import Runner, assert_same

pytestmark = pytest.mark.native
COUNT, PRIME = 3, 1009

places = st.integers(0, COUNT - 1)
simple = st.tuples(st.just("set"), places, st.sampled_from("+-*"), places, places)


def blocks(inner):
    some = st.lists(inner, min_size=1, max_size=3)
    return st.one_of(
        simple,
        st.tuples(st.just("if"), places, some, some),
        st.tuples(st.just("loop"), places, some),
        st.tuples(st.just("rows"), places, places, some),
    )


programs = st.lists(st.recursive(simple, blocks, max_leaves=8), min_size=1, max_size=4)


# -- plain Python ------------------------------------------------------------------------------------
def run(program, values):
    for statement in program:
        match statement:
            case "set", to, op, a, b:
                values[to] = _apply(op, values[a], values[b]) % PRIME
            case "if", on, yes, no:
                run(yes if values[on] % 2 == 0 else no, values)
            case "loop", on, body:
                for _ in range(values[on] % 4):
                    run(body, values)
            case "rows", on, to, body:
                total = 0
                for _ in range(values[on] % 3):
                    run(body, values)
                    total += values[to]
                values[to] = total % PRIME
    return values


def _apply(op, a, b):
    return a + b if op == "+" else a - b if op == "-" else a * b


# -- the same as a graph -------------------------------------------------------------------------------
def build(program, values):
    values = list(values)
    for statement in program:
        match statement:
            case "set", to, op, a, b:
                values[to] = tf.floormod(_apply(op, values[a], values[b]), PRIME)
            case "if", on, yes, no:
                even = tf.equal(values[on] % 2, 0)
                values = tf.cond(even, lambda: build(yes, values), lambda: build(no, values))
            case "loop", on, body:
                count = values[on] % 4
                loop = tf.while_loop(
                    lambda i, *_: i < count, lambda i, *v: (i + 1, *build(body, v)), [0, *values]
                )
                values = list(loop[1:])
            case "rows", on, to, body:
                values = _rows(on, to, body, values)
    return values


def _rows(on, to, body, values):
    """What an array collects, summed."""
    count = values[on] % 3
    array = tf.TensorArray(tf.int32, 3, element_shape=[])

    def step(i, array, *v):
        v = build(body, v)
        return i + 1, array.write(i, v[to]), *v

    i, array, *values = tf.while_loop(lambda i, *_: i < count, step, [0, array, *values])

    def fill(i, array):
        return i + 1, array.write(i, 0)

    _, array = tf.while_loop(lambda i, *_: i < 3, fill, [i, array])
    values[to] = tf.reduce_sum(array.stack()) % PRIME
    return values


some = settings(phases=[Phase.explicit, Phase.generate])


@settings(some, max_examples=25)
@given(programs, st.lists(st.integers(0, 50), min_size=COUNT, max_size=COUNT))
def test_programs_of_integers(program, start):
    want = run(program, list(start))
    with tf.Graph().as_default() as graph:
        given_ = [tf.placeholder(tf.int32, []) for _ in range(COUNT)]
        found = [tf.identity(v) for v in build(program, given_)]
        runner = Runner(graph, given_, found, improved=True)
        arrays = [np.int32(v) for v in start]
        assert runner.expected(Containers(), arrays) == want
        for _ in range(2):
            assert runner.run(Containers(), arrays) == want
        assert not runner.program.declined


# -- with gradients --------------------------------------------------------------------------------------
def smooth(program, values, depth=0):
    values = list(values)
    for statement in program:
        match statement:
            case "set", to, op, a, b:
                values[to] = tf.sin(_apply(op, values[a], values[b]))
            case "if", on, yes, no:
                above = tf.reduce_sum(values[on]) > 0.0
                values = tf.cond(above, lambda: smooth(yes, values, depth), lambda: smooth(no, values, depth))
            case "loop" | "rows", on, *_, body:
                loop = tf.while_loop(
                    lambda i, *_: i < 2 + depth,
                    lambda i, *v: (i + 1, *smooth(body, v, depth + 1)),
                    [0, *values],
                )
                values = list(loop[1:])
    return values


@settings(some, max_examples=8)
@given(programs, st.integers(0, 1000))
def test_gradients_of_programs(program, seed):
    rng = np.random.default_rng(seed)
    with tf.Graph().as_default() as graph:
        given_ = [tf.placeholder(tf.float32, [4]) for _ in range(COUNT)]
        found = [tf.identity(v) for v in smooth(program, given_)]
        grads = [g for g in tf.gradients(found, given_) if g is not None]
        runner = Runner(graph, given_, [*found, *grads], improved=True)
        arrays = [rng.normal(size=4).astype(np.float32) for _ in range(COUNT)]
        want = runner.expected(Containers(), arrays)
        for _ in range(2):
            for g, w in zip(runner.run(Containers(), arrays), want):
                assert_same(g, w, 1e-3)
