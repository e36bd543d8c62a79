"""TF's WorkerService in front of a Worker: messages in, messages out."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from headrace.core.dtypes import as_dtype
from headrace.core.errors import InvalidArgumentError, UnimplementedError
from headrace.distributed.wire import parts, recv_response, services
from headrace.distributed.wire.status import to_status
from headrace.distributed.wire.values import from_message, to_message
from headrace.distributed.worker.collectives import buffer_key
from headrace.distributed.worker.futures import done, pass_on, then
from headrace.distributed.worker.interface import Call, DeviceInfo
from headrace.distributed.worker.recording import Recording
from headrace.distributed.worker.remote_collectives import with_content
from headrace.distributed.worker.worker import Worker
from headrace.formats import proto
from headrace.runtime.collectives.groups import Group, Meaning


class WorkerService:
    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self._held = parts.Held()

    def handlers(self) -> dict[str, Callable[[Any], Future[Any]]]:
        """What answers each method."""
        methods = [*services.SERVICES["WorkerService"], "Part"]
        return {method: self._handler(method) for method in methods}

    def _handler(self, method: str) -> Callable[[Any], Future[Any]]:
        found: Callable[[Any], Future[Any]] | None = getattr(self, method, None)

        def absent(request: Any) -> Future[Any]:
            raise UnimplementedError(None, None, f"{method} is not served here")

        return found or absent

    def GetStatus(self, request: Any) -> Future[Any]:
        return then(self.worker.devices(), _devices)

    def CreateWorkerSession(self, request: Any) -> Future[Any]:
        if request.server_def.cluster.job:
            self.worker.allowed.check_cluster(self.worker.task)
        made = self.worker.create_session(
            request.session_handle, request.server_def, request.isolate_session_state
        )
        return then(made, lambda _: proto.CreateWorkerSessionResponse())

    def DeleteWorkerSession(self, request: Any) -> Future[Any]:
        gone = self.worker.delete_session(request.session_handle)
        return then(gone, lambda _: proto.DeleteWorkerSessionResponse())

    def RegisterGraph(self, request: Any) -> Future[Any]:
        made = self.worker.register(
            _session(request),
            request.graph_def,
            request.graph_options,
            guest=True,
            sender=services.sender.get(),
        )
        return then(made, lambda handle: proto.RegisterGraphResponse(graph_handle=handle))

    def DeregisterGraph(self, request: Any) -> Future[Any]:
        gone = self.worker.deregister(_session(request), request.graph_handle)
        return then(gone, lambda _: proto.DeregisterGraphResponse())

    def RunGraph(self, request: Any) -> Future[Any]:
        """A part of a step, or one call of a partial run."""
        self.worker.limits.check_tensors(named.tensor for named in request.send)
        given = {named.name: from_message(named.tensor) for named in request.send}
        wanted = list(request.recv_key)
        handle, number = request.graph_handle, request.request_id
        call = Call(_session(request), handle, request.step_id, given, wanted, number)
        recording = None
        if request.is_partial:
            running = self.worker.run_partial(call, request.is_last_partial_run)
        else:
            if request.HasField("exec_opts"):
                recording = Recording.from_options(request.exec_opts)
            running = self.worker.run(call, recording)
        if request.store_errors_in_response_body:
            running = _or_status(running)

        def answer(values: Any) -> Any:
            if not isinstance(values, list):
                code, text = values
                return proto.RunGraphResponse(status_code=code, status_error_message=text)
            response = proto.RunGraphResponse()
            for key, value in zip(wanted, values):
                response.recv.add(name=key).tensor.CopyFrom(to_message(value))
            if recording is not None:
                recording.to_response(response)
            return response

        made = then(running, answer)
        if not request.is_partial:  # a master that has gone needs no answer; nothing may wait on its behalf
            made.stop = lambda: self.worker.clean_step(request.step_id)  # type: ignore[attr-defined]
        return made

    def _encoded(self, request: Any, value: Any) -> bytes:
        return self._held.hold(value) if parts.are_welcome(request, value) else recv_response.encode(value)

    def Part(self, question: bytes) -> Future[Any]:
        """A part of a value that was told of."""
        return done(self._held.part(question))

    def RecvTensor(self, request: Any) -> Future[Any]:
        step, key = request.step_id, request.rendezvous_key
        value = self.worker.receive(step, key, request.request_id)
        answer = then(value, lambda found: self._encoded(request, found))
        answer.stop = lambda: self.worker.forget(step, key, value)  # type: ignore[attr-defined]
        return answer

    def MarkRecvFinished(self, request: Any) -> Future[Any]:
        return done(proto.MarkRecvFinishedResponse())

    def CleanupGraph(self, request: Any) -> Future[Any]:
        return then(self.worker.clean_step(request.step_id), lambda _: proto.CleanupGraphResponse())

    def CleanupAll(self, request: Any) -> Future[Any]:
        return then(self.worker.clean_containers(request.container), lambda _: proto.CleanupAllResponse())

    # -- collectives -----------------------------------------------------------------------------
    def CompleteGroup(self, request: Any) -> Future[Any]:
        """As the leader of groups."""
        device = request.device_attributes
        name = device.name or next(iter(request.device_name), "")
        if not name:
            raise InvalidArgumentError(None, None, "CompleteGroup without a device")

        def answer(group: Group) -> Any:
            kind = group.device_type
            return proto.CompleteGroupResponse(
                group_key=group.key,
                group_size=len(group.devices),
                device_type=kind,
                num_tasks=len(set(group.tasks)),
                device_name=group.devices,
                task_name=group.tasks,
                communicator_key=f"{self.worker.task};{group.key}".encode(),
                device_attributes=[
                    proto.DeviceAttributes(
                        name=member, device_type=kind, incarnation=number, locality=proto.DeviceLocality()
                    )
                    for member, number in zip(group.devices, group.incarnations)
                ],
            )

        return _also_stops(self._joined(request, request.collective_type, name, device.incarnation), answer)

    def _joined(self, request: Any, kind: int, device: str, incarnation: int = 0) -> Future[Group]:
        if device.partition("/device:")[2].partition(":")[0] != request.device_type:
            raise InvalidArgumentError(
                None, None, f"{device[:200]} is no device of type {request.device_type[:200]}"
            )
        return self.worker.collectives.join(
            request.group_key, request.group_size, device, incarnation, Meaning(kind)
        )

    def CompleteInstance(self, request: Any) -> Future[Any]:
        """As the leader.  The group first: this may be the first that is heard of it."""
        made: Future[Any] = Future()
        shape = tuple(dim.size for dim in request.shape.dim)
        meaning = Meaning(request.type, as_dtype(request.data_type), shape)

        def begin(group: Future[Group]) -> None:
            if group.exception() is not None:
                pass_on(group, made)
                return
            asked = self.worker.collectives.instance(
                request.instance_key, group.result(), meaning, request.device, request.is_source
            )
            asked.add_done_callback(lambda done: pass_on(done, made))

        self._joined(request, request.type, request.device).add_done_callback(begin)
        return then(
            made,
            lambda rank: proto.CompleteInstanceResponse(instance_key=request.instance_key, source_rank=rank),
        )

    def GetStepSequence(self, request: Any) -> Future[Any]:
        steps = [(key, self.worker.collectives.step_of(key).result()) for key in request.graph_key]
        found = [proto.StepSequence(graph_key=key, next_step_id=step) for key, step in steps]
        return done(proto.GetStepSequenceResponse(step_sequence=found))

    def RecvBuf(self, request: Any) -> Future[Any]:
        """As the owner of a value that a member elsewhere asks for."""
        step = request.step_id
        key = buffer_key(
            request.src_device, request.src_incarnation, request.dst_device, request.buf_rendezvous_key
        )
        value = self.worker.receive(step, key, request.request_id)
        answer = then(value, with_content)
        answer.stop = lambda: self.worker.forget(step, key, value)  # type: ignore[attr-defined]
        return answer

    def Logging(self, request: Any) -> Future[Any]:
        """Transfers of steps, from when it is asked for."""
        log = self.worker.transfers
        if request.enable_rpc_logging:
            log.watches_all = True
        if request.disable_rpc_logging:
            log.watches_all = False
        found = [
            proto.LabeledStepStats(step_id=step, step_stats=log.taken(step)) for step in request.fetch_step_id
        ]
        if request.clear:
            log.clear()
        return done(proto.LoggingResponse(step=found))

    def Tracing(self, request: Any) -> Future[Any]:
        return done(proto.TracingResponse())


def _also_stops(first: Future[Any], answer: Callable[[Any], Any]) -> Future[Any]:
    """What `then` makes; who asked may go before it is there."""
    made = then(first, answer)
    made.stop = first.stop  # type: ignore[attr-defined]
    return made


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
