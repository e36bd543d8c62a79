"""TF's MasterService in front of a Master: messages in, messages out."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from headrace.core.errors import CancelledError, UnimplementedError
from headrace.distributed.cluster.spec import task_of
from headrace.distributed.master.master import Master
from headrace.distributed.security.allow import ALL, Allowed
from headrace.distributed.wire import services
from headrace.distributed.wire.status import to_status
from headrace.distributed.wire.values import from_message, to_message
from headrace.distributed.worker.service import attributes
from headrace.formats import proto
from headrace.runtime.executor import pool

WATCHED = frozenset({"CreateSession", "RunStep", "RunCallable"})  # may be long: the client may give up


class MasterService:
    """Each call has a thread of the pool: what it does may wait for tasks."""

    def __init__(self, master: Master, allowed: Allowed = ALL) -> None:
        self.master, self._allowed = master, allowed

    def handlers(self) -> dict[str, Callable[[Any], Future[Any]]]:
        return {method: self._handler(method) for method in services.SERVICES["MasterService"]}

    def _handler(self, method: str) -> Callable[[Any], Future[Any]]:
        found = getattr(self, method, None)
        if found is None:

            def absent(request: Any) -> Future[Any]:
                raise UnimplementedError(None, None, f"{method} is not served here")

            return absent
        if method in WATCHED:
            return lambda request: self._watched(found, request)
        return lambda request: pool().submit(found, request)

    def _watched(self, method: Callable[[Any, Any], Any], request: Any) -> Future[Any]:
        """A client that goes away ends its step, or its wait for tasks."""
        running: list[Any] = []
        answer = pool().submit(method, request, running.append)

        def stop() -> None:
            for step in running:
                step.stop(CancelledError(None, None, "The client has given up the step."))

        answer.stop = stop  # type: ignore[attr-defined]
        return answer

    def CreateSession(self, request: Any, watch: Any = None) -> Any:
        if request.config.cluster_def.job:
            self._allowed.check_cluster(self.master.task)
        handle, version = self.master.create_session(
            request.graph_def, request.config, watch, request.target, guest=True
        )
        return proto.CreateSessionResponse(session_handle=handle, graph_version=version)

    def ExtendSession(self, request: Any) -> Any:
        version = self.master.extend(request.session_handle, request.graph_def, request.current_graph_version)
        return proto.ExtendSessionResponse(new_graph_version=version)

    def RunStep(self, request: Any, watch: Any = None) -> Any:
        response = proto.RunStepResponse()
        try:
            values, metadata = self._run_step(request, watch)
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

    def _run_step(self, request: Any, watch: Any) -> tuple[list[Any], Any]:
        self.master.limits.check_tensors(named.tensor for named in request.feed)
        feeds = {named.name: from_message(named.tensor) for named in request.feed}
        session, run = request.session_handle, request.partial_run_handle
        if run:
            return self.master.partial_run(session, run, feeds, request.fetch, watch), None
        options = request.options if request.HasField("options") else None
        return self.master.run(session, feeds, request.fetch, request.target, options, watch)

    def PartialRunSetup(self, request: Any) -> Any:
        run = self.master.partial_setup(request.session_handle, request.feed, request.fetch, request.target)
        return proto.PartialRunSetupResponse(partial_run_handle=run)

    def MakeCallable(self, request: Any) -> Any:
        handle = self.master.make_callable(request.session_handle, request.options)
        return proto.MakeCallableResponse(handle=handle)

    def RunCallable(self, request: Any, watch: Any = None) -> Any:
        self.master.limits.check_tensors(request.feed)
        values = [from_message(message) for message in request.feed]
        found, metadata = self.master.run_callable(request.session_handle, request.handle, values, watch)
        return proto.RunCallableResponse(fetch=map(to_message, found), metadata=metadata)

    def ReleaseCallable(self, request: Any) -> Any:
        self.master.release_callable(request.session_handle, request.handle)
        return proto.ReleaseCallableResponse()

    def CloseSession(self, request: Any) -> Any:
        self.master.close_session(request.session_handle)
        return proto.CloseSessionResponse()

    def ListDevices(self, request: Any) -> Any:
        devices = self.master.list_devices(request.session_handle)
        here = task_of(devices[0].name) if request.session_handle else self.master.task
        mine = [d for d in devices if task_of(d.name) == here]
        others = [d for d in devices if d not in mine]
        return proto.ListDevicesResponse(
            local_device=map(attributes, mine), remote_device=map(attributes, others)
        )

    def Reset(self, request: Any) -> Any:
        self.master.reset(request.container, request.device_filters)
        return proto.ResetResponse()
