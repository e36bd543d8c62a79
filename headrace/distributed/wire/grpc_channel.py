"""Calls to one address over gRPC.  An error says which peer, at which address, and what gRPC saw.

No call waits for a peer that is silent (`pulse.py`): it fails as Unavailable, with the time since when.
Where the cluster has a secret (`security/secret.py`), the first call waits for a hello, by which both ends
show that they know it; a call that was refused only since the peer was started again is made again.  Without
secret and TLS the calls of steps go over a connection of our own (`sockets/calls.py`), which costs less.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from typing import Any

from headrace.core.errors import (
    CANCELLED,
    CancelledError,
    FailedPreconditionError,
    OpError,
    UnauthenticatedError,
    UnavailableError,
    UnimplementedError,
)
from headrace.core.later import call_later
from headrace.distributed.security import explain
from headrace.distributed.security.secret import CHALLENGE, Caller
from headrace.distributed.security.settings import Security
from headrace.distributed.security.tls import channel_credentials
from headrace.distributed.sockets import reactor
from headrace.distributed.sockets.calls import Calls
from headrace.distributed.wire import services
from headrace.distributed.wire.status import from_status, to_status
from headrace.distributed.wire.watch import Watch
from headrace.formats import proto
from headrace.runtime.executor import pool

log = logging.getLogger("headrace")
AGAIN = 0.2  # seconds until a peer that is not up is called again
SAY_EVERY = 10.0  # seconds between two lines about it
OF_STEPS = frozenset("RunGraph RecvTensor CleanupGraph Part RunStep RunCallable MarkRecvFinished".split())
_NOT_CONNECTED = re.compile("failed to connect|DNS resolution failed|name resolution", re.IGNORECASE)
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

    def __init__(self, method: str, request: Any, timeout: float | None, wait: bool) -> None:
        super().__init__()
        self.method, self.request, self.timeout, self.wait = method, request, timeout, wait
        self.call: Any = None  # gRPC's, once it is made
        self.into: Any = None  # memory for the answer, where it is plain octets
        self.was_refused = False  # for a key that the peer has forgotten
        self.began = self.said = time.monotonic()

    def fail(self, error: BaseException) -> None:
        """Whoever waits gets this error; the peer is told that nobody does any more."""
        try:
            self.set_exception(error)
        except InvalidStateError:
            return  # the answer came first
        if self.call is not None:
            self.call.cancel()


class GrpcChannel:
    """Messages to one address.  `decode`: functions that take answers of some methods apart themselves;
    `sender`: the task that calls, and which life of it."""

    def __init__(
        self,
        address: str,
        peer: str = "",
        decode: dict[str, Callable[[bytes], Any]] | None = None,
        security: Security | None = None,
        sender: str = "",
    ) -> None:
        self.address, self.peer = address, peer or address
        self._sender = ((services.SENDER, sender),) if sender else ()
        self._grpc = grpc_module()
        self._security = Security.from_environment() if security is None else security
        self._channel = self._open_channel()
        self._caller = Caller(self._security.secret) if self._security.secret else None
        self._greeting: list[Answer] | None = None  # calls that wait for the hello that is under way
        self._telling: Any = None  # the call by which the peer learns of a secret that is another
        self._decode = decode or {}
        self._methods: dict[str, Any] = {}
        self._header = tuple((name.encode(), value.encode()) for name, value in self._sender)
        self._lock = threading.Lock()
        self._watch = Watch(self.peer, address, self._ask, self._lost)
        is_plain = self._caller is None and not self._security.calls_tls
        is_ours = is_plain and reactor.is_supported()
        self._calls = Calls(address, pool().submit, self._watch.heard) if is_ours else None
        codes = self._grpc.StatusCode
        self._signs_of_life = (codes.OK, codes.UNAUTHENTICATED)  # who refuses lives

    def _open_channel(self) -> Any:
        if not self._security.calls_tls:
            return self._grpc.insecure_channel(self.address, options=OPTIONS)
        name = self._security.name
        options = [*OPTIONS, ("grpc.ssl_target_name_override", name)] if name else OPTIONS
        return self._grpc.secure_channel(
            self.address, channel_credentials(self._grpc, self._security), options=options
        )

    def call(
        self, method: str, request: Any, timeout: float | None = None, wait: bool = False, into: Any = None
    ) -> Answer:
        """The answer, later.  `wait`: for the peer to come up, instead of failing at once.  `into`: an array
        that an answer of octets may be read into; then it is the answer."""
        answer = Answer(method, request, timeout, wait)
        answer.into = into
        if not wait:
            self._watch.begin(answer)
        if self._caller is None or self._caller.is_known:
            self._send(answer)
        else:
            self._greet(answer)
        return answer

    def _send(self, answer: Answer) -> None:
        """By the shorter way, or by gRPC's library."""
        if answer.done():
            return  # given up meanwhile
        if answer.method in OF_STEPS and self._sent_by_own(answer):
            return
        signed = self._caller.sign(services.path(answer.method)) if self._caller is not None else ()
        try:
            answer.call = self._method(answer.method).future(
                answer.request, timeout=answer.timeout, metadata=signed + self._sender or None
            )
        except ValueError as error:  # the channel was closed meanwhile
            self._watch.end(answer)
            answer.fail(CancelledError(None, None, f"{self.peer} at {self.address}: {error}"))
            return
        answer.call.add_done_callback(lambda done: self._answered(answer, done))

    def _sent_by_own(self, answer: Answer) -> bool:
        """Over a connection of our own, if there is one, and it takes the call now."""
        if self._calls is None or answer.timeout is not None:
            return False
        method, message = answer.method, _octets(answer.request)

        def told(code: int, text: str, body: Any) -> None:
            if code:
                self._settle(answer, None, self._error(code, text))
                return
            try:
                is_taken = body is answer.into or method in self._decode
                value = (
                    body if body is answer.into else self._parse(method)(body if is_taken else body.tobytes())
                )
            except Exception as error:
                self._settle(answer, None, from_status(*to_status(error)))
            else:
                self._settle(answer, value, None)

        call = self._calls.begin(services.path(method), message, told, self._header, answer.into)
        if call is not None:
            answer.call = call
        return call is not None

    # -- the secret --------------------------------------------------------------------------------
    def _greet(self, answer: Answer) -> None:
        """The call waits for a hello: a harmless one, whoever is there."""
        assert self._caller is not None
        with self._lock:
            if self._greeting is not None:
                self._greeting.append(answer)
                return
            self._greeting = [answer]
        try:
            hello = self._method("GetStatus").future(proto.GetStatusRequest(), metadata=self._caller.hello())
        except ValueError as error:
            self._greeted(None, CancelledError(None, None, f"{self.peer} at {self.address}: {error}"))
            return
        hello.add_done_callback(self._greeted)

    def _greeted(self, call: Any, error: OpError | None = None) -> None:
        error = error or self._agreed(call)
        with self._lock:
            waiting, self._greeting = self._greeting or [], None
        for answer in waiting:
            if error is None:
                self._send(answer)
            elif not self._waits(answer, error, self._greet):
                self._watch.end(answer)
                answer.fail(error)

    def _agreed(self, call: Any) -> OpError | None:
        """What the peer's answer to a hello means; None where both know the secret."""
        assert self._caller is not None
        if call.cancelled():
            return self._error(CANCELLED, "the call was cancelled")
        if call.exception() is None:
            return self._unknown("asks for no secret, so that it can not show that it belongs to the cluster")
        if call.code() is not self._grpc.StatusCode.UNAUTHENTICATED or not _has_challenge(call):
            return self._error_of(call)
        if self._caller.on_challenge(_metadata(call)):
            return None
        signed = self._caller.sign(services.path("GetStatus"))  # so that the peer sees it, too, and says so
        self._telling = self._method("GetStatus").future(proto.GetStatusRequest(), metadata=signed)
        self._caller = Caller(self._security.secret)
        return self._unknown("has another secret than this process")

    def _unknown(self, why: str) -> UnauthenticatedError:
        text = (
            f"{self.peer} at {self.address} {why}: HEADRACE_CLUSTER_SECRET must be the same text everywhere"
        )
        return UnauthenticatedError(None, None, f"{text} (tasks of TensorFlow know no secret)")

    # -- signs of life ---------------------------------------------------------------------------
    def _ask(self) -> None:
        caller = self._caller
        shown = None
        if self._calls is not None and self._calls.begin(services.path("GetStatus"), b"", self._asked):
            return  # over the connection whose calls wait
        if caller is not None:
            shown = caller.sign(services.path("GetStatus")) if caller.is_known else caller.hello()
        try:
            asked = self._method("GetStatus").future(proto.GetStatusRequest(), metadata=shown)
        except ValueError:
            return  # the channel was closed meanwhile
        asked.add_done_callback(self._heard)

    def _lost(self, answer: Answer, error: OpError) -> None:
        """The peer is silent: should it come back, then perhaps not by this connection."""
        answer.fail(error)
        if self._calls is not None:
            call_later(0.0, self._renew)  # when all that wait have been told

    def _renew(self) -> None:
        assert self._calls is not None
        self._calls.reset("it was silent")

    def _asked(self, code: int, text: str, body: Any) -> None:
        if code:
            self._watch.in_vain()
        else:
            self._watch.heard()

    def _heard(self, call: Any) -> None:
        if not call.cancelled() and call.code() in self._signs_of_life:
            self._watch.heard()
        else:
            self._watch.in_vain()

    def _method(self, method: str) -> Any:
        found = self._methods.get(method)
        if found is None:
            with self._lock:
                found = self._methods[method] = self._channel.unary_unary(
                    services.path(method),
                    request_serializer=_octets,
                    response_deserializer=self._parse(method),
                )
        return found

    def _parse(self, method: str) -> Callable[[Any], Any]:
        found: Callable[[Any], Any] = self._decode.get(method) or services.response_class(method).FromString
        return found

    def _answered(self, answer: Answer, call: Any) -> None:
        """A call has ended: it may be worth another try (the peer is not there yet, or has lost our key),
        else its answer or error is the caller's."""
        if self._is_asked_again(answer, call):
            self._send(answer)
            return
        error: OpError | None = None
        if call.cancelled():
            error = self._error(CANCELLED, "the call was cancelled")
        elif call.exception() is not None:
            error = self._error_of(call)
        if error is not None and self._waits(answer, error, self._send):
            return
        self._settle(answer, None if error is not None else call.result(), error)

    def _settle(self, answer: Answer, value: Any, error: OpError | None) -> None:
        """The end of a call; whoever has answered lives."""
        if error is None:
            self._watch.heard()
        self._watch.end(answer)
        try:
            if error is None:
                answer.set_result(value)
            else:
                answer.set_exception(error)
        except InvalidStateError:
            pass  # given up meanwhile

    def _is_asked_again(self, answer: Answer, call: Any) -> bool:
        """The peer was started again and knows our key no more: it has refused the call, not begun it."""
        if self._caller is None or answer.was_refused or call.cancelled() or call.exception() is None:
            return False
        answer.was_refused = call.code() is self._grpc.StatusCode.UNAUTHENTICATED
        return answer.was_refused and _has_challenge(call) and self._caller.on_challenge(_metadata(call))

    def _waits(self, answer: Answer, error: OpError, again: Callable[[Answer], None]) -> bool:
        """A call that waits for its peer to come up is made again where no connection came about; gRPC's own
        waiting would hide why."""
        if (
            not answer.wait
            or not isinstance(error, UnavailableError)
            or not _NOT_CONNECTED.search(error.message)
        ):
            return False
        now = time.monotonic()
        if answer.timeout is not None and now - answer.began > answer.timeout:
            return False
        if now - answer.said > SAY_EVERY:
            answer.said = now
            log.warning("still waiting: %s", error.message)
        call_later(AGAIN, lambda: again(answer))
        return True

    def _error_of(self, call: Any) -> OpError:
        """Why a call of gRPC's failed."""
        code = call.code()
        return self._error(code.value[0], call.details() or code.name)

    def _error(self, number: int, details: str) -> OpError:
        if "Stream removed" in details:
            number = UnavailableError.code
        if number == UnavailableError.code:
            self._watch.last_error = f"{details} ({time.strftime('%H:%M:%S')})"
            cause = explain.cause(details, self.address, self._security)
            if cause is not None:
                return FailedPreconditionError(
                    None, None, f"{self.peer} at {self.address} can not be used: {cause.text} ({details})"
                )
            return UnavailableError(None, None, f"{self.peer} at {self.address} is not there: {details}")
        return from_status(number, details)

    def close(self) -> None:
        self._watch.close()
        if self._calls is not None:
            self._calls.close()
        if self._telling is not None:  # a channel that is closed sends nothing any more
            with contextlib.suppress(self._grpc.FutureTimeoutError, self._grpc.RpcError):
                self._telling.exception(timeout=1.0)
        self._channel.close()


def _octets(request: Any) -> bytes:
    made: bytes = request if type(request) is bytes else request.SerializeToString()
    return made


def _metadata(call: Any) -> dict[str, Any]:
    return dict(call.trailing_metadata() or ())


def _has_challenge(call: Any) -> bool:
    return CHALLENGE in _metadata(call)
