"""Asking tasks of running clusters how they are.

In: an address.  Out: what each task says of itself.  One of our own tasks knows the addresses of the others,
which are asked next; of TensorFlow's tasks we get what GetStatus tells, their devices, and at an address
alone the names of the other tasks (ListDevices).
"""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from headrace.core.errors import OpError, UnimplementedError
from headrace.distributed.cluster.spec import task_of
from headrace.distributed.wire.grpc_channel import GrpcChannel
from headrace.distributed.wire.task_status import TaskStatus, TaskStatusRequest
from headrace.formats import proto

TIMEOUT = 2.0  # seconds that a task has for an answer


@dataclass(slots=True)
class Report:
    """What is known of a task.  `state`: ok; tensorflow (it knows no status); or why there is no answer."""

    task: str
    address: str
    state: str
    status: TaskStatus | None = None
    devices: tuple[str, ...] = ()


class Inquiry:
    """Asks the tasks of one cluster, as often as wanted."""

    def __init__(self) -> None:
        self._channels: dict[str, GrpcChannel] = {}

    def begin(self, address: str, timeout: float = TIMEOUT) -> Future[TaskStatus]:
        """One task's status, later."""
        return self._channel(address).call("TaskStatus", TaskStatusRequest(), timeout=timeout)

    def all(self, address: str, timeout: float = TIMEOUT) -> list[Report]:
        """The task at the address, then all others of its cluster, which are asked at the same time."""
        first = self._report("", address, self.begin(address, timeout), timeout)
        if first.status is None:
            return [first, *self._named_by(first, timeout)]
        others = {t: at for t, at in first.status.cluster.items() if t != first.task}
        asked = {task: self.begin(at, timeout) for task, at in others.items()}
        reports = [first, *(self._report(t, others[t], answer, timeout) for t, answer in asked.items())]
        return sorted(reports, key=lambda report: report.task)

    def _report(self, task: str, address: str, answer: Future[TaskStatus], timeout: float) -> Report:
        try:
            status = answer.result(timeout + 1)
        except UnimplementedError:
            return self._tensorflow(task, address, timeout)
        except (OpError, TimeoutError, ValueError) as error:
            return Report(task, address, _why(error))
        return Report(status.task or task, address, "ok", status, tuple(status.devices))

    def _tensorflow(self, task: str, address: str, timeout: float) -> Report:
        """A task that knows TensorFlow's methods alone."""
        try:
            found = self._call(address, "GetStatus", proto.GetStatusRequest(), timeout)
        except (OpError, TimeoutError) as error:
            return Report(task, address, _why(error))
        devices = tuple(d.name for d in found.device_attributes)
        return Report(task or next(map(task_of, devices), ""), address, "tensorflow", None, devices)

    def _named_by(self, first: Report, timeout: float) -> list[Report]:
        """The other tasks of a cluster, of which a TensorFlow task knows the devices."""
        if first.state != "tensorflow":
            return []
        try:
            listed = self._call(first.address, "ListDevices", proto.ListDevicesRequest(), timeout)
        except (OpError, TimeoutError):
            return []
        devices: dict[str, list[str]] = {}
        for device in listed.remote_device:
            devices.setdefault(task_of(device.name), []).append(device.name)
        return [Report(task, "", "listed", None, tuple(names)) for task, names in sorted(devices.items())]

    def _call(self, address: str, method: str, request: Any, timeout: float) -> Any:
        return self._channel(address).call(method, request, timeout=timeout).result(timeout + 1)

    def _channel(self, address: str) -> GrpcChannel:
        found = self._channels.get(address)
        if found is None:
            found = self._channels[address] = GrpcChannel(address, "the task")
        return found

    def close(self) -> None:
        for channel in self._channels.values():
            channel.close()


def _why(error: Exception) -> str:
    """An error as one line."""
    text = error.message if isinstance(error, OpError) else f"{type(error).__name__}: {error}"
    return text.split("\n")[0]
