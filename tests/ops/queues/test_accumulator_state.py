"""What accumulators keep of the gradients that they get."""

from __future__ import annotations

import numpy as np
import pytest

from headrace.core.shapes import UNKNOWN
from headrace.ops.queues.accumulator_state import DenseTotal


@pytest.mark.parametrize("dtype", ["float16", "float32", "int32", "complex64"])
@pytest.mark.parametrize("shape", [(), (3,), (0, 2)])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_gradients_are_not_written(dtype, shape, count):
    rng = np.random.RandomState(count)
    gradients = [np.asarray(rng.randint(-9, 9, shape)).astype(dtype) for _ in range(count)]
    before = [g.copy() for g in gradients]
    total, results = DenseTotal(UNKNOWN), []
    for divisor in (count, None, count):  # one step after another, with the same object
        total.start(gradients[0])
        for gradient in gradients[1:]:
            total.add(gradient)
        results.append(total.result(divisor))
    expected = np.asarray(sum(g.astype("c16") for g in before))
    mean = np.trunc(expected.real / count) if dtype == "int32" else expected / count
    for found, wanted in zip(results, (mean, expected, mean)):
        assert isinstance(found, np.ndarray) and found.dtype == dtype and found.shape == shape
        np.testing.assert_allclose(found, wanted, rtol=1e-3)
    for gradient, was in zip(gradients, before):
        np.testing.assert_array_equal(gradient, was)


def test_the_only_gradient_is_not_copied():
    total, gradient = DenseTotal(UNKNOWN), np.ones(3)
    total.start(gradient)
    assert total.result(1) is gradient
