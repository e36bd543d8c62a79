"""What a device is to the rest of the system, and which kinds there are.

A device prepares pieces (plans of which every node is on it) and runs them.  Its memory may be the
host's (`HostMemory`: cpu, reference, null) or its own: then values are copied where they enter the
piece (feeds, Recv) and where they leave it (fetches, Send), from device to device by `copy_to`; see
`separate.py`.  Who calls what: placement asks `can_run`; `prepare` is called once for a signature, a
program's `run` once for a step, and `wait` at its end; `release` and `wait` when a session ends.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from headrace.core.device_name import parse
from headrace.core.dtypes import DType
from headrace.core.modules import late
from headrace.core.records import record
from headrace.plan.plan import Plan, PlanNode
from headrace.runtime.step import Step

cpu = late("headrace.devices.cpu")
null = late("headrace.devices.null")


class Program(Protocol):
    """A piece that can be run, again and again, from several threads at once."""

    def run(self, step: Step, arguments: Sequence[Any]) -> list[Any]: ...


@record
class Memory:
    """Bytes of a device's memory."""

    in_use: int
    limit: int


@record
class Attributes:
    """What a device says of itself where devices are listed (TF's DeviceAttributes)."""

    kind: str  # CPU
    memory_limit: int  # bytes
    description: str = ""


class Device(Protocol):
    """One device of a session."""

    name: str  # in full: /job:localhost/replica:0/task:0/device:CPU:0

    def attributes(self) -> Attributes: ...

    def can_run(self, node: PlanNode) -> bool:
        """Has a kernel for the node's op and types: what placement asks."""

    def host_inputs(self, node: PlanNode) -> frozenset[int]:
        """The places of inputs that the kernel reads on the host, such as shapes and axes."""

    def prepare(self, piece: Plan) -> Program:
        """May be slow; the result is kept."""

    def allocate(self, shape: tuple[int, ...], dtype: DType) -> Any:
        """An array in the device's memory, whose elements are whatever was there."""

    def from_host(self, value: Any) -> Any:
        """A value of the host as one of the device."""

    def to_host(self, value: Any) -> Any:
        """A value of the device as one of the host."""

    def copy_to(self, value: Any, peer: Device) -> Any:
        """A value of the device as one of another."""

    def wait(self) -> None:
        """Until everything that was launched has ended."""

    def memory(self) -> Memory: ...

    def release(self) -> None:
        """A session has ended: give back the memory that is kept for further steps."""


HOST_LIMIT = 256 << 20  # the number that TF gives for a CPU, whose memory it does not limit


class HostMemory:
    """A device that computes in the host's memory, before its calls return."""

    def __init__(self, name: str) -> None:
        self.name = name

    def attributes(self) -> Attributes:
        return Attributes(parse(self.name).device_type or "", HOST_LIMIT)

    def can_run(self, node: PlanNode) -> bool:
        return True  # an op without a kernel says so when it runs, as in TF

    def host_inputs(self, node: PlanNode) -> frozenset[int]:
        return frozenset()

    def allocate(self, shape: tuple[int, ...], dtype: DType) -> Any:
        return np.empty(shape, dtype.numpy)

    def from_host(self, value: Any) -> Any:
        return value

    def to_host(self, value: Any) -> Any:
        return value

    def copy_to(self, value: Any, peer: Device) -> Any:
        return peer.from_host(value)

    def wait(self) -> None:
        return

    def release(self) -> None:
        return

    def memory(self) -> Memory:
        return Memory(_resident(), _installed())


def _resident() -> int:
    """Bytes that the process holds; 0 where the system does not say."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def _installed() -> int:
    names = os.sysconf_names if hasattr(os, "sysconf_names") else {}
    if "SC_PHYS_PAGES" not in names:
        return 0
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


# -- kinds ----------------------------------------------------------------------------------------
Maker = Callable[[str], Device]


def _cpu(name: str) -> Device:
    made: Device = cpu.Cpu(name)
    return made


def _null(name: str) -> Device:
    made: Device = null.Null(name)
    return made


KINDS: dict[str, Maker] = {"CPU": _cpu, "NULL": _null}


def register(kind: str, maker: Maker) -> None:
    """Devices of another kind: `maker` is given the full name.  A session has as many of them as
    its ConfigProto's `device_count` says."""
    if kind in KINDS:
        raise ValueError(f"there are devices of the kind {kind} already")
    KINDS[kind] = maker


LOCAL = "/job:localhost/replica:0/task:0"


def local_devices(counts: dict[str, int], task: str = LOCAL) -> tuple[Device, ...]:
    """The devices of a session in one process, or of a task: a CPU at least, which comes first."""
    wanted = {"CPU": counts.get("CPU", 0) or 1} | {k: n for k, n in counts.items() if k != "CPU"}
    return tuple(
        KINDS[kind](f"{task}/device:{kind}:{i}")
        for kind, count in wanted.items()
        if kind in KINDS
        for i in range(count)
    )
