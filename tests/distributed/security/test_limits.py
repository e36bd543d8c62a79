"""Limits by themselves: words, sizes that messages announce."""

from __future__ import annotations

import pytest

import headrace as tf
from headrace.distributed.security.limits import Limits, announced
from headrace.formats import proto


def test_words():
    assert Limits.parsed("") == Limits()
    assert Limits.parsed("message=1000 steps=3") == Limits(message=1000, steps=3)
    for words in ("message", "message=-1", "message=0", "bytes=3", "message=1e9", f"tensor={2**40}"):
        with pytest.raises(tf.errors.InvalidArgumentError, match="HEADRACE_LIMITS"):
            Limits.parsed(words)


def tensor(dtype: int, *sizes: int):
    made = proto.TensorProto(dtype=dtype)
    for size in sizes:
        made.tensor_shape.dim.add(size=size)
    return made


@pytest.mark.parametrize(
    "message, size",
    [
        (tensor(1, 2, 3), 24),
        (tensor(1), 4),
        (tensor(2, 2**62, 2**62), 8 * 2**124),
        (tensor(1, -1, 2**62), 0),
        (tensor(0, 5), 0),
        (tensor(7, 2**40), 8 * 2**40),
    ],
)
def test_what_a_message_announces(message, size):
    assert announced(message) == size
    if size > Limits().tensor:
        with pytest.raises(tf.errors.ResourceExhaustedError, match="HEADRACE_LIMITS=tensor"):
            Limits().check_tensors([message])
