"""TF's MasterService in front of a Master: messages in, messages out."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from headrace.core.errors import CancelledError, UnimplementedError
from headrace.distributed import services
from headrace.distributed.master import Master
from headrace.distributed.status import to_status
from headrace.distributed.values import from_message, to_message
from headrace.distributed.worker_service import attributes
from headrace.formats import proto
from headrace.runtime.executor import pool


class MasterService:
    """Each call has a thread of the pool: what it does may wait for tasks."""

    def __init__(self, master: Master) -> None:
        self.master = master

    def handlers(self) -> dict[str, Callable[[Any], Future[Any]]]:
        return {method: self._handler(method) for method in services.SERVICES["MasterService"]}

    def _handler(self, method: str) -> Callable[[Any], Future[Any]]:
        found = getattr(self, method, None)
        if found is None:

            def absent(request: Any) -> Future[Any]:
                raise UnimplementedError(None, None, f"{method} is not served here")

            return absent
        if method == "RunStep":
            return self._run_step
        return lambda request: pool().submit(found, request)

    def _run_step(self, request: Any) -> Future[Any]:
        """A client that goes away ends its step."""
        running: list[Any] = []
        answer = pool().submit(self.RunStep, request, running.append)

        def stop() -> None:
            for step in running:
                step.stop(CancelledError(None, None, "The client has given up the step."))

        answer.stop = stop  # type: ignore[attr-defined]
        return answer

    def CreateSession(self, request: Any) -> Any:
        handle, version = self.master.create_session(request.graph_def, request.config)
        return proto.CreateSessionResponse(session_handle=handle, graph_version=version)

    def ExtendSession(self, request: Any) -> Any:
        version = self.master.extend(request.session_handle, request.graph_def, request.current_graph_version)
        return proto.ExtendSessionResponse(new_graph_version=version)

    def RunStep(self, request: Any, watch: Any = None) -> Any:
        response = proto.RunStepResponse()
        try:
            feeds = {named.name: from_message(named.tensor) for named in request.feed}
            values, metadata = self.master.run(
                request.session_handle, feeds, request.fetch, request.target, request.options, watch
            )
        except Exception as error:
            if not request.store_errors_in_response_body:
                raise
            response.status_code, response.status_error_message = to_status(error)
            return response
        for name, value in zip(request.fetch, values):
            response.tensor.add(name=name).tensor.CopyFrom(to_message(value))
        if metadata is not None:
            response.metadata.CopyFrom(metadata)
        return response

    def MakeCallable(self, request: Any) -> Any:
        options = request.options
        handle = self.master.make_callable(
            request.session_handle, options.feed, options.fetch, options.target
        )
        return proto.MakeCallableResponse(handle=handle)

    def RunCallable(self, request: Any) -> Any:
        values = [from_message(message) for message in request.feed]
        found = self.master.run_callable(request.session_handle, request.handle, values)
        return proto.RunCallableResponse(fetch=map(to_message, found))

    def ReleaseCallable(self, request: Any) -> Any:
        self.master.release_callable(request.session_handle, request.handle)
        return proto.ReleaseCallableResponse()

    def CloseSession(self, request: Any) -> Any:
        self.master.close_session(request.session_handle)
        return proto.CloseSessionResponse()

    def ListDevices(self, request: Any) -> Any:
        devices = self.master.list_devices(request.session_handle)
        mine = [d for d in devices if d.name.startswith(self.master.task + "/")]
        others = [d for d in devices if d not in mine]
        return proto.ListDevicesResponse(
            local_device=map(attributes, mine), remote_device=map(attributes, others)
        )

    def Reset(self, request: Any) -> Any:
        self.master.reset(request.container, request.device_filters)
        return proto.ResetResponse()
