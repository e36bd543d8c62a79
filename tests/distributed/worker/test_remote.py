"""Answers that are made of answers."""

from __future__ import annotations

from concurrent.futures import Future

import pytest

from headrace.distributed.worker.remote import then


def test_what_is_made_of_an_answer():
    first: Future[int] = Future()
    made = then(first, lambda value: 10 // value)
    first.set_result(5)
    assert made.result(0) == 2
    with pytest.raises(ZeroDivisionError):
        then(first, lambda value: value // 0).result(0)


def test_an_answer_that_nobody_waits_for_is_dropped_in_silence(caplog):
    first: Future[int] = Future()
    assert then(first, str).cancel()  # as gRPC's server does where the caller has gone
    first.set_result(5)
    assert not caplog.records
