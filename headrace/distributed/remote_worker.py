"""A task in another process: WorkerInterface over a channel, in TF's messages."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from headrace.distributed import recv_response
from headrace.distributed.grpc_channel import GrpcChannel
from headrace.distributed.status import from_status
from headrace.distributed.values import from_message, to_message
from headrace.distributed.worker import OURS, DeviceInfo
from headrace.formats import proto

_random = random.SystemRandom()


def request_id() -> int:
    """A number that nobody else has: a worker refuses one that it has seen."""
    return _random.getrandbits(62) | 1


class RemoteWorker:
    """`counts` sees the method of every call (a test counts them)."""

    def __init__(self, task: str, address: str, counts: Callable[[str], None] | None = None) -> None:
        self.task, self.address = task, address
        self._channel = GrpcChannel(address, task, {"RecvTensor": recv_response.decode})
        self._counts = counts
        self.forgets = False  # until it says that it is one of ours

    def _call(self, method: str, request: Any, answer: Callable[[Any], Any], **how: Any) -> Future[Any]:
        if self._counts is not None:
            self._counts(method)
        return then(self._channel.call(method, request, **how), answer)

    def devices(self, timeout: float | None = None, wait: bool = False) -> Future[list[DeviceInfo]]:
        def answer(response: Any) -> list[DeviceInfo]:
            found = [
                DeviceInfo(d.name, d.device_type, d.memory_limit, d.incarnation, d.physical_device_desc)
                for d in response.device_attributes
            ]
            self.forgets = any(info.description == OURS for info in found)
            return found

        return self._call("GetStatus", proto.GetStatusRequest(), answer, timeout=timeout, wait=wait)

    def create_session(self, session: str, cluster: Mapping[str, str], isolate: bool) -> Future[None]:
        request = proto.CreateWorkerSessionRequest(session_handle=session, isolate_session_state=isolate)
        return self._call("CreateWorkerSession", request, nothing)

    def delete_session(self, session: str) -> Future[None]:
        request = proto.DeleteWorkerSessionRequest(session_handle=session)
        return self._call("DeleteWorkerSession", request, nothing)

    def register(self, session: str, graph_def: Any, options: Any = None) -> Future[str]:
        request = proto.RegisterGraphRequest(
            session_handle=session, create_worker_session_called=bool(session), graph_def=graph_def
        )
        if options is not None:
            request.graph_options.CopyFrom(options)
        return self._call("RegisterGraph", request, lambda response: response.graph_handle)

    def deregister(self, session: str, graph: str) -> Future[None]:
        request = proto.DeregisterGraphRequest(
            session_handle=session, create_worker_session_called=bool(session), graph_handle=graph
        )
        return self._call("DeregisterGraph", request, nothing)

    def run(
        self, session: str, graph: str, step_id: int, given: dict[str, Any], wanted: list[str]
    ) -> Future[list[Any]]:
        request = proto.RunGraphRequest(
            session_handle=session,
            create_worker_session_called=bool(session),
            graph_handle=graph,
            step_id=step_id,
            recv_key=wanted,
            store_errors_in_response_body=True,
            request_id=request_id(),
        )
        for key, value in given.items():
            request.send.add(name=key).tensor.CopyFrom(to_message(value))

        def answer(response: Any) -> list[Any]:
            if response.status_code:
                raise from_status(response.status_code, response.status_error_message)
            received = {named.name: named.tensor for named in response.recv}
            return [from_message(received[key]) for key in wanted]

        return self._call("RunGraph", request, answer)

    def receive(self, step_id: int, key: str) -> Future[Any]:
        number = request_id()
        request = proto.RecvTensorRequest(step_id=step_id, rendezvous_key=key, request_id=number)

        def answer(received: recv_response.Received) -> Any:
            if received.wants_ack:
                self._channel.call("MarkRecvFinished", proto.MarkRecvFinishedRequest(request_id=number))
            return received.value

        return self._call("RecvTensor", request, answer)

    def clean_step(self, step_id: int) -> Future[None]:
        return self._call("CleanupGraph", proto.CleanupGraphRequest(step_id=step_id), nothing)

    def clean_containers(self, containers: Sequence[str]) -> Future[None]:
        return self._call("CleanupAll", proto.CleanupAllRequest(container=containers), nothing)

    def close(self) -> None:
        self._channel.close()


def nothing(response: Any) -> None:
    return None


def then(first: Future[Any], answer: Callable[[Any], Any]) -> Future[Any]:
    """What `answer` makes of a future's value; its error is the future's."""
    future: Future[Any] = Future()

    def go_on(done: Future[Any]) -> None:
        if not future.set_running_or_notify_cancel():
            return  # whoever asked has gone
        try:
            made = answer(done.result())
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(made)

    first.add_done_callback(go_on)
    return future
