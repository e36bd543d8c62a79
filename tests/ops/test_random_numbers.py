"""Random numbers are TensorFlow's: literals that TensorFlow 2.21 gave for seeds 12 and 345."""

from __future__ import annotations

import numpy as np
import pytest

import headrace as tf
from headrace.functions.random.random_seed import get_seed
from headrace.ops.nn import candidates
from headrace.ops.random import random, random_rejection
from headrace.ops.random.philox import Philox

SEEDS = {"seed": 12, "seed2": 345}
# draw, the first four numbers of the first run, the first two of the second (1001 are drawn)
DRAWN = {
    "uniform float32": (
        lambda: random.random_uniform([1001], dtype=tf.float32, **SEEDS),
        [0.19234347, 0.44231105, 0.00016784668, 0.566092],
        [0.90254164, 0.65627885],
    ),
    "uniform float64": (
        lambda: random.random_uniform([1001], dtype=tf.float64, **SEEDS),
        [0.5387480416191948, 0.0013430259490236907, 0.7294941749718902, 0.36762319490222994],
        [0.22033359605125868, 0.3362466679681526],
    ),
    "uniform float16": (
        lambda: random.random_uniform([1001], dtype=tf.float16, **SEEDS),
        [0.6777, 0.412, 0.375, 0.4258],
        [0.621, 0.2363],
    ),
    "normal float32": (
        lambda: random.random_standard_normal([1001], dtype=tf.float32, **SEEDS),
        [0.64383763, -1.6977686, -1.6821331, -3.8151472],
        [-0.37658378, -0.25152642],
    ),
    "normal float64": (
        lambda: random.random_standard_normal([1001], dtype=tf.float64, **SEEDS),
        [0.009385264597823337, 1.112171957046732, 0.5870262988172084, -0.53498403389143],
        [1.4901224819591812, -0.8970841987387842],
    ),
    "truncated float32": (
        lambda: random.truncated_normal([1001], dtype=tf.float32, **SEEDS),
        [0.64383763, -1.6977686, -1.6821331, 0.026071802],
        [-0.37658378, -0.25152642],
    ),
    "truncated float64": (
        lambda: random.truncated_normal([1001], dtype=tf.float64, **SEEDS),
        [0.009385264597823337, 1.112171957046732, 0.07130273854970405, -0.14467219053445715],
        [1.4901224819591812, -0.8970841987387842],
    ),
    "int32": (
        lambda: random.random_uniform_int([101], np.int32(-5), np.int32(1000), **SEEDS),
        [6, 727, 84, 34],
        [631, 645],
    ),
    "int64": (
        lambda: random.random_uniform_int([101], np.int64(-5), np.int64(1000), **SEEDS),
        [243, 768, 669, 930],
        [306, 790],
    ),
    "shuffle": (lambda: random.random_shuffle(np.arange(100), **SEEDS), [66, 85, 96, 73], [9, 59]),
    "gamma": (
        lambda: random_rejection.random_gamma([50], np.float32([0.3, 1, 2.5, 20]), **SEEDS),
        [0.88215107, 0.45052123, 3.2476497, 28.542408],
        [0.02482647, 0.6655812],
    ),
    "poisson": (
        lambda: random_rejection.random_poisson_v2(
            [50], np.float32([0.3, 1, 9.5, 20, 300]), dtype=tf.float32, **SEEDS
        ),
        [0, 0, 8, 12],
        [0, 2],
    ),
    "bounded, by normals": (
        lambda: random_rejection.parameterized_truncated_normal([3, 40], 0.0, 1.0, -2.0, 2.0, **SEEDS),
        [0.64383763, -1.6977686, -1.6821331, 0.026071802],
        [1.3375479, 0.14627482],
    ),
    "bounded, by uniforms": (
        lambda: random_rejection.parameterized_truncated_normal(
            [3, 40], [0.0, 1.0, 5.0], [1.0, 2.0, 1.0], [-0.5, 4.0, 0.0], [0.5, 5.0, 4.0], **SEEDS
        ),
        [-0.05768895, -0.49983215, 0.066092014, 0.10009742],
        [0.11395919, -0.21811163],
    ),
    "bounded, by exponentials": (
        lambda: random_rejection.parameterized_truncated_normal([3, 40], 0.0, 1.0, 3.0, 10.0, **SEEDS),
        [3.4991174, 3.0104148, 3.261972, 3.1546164],
        [3.2740772, 3.3612547],
    ),
}


@pytest.mark.parametrize("name", DRAWN)
def test_numbers_are_tensorflows(name):
    draw, first, second = DRAWN[name]
    with tf.Graph().as_default(), tf.Session() as session:
        drawn = draw()
        for wanted in (first, second):
            found = session.run(drawn).ravel()[: len(wanted)]
            if found.dtype == np.float16:
                np.testing.assert_allclose(found, wanted, atol=1e-3)
            elif name == "normal float32":  # compiled: sine, cosine and logarithm are our own
                np.testing.assert_allclose(found, wanted, rtol=5e-7)
            else:
                assert found.tolist() == np.array(wanted, found.dtype).tolist()


def test_stateless_numbers_are_tensorflows():
    with tf.Graph().as_default(), tf.Session() as session:
        uniform = random.stateless_random_uniform([101], [12, -345], dtype=tf.float32)
        wanted = np.float32([0.97283924, 0.8609706, 0.063357234, 0.6543262])
        for _ in range(2):
            assert session.run(uniform)[:4].tolist() == wanted.tolist()
        between = random.stateless_random_uniform_int([101], [12, 345], np.int64(-5), np.int64(1000))
        assert session.run(between)[:4].tolist() == [52, 602, 475, 988]


def test_state_belongs_to_session_and_node():
    with tf.Graph().as_default() as graph:
        drawn = tf.random_uniform([3], seed=7)
        both = [tf.identity(drawn), drawn + 0]
    with tf.Session(graph=graph) as one, tf.Session(graph=graph) as other:
        first, again = one.run(drawn), one.run(both)
        assert (other.run(drawn) == first).all()
        assert (again[0] == again[1]).all() and (again[0] != first).any()


def test_seeds():
    with tf.Graph().as_default() as graph:
        assert get_seed(None) == (None, None)
        assert get_seed(5) == (87654321, 5)
        tf.set_random_seed(3)
        tf.constant(0)
        assert get_seed(None) == (3, graph.version) == (3, 1)
        assert get_seed(2**31 - 1 + 4) == (3, 4)
        tf.set_random_seed(0)
        assert get_seed(0) == (0, 2**31 - 1)


def test_nodes_of_random_uniform():
    with tf.Graph().as_default() as graph:
        tf.random_uniform([2], name="r")
    assert [n.name for n in graph.get_operations()] == [
        "r/shape",
        "r/min",
        "r/max",
        "r/RandomUniform",
        "r/sub",
        "r/mul",
        "r",
    ]


def test_the_counter_carries():
    """Blocks beyond 2^64 of the lower half count on in the upper half."""
    here = Philox.at((1 << 64) - 2, 99)
    blocks = here.blocks(4)
    for i in range(4):
        assert (Philox.at((1 << 64) - 2 + i, 99).blocks(1)[0] == blocks[i]).all()
    assert (here.blocks_at(np.array([3, 0])) == blocks[[3, 0]]).all()


def test_learned_sampler_learns():
    with tf.Graph().as_default(), tf.Session() as session:
        sampled = candidates.learned_unigram_candidate_sampler(
            np.full((100, 1), 3), 1, 50, False, 10, **SEEDS
        )
        for _ in range(5):
            session.run(sampled)
        classes, expected, _ = session.run(sampled)
        assert (classes == 3).sum() > 40 and (expected > 40).all()
