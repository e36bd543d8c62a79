"""The collector rests while plans are made, and is afterwards as it was."""

from __future__ import annotations

import gc
import os

import pytest

from headrace.core.collecting import paused


@pytest.fixture(autouse=True)
def on():
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
