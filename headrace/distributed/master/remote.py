"""A master in another process: MasterInterface over a channel, in TF's messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from headrace.core.errors import CancelledError, DeadlineExceededError, OpError, UnavailableError
from headrace.core.later import call_later
from headrace.distributed.security.settings import Security
from headrace.distributed.sockets.reactor import result
from headrace.distributed.wire.grpc_channel import Answer, GrpcChannel
from headrace.distributed.wire.status import from_status
from headrace.distributed.wire.values import from_message, to_message
from headrace.distributed.worker.interface import DeviceInfo
from headrace.distributed.worker.remote import request_id
from headrace.formats import proto


class RemoteStep:
    """A step under way at a master elsewhere."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer

    def stop(self, error: OpError) -> None:
        """The caller goes on with `error`; the master notices that nobody waits, and ends the step."""
        self._answer.fail(error)


CLOSING = 10.0  # seconds that a master has to end a session
Watch = Callable[[RemoteStep], None]


class RemoteMaster:
    """`watch` gets a RemoteStep, by which the caller can give up."""

    def __init__(self, address: str, security: Security | None = None) -> None:
        self.address = address
        self._channel = GrpcChannel(address, "the master", security=security)
        self._attending: dict[str, Answer] = {}

    def _call(self, method: str, request: Any, watch: Watch | None = None, wait: bool = False) -> Any:
        answer = self._channel.call(method, request, wait=wait)
        if watch is not None:
            watch(RemoteStep(answer))
        return result(answer)

    def create_session(
        self, graph_def: Any, config: Any, watch: Watch | None = None, target: str = ""
    ) -> tuple[str, int]:
        request = proto.CreateSessionRequest(graph_def=graph_def, config=config, target=target)
        response = self._call("CreateSession", request, watch, wait=True)
        self._attend(response.session_handle)
        return response.session_handle, response.graph_version

    def _attend(self, session: str) -> None:
        """Show that this client is there: an open call, which ends with the process.  TensorFlow's masters do
        not know it, and keep sessions of clients that vanish."""
        call = self._attending[session] = self._channel.call("Attend", session.encode(), wait=True)

        def ended(done: Future[Any]) -> None:
            if isinstance(done.exception(), UnavailableError):
                call_later(1.0, again)

        def again() -> None:
            if session in self._attending:
                self._attend(session)

        call.add_done_callback(ended)

    def _leave(self, session: str) -> None:
        call = self._attending.pop(session, None)
        if call is not None:
            call.fail(CancelledError(None, None, "The session is closed."))

    def extend(self, session: str, graph_def: Any, version: int) -> int:
        request = proto.ExtendSessionRequest(
            session_handle=session, graph_def=graph_def, current_graph_version=version
        )
        new: int = self._call("ExtendSession", request).new_graph_version
        return new

    def run(
        self,
        session: str,
        feeds: Mapping[str, Any],
        fetches: Sequence[str],
        targets: Sequence[str],
        options: Any = None,
        watch: Watch | None = None,
    ) -> tuple[list[Any], Any]:
        """One step; the metadata are those that `options` ask for."""
        request = _run_step(session, feeds, fetches)
        request.target.extend(targets)
        if options is not None:
            request.options.CopyFrom(options)
        response = self._call("RunStep", request, watch)
        return _fetched(response, fetches), response.metadata

    def partial_setup(
        self, session: str, feeds: Sequence[str], fetches: Sequence[str], targets: Sequence[str]
    ) -> str:
        request = proto.PartialRunSetupRequest(
            session_handle=session, feed=feeds, fetch=fetches, target=targets, request_id=request_id()
        )
        run: str = self._call("PartialRunSetup", request).partial_run_handle
        return run

    def partial_run(
        self,
        session: str,
        run: str,
        feeds: Mapping[str, Any],
        fetches: Sequence[str],
        watch: Watch | None = None,
    ) -> list[Any]:
        request = _run_step(session, feeds, fetches)
        request.partial_run_handle = run
        return _fetched(self._call("RunStep", request, watch), fetches)

    def make_callable(self, session: str, options: Any) -> int:
        request = proto.MakeCallableRequest(session_handle=session, options=options, request_id=request_id())
        handle: int = self._call("MakeCallable", request).handle
        return handle

    def run_callable(
        self, session: str, handle: int, values: Sequence[Any], watch: Watch | None = None
    ) -> tuple[list[Any], Any]:
        request = proto.RunCallableRequest(session_handle=session, handle=handle, request_id=request_id())
        request.feed.extend(map(to_message, values))
        response = self._call("RunCallable", request, watch)
        return [from_message(message) for message in response.fetch], response.metadata

    def release_callable(self, session: str, handle: int) -> None:
        """Nobody waits for it: it is said where objects die."""
        self._channel.call(
            "ReleaseCallable", proto.ReleaseCallableRequest(session_handle=session, handle=handle)
        )

    def close_session(self, session: str) -> None:
        self._leave(session)
        request = proto.CloseSessionRequest(session_handle=session)
        self._channel.call("CloseSession", request, timeout=CLOSING).result()

    def list_devices(self, session: str) -> list[DeviceInfo]:
        response = self._call("ListDevices", proto.ListDevicesRequest(session_handle=session))
        devices = [*response.local_device, *response.remote_device]
        return [DeviceInfo(d.name, d.device_type, d.memory_limit, d.incarnation) for d in devices]

    def reset(self, containers: Sequence[str], filters: Sequence[str], timeout_in_ms: int = 0) -> None:
        """With a limit of time it waits for a master that is not there yet."""
        request = proto.ResetRequest(container=containers, device_filters=filters)
        limit = timeout_in_ms / 1000 or None
        try:
            self._channel.call("Reset", request, timeout=limit, wait=limit is not None).result()
        except UnavailableError as error:
            if limit is None:
                raise
            text = f"No reset within {timeout_in_ms} ms: {error.message}"
            raise DeadlineExceededError(None, None, text) from error

    def close(self) -> None:
        for session in list(self._attending):
            self._leave(session)
        self._channel.close()


def _run_step(session: str, feeds: Mapping[str, Any], fetches: Sequence[str]) -> Any:
    request = proto.RunStepRequest(
        session_handle=session, fetch=fetches, store_errors_in_response_body=True, request_id=request_id()
    )
    for name, value in feeds.items():
        request.feed.add(name=name).tensor.CopyFrom(to_message(value))
    return request


def _fetched(response: Any, fetches: Sequence[str]) -> list[Any]:
    if response.status_code:
        raise from_status(response.status_code, response.status_error_message)
    found = {named.name: named.tensor for named in response.tensor}
    return [from_message(found[name]) for name in fetches]
