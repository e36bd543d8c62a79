"""WAV: a RIFF file with one chunk that says how the samples are kept and one with the samples.

Only what TF reads and writes: 16 bits per sample, uncompressed.  Samples are float32 in [-1, 1).
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from headrace.core.errors import InvalidArgumentError, require

SCALE = 1 << 15
PCM, BITS, BYTES = 1, 16, 2
HEADER = struct.Struct("<4sI4s4sIHHIIHH4sI")  # RIFF + fmt + data, up to the samples
LARGEST_CHUNK = 2**31 - 1


def write(audio: Any, sample_rate: int) -> bytes:
    """A file from samples [time, channels]."""
    frames, channels = audio.shape
    require(0 < sample_rate < 2**32, f"sample_rate must be in (0, 2^32), got: {sample_rate}")
    require(0 < channels < 2**16, f"num_channels must be in (0, 2^16), got: {channels}")
    require(frames > 0, "num_frames must be positive.")
    size = frames * channels * BYTES
    require(HEADER.size + size < 2**32, "Provided channels and frames cannot be encoded as a WAV.")
    frame = BYTES * channels
    header = HEADER.pack(
        b"RIFF", HEADER.size + size - 8, b"WAVE",
        b"fmt ", 16, PCM, channels, sample_rate, (sample_rate * frame) & 0xFFFFFFFF, frame, BITS,
        b"data", size,
    )  # fmt: skip
    scaled = np.asarray(audio, np.float32) * np.float32(SCALE)
    rounded = np.trunc(scaled + np.copysign(np.float32(0.5), scaled))  # halves away from zero
    samples = np.nan_to_num(np.clip(rounded, -SCALE, SCALE - 1)).astype("<i2")
    return header + bytes(samples)


class _Reader:
    """A place in the bytes; refuses to go beyond their end."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, count: int) -> bytes:
        require(self.at + count <= len(self.data), "Data too short when trying to read string")
        self.at += count
        return self.data[self.at - count : self.at]

    def number(self, count: int) -> int:
        return int.from_bytes(self.take(count), "little")

    def expect(self, text: bytes) -> None:
        found = self.take(len(text))
        require(
            found == text, f"Header mismatch: Expected {text.decode()} but found {found.decode('latin-1')}"
        )


def read(data: bytes) -> tuple[Any, int]:
    """(samples [time, channels], sample rate) of a file."""
    reader = _Reader(data)
    reader.expect(b"RIFF")
    reader.number(4)  # the size of the file, which is often wrong
    reader.expect(b"WAVE")
    reader.expect(b"fmt ")
    size = reader.number(4)
    require(size in (16, 18), f"Bad file size for WAV: Expected 16 or 18, but got{size}")
    channels, rate, frame = _read_format(reader)
    if size == 18:
        reader.take(2)
    samples = None
    while reader.at < len(data):
        name, size = reader.take(4), reader.number(4)
        require(
            size <= LARGEST_CHUNK,
            f"WAV data chunk '{name.decode('latin-1')}' is too large: {size} bytes, but the limit "
            f"is {LARGEST_CHUNK}",
        )
        if name != b"data":
            reader.at += size  # a chunk may claim to go beyond the end: then it is the last
            continue
        require(samples is None, "More than one data chunk found in WAV")
        samples = np.frombuffer(reader.take(size // frame * frame), "<i2").reshape(-1, channels)
    if samples is None:
        raise InvalidArgumentError(None, None, "No data chunk found in WAV")
    return samples.astype(np.float32) / np.float32(SCALE), rate


def _read_format(reader: _Reader) -> tuple[int, int, int]:
    """(channels, samples per second, bytes per frame)."""
    kind = reader.number(2)
    require(kind == PCM, f"Bad audio format for WAV: Expected 1 (PCM), but got{kind}")
    channels = reader.number(2)
    require(channels >= 1, f"Bad number of channels for WAV: Expected at least 1, but got {channels}")
    rate, per_second, frame, bits = (reader.number(n) for n in (4, 4, 2, 2))
    require(bits == BITS, f"Can only read 16-bit WAV files, but received {bits}")
    require(
        frame == BYTES * channels,
        f"Bad bytes per sample in WAV header: Expected {BYTES * channels} but got {frame}",
    )
    expected = (frame * rate) & 0xFFFFFFFF
    require(
        per_second == expected,
        f"Bad bytes per second in WAV header: Expected {expected} but got {per_second} "
        f"(sample_rate={rate}, bytes_per_sample={frame})",
    )
    return channels, rate, frame
