"""CRC32C: known values, every size, joining, the mask."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.codegen.accelerate import checksum
from headrace.core import hooks
from headrace.formats.records import crc32c


def by_bits(data):
    state = 0xFFFFFFFF
    for byte in data:
        state ^= byte
        for _ in range(8):
            state = (state >> 1) ^ (0x82F63B78 if state & 1 else 0)
    return state ^ 0xFFFFFFFF


def test_known_values():
    assert crc32c.value(b"123456789") == 0xE3069283
    assert crc32c.value(bytes(32)) == 0x8A9136AA  # RFC 3720, B.4
    assert crc32c.value(b"\xff" * 32) == 0x62A8AB43
    assert crc32c.value(bytes(range(32))) == 0x46DD794E
    assert crc32c.value(b"") == 0


def test_relation_behind_the_folding():
    power = crc32c._power
    assert power(5685) ^ power(1362) ^ power(426) ^ power(0) == 0


@pytest.mark.parametrize("size", [*range(0, 700, 13), 1024, 5684, 5686, 11370, 11371, 40_000])
def test_sizes(size):
    data = np.random.default_rng(size).integers(0, 256, size, np.uint8).tobytes()
    assert crc32c.value(data) == by_bits(data)


def test_blocks():
    data = np.random.default_rng(0).integers(0, 256, 3_000_001, np.uint8)
    whole = crc32c.value(data)
    assert crc32c.extend(crc32c.value(data[:1_234_567]), data[1_234_567:].tobytes()) == whole
    first, second = crc32c.value(data[:7]), crc32c.value(data[7:])
    assert crc32c.combine(first, second, len(data) - 7) == whole


@pytest.mark.native
def test_lanes():
    """The native kernel sums up large buffers in three lanes."""
    native = checksum.native()
    if native is None:
        pytest.skip("this processor (or llvmlite) has no instruction for CRC32C")
    data = np.random.default_rng(0).integers(0, 256, 2_000_003, np.uint8)
    for size in (0, 1, 7, 48, 98_303, 98_304, 98_305, 300_001, 786_432, 2_000_000):
        for start in (0, 3):
            part = data[start : start + size]
            assert native(123, part) == _numpy_extend(123, part)


def _numpy_extend(crc, data):
    kept, hooks.native_checksum.value = hooks.native_checksum.value, None
    try:
        return crc32c.extend(crc, data)
    finally:
        hooks.native_checksum.value = kept


@settings(max_examples=60)
@given(st.binary(max_size=300), st.binary(max_size=300))
def test_joining(a, b):
    assert crc32c.extend(crc32c.value(a), b) == by_bits(a + b)
    assert crc32c.combine(crc32c.value(a), crc32c.value(b), len(b)) == by_bits(a + b)


@given(st.integers(0, 2**32 - 1))
def test_mask(crc):
    assert crc32c.unmask(crc32c.mask(crc)) == crc


def test_another_implementation(monkeypatch):
    seen = []
    monkeypatch.setattr(hooks.native_checksum, "value", lambda crc, data: seen.append(len(data)) or 7)
    assert crc32c.value(bytes(1000)) == 7
    assert seen == [1000]
