"""A task in another process as a leader of groups, or as the owner of values: its messages.

Tasks of TensorFlow 1.15 tell names of devices, those of 2.x all that is to know of them: here both."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Protocol

from headrace.core.errors import InternalError
from headrace.distributed.worker.collectives import buffer_key
from headrace.formats import proto
from headrace.runtime.collectives.groups import Group, Meaning

CHUNK = 1 << 20  # bytes of one string of a response
TYPE = "type.googleapis.com/tensorflow.RecvBufRespExtra"


class Caller(Protocol):
    """worker.remote.RemoteWorker, as far as it is needed here."""

    forgets: bool

    def call(self, method: str, request: Any, answer: Callable[[Any], Any]) -> Future[Any]: ...

    def receive(self, step_id: int, key: str) -> Future[Any]: ...


class RemoteCollectives:
    """A worker.collectives.CollectivePeer.  `request_id` gives a number that nobody else has."""

    def __init__(self, caller: Caller, request_id: Callable[[], int]) -> None:
        self._caller, self._request_id = caller, request_id

    def join(self, key: int, size: int, device: str, incarnation: int, meaning: Meaning) -> Future[Group]:
        kind = _kind(device)
        attributes = proto.DeviceAttributes(name=device, device_type=kind, incarnation=incarnation)
        request = proto.CompleteGroupRequest(
            group_key=key,
            group_size=size,
            device_type=kind,
            device_name=[device],
            collective_type=meaning.kind,
            device_attributes=attributes,
        )
        return self._caller.call("CompleteGroup", request, group_of)

    def instance(self, key: int, group: Group, meaning: Meaning, device: str, is_source: bool) -> Future[int]:
        """The rank of a broadcast's source, once all have asked."""
        request = proto.CompleteInstanceRequest(
            name=f"instance {key}",
            type=meaning.kind,
            data_type=meaning.dtype.as_datatype_enum,
            group_key=group.key,
            group_size=len(group.devices),
            instance_key=key,
            device_type=group.device_type,
            subdiv_offset=[0],
            device=device,
            is_source=is_source,
        )
        for size in meaning.shape:
            request.shape.dim.add(size=size)
        return self._caller.call("CompleteInstance", request, lambda response: response.source_rank)

    def step_of(self, graph_key: int) -> Future[int]:
        def answer(response: Any) -> int:
            for found in response.step_sequence:
                if found.graph_key == graph_key:
                    return int(found.next_step_id)
            raise InternalError(None, None, f"the leader tells no step of graph {graph_key}")

        return self._caller.call(
            "GetStepSequence", proto.GetStepSequenceRequest(graph_key=[graph_key]), answer
        )

    def take(self, step: int, key: str, source: str, incarnation: int, target: str, size: int) -> Future[Any]:
        """Tasks of ours have what is left as they have other values; TensorFlow's know RecvBuf."""
        if self._caller.forgets:
            return self._caller.receive(step, buffer_key(source, incarnation, target, key))
        request = proto.RecvBufRequest(
            step_id=step,
            buf_rendezvous_key=key,
            num_bytes=size,
            src_device=source,
            src_incarnation=incarnation,
            dst_device=target,
            request_id=self._request_id(),
        )
        return self._caller.call("RecvBuf", request, content)


def _kind(device: str) -> str:
    return device.rpartition("/device:")[2].partition(":")[0]


def group_of(response: Any) -> Group:
    """What a leader has told."""
    members = [(d.name, d.incarnation) for d in response.device_attributes]
    members = members or [(name, 0) for name in response.device_name]
    if len(members) != response.group_size:
        raise InternalError(None, None, "CompleteGroupResponse group_size doesn't match device_name list")
    devices = sorted(members)
    return Group(
        response.group_key, response.device_type, tuple(d for d, _ in devices), tuple(n for _, n in devices)
    )


def content(response: Any) -> bytes:
    """The bytes of a RecvBufResponse."""
    if response.transport_options.type_url != TYPE:
        return b""
    extra = proto.RecvBufRespExtra.FromString(response.transport_options.value)
    return b"".join(extra.tensor_content)


def with_content(value: Any) -> Any:
    """A RecvBufResponse that carries an array."""
    data = memoryview(value.reshape(-1).view("u1")) if value.size else memoryview(b"")
    extra = proto.RecvBufRespExtra(
        tensor_content=[bytes(data[at : at + CHUNK]) for at in range(0, len(data), CHUNK)]
    )
    response = proto.RecvBufResponse()
    response.transport_options.type_url, response.transport_options.value = TYPE, extra.SerializeToString()
    return response
