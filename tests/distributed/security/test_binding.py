"""Where servers listen, and what they say about it."""

from __future__ import annotations

import logging
import socket

import pytest

import headrace as tf
from headrace.distributed.security import binding as module
from headrace.distributed.security.binding import binding
from headrace.distributed.security.settings import Security

HOSTS = {
    "localhost": ["::1", "127.0.0.1"],
    "node7": ["127.0.1.1"],  # Debian's own name of a host
    "worker-0": ["10.0.0.7"],
    "service": ["10.0.0.99"],  # not an address of this host
    "two": ["10.0.0.7", "10.0.0.8"],
}


@pytest.fixture
def network(monkeypatch):
    def getaddrinfo(host, port, type):
        if host in HOSTS:
            found = HOSTS[host]
        elif host[0].isdigit() or ":" in host:
            found = [host]
        else:
            raise socket.gaierror(f"who is {host}?")
        return [(0, 0, 0, "", (number, 0)) for number in found]

    monkeypatch.setattr(module.socket, "getaddrinfo", getaddrinfo)
    monkeypatch.setattr(module, "_is_mine", lambda number: number in ("10.0.0.7", "10.0.0.8"))


@pytest.mark.parametrize(
    "address, bind, expected, is_local",
    [
        ("localhost:1", "", "127.0.0.1:1", True),
        ("127.0.0.1:0", "", "127.0.0.1:0", True),
        ("127.0.0.5:0", "", "127.0.0.5:0", True),
        ("[::1]:1", "", "[::1]:1", True),
        ("10.0.0.7:1", "", "10.0.0.7:1", False),  # the cluster's word: there, and nowhere else
        ("worker-0:1", "", "10.0.0.7:1", False),
        ("service:1", "", "0.0.0.0:1", False),
        ("node7:1", "", "0.0.0.0:1", False),
        ("two:1", "", "0.0.0.0:1", False),
        ("nobody:1", "", "0.0.0.0:1", False),
        ("worker-0:1", "localhost", "127.0.0.1:1", True),
        ("worker-0:1", "127.0.0.1", "127.0.0.1:1", True),
        ("localhost:1", "0.0.0.0", "0.0.0.0:1", False),
        ("worker-0:1", "[::]", "[::]:1", False),
    ],
)
def test_where_a_task_listens(network, address, bind, expected, is_local):
    found = binding(address, bind)
    assert (found.address, found.is_local) == (expected, is_local)


def test_what_a_task_says():
    here, everywhere = binding("127.0.0.1:0"), binding("127.0.0.1:0", "0.0.0.0")
    is_warning, line = here.notice("/job:ps", 17, Security())
    assert not is_warning and line == "/job:ps listens at 127.0.0.1:17, on this host alone"
    is_warning, line = everywhere.notice("/job:ps", 17, Security())
    assert is_warning and "0.0.0.0:17" in line and "HEADRACE_CLUSTER_SECRET" in line
    is_warning, line = everywhere.notice("/job:ps", 17, Security(secret="word"))
    assert not is_warning and line.endswith("guarded by secret") and "word" not in line


@pytest.mark.process
def test_a_server_that_others_can_reach_says_so(caplog):
    with caplog.at_level(logging.INFO, "headrace"):
        tf.train.Server.create_local_server().stop()
        assert "on this host alone" in caplog.text and "closed network" not in caplog.text
        server = tf.train.Server({"local": ["localhost:0"]}, security=Security(bind="0.0.0.0"))
        server.stop()
    assert "closed network" in caplog.text
