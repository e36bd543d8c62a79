"""A master in another process: MasterInterface over a channel, in TF's messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headrace.core.errors import OpError
from headrace.distributed.grpc_channel import GrpcChannel
from headrace.distributed.remote_worker import request_id
from headrace.distributed.status import from_status
from headrace.distributed.values import from_message, to_message
from headrace.distributed.worker import DeviceInfo
from headrace.formats import proto


class Call:
    """A step under way at a master elsewhere."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer

    def stop(self, error: OpError) -> None:
        """The caller goes on with `error`; the master notices that nobody waits, and ends the step."""
        self._answer.fail(error)


CLOSING = 10.0  # seconds that a master has to end a session
Watch = Callable[[Call], None]


class RemoteMaster:
    """`watch` gets a Call, by which the caller can give up."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._channel = GrpcChannel(address, "the master")

    def _call(self, method: str, request: Any, watch: Watch | None = None, wait: bool = False) -> Any:
        answer = self._channel.call(method, request, wait=wait)
        if watch is not None:
            watch(Call(answer))
        return answer.result()

    def create_session(self, graph_def: Any, config: Any, watch: Watch | None = None) -> tuple[str, int]:
        request = proto.CreateSessionRequest(graph_def=graph_def, config=config)
        response = self._call("CreateSession", request, watch, wait=True)
        return response.session_handle, response.graph_version

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
        request = proto.RunStepRequest(
            session_handle=session,
            fetch=fetches,
            target=targets,
            store_errors_in_response_body=True,
            request_id=request_id(),
        )
        if options is not None:
            request.options.CopyFrom(options)
        for name, value in feeds.items():
            request.feed.add(name=name).tensor.CopyFrom(to_message(value))
        response = self._call("RunStep", request, watch)
        if response.status_code:
            raise from_status(response.status_code, response.status_error_message)
        found = {named.name: named.tensor for named in response.tensor}
        return [from_message(found[name]) for name in fetches], response.metadata

    def close_session(self, session: str) -> None:
        request = proto.CloseSessionRequest(session_handle=session)
        self._channel.call("CloseSession", request, timeout=CLOSING).result()

    def list_devices(self, session: str) -> list[DeviceInfo]:
        response = self._call("ListDevices", proto.ListDevicesRequest(session_handle=session))
        devices = [*response.local_device, *response.remote_device]
        return [DeviceInfo(d.name, d.device_type, d.memory_limit, d.incarnation) for d in devices]

    def reset(self, containers: Sequence[str], filters: Sequence[str]) -> None:
        self._call("Reset", proto.ResetRequest(container=containers, device_filters=filters))

    def close(self) -> None:
        self._channel.close()
