"""The native checksum against the one in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from headrace.codegen.accelerate import checksum
from headrace.core import hooks
from headrace.formats.records import crc32c

pytestmark = pytest.mark.native


@pytest.fixture
def native():
    found = checksum.native()
    if found is None:
        pytest.skip("the processor has no instruction for it")
    hooks.native_checksum.value = None
    yield found
    hooks.native_checksum.value = None


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 63, 64, 1000, 100_003])
def test_equals_numpy(native, size):
    data = np.random.default_rng(size).integers(0, 256, size + 3, np.uint8)
    for octets in (data[:size], data[3:], data[1 : size + 1]):  # also unaligned
        assert native(0, octets) == crc32c.value(octets)
        assert native(0x12345678, octets) == crc32c.extend(0x12345678, octets)


def test_is_used_once_installed(native):
    data = bytes(range(256)) * 10
    expected = crc32c.value(data)
    checksum.install()
    assert hooks.native_checksum.value is native
    assert crc32c.value(data) == crc32c.value(np.frombuffer(data, np.uint8)) == expected
