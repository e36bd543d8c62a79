"""Tasks meet: by which way, and by ways from outside."""

from __future__ import annotations

import json
import os
import socket

import numpy as np
import pytest

import headrace as tf
from headrace.distributed.transport import local, registry
from headrace.distributed.transport.channel import SocketChannel
from headrace.distributed.transport.frames import Kind, Message
from headrace.distributed.transport.links import Links
from headrace.distributed.transport.memory import MemoryChannel
from tests.distributed.clusters import cluster
from tests.timing import wait_until

pytestmark = pytest.mark.process
PS, WORKER = "/job:ps/replica:0/task:0", "/job:worker/replica:0/task:0"


def links(task):
    return Links(task, lambda: "here:1", service=None)


def meet(one, other):
    """`one` calls `other`."""
    one.take_up(other.task, "there:1", other.answer(one.question()))


@pytest.mark.parametrize("way", ["memory", "local", "grpc"])
def test_the_first_way_that_leads_there(monkeypatch, way):
    monkeypatch.setenv("HEADRACE_TRANSPORTS", way)
    if way == "local" and not local.is_supported():
        pytest.skip("no such sockets here")
    one, other = links("/job:a/replica:0/task:0"), links("/job:b/replica:0/task:0")
    meet(one, other)
    assert one.way_to(other.task) == way
    wait_until(lambda: other.way_to(one.task) == way)
    one.close()
    wait_until(lambda: other.to(one.task) is None)
    meet(other, one)  # a task that has ended makes no links
    assert one.to(other.task) is None
    other.close()


def test_memory_comes_before_sockets():
    one, other = links("/job:a/task:0"), links("/job:b/task:0")
    meet(one, other)
    assert one.way_to(other.task) == "memory"
    one.close()


def test_another_host_is_not_tried():
    one, other = links("/job:a/task:0"), links("/job:b/task:0")
    told = json.loads(other.answer(one.question()))
    for offer in told["offers"].values():
        offer["process"] = offer["host"] = "elsewhere"
    one.take_up(other.task, "there:1", json.dumps(told).encode())
    assert one.to(other.task) is None and one.way_to(other.task) == "grpc"


@pytest.mark.parametrize("question", [b"", b"[]", b"{}", b'{"task": 5}', b"\xff\xfe"])
def test_questions_that_are_none(question):
    with pytest.raises(ValueError):
        links("/job:a/task:0").answer(question)


@pytest.mark.skipif(not local.is_supported(), reason="no such sockets here")
def test_a_caller_without_a_token_is_sent_away(monkeypatch):
    monkeypatch.setenv("HEADRACE_TRANSPORTS", "local")
    other = links("/job:b/task:0")
    offer = json.loads(other.answer(links("/job:a/task:0").question()))["offers"]["local"]

    def call(*messages):
        caller = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        caller.connect(f"\0{offer['name']}")
        channel = SocketChannel(caller)
        ended = []
        channel.on_closed = ended.append
        for message in messages:
            channel.send(message)
        channel.start()
        return channel, ended

    for first in (Message(Kind.RUN, 1, 1, ("", "graph")), Message(Kind.HELLO, texts=("guessed",))):
        _, ended = call(first)
        wait_until(lambda ended=ended: ended)
    hello = Message(Kind.HELLO, texts=(offer["token"],))
    channel, _ = call(hello)
    wait_until(lambda: other.to("/job:a/task:0") is not None)
    _, ended = call(hello)  # a token counts once
    wait_until(lambda: ended)
    channel.close()
    other.close()


class Pigeon:
    """A way from outside: through one process, with a note of everything that was sent."""

    def __init__(self):
        self.sent, self.waiting = [], {}

    def offer(self, accept):
        self.waiting[str(len(self.waiting))] = accept
        return {"loft": str(len(self.waiting) - 1), "pid": os.getpid()}

    def connect(self, offer):
        here, there = PigeonChannel(self), PigeonChannel(self)
        here.other, there.other = there, here
        self.waiting.pop(offer["loft"])(there)
        return here


class PigeonChannel(MemoryChannel):
    def __init__(self, pigeon):
        super().__init__()
        self.pigeon = pigeon

    def send(self, message):
        self.pigeon.sent.append(Kind(message.kind))
        super().send(message)


@pytest.fixture
def pigeon():
    made = Pigeon()
    registry.register("pigeon", made, first=True)
    yield made
    registry.unregister("pigeon")


def test_a_transport_from_outside_carries_steps(pigeon):
    with tf.Graph().as_default(), cluster(ps=1, worker=1) as servers:
        with tf.device("/job:ps/task:0"):
            v = tf.Variable(np.arange(3.0))
        with tf.device("/job:worker/task:0"):
            twice = v * 2.0
        with tf.Session(servers["worker"][0].target) as session:
            session.run(v.initializer)
            assert session.run(twice).tolist() == [0.0, 2.0, 4.0]
            pigeon.sent.clear()
            session.run(twice)
            assert servers["worker"][0].links.way_to(PS) == "pigeon"
            assert servers["ps"][0].links.way_to(WORKER) == "pigeon"
    of_the_step = [kind for kind in pigeon.sent if kind not in (Kind.PING, Kind.PONG)]
    assert sorted(of_the_step) == [Kind.RUN, Kind.DONE, Kind.VALUE]
    assert "pigeon" not in list(registry.allowed())[1:]
