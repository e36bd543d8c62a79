"""Values that members leave for others."""

from __future__ import annotations

import pytest

from headrace.core.errors import AbortedError, CancelledError, InternalError, ResourceExhaustedError
from headrace.runtime.collectives.buffers import MEMORY, REMEMBERED, Buffers


def test_either_may_come_first():
    buffers = Buffers()
    taken = buffers.post(1, "a", "value")
    assert not taken.done() and len(buffers) == 1
    assert buffers.take(1, "a").result(0) == "value" and taken.done()
    asked = buffers.take(1, "b")
    assert not asked.done()
    assert buffers.post(1, "b", 2).done() and asked.result(0) == 2
    assert len(buffers) == 0


def test_nothing_is_left_or_asked_for_twice():
    buffers = Buffers()
    buffers.post(1, "a", 1)
    assert isinstance(buffers.post(1, "a", 2).exception(0), InternalError)
    buffers.take(1, "b")
    assert isinstance(buffers.take(1, "b").exception(0), InternalError)
    buffers.begin(1, "member")
    with pytest.raises(InternalError, match="already running"):
        buffers.begin(1, "member")


def test_who_waits_for_a_member_that_failed_hears_of_it():
    now = [0.0]
    buffers, error = Buffers(clock=lambda: now[0]), AbortedError(None, None, "gone")
    buffers.begin(1, "member")
    early, left = buffers.take(1, "a"), buffers.post(1, "b", 0)
    buffers.abort(1, error)
    buffers.end(1, "member")
    late = buffers.take(1, "c")
    assert [f.exception(0) for f in (early, left, late)] == [error] * 3
    buffers.begin(1, "member")  # the step is tried again
    assert not buffers.take(1, "c").done()
    buffers.abort(2, error)
    now[0] += MEMORY + 0.1
    assert not buffers.take(2, "c").done()
    waits = buffers.take(3, "a")
    buffers.abort(3, CancelledError(None, None, "by its master"))
    assert waits.done() and not buffers.take(3, "a").done()
    for step in range(2 * REMEMBERED):
        buffers.abort(step, error)
    assert len(buffers._lost) == REMEMBERED


def test_who_has_gone_waits_no_more():
    buffers = Buffers()
    asked = buffers.take(1, "a")
    buffers.forget(1, "a", asked)
    assert len(buffers) == 0
    taken = buffers.post(1, "a", 1)
    assert not taken.done() and not asked.done()


def test_askers_are_bounded():
    def admit(count):
        if count > 3:
            raise ResourceExhaustedError(None, None, "too many")

    buffers = Buffers(admit)
    for step in range(3):
        buffers.take(step, "a")
    with pytest.raises(ResourceExhaustedError):
        buffers.take(3, "a")
    buffers.take(2, "b")
