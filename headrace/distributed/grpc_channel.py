"""Calls to one address over gRPC.  An error says which peer, at which address, and what gRPC saw.

No call waits for a peer that is silent (`pulse.py`): it fails as Unavailable, with the time since when.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from typing import Any

from headrace.core.errors import OpError, UnavailableError, UnimplementedError
from headrace.core.later import call_later
from headrace.distributed import services
from headrace.distributed.pulse import EVERY, Pulse, Todo
from headrace.distributed.status import from_status
from headrace.formats import proto

OPTIONS = [
    ("grpc.max_send_message_length", -1),
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_reconnect_backoff_ms", 1000),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.enable_http_proxy", 0),
    ("grpc.use_local_subchannel_pool", 1),  # a task that comes back at an address is another one
]


def grpc_module() -> Any:
    """The library, which is only there with the extra `cluster`."""
    # A child of a fork goes on without gRPC; its own handlers wait for calls that are under way.
    os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
    os.environ.setdefault("GRPC_VERBOSITY", "ERROR")  # that a peer has gone is told by our own errors
    try:
        import grpc
    except ImportError:
        raise UnimplementedError(None, None, "clusters need grpcio: pip install headrace[cluster]") from None
    return grpc


class Answer(Future[Any]):
    """The answer to a call, which its caller may give up."""

    def __init__(self, call: Any) -> None:
        super().__init__()
        self._call = call
        self.began = time.monotonic()

    def fail(self, error: BaseException) -> None:
        """Whoever waits gets this error; the peer is told that nobody does any more."""
        try:
            self.set_exception(error)
        except InvalidStateError:
            return  # the answer came first
        self._call.cancel()


class GrpcChannel:
    """Messages to one address.  `decode`: functions that take answers of some methods apart themselves."""

    def __init__(self, address: str, peer: str = "", decode: dict[str, Callable[[bytes], Any]] | None = None):
        self.address, self.peer = address, peer or address
        self._grpc = grpc_module()
        self._channel = self._grpc.insecure_channel(address, options=OPTIONS)
        self._decode = decode or {}
        self._methods: dict[str, Any] = {}
        self._lock = threading.Lock()
        self._open: set[Answer] = set()  # calls whose peer must show that it lives
        self._pulse, self._is_ticking = Pulse(), False
        self._last = "none"  # the last error

    def call(self, method: str, request: Any, timeout: float | None = None, wait: bool = False) -> Answer:
        """The answer, later.  `wait`: for the peer to come up, instead of failing at once."""
        call = self._method(method).future(request, timeout=timeout, wait_for_ready=wait)
        future = Answer(call)
        if not wait:
            self._watch(future)
        call.add_done_callback(lambda done: self._answered(future, done))
        return future

    # -- signs of life ---------------------------------------------------------------------------
    def _watch(self, answer: Answer) -> None:
        with self._lock:
            self._open.add(answer)
            if self._is_ticking:
                return
            self._is_ticking = True
            self._pulse.begin(answer.began)
        call_later(EVERY, self._tick)

    def _tick(self) -> None:
        now, lost = time.monotonic(), []
        with self._lock:
            if not self._open:
                self._is_ticking = False
                return
            todo = self._pulse.on_tick(now, min(answer.began for answer in self._open))
            silent = now - self._pulse.heard
            if todo is Todo.GIVE_UP:
                lost = list(self._open)
                self._open.clear()
                self._is_ticking = False
        if todo is Todo.ASK:
            self._ask()
        for answer in lost:
            answer.fail(self._silent(silent))
        if not lost:
            call_later(EVERY, self._tick)

    def _ask(self) -> None:
        try:
            asked = self._method("GetStatus").future(proto.GetStatusRequest())
        except ValueError:
            return  # the channel was closed meanwhile
        asked.add_done_callback(self._heard)

    def _heard(self, call: Any) -> None:
        with self._lock:
            if not call.cancelled() and call.exception() is None:
                self._pulse.on_answer(time.monotonic())
            else:
                self._pulse.on_silence()

    def _silent(self, seconds: float) -> UnavailableError:
        since = time.strftime("%H:%M:%S", time.localtime(time.time() - seconds))
        text = f"{self.peer} at {self.address} gives no sign of life since {since}, for {seconds:.1f} s"
        return UnavailableError(None, None, f"{text}; its last error: {self._last}")

    def _method(self, method: str) -> Any:
        found = self._methods.get(method)
        if found is None:
            with self._lock:
                found = self._methods[method] = self._channel.unary_unary(
                    services.path(method),
                    request_serializer=lambda message: message.SerializeToString(),
                    response_deserializer=self._decode.get(method)
                    or services.response_class(method).FromString,
                )
        return found

    def _answered(self, future: Answer, call: Any) -> None:
        with self._lock:
            self._open.discard(future)
        error: OpError | None = None
        if call.cancelled():
            error = self._error(self._grpc.StatusCode.CANCELLED, "the call was cancelled")
        elif call.exception() is not None:
            error = self._error(call.code(), call.details())
        else:
            with self._lock:
                self._pulse.on_answer(time.monotonic())
        try:
            if error is None:
                future.set_result(call.result())
            else:
                future.set_exception(error)
        except InvalidStateError:
            pass  # given up meanwhile

    def _error(self, code: Any, details: str | None) -> OpError:
        number, details = code.value[0], details or code.name
        if "Stream removed" in details:
            number = UnavailableError.code
        if number == UnavailableError.code:
            self._last = f"{details} ({time.strftime('%H:%M:%S')})"
            return UnavailableError(None, None, f"{self.peer} at {self.address} is not there: {details}")
        return from_status(number, details)

    def close(self) -> None:
        with self._lock:
            self._open.clear()  # nobody is asked after any more
        self._channel.close()
