"""Shared memory: lent, looked at, given back, used again; nothing is left."""

from __future__ import annotations

import gc
import os

import numpy as np
import pytest

from headrace.distributed.transport import segments
from headrace.distributed.transport.frames import Malformed

pytestmark = pytest.mark.skipif(not segments.is_supported(), reason="no memfd here")


def pair():
    return segments.Lender(), segments.Borrower()


def pass_over(lender, borrower, array):
    segment, is_new = lender.lend(array)
    if is_new:
        borrower.add(segment.number, segment.size, os.dup(segment.descriptor))
    return segment, is_new, borrower.borrow(segment.number, array.nbytes)


def test_what_is_given_back_is_used_again():
    lender, borrower = pair()
    value = np.arange(100_000, dtype=np.int64)
    seen = set()
    for _ in range(5):
        segment, is_new, found = pass_over(lender, borrower, value)
        assert is_new == (segment.number not in seen)
        seen.add(segment.number)
        part = found.view(np.int64)[10:20]
        del found
        assert not borrower.returned  # a part is still looked at
        assert part.tolist() == list(range(10, 20)) and not part.flags.writeable
        del part
        gc.collect()
        assert list(borrower.returned) == [segment.number]
        assert lender.take_back(borrower.returned.popleft()) is None
    assert len(seen) == 1
    lender.close()


def test_what_is_looked_at_is_not_written():
    lender, borrower = pair()
    first = pass_over(lender, borrower, np.zeros(50_000))
    second = pass_over(lender, borrower, np.ones(50_000))
    assert first[0].number != second[0].number
    assert not first[2].view(np.float64).any() and second[2].view(np.float64).all()


def test_not_all_is_kept(monkeypatch):
    monkeypatch.setattr(segments, "KEPT", 1 << 20)
    lender, _ = pair()
    lent = [lender.lend(np.zeros(100_000))[0].number for _ in range(3)]
    back = [lender.take_back(n) for n in lent]
    assert back[0] is None and [s.number for s in back[1:]] == lent[1:]


def test_arrays_outlive_the_borrower():
    lender, borrower = pair()
    found = pass_over(lender, borrower, np.full(20_000, 7.0))[2].view(np.float64)
    borrower.close()
    lender.close()
    del lender, borrower
    gc.collect()
    assert (found == 7.0).all()


def test_what_is_no_segment():
    lender, borrower = pair()
    with pytest.raises(Malformed):
        lender.take_back(3)
    with pytest.raises(Malformed):
        borrower.borrow(1, 10)
    open_one = os.memfd_create("test")  # its size is not sealed: the peer could take it away
    os.ftruncate(open_one, 1 << 16)
    with pytest.raises(Malformed):
        borrower.add(1, 1 << 16, open_one)
    segment, _ = lender.lend(np.zeros(20_000))
    with pytest.raises(Malformed):
        borrower.add(1, segment.size * 2, os.dup(segment.descriptor))
    borrower.add(1, segment.size, os.dup(segment.descriptor))
    with pytest.raises(Malformed):
        borrower.borrow(1, segment.size + 1)


def test_no_descriptor_is_left():
    before = set(os.listdir("/proc/self/fd"))
    lender, borrower = pair()
    for size in (20_000, 30_000, 50_000):
        found = pass_over(lender, borrower, np.zeros(size))
    del found
    lender.close()
    borrower.close()
    del lender, borrower
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) <= len(before)
