"""Messages between our tasks as bytes, and what is none."""

from __future__ import annotations

import random
import struct

import numpy as np
import pytest

from headrace.core import dtypes
from headrace.core.errors import UnimplementedError
from headrace.distributed.transport import frames
from headrace.distributed.transport.frames import HEAD, Kind, Malformed, Message
from headrace.runtime.frames import DEAD

NUMBERS = "float32 float64 float16 bfloat16 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool complex64"


def none_borrowed(segment, size):
    raise KeyError(segment)


def there_and_back(message, lend=None, borrow=none_borrowed):
    data = b"".join(bytes(part) for part in frames.encode(message, lend))
    assert not len(data) % 16 and frames.length(data[: HEAD.size]) == len(data) - HEAD.size
    return frames.decode(data[: HEAD.size], data[HEAD.size :], borrow)


@pytest.mark.parametrize("name", NUMBERS.split())
@pytest.mark.parametrize("shape", [(), (1,), (7,), (0, 3), (3, 5, 2), (2000,)])
def test_arrays(name, shape):
    dtype = dtypes.as_dtype(name).numpy
    value = np.asarray(np.random.RandomState(0).randn(*shape) * 10).astype(dtype)
    found = there_and_back(Message(Kind.VALUE, 1, 2, ("key",), (value,)))
    assert (found.kind, found.number, found.step, list(found.texts)) == (Kind.VALUE, 1, 2, ["key"])
    (array,) = found.values
    assert array.dtype == value.dtype and array.shape == value.shape and array.tobytes() == value.tobytes()
    assert not array.size or not array.flags.writeable


def test_odd_values():
    text = np.array([[b"a", b"\xff\x00"], [b"", b"long" * 1000]], object)
    strided = np.arange(24.0).reshape(4, 6)[::2, ::-1]
    values = (DEAD, text, strided, np.float32(2.5), np.array([np.nan, -0.0, np.inf]))
    found = there_and_back(Message(Kind.DONE, values=values)).values
    assert found[0] is DEAD and found[1].tolist() == text.tolist()
    np.testing.assert_array_equal(found[2], strided)
    assert found[3].shape == () and found[3] == 2.5
    assert found[4].tobytes() == values[4].tobytes()


def test_many_texts_and_values():
    texts = [f"key ü {i}" * (i % 7) for i in range(300)]
    values = [np.full(i % 5, i) for i in range(300)]
    found = there_and_back(Message(Kind.RUN, 2**63, 2**64 - 1, texts, values))
    assert list(found.texts) == texts and found.number == 2**63 and found.step == 2**64 - 1
    assert [v.tolist() for v in found.values] == [v.tolist() for v in values]


def test_a_segment_in_place_of_bytes():
    kept = {}

    def lend(array):
        if array.size <= 2:
            return None
        kept[5] = array.reshape(-1).view(np.uint8)
        return 5

    value = np.arange(6, dtype=np.int16).reshape(2, 3)
    sent = Message(Kind.VALUE, values=(value, value[0, :2]))
    found = there_and_back(sent, lend, lambda segment, size: kept[segment][:size])
    np.testing.assert_array_equal(found.values[1], value[0, :2])
    with pytest.raises(Malformed):
        there_and_back(sent, lend)


def test_a_handle_does_not_travel():
    with pytest.raises(UnimplementedError, match="can not leave its process"):
        frames.encode(Message(Kind.VALUE, values=(object(),)))


def test_heads_that_lie():
    for head in [(1 << 60, 3, 0, 0), (16, 0, 0, 0), (16, 99, 0, 0), (16, 3, 9, 9), (15, 3, 0, 0)]:
        size, kind, texts, values = head
        with pytest.raises(Malformed):
            frames.length(HEAD.pack(size, kind, texts, values, 0, 0))


def test_broken_frames_are_an_error():
    """Every cut, and thousands of changed bytes: an error that is ours, or some message."""
    values = (np.arange(6.0).reshape(2, 3), np.array([b"text"], object), np.float32(1), DEAD)
    sent = b"".join(map(bytes, frames.encode(Message(Kind.RUN, 1, 2, ("session", "graph", "key"), values))))
    head, body = sent[: HEAD.size], sent[HEAD.size :]
    broken = [body[:n] for n in range(0, len(body))]
    rng = random.Random(0)
    for _ in range(5000):
        changed = bytearray(body)
        for _ in range(rng.randint(1, 4)):
            changed[rng.randrange(len(changed))] = rng.choice([0, 1, 127, 255, rng.randrange(256)])
        broken.append(bytes(changed))
    understood = 0
    for data in broken:
        try:
            understood += isinstance(frames.decode(head, data, none_borrowed), Message)
        except Malformed:
            pass
    assert 0 < understood < len(broken)


def test_sizes_that_overflow():
    head = HEAD.pack(64, Kind.VALUE, 0, 1, 0, 0)
    value = struct.pack("<BBHIQ", frames.How.INLINE, 1, 2, 0, 0) + struct.pack("<2Q", 1 << 62, 8)
    with pytest.raises(Malformed):
        frames.decode(head, value + bytes(32), none_borrowed)
