"""The collector rests while plans are made, and is afterwards as it was."""

from __future__ import annotations

import gc
import os
import time

import pytest

from headrace.core import collecting
from headrace.core.collecting import paused
from tests.timing import wait_until


@pytest.fixture(autouse=True)
def on():
    """An earlier test may have left the collector on its way back."""
    wait_until(lambda: paused._coming is None)
    gc.enable()
    yield
    gc.enable()


def test_nested():
    with paused:
        assert not gc.isenabled()
        with paused:
            pass
        assert not gc.isenabled()
    assert gc.isenabled()


def test_who_switched_it_off_finds_it_off():
    gc.disable()
    with paused:
        pass
    assert not gc.isenabled()


def test_an_error():
    with pytest.raises(ValueError), paused:
        raise ValueError
    assert gc.isenabled()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_child_that_is_forked_meanwhile():
    with paused:
        child = os.fork()
        if not child:
            os._exit(0 if gc.isenabled() else 1)
    assert os.waitpid(child, 0)[1] == 0


def many():
    return [[] for _ in range(2 * collecting.MANY)]


def test_after_many_objects_it_comes_back_later(monkeypatch):
    monkeypatch.setattr(collecting, "LATER", 1.0)
    with paused:
        made = many()
    assert not gc.isenabled()
    with paused:  # meanwhile somebody is inside again
        pass
    assert not gc.isenabled()
    wait_until(gc.isenabled)
    assert len(made) == 2 * collecting.MANY


def test_it_waits_for_who_is_inside(monkeypatch):
    monkeypatch.setattr(collecting, "LATER", 0.05)
    with paused:
        made = many()
    with paused:
        time.sleep(0.2)
        assert not gc.isenabled()
    del made
    wait_until(gc.isenabled)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_child_that_is_forked_before_it_comes_back():
    with paused:
        made = many()
    child = os.fork()
    if not child:
        os._exit(0 if gc.isenabled() else 1)
    assert os.waitpid(child, 0)[1] == 0 and made
