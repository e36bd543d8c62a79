"""Listen for gRPC calls at one address and hand them to services.

An event loop in a thread of its own takes all calls: one that waits for a value holds no thread.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from headrace.core.errors import UnknownError
from headrace.distributed import services
from headrace.distributed.grpc_channel import grpc_module
from headrace.distributed.status import to_status

OPTIONS = [
    ("grpc.max_send_message_length", -1),
    ("grpc.max_receive_message_length", -1),
    ("grpc.so_reuseport", 0),  # an address in use is an error, not a second server beside the first
]
Handle = Callable[[Any], "Future[Any]"]  # a request -> its answer: a message, or bytes
_DETAILS = 4000  # bytes of a text that fit into gRPC's headers


class GrpcServer:
    """`handlers`: what answers each method."""

    def __init__(self, address: str, handlers: dict[str, Handle]) -> None:
        self._grpc = grpc_module()
        self._handlers = handlers
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="headrace-grpc", daemon=True)
        self._thread.start()
        self.port = self._do(self._bind(address))

    def start(self) -> None:
        self._do(self._server.start())

    def stop(self, grace: float = 0.0) -> None:
        if self._loop.is_closed():
            return
        self._do(self._server.stop(grace))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)

    def _do(self, coroutine: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(30)

    async def _bind(self, address: str) -> int:
        from grpc import aio

        self._server = aio.server(options=OPTIONS)
        handlers = {services.path(m): self._rpc(m, handle) for m, handle in self._handlers.items()}

        class Handlers(self._grpc.GenericRpcHandler):  # type: ignore[name-defined, misc]
            def service(self, details: Any) -> Any:
                return handlers.get(details.method)

        self._server.add_generic_rpc_handlers((Handlers(),))
        try:
            port = self._server.add_insecure_port(address)
        except RuntimeError:
            port = 0
        if not port:
            raise UnknownError(None, None, f"Could not start gRPC server: {address} is in use or not ours")
        return int(port)

    def _rpc(self, method: str, handle: Handle) -> Any:
        codes = {code.value[0]: code for code in self._grpc.StatusCode}

        async def call(request: Any, context: Any) -> Any:
            answer: Any = None
            try:
                answer = handle(request)
                return await asyncio.wrap_future(answer)
            except asyncio.CancelledError:  # the caller has gone
                if hasattr(answer, "stop"):
                    answer.stop()
                raise
            except Exception as error:
                number, text = to_status(error)
                await context.abort(codes[number], text.encode()[:_DETAILS].decode(errors="ignore"))

        return self._grpc.unary_unary_rpc_method_handler(
            call,
            request_deserializer=services.request_class(method).FromString,
            response_serializer=lambda made: made if type(made) is bytes else made.SerializeToString(),
        )
