"""WAV: literal bytes, round trips, files that are cut or lie."""

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.core.errors import InvalidArgumentError
from headrace.formats.images import wav

STEREO = np.array([[0.0, 0.5], [-1.0, 2.0]], np.float32)
BYTES = (
    b"RIFF\x2c\x00\x00\x00WAVE"
    b"fmt \x10\x00\x00\x00\x01\x00\x02\x00\x40\x1f\x00\x00\x00\x7d\x00\x00\x04\x00\x10\x00"
    b"data\x08\x00\x00\x00\x00\x00\x00\x40\x00\x80\xff\x7f"
)


def test_writes_these_bytes():
    assert wav.write(STEREO, 8000) == BYTES


def test_reads_what_it_wrote():
    audio, rate = wav.read(BYTES)
    assert rate == 8000
    np.testing.assert_array_equal(audio, np.array([[0, 0.5], [-1, 32767 / 32768]], np.float32))


def test_skips_chunks_that_it_does_not_know():
    note = b"note" + struct.pack("<I", 3) + b"abc"
    audio, _ = wav.read(BYTES[:36] + note + BYTES[36:])
    assert audio.shape == (2, 2)


@given(st.integers(0, len(BYTES) - 1))
def test_a_cut_file_is_refused(length):
    with pytest.raises(InvalidArgumentError):
        wav.read(BYTES[:length])


@given(st.integers(0, len(BYTES) - 1), st.integers(0, 255))
def test_a_changed_byte_never_crashes(place, byte):
    try:
        wav.read(BYTES[:place] + bytes([byte]) + BYTES[place + 1 :])
    except InvalidArgumentError:
        pass


@pytest.mark.parametrize(
    "place, bytes_, message",
    [
        (20, b"\x03\x00", "Bad audio format"),
        (34, b"\x08\x00", "16-bit"),
        (32, b"\x02\x00", "bytes per sample"),
        (28, b"\x00\x00", "bytes per second"),
        (22, b"\x00\x00", "number of channels"),
    ],
)
def test_says_what_is_wrong(place, bytes_, message):
    with pytest.raises(InvalidArgumentError, match=message):
        wav.read(BYTES[:place] + bytes_ + BYTES[place + len(bytes_) :])
