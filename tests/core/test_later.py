"""Functions that are called a little later."""

from __future__ import annotations

import os
import threading
import time

import pytest

from headrace.core.later import call_later


def test_in_the_order_of_their_times_and_on_one_thread():
    seen, done = [], threading.Event()
    call_later(0.06, done.set)
    for name, seconds in (("second", 0.04), ("first", 0.02)):
        call_later(seconds, lambda name=name: seen.append((name, threading.current_thread().name)))
    assert done.wait(10)
    assert seen == [("first", "headrace-later"), ("second", "headrace-later")]


def test_called_off():
    seen, done = [], threading.Event()
    call_later(0.02, lambda: seen.append("never")).cancel()
    call_later(0.04, done.set)
    assert done.wait(10)
    assert seen == []


@pytest.mark.process
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_in_a_child():
    call_later(0.0, lambda: None)
    child = os.fork()
    if not child:
        done = threading.Event()
        call_later(0.01, done.set)
        os._exit(0 if done.wait(10) else 1)
    for _ in range(1000):
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            break
        time.sleep(0.02)
    assert found and status == 0
