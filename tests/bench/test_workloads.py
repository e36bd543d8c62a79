"""Every workload of the benchmark builds and takes two steps, at a tiny size."""

from __future__ import annotations

import math

import pytest

import headrace as tf
from bench.workloads import sizes, tf1

BUILDERS = tf1.builders(tf)
DEEP = {"googlenet", "inception_v3", "resnet50"}  # thousands of nodes: one each is enough for the long form


def test_every_name_has_a_builder():
    assert set(sizes.WORKLOADS) <= set(BUILDERS)


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] if n in DEEP else []) for n in BUILDERS]
)
def test_two_steps(name):
    step = BUILDERS[name](sizes.TINY)
    results = [step.run() for _ in range(2)]
    if step.check:
        assert results == [None, None]
        results = [step.check()]
    step.close()
    assert all(math.isfinite(float(result)) for result in results)


@pytest.mark.parametrize("kind", ["lstm_small", "lstm_medium"])
def test_a_loop_learns_as_the_unrolled_form_does(kind):
    losses = []
    for name in (kind, f"{kind}_dyn"):
        step = BUILDERS[name](sizes.TINY)
        losses.append([float(step.run()) for _ in range(3)])
        step.close()
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)


def test_values_depend_on_names_alone():
    from bench.workloads import values

    first = values.uniform("a", (3, 2), 1.0)
    values.uniform("b", (3, 2), 1.0)
    assert (first == values.uniform("a", (3, 2), 1.0)).all()
    assert abs(first).max() <= 1


def test_full_sizes_count_their_work():
    """Known figures: multiply-adds of VGG-A and ResNet-50 forward, per picture."""
    from bench.workloads import images, networks, program

    for name, billions in (("vgg_a", 7.6), ("resnet50", 3.86)):
        built = program.Program(tf)
        size = sizes.Images(224, 1)
        with built.building():
            net = images.Layers(built, size, training=False)
            networks.NETWORKS[name](net, tf.placeholder(tf.float32, [1, 224, 224, 3]))
        assert sum(net.products) / 2e9 == pytest.approx(billions, rel=0.01)
