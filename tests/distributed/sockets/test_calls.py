"""Calls over a connection of our own, beside servers of gRPC's own library."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
import pytest

from headrace.core import errors
from headrace.distributed.sockets import reactor
from headrace.distributed.sockets.calls import Calls
from tests.timing import PATIENCE, wait_until

grpc = pytest.importorskip("grpc")
pytestmark = [pytest.mark.process, pytest.mark.skipif(not reactor.is_supported(), reason="no epoll here")]


class Server:
    """Answers with as many octets as it is asked for; fails, or waits, where it is told to."""

    def __init__(self, address: str = "127.0.0.1:0") -> None:
        self.gate, self.cancelled = threading.Event(), threading.Event()

        def answer(data, context):
            word, _, number = data.partition(b" ")
            if word == b"fail":
                context.abort(grpc.StatusCode.NOT_FOUND, "nothing here: ä")
            if word == b"wait":
                context.add_callback(self.cancelled.set)
                self.gate.wait(PATIENCE)
            return bytes(range(256)) * (int(number or 0) // 256)

        self._server = grpc.server(
            ThreadPoolExecutor(4), options=[("grpc.max_send_message_length", -1), ("grpc.so_reuseport", 0)]
        )
        handler = grpc.unary_unary_rpc_method_handler(answer)
        self._server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("x", {"Y": handler}),))
        self.address = f"127.0.0.1:{self._server.add_insecure_port(address)}"
        self._server.start()

    def stop(self) -> None:
        self.gate.set()
        self._server.stop(0).wait(PATIENCE)


@pytest.fixture
def server():
    made = Server()
    yield made
    made.stop()


@pytest.fixture
def calls(server):
    made = Calls(server.address, lambda work: threading.Thread(target=work).start())
    wait_until(lambda: asked(made, b"give 0") is not None)
    yield made
    made.close()


def asked(calls, question, into=None):
    """(code, text, body), later; None where it goes by another way."""
    future: Future = Future()
    found = calls.begin("/x/Y", question, lambda *told: future.set_result(told), (), into)
    future.call = found
    return None if found is None else future


@pytest.mark.parametrize("size", [0, 256, 65536, 70_000 // 256 * 256, 30 << 20])
def test_sizes(calls, size):
    code, _, body = asked(calls, b"give %d" % size).result(PATIENCE)
    assert code == 0 and len(body) == size and not body.flags.writeable
    assert (body[:256] == np.arange(256)).all() if size else True
    into = np.zeros(size, np.uint8)
    assert asked(calls, b"give %d" % size, into).result(PATIENCE)[2] is into
    assert into.sum() == size // 256 * 255 * 128


def test_many_at_once(calls):
    for _ in range(20):
        found = [asked(calls, b"give %d" % (256 * n)) for n in range(20)]
        assert [len(f.result(PATIENCE)[2]) for f in found if f] == [256 * n for n, f in enumerate(found) if f]
    assert reactor.result(asked(calls, b"give 256"))[0] == 0  # whoever waits reads


def test_an_error(calls):
    assert asked(calls, b"fail").result(PATIENCE)[:2] == (errors.NOT_FOUND, "nothing here: ä")


def test_what_is_large_goes_by_another_way(calls):
    assert asked(calls, b"give 0" + b" " * (1 << 23)) is None
    assert asked(calls, b"give 0").result(PATIENCE)[0] == 0


def test_a_call_that_is_given_up(server, calls):
    waiting = asked(calls, b"wait")
    assert asked(calls, b"give 0").result(PATIENCE)[0] == 0
    waiting.call.cancel()
    assert server.cancelled.wait(PATIENCE)
    server.gate.set()
    assert asked(calls, b"give 256").result(PATIENCE)[0] == 0
    assert not waiting.done()


def test_a_peer_that_ends_and_comes_back(server, calls, monkeypatch):
    from headrace.distributed.sockets import calls as module

    monkeypatch.setattr(module, "AGAIN", 0.1)
    waiting = asked(calls, b"wait")
    over = server._server.stop(0)
    code, text, _ = waiting.result(PATIENCE)
    server.gate.set()
    assert over.wait(PATIENCE)
    assert code in (errors.UNAVAILABLE, errors.CANCELLED, errors.UNKNOWN), text
    wait_until(lambda: asked(calls, b"give 0") is None)
    again = Server(server.address)
    try:
        wait_until(lambda: asked(calls, b"give 0") is not None)
    finally:
        again.stop()


def test_a_connection_that_is_given_up(server, calls):
    waiting = asked(calls, b"wait")
    calls.reset("it is silent")
    assert waiting.result(PATIENCE)[:2] == (errors.UNAVAILABLE, "it is silent")
    server.gate.set()
    calls._not_before = 0.0
    wait_until(lambda: asked(calls, b"give 0") is not None)


def test_a_server_of_another_kind():
    """What it says is no HTTP/2: all calls go by another way, for good."""
    import socket

    with socket.create_server(("127.0.0.1", 0)) as listener:
        calls = Calls(f"127.0.0.1:{listener.getsockname()[1]}", lambda work: work())
        assert asked(calls, b"") is None
        other, _ = listener.accept()
        other.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        wait_until(lambda: calls._channel is not None and calls._channel.is_over)
        assert asked(calls, b"") is None
        other.close()
        calls.close()
