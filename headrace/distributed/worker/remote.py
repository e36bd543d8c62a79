"""A task in another process: WorkerInterface over a channel, in TF's messages."""

from __future__ import annotations

import contextlib
import logging
import random
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

from headrace.core.errors import OpError, UnavailableError
from headrace.distributed.security.settings import Security
from headrace.distributed.transport.frames import Kind
from headrace.distributed.transport.link import Link
from headrace.distributed.transport.links import Links
from headrace.distributed.wire import recv_response
from headrace.distributed.wire.grpc_channel import GrpcChannel
from headrace.distributed.wire.parts import Parts, accept, assemble
from headrace.distributed.wire.status import from_status
from headrace.distributed.wire.values import from_message, to_message
from headrace.distributed.worker.futures import done, pass_on, then
from headrace.distributed.worker.interface import OURS, Call, DeviceInfo
from headrace.distributed.worker.link_service import run
from headrace.distributed.worker.recording import Recording
from headrace.distributed.worker.remote_collectives import RemoteCollectives
from headrace.formats import proto
from headrace.runtime.executor import pool

log = logging.getLogger("headrace")
MEETING = 5.0  # seconds that a task has to make its offers
_random = random.SystemRandom()


def request_id() -> int:
    """A number that nobody else has: a worker refuses one that it has seen."""
    return _random.getrandbits(62) | 1


class RemoteWorker:
    """`links`: of the task in this process, which may lead there too, without gRPC; `_counts` sees the method
    of every call (a test counts them)."""

    def __init__(
        self,
        task: str,
        address: str,
        security: Security | None = None,
        links: Links | None = None,
        sender: str = "",
    ) -> None:
        self.task, self.address, self._links = task, address, links
        self._channel = GrpcChannel(address, task, {"RecvTensor": recv_response.decode}, security, sender)
        # TF shares kernels among graphs of one handle, by names of nodes: even Recvs of other masters.
        self._name = f"{_random.getrandbits(64):016x}"
        self._counts: Callable[[str], None] | None = None
        self.forgets = False  # until it says that it is one of ours
        self.collectives = RemoteCollectives(self, request_id)

    def call(self, method: str, request: Any, answer: Callable[[Any], Any]) -> Future[Any]:
        """A method that is not this class's matter."""
        return self._call(method, request, answer)

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

        told = self._call("GetStatus", proto.GetStatusRequest(), answer, timeout=timeout, wait=wait)
        return told if self._links is None else self._met(told, self._links)

    def _met(self, told: Future[list[DeviceInfo]], links: Links) -> Future[list[DeviceInfo]]:
        """The same, once there is a link to a task that is one of ours; or there can be none."""
        future: Future[list[DeviceInfo]] = Future()

        def go_on(done: Future[list[DeviceInfo]]) -> None:
            if done.exception() is not None or not self.forgets or links.to(self.task) is not None:
                pass_on(done, future)
                return
            met = self._channel.call("Meet", links.question(), timeout=MEETING)
            met.add_done_callback(lambda answer: pool().submit(self._take_up, answer, links, done, future))

        told.add_done_callback(go_on)
        return future

    def _take_up(self, answer: Future[bytes], links: Links, told: Future[Any], future: Future[Any]) -> None:
        """Without an answer, or a way, all goes by gRPC."""
        try:
            links.take_up(self.task, self.address, answer.result())
        except (OpError, ValueError, OSError) as error:
            log.info("%s at %s: no link, gRPC is used: %s", self.task, self.address, error)
        finally:
            pass_on(told, future)

    @property
    def link(self) -> Link | None:
        return None if self._links is None else self._links.to(self.task)

    def create_session(self, session: str, server_def: Any, isolate: bool) -> Future[None]:
        request = proto.CreateWorkerSessionRequest(
            session_handle=session, server_def=server_def, isolate_session_state=isolate
        )
        return self._call("CreateWorkerSession", request, nothing)

    def delete_session(self, session: str) -> Future[None]:
        request = proto.DeleteWorkerSessionRequest(session_handle=session)
        return self._call("DeleteWorkerSession", request, nothing)

    def register(
        self, session: str, graph_def: Any, options: Any = None, guest: bool = False, graph_key: int = 0
    ) -> Future[str]:  # to that task, all of us are guests
        request = proto.RegisterGraphRequest(
            session_handle=session or self._name,
            create_worker_session_called=bool(session),
            graph_def=graph_def,
            collective_graph_key=graph_key,
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
        self, call: Call, recording: Recording | None = None, *, link: Link | None = None
    ) -> Future[list[Any]]:
        """`link`: go by it; then values between that task and this one are pushed."""
        if link is not None:
            if self._counts is not None:
                self._counts("RunGraph")
            return run(link, call)
        request = _run_graph(call)
        if recording is not None:
            request.exec_opts.CopyFrom(recording.to_options())

        def answer(response: Any) -> list[Any]:
            values = _values(response, call.wanted)
            if recording is not None:
                recording.from_response(response)
            return values

        return self._call("RunGraph", request, answer)

    def run_partial(self, call: Call, is_last: bool) -> Future[list[Any]]:
        request = _run_graph(call)
        request.is_partial, request.is_last_partial_run = True, is_last
        return self._call("RunGraph", request, lambda response: _values(response, call.wanted))

    def receive(self, step_id: int, key: str) -> Future[Any]:
        """A value that the other task has: by the link if there is one, else by gRPC, in parts where it is
        large."""
        link = self.link
        if link is not None:
            if self._counts is not None:
                self._counts("RecvTensor")
            return then(link.call(Kind.ASK, step_id, (key,)), only)
        number = request_id()
        request = proto.RecvTensorRequest(step_id=step_id, rendezvous_key=key, request_id=number)
        accept(request)

        def answer(received: recv_response.Received) -> Any:
            if received.wants_ack:
                self._channel.call("MarkRecvFinished", proto.MarkRecvFinishedRequest(request_id=number))
            return received.value

        return self._whole(self._call("RecvTensor", request, answer))

    def _whole(self, first: Future[Any]) -> Future[Any]:
        """The value itself, where its parts are to be fetched."""
        future: Future[Any] = Future()

        def come(done: Future[Any]) -> None:
            if done.exception() is None and isinstance(done.result(), Parts):
                value = assemble(done.result(), self._part)
                value.add_done_callback(lambda made: pass_on(made, future))
            else:
                pass_on(done, future)

        first.add_done_callback(come)
        return future

    def _part(self, question: bytes, into: Any) -> Future[Any]:
        return self._channel.call("Part", question, into=into)

    def clean_step(self, step_id: int) -> Future[None]:
        link = self.link
        if link is not None:
            with contextlib.suppress(UnavailableError):
                link.tell(Kind.CLEAN, step_id)
                return done(None)
        return self._call("CleanupGraph", proto.CleanupGraphRequest(step_id=step_id), nothing)

    def clean_containers(self, containers: Sequence[str]) -> Future[None]:
        return self._call("CleanupAll", proto.CleanupAllRequest(container=containers), nothing)

    def close(self) -> None:
        self._channel.close()


def _run_graph(call: Call) -> Any:
    request = proto.RunGraphRequest(
        session_handle=call.session,
        create_worker_session_called=bool(call.session),
        graph_handle=call.graph,
        step_id=call.step_id,
        recv_key=call.wanted,
        store_errors_in_response_body=True,
        request_id=request_id(),
    )
    for key, value in call.given.items():
        request.send.add(name=key).tensor.CopyFrom(to_message(value))
    return request


def _values(response: Any, wanted: list[str]) -> list[Any]:
    if response.status_code:
        raise from_status(response.status_code, response.status_error_message)
    received = {named.name: named.tensor for named in response.recv}
    return [from_message(received[key]) for key in wanted]


def only(values: Sequence[Any]) -> Any:
    (value,) = values
    return value


def nothing(response: Any) -> None:
    return None
