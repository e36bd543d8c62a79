"""Native Philox gives the words of the reference."""

from __future__ import annotations

import numpy as np
import pytest

from headrace.codegen import random
from headrace.ops import philox
from headrace.ops.philox import Philox

pytestmark = pytest.mark.native


@pytest.mark.parametrize("count", [1, 4, 1000, 4097, 70000, 140001])
def test_words(count, monkeypatch):
    monkeypatch.setattr(philox, "native_words", None)
    generator = Philox(2**63 + 12345, -7)
    wanted = generator.words(count)
    found = random.words(generator.key, generator.counter, count)
    np.testing.assert_array_equal(found, wanted)


def test_the_counter_carries(monkeypatch):
    monkeypatch.setattr(philox, "native_words", None)
    generator = Philox.at((1 << 64) - 3, 99)
    wanted = generator.words(40)
    np.testing.assert_array_equal(random.words(99, (1 << 64) - 3, 40), wanted)
