"""TF's WorkerService in front of a Worker: messages in, messages out."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from headrace.core.errors import UnimplementedError
from headrace.distributed import recv_response, services
from headrace.distributed.remote_worker import then
from headrace.distributed.status import to_status
from headrace.distributed.values import from_message, to_message
from headrace.distributed.worker import DeviceInfo, Worker, done
from headrace.formats import proto


class WorkerService:
    def __init__(self, worker: Worker) -> None:
        self.worker = worker

    def handlers(self) -> dict[str, Callable[[Any], Future[Any]]]:
        """What answers each method."""
        return {method: self._handler(method) for method in services.SERVICES["WorkerService"]}

    def _handler(self, method: str) -> Callable[[Any], Future[Any]]:
        found: Callable[[Any], Future[Any]] | None = getattr(self, method, None)

        def absent(request: Any) -> Future[Any]:
            raise UnimplementedError(None, None, f"{method} is not served here")

        return found or absent

    def GetStatus(self, request: Any) -> Future[Any]:
        return then(self.worker.devices(), _devices)

    def CreateWorkerSession(self, request: Any) -> Future[Any]:
        made = self.worker.create_session(request.session_handle, {}, request.isolate_session_state)
        return then(made, lambda _: proto.CreateWorkerSessionResponse())

    def DeleteWorkerSession(self, request: Any) -> Future[Any]:
        gone = self.worker.delete_session(request.session_handle)
        return then(gone, lambda _: proto.DeleteWorkerSessionResponse())

    def RegisterGraph(self, request: Any) -> Future[Any]:
        made = self.worker.register(_session(request), request.graph_def, request.graph_options)
        return then(made, lambda handle: proto.RegisterGraphResponse(graph_handle=handle))

    def DeregisterGraph(self, request: Any) -> Future[Any]:
        gone = self.worker.deregister(_session(request), request.graph_handle)
        return then(gone, lambda _: proto.DeregisterGraphResponse())

    def RunGraph(self, request: Any) -> Future[Any]:
        given = {named.name: from_message(named.tensor) for named in request.send}
        wanted = list(request.recv_key)
        running = self.worker.run(
            _session(request), request.graph_handle, request.step_id, given, wanted, request.request_id
        )
        if request.store_errors_in_response_body:
            running = _or_status(running)

        def answer(values: Any) -> Any:
            if not isinstance(values, list):
                code, text = values
                return proto.RunGraphResponse(status_code=code, status_error_message=text)
            response = proto.RunGraphResponse()
            for key, value in zip(wanted, values):
                response.recv.add(name=key).tensor.CopyFrom(to_message(value))
            return response

        return then(running, answer)

    def RecvTensor(self, request: Any) -> Future[Any]:
        value = self.worker.receive(request.step_id, request.rendezvous_key, request.request_id)
        return then(value, recv_response.encode)

    def MarkRecvFinished(self, request: Any) -> Future[Any]:
        return done(proto.MarkRecvFinishedResponse())

    def CleanupGraph(self, request: Any) -> Future[Any]:
        return then(self.worker.clean_step(request.step_id), lambda _: proto.CleanupGraphResponse())

    def CleanupAll(self, request: Any) -> Future[Any]:
        return then(self.worker.clean_containers(request.container), lambda _: proto.CleanupAllResponse())

    def Logging(self, request: Any) -> Future[Any]:
        return done(proto.LoggingResponse())

    def Tracing(self, request: Any) -> Future[Any]:
        return done(proto.TracingResponse())


def _session(request: Any) -> str:
    """Masters that make no sessions on workers share one, without a name."""
    return request.session_handle if request.create_worker_session_called else ""


def _devices(infos: list[DeviceInfo]) -> Any:
    return proto.GetStatusResponse(device_attributes=map(attributes, infos))


def attributes(info: DeviceInfo) -> Any:
    """A device as a message."""
    return proto.DeviceAttributes(
        name=info.name,
        device_type=info.kind,
        memory_limit=info.memory_limit,
        incarnation=info.incarnation,
        locality=proto.DeviceLocality(),
        physical_device_desc=info.description,
    )


def _or_status(running: Future[Any]) -> Future[Any]:
    """The value, or (code, text) of the error."""
    future: Future[Any] = Future()

    def go_on(ended: Future[Any]) -> None:
        if not future.set_running_or_notify_cancel():
            return
        error = ended.exception()
        future.set_result(ended.result() if error is None else to_status(error))

    running.add_done_callback(go_on)
    return future
