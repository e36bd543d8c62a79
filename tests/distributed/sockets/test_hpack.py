"""Headers as bytes; examples are those of RFC 7541, appendix C."""

from __future__ import annotations

import random

import pytest

from headrace.distributed.sockets import hpack
from headrace.distributed.sockets.hpack import BadHeaders


def test_there_and_back():
    rng = random.Random(0)
    for _ in range(200):
        made = [(rng.randbytes(rng.randint(1, 9)), rng.randbytes(rng.choice([0, 3, 126, 127, 128, 5000])))]
        assert hpack.decode(hpack.encode(made)) == made


@pytest.mark.parametrize(
    "block, headers",
    [
        ("400a637573746f6d2d6b65790d637573746f6d2d686561646572", [(b"custom-key", b"custom-header")]),
        ("040c2f73616d706c652f70617468", [(b":path", b"/sample/path")]),
        ("82", [(b":method", b"GET")]),
        ("418cf1e3c2e5f23a6ba0ab90f4ff", [(b":authority", b"www.example.com")]),
        ("408825a849e95ba97d7f8925a849e95bb8e8b4bf", [(b"custom-key", b"custom-value")]),
        ("203fe11f" + "88", [(b":status", b"200")]),  # two sizes of a table first
    ],
)
def test_examples(block, headers):
    assert hpack.decode(bytes.fromhex(block)) == headers


@pytest.mark.parametrize(
    "block", ["80", "be", "7f", "0003", "008a", "0001", "ffffffffffff7f", "008161ff", "0081ff"]
)
def test_what_is_none(block):
    with pytest.raises(BadHeaders):
        hpack.decode(bytes.fromhex(block))


def test_anything_is_headers_or_an_error():
    rng = random.Random(1)
    for _ in range(3000):
        try:
            hpack.decode(rng.randbytes(rng.randint(0, 60)))
        except BadHeaders:
            pass
