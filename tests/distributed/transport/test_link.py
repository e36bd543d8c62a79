"""Calls over a channel: answers, errors, ends, silence."""

from __future__ import annotations

from concurrent.futures import Future

import numpy as np
import pytest

from headrace.core.errors import InvalidArgumentError, UnavailableError
from headrace.distributed.transport.frames import Kind, Message
from headrace.distributed.transport.link import Link
from headrace.distributed.transport.memory import MemoryChannel
from headrace.distributed.wire import watch
from tests.timing import PATIENCE, wait_until


class Service:
    """Answers at once, later (`held`), or with an error."""

    def __init__(self):
        self.held, self.values, self.cleaned = [], [], []

    def on_run(self, link, message, answer, refuse):
        if message.texts[0] == "hold":
            self.held.append((answer, refuse))
        elif message.texts[0] == "fail":
            raise InvalidArgumentError(None, None, "no such graph")
        else:
            answer([value * 2 for value in message.values])

    on_ask = on_run

    def on_value(self, link, message):
        ((key,), (value,)) = message.texts, message.values
        self.values.append((message.step, key, value))

    def on_clean(self, link, message):
        self.cleaned.append(message.step)


def pair():
    one, other = MemoryChannel(), MemoryChannel()
    one.other, other.other = other, one
    services = Service(), Service()
    return (
        Link(one, "/job:ps/task:0", "here:1", services[0]),
        Link(other, "/job:worker/task:0", "here:2", services[1]),
        *services,
    )


def test_calls_both_ways():
    one, other, mine, theirs = pair()
    assert one.call(Kind.RUN, 5, ("go",), (np.float32(2),)).result(0) == [4.0]
    assert other.call(Kind.ASK, 5, ("go",), (np.float32(3),)).result(0) == [6.0]
    one.tell(Kind.VALUE, 7, ("key",), (1.0,))
    one.tell(Kind.CLEAN, 8)
    assert theirs.values == [(7, "key", 1.0)] and theirs.cleaned == [8] and not mine.values


def test_an_error_comes_back_as_what_it_is():
    one, _, _, theirs = pair()
    with pytest.raises(InvalidArgumentError, match="no such graph"):
        one.call(Kind.RUN, 1, ("fail",)).result(0)
    later = one.call(Kind.RUN, 1, ("hold",))
    theirs.held[0][1](ValueError("late"))
    with pytest.raises(InvalidArgumentError, match="late"):
        later.result(0)


def test_the_end_of_the_connection_ends_all_calls():
    one, other, _, theirs = pair()
    told: list[object] = []
    calls: list[Future[object]] = [one.call(Kind.RUN, n, ("hold",)) for n in range(3)]
    one.expect("token", told.append)
    one.expect("settled", told.append)
    one.settled("settled")
    other.close()
    for call in calls:
        with pytest.raises(UnavailableError, match="/job:ps/task:0 at here:1 is not there"):
            call.result(0)
    assert len(told) == 1 and not one.is_up
    with pytest.raises(UnavailableError):
        one.call(Kind.RUN, 1, ("go",)).result(0)
    one.expect("late", told.append)
    assert len(told) == 2
    theirs.held[0][0]([])  # an answer that nobody waits for any more


def test_a_silent_peer_is_given_up(monkeypatch):
    monkeypatch.setattr(watch, "EVERY", 0.02)
    monkeypatch.setattr("headrace.distributed.wire.pulse.LIMIT", 0.1)
    monkeypatch.setattr("headrace.distributed.wire.pulse.EVERY", 0.02)
    one, other, _, theirs = pair()
    held = one.call(Kind.RUN, 1, ("hold",))
    told: list[object] = []
    one.expect("token", told.append)
    assert not held.done()
    other.channel.on_message = lambda message: None  # frozen
    with pytest.raises(UnavailableError, match="no sign of life since"):
        held.result(PATIENCE)
    wait_until(lambda: told)
    theirs.held[0][0]([])  # it comes back: its answer is dropped
    assert one.is_up


def test_messages_that_make_no_sense_end_the_connection():
    for message in (Message(Kind.VALUE, texts=("a", "b")), Message(Kind.HELLO), Message(Kind.VALUE)):
        one, other, _, _ = pair()
        one.channel.send(message)
        assert not other.is_up and not one.is_up
    one, other, _, _ = pair()
    one.channel.send(Message(Kind.DONE, 99))  # of a call that was given up
    one.channel.send(Message(Kind.ERROR, 99, 10**18))
    assert other.is_up
