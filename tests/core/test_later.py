"""Functions that are called a little later."""

from __future__ import annotations

import os
import threading
import time

import pytest

from headrace.core import later
from headrace.core.later import call_later
from tests.timing import PATIENCE


def test_in_the_order_of_their_times_and_on_one_thread():
    seen, done = [], threading.Event()
    call_later(0.9, done.set)
    for name, seconds in (("second", 0.6), ("first", 0.3)):
        call_later(seconds, lambda name=name: seen.append((name, threading.current_thread().name)))
    assert done.wait(PATIENCE)
    assert seen == [("first", "headrace-later"), ("second", "headrace-later")]


def test_called_off():
    seen, done = [], threading.Event()
    call_later(0.4, lambda: seen.append("never")).cancel()
    call_later(0.5, done.set)
    assert done.wait(PATIENCE)
    assert seen == []


def test_what_is_called_off_is_forgotten():
    for _ in range(1000):
        call_later(3600, lambda: None).cancel()
    assert len(later._later._due) < 200


def test_a_failure_is_told_and_the_next_one_is_called(monkeypatch):
    told, done = [], threading.Event()
    monkeypatch.setattr(threading, "excepthook", lambda args: told.append(args.exc_type))
    call_later(0.01, lambda: 1 // 0)
    call_later(0.03, done.set)
    assert done.wait(PATIENCE)
    assert told == [ZeroDivisionError]


@pytest.mark.process
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_in_a_child():
    call_later(0.0, lambda: None)
    child = os.fork()
    if not child:
        done = threading.Event()
        call_later(0.01, done.set)
        os._exit(0 if done.wait(PATIENCE) else 1)
    for _ in range(6000):
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            break
        time.sleep(0.02)
    assert found and status == 0
