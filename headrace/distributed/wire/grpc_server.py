"""Listen for gRPC calls at one address and hand them to services.

An event loop in a thread of its own takes all calls: one that waits for a value holds no thread.  Where the
cluster has a secret, a caller who does not know it is refused before its message is read.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from google.protobuf.message import DecodeError

from headrace.core.errors import InvalidArgumentError, UnknownError
from headrace.distributed.security.secret import Door, Refusal
from headrace.distributed.security.settings import Security
from headrace.distributed.security.tls import server_credentials
from headrace.distributed.wire import services
from headrace.distributed.wire.grpc_channel import grpc_module
from headrace.distributed.wire.status import to_status

log = logging.getLogger("headrace")
OPTIONS = [
    ("grpc.keepalive_time_ms", 20_000),  # a client whose host has gone is noticed
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.max_send_message_length", -1),
    ("grpc.so_reuseport", 0),  # an address in use is an error, not a second server beside the first
]
Handle = Callable[[Any], "Future[Any]"]  # a request -> its answer: a message, or bytes
_DETAILS = 4000  # bytes of a text that fit into gRPC's headers
_SAY_EVERY = 10.0  # seconds between two lines about callers of one kind who are not let in


class GrpcServer:
    """`handlers`: what answers each method; `who`: the task, as its refusals name it."""

    def __init__(
        self, address: str, handlers: dict[str, Handle], security: Security | None = None, who: str = ""
    ) -> None:
        self._grpc = grpc_module()
        self._handlers = handlers
        self._security, self._who = security or Security(), who or address
        self.door = Door(self._security.secret, self._who) if self._security.secret else None
        self._said: dict[str, float] = {}  # when a refusal was last reported, by its text
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="headrace-grpc", daemon=True)
        self._thread.start()
        try:
            self.port = self._do(self._bind(address))
        except BaseException:
            self._end_loop()
            raise

    def start(self) -> None:
        self._do(self._server.start())

    def stop(self, grace: float = 0.0) -> None:
        """Once; a second call finds nothing to do."""
        if self._loop.is_running():
            self._do(self._server.stop(grace))
            self._end_loop()

    def _end_loop(self) -> None:
        """The thread, and the loop's sockets."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)
        if not self._thread.is_alive():
            self._loop.close()

    def _do(self, coroutine: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(30)

    async def _bind(self, address: str) -> int:
        """Listen.  All methods go through one handler of our own: who may not come in is refused before a
        byte of his message is parsed."""
        from grpc import aio

        most = ("grpc.max_receive_message_length", self._security.limits.message)
        self._server = aio.server(options=[*OPTIONS, most])
        handlers = {services.path(m): self._rpc(m, handle) for m, handle in self._handlers.items()}
        enter = self._enter

        class Handlers(self._grpc.GenericRpcHandler):  # type: ignore[name-defined, misc]
            def service(self, details: Any) -> Any:
                return enter(details) or handlers.get(details.method)

        self._server.add_generic_rpc_handlers((Handlers(),))
        try:
            if self._security.serves_tls:
                credentials = server_credentials(self._grpc, self._security)
                port = self._server.add_secure_port(address, credentials)
            else:
                port = self._server.add_insecure_port(address)
        except RuntimeError:
            port = 0
        if not port:
            text = f"{self._who} can not listen at {address}: {_obstacle(address)}"
            raise UnknownError(None, None, f"Could not start gRPC server: {text}")
        return int(port)

    # -- who may come in ---------------------------------------------------------------------------
    def _enter(self, details: Any) -> Any:
        """None for a caller who may come in, else what refuses it."""
        if self.door is None:
            return None
        refusal = self.door.enter(details.method, dict(details.invocation_metadata))
        if refusal is None:
            return None

        async def refuse(messages: Any, context: Any) -> Any:
            if not refusal.is_known:
                self._report(refusal, details.method, context.peer())
            context.set_trailing_metadata(refusal.metadata)
            await context.abort(self._grpc.StatusCode.UNAUTHENTICATED, refusal.text)

        return self._grpc.stream_unary_rpc_method_handler(refuse)  # a stream: its messages are not read

    def _report(self, refusal: Refusal, method: str, peer: str) -> None:
        now = time.monotonic()
        if now - self._said.get(refusal.text, -_SAY_EVERY) >= _SAY_EVERY:
            self._said[refusal.text] = now
            log.warning("%s was refused to %s: %s", method, peer, refusal.text)

    # -- calls -------------------------------------------------------------------------------------
    def _rpc(self, method: str, handle: Handle) -> Any:
        """What gRPC calls for a method: parse, let `handle` answer without blocking the loop, errors as a
        status."""
        codes = {code.value[0]: code for code in self._grpc.StatusCode}
        parse = services.request_class(method).FromString
        asks_who = method in services.ASK_WHO

        async def call(data: bytes, context: Any) -> Any:
            answer: Any = None
            try:
                try:
                    request = parse(data)
                except DecodeError as error:
                    raise InvalidArgumentError(None, None, f"no {method}Request: {error}") from None
                if asks_who:
                    services.sender.set(str(dict(context.invocation_metadata()).get(services.SENDER, "")))
                answer = handle(request)
                return answer.result() if answer.done() else await asyncio.wrap_future(answer)
            except asyncio.CancelledError:  # the caller has gone
                if hasattr(answer, "stop"):
                    answer.stop()
                raise
            except Exception as error:
                number, text = to_status(error)
                await context.abort(codes[number], text.encode()[:_DETAILS].decode(errors="ignore"))

        return self._grpc.unary_unary_rpc_method_handler(
            call, response_serializer=lambda made: made if type(made) is bytes else made.SerializeToString()
        )


def _obstacle(address: str) -> str:
    """Why nobody can listen there, which gRPC does not tell: the system's own words."""
    host, _, port = address.rpartition(":")
    host = host.strip("[]")
    try:
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
            probe.bind((host, int(port)))
            probe.listen(1)
    except (OSError, OverflowError, ValueError) as error:
        return getattr(error, "strerror", None) or str(error)
    return "gRPC does not say why"
