"""Calls to one address over gRPC.  An error says which peer, at which address, and what gRPC saw."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from headrace.core.errors import OpError, UnavailableError, UnimplementedError
from headrace.distributed import services
from headrace.distributed.status import from_status

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

    def fail(self, error: BaseException) -> None:
        """Whoever waits gets this error; the peer is told that nobody does any more."""
        if not self.done():
            self.set_exception(error)
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

    def call(self, method: str, request: Any, timeout: float | None = None, wait: bool = False) -> Answer:
        """The answer, later.  `wait`: for the peer to come up, instead of failing at once."""
        call = self._method(method).future(request, timeout=timeout, wait_for_ready=wait)
        future = Answer(call)
        call.add_done_callback(lambda done: self._answered(future, done))
        return future

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

    def _answered(self, future: Future[Any], call: Any) -> None:
        if future.done():
            return
        if call.cancelled():
            future.set_exception(self._error(self._grpc.StatusCode.CANCELLED, "the call was cancelled"))
            return
        error = call.exception()
        if error is None:
            future.set_result(call.result())
        else:
            future.set_exception(self._error(call.code(), call.details()))

    def _error(self, code: Any, details: str | None) -> OpError:
        number, details = code.value[0], details or code.name
        if "Stream removed" in details:
            number = UnavailableError.code
        if number == UnavailableError.code:
            return UnavailableError(None, None, f"{self.peer} at {self.address} is not there: {details}")
        return from_status(number, details)

    def close(self) -> None:
        self._channel.close()
