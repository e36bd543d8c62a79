"""Tensors on the wire: TF's message, written and read without the message."""

from __future__ import annotations

import numpy as np
import pytest

from headrace.core import dtypes
from headrace.core.errors import UnimplementedError
from headrace.distributed.wire import recv_response
from headrace.formats import proto, tensor_proto
from headrace.runtime.frames import DEAD

NUMBERS = [
    dtypes.as_dtype(name)
    for name in (
        "float32 float64 float16 bfloat16 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool complex64 "
        "complex128 qint8 quint8 qint32"
    ).split()
]


def sample(dtype, shape):
    raw = np.random.RandomState(0).randint(0, 2, (*shape, dtype.numpy.itemsize), np.uint8)
    return np.ascontiguousarray(raw).view(dtype.numpy)[..., 0]


@pytest.mark.parametrize("dtype", NUMBERS, ids=lambda d: d.name)
@pytest.mark.parametrize("shape", [(), (3,), (2, 0, 3), (4, 5)])
def test_ours_and_the_message_read_each_other(dtype, shape):
    value = sample(dtype, shape)
    sent = recv_response.encode(value, dtype)
    message = proto.RecvTensorResponse.FromString(sent)
    assert message.tensor.dtype == dtype.as_datatype_enum
    np.testing.assert_array_equal(tensor_proto.from_proto(message.tensor), value)
    np.testing.assert_array_equal(recv_response.decode(sent).value, value)
    written = proto.RecvTensorResponse(tensor=tensor_proto.to_proto(value, dtype))
    np.testing.assert_array_equal(recv_response.decode(written.SerializeToString()).value, value)


def test_text():
    value = np.array([[b"a", b"\xff\x00"]], object)
    found = recv_response.decode(recv_response.encode(value)).value
    assert found.tolist() == value.tolist()


def test_a_strided_array():
    value = np.arange(24, dtype=np.float32).reshape(4, 6)[::2, ::-1]
    np.testing.assert_array_equal(recv_response.decode(recv_response.encode(value)).value, value)


def test_what_arrives_is_not_copied_and_not_written():
    sent = recv_response.encode(np.ones(1000, np.float32))
    found = recv_response.decode(sent).value
    assert not found.flags.writeable and not found.flags.owndata


def test_dead_values():
    sent = recv_response.encode(DEAD)
    assert recv_response.decode(sent).value is DEAD
    assert proto.RecvTensorResponse.FromString(sent).is_dead


def test_a_handle_does_not_travel():
    with pytest.raises(UnimplementedError, match="can not leave its process"):
        recv_response.encode(object())


def test_broken_bytes_are_an_error():
    """Every cut and thousands of flipped bits: an exception that is ours, or some array."""
    sent = recv_response.encode(np.arange(6, dtype=np.float32).reshape(2, 3))
    rng = np.random.RandomState(0)
    broken = [sent[:n] for n in range(len(sent))]
    for _ in range(3000):
        data = bytearray(sent)
        data[rng.randint(len(data))] ^= 1 << rng.randint(8)
        broken.append(bytes(data))
    for data in broken:
        try:
            found = recv_response.decode(data).value
        except ValueError:
            continue
        assert found is DEAD or isinstance(found, np.ndarray)
