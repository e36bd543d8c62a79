"""Native Philox gives the words of the reference."""

from __future__ import annotations

import numpy as np
import pytest

from headrace.codegen.accelerate import random, random_truncated
from headrace.core import dtypes, hooks
from headrace.ops.random import sampling
from headrace.ops.random.philox import Philox

pytestmark = pytest.mark.native


@pytest.mark.parametrize("count", [1, 4, 1000, 4097, 70000, 140001])
def test_words(count, monkeypatch):
    monkeypatch.setattr(hooks.native_words, "value", None)
    generator = Philox(2**63 + 12345, -7)
    wanted = generator.words(count)
    found = random.words(generator.key, generator.counter, count)
    np.testing.assert_array_equal(found, wanted)


def test_the_counter_carries(monkeypatch):
    monkeypatch.setattr(hooks.native_words, "value", None)
    generator = Philox.at((1 << 64) - 3, 99)
    wanted = generator.words(40)
    np.testing.assert_array_equal(random.words(99, (1 << 64) - 3, 40), wanted)


@pytest.mark.parametrize("count", [0, 1, 7, 1024, 100_001])
@pytest.mark.parametrize("counter", [0, (1 << 64) - 300, (5 << 64) + 77])
def test_truncated_normal_numbers(count, counter, monkeypatch):
    """To the last digit: one that is rejected changes those that follow."""
    generator = Philox.at(counter, 0x123456789ABCDEF0)
    monkeypatch.setattr(hooks.native_truncated32, "value", None)
    wanted = sampling.truncated_normal(generator, count, dtypes.float32)
    monkeypatch.setattr(hooks.native_truncated32, "value", random_truncated.truncated32)
    found = sampling.truncated_normal(generator, count, dtypes.float32)
    np.testing.assert_array_equal(found, wanted)
    assert found.dtype == np.float32 and found.shape == (count,)
    halves = sampling.truncated_normal(generator, count, dtypes.float16)
    np.testing.assert_array_equal(halves, wanted.astype(np.float16))
    assert count < 100_000 or 0.87 < found.std() < 0.89
