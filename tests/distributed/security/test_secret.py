"""The two ends of the secret, by themselves: who comes in, who does not, and what is left behind."""

from __future__ import annotations

import random

import pytest

from headrace.distributed.security import secret as module
from headrace.distributed.security.secret import CHALLENGE, HELLO, SIGNED, Caller, Door

METHOD = "/tensorflow.WorkerService/RunGraph"


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def introduced(door: Door, word: str = "word") -> Caller:
    caller = Caller(word)
    refusal = door.enter(METHOD, dict(caller.hello()))
    assert refusal is not None and refusal.is_known
    assert caller.on_challenge(dict(refusal.metadata)) is (word == "word")
    return caller


def test_who_knows_the_secret_comes_in_and_who_does_not_stays_out():
    door = Door("word", "the task")
    caller, stranger = introduced(door), introduced(door, "another")
    for _ in range(3):
        assert door.enter(METHOD, dict(caller.sign(METHOD))) is None
    refusal = door.enter(METHOD, dict(stranger.sign(METHOD)))
    assert refusal is not None and "different secrets" in refusal.text and not refusal.is_known
    refusal = door.enter(METHOD, {})
    assert refusal is not None and "HEADRACE_CLUSTER_SECRET" in refusal.text and not refusal.metadata


def test_nothing_that_travels_contains_the_secret():
    door = Door("a long word", "the task")
    caller = Caller("a long word")
    refusal = door.enter(METHOD, dict(caller.hello()))
    assert refusal is not None
    caller.on_challenge(dict(refusal.metadata))
    seen = repr((caller.hello(), refusal.text, refusal.metadata, caller.sign(METHOD)))
    assert "long" not in seen and b"a long word".hex() not in seen


def test_a_call_is_signed_for_one_method_and_counts_once():
    door = Door("word", "the task")
    caller = introduced(door)
    signed = dict(caller.sign(METHOD))
    assert door.enter("/tensorflow.WorkerService/CleanupAll", signed) is not None
    assert door.enter(METHOD, signed) is None
    refusal = door.enter(METHOD, signed)
    assert refusal is not None and "before" in refusal.text


def test_calls_may_overtake_one_another():
    door = Door("word", "the task")
    caller = introduced(door)
    calls = [dict(caller.sign(METHOD)) for _ in range(500)]
    random.Random(0).shuffle(calls)
    assert all(door.enter(METHOD, call) is None for call in calls)
    assert all(door.enter(METHOD, call) is not None for call in calls)
    for _ in range(module.WINDOW):
        assert door.enter(METHOD, dict(caller.sign(METHOD))) is None
    assert door.enter(METHOD, calls[0]) is not None  # out of the window: seen or not, it is too old


def test_a_challenge_is_the_door_s_own_and_fresh():
    clock = Clock()
    door, other = Door("word", "the task", clock), Door("word", "another life of the task", clock)
    caller = introduced(other)
    refusal = door.enter(METHOD, dict(caller.sign(METHOD)))
    assert refusal is not None and refusal.is_known  # asked again
    assert caller.on_challenge(dict(refusal.metadata))
    assert door.enter(METHOD, dict(caller.sign(METHOD))) is None
    late = introduced(door)
    clock.now += module.FRESH + 1
    assert door.enter(METHOD, dict(caller.sign(METHOD))) is None  # a key that is known stays
    assert door.enter(METHOD, dict(late.sign(METHOD))) is not None


def test_a_key_that_was_forgotten_does_not_come_back(monkeypatch):
    monkeypatch.setattr(module, "KEYS", 2)
    door = Door("word", "the task")
    first = introduced(door)
    signed = dict(first.sign(METHOD))
    assert door.enter(METHOD, signed) is None
    for _ in range(2):
        assert door.enter(METHOD, dict(introduced(door).sign(METHOD))) is None
    assert len(door) == 2
    assert door.enter(METHOD, signed) is not None  # somebody repeats what he has seen
    assert door.enter(METHOD, dict(first.sign(METHOD))) is not None


def test_strangers_leave_nothing_behind():
    door = Door("word", "the task")
    for _ in range(1000):
        assert door.enter(METHOD, dict(Caller("another").hello())) is not None
    assert len(door) == 0


@pytest.mark.parametrize(
    "signed",
    [
        "",
        ".",
        "..",
        "a.b.c",
        "a.1.c",
        "a.-1.c",
        "1-2-3.1.c",
        "x" * 10000,
        "a.9999999999999999999999.c",
        "é.1.é",
    ],
)
def test_whatever_is_given_is_refused(signed):
    door = Door("word", "the task")
    for given in ({HELLO: "é", SIGNED: signed}, {SIGNED: signed}, {HELLO: "a" * 1000, SIGNED: signed}):
        assert door.enter(METHOD, given) is not None
    assert not Caller("word").on_challenge({CHALLENGE: signed})
