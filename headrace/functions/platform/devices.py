"""tf.config: what devices there are, and how many threads.  It describes this process's CPU.

A session's ConfigProto says the same for one session, and wins.
"""

from __future__ import annotations

import os
from collections import namedtuple
from typing import Any

from headrace.core.modules import late

proto = late("headrace.formats.proto")

PhysicalDevice = namedtuple("PhysicalDevice", ["name", "device_type"])
LogicalDevice = namedtuple("LogicalDevice", ["name", "device_type"])


class VirtualDeviceConfiguration:
    """The memory limit of a virtual device."""

    def __init__(self, memory_limit: int | None = None) -> None:
        self.memory_limit = memory_limit


_settings: dict[str, Any] = {
    "soft_device_placement": False,
    "inter_op": 0,
    "intra_op": 0,
    "jit": "",
    "options": {},
    "device_policy": "silent",
    "synchronous": True,
    "eager_functions": False,
    "growth": {},
    "virtual": {},
    "visible": None,
}


def _cpu() -> Any:
    return PhysicalDevice("/physical_device:CPU:0", "CPU")


def list_physical_devices(device_type: str | None = None) -> list[Any]:
    """The devices of this machine, of one type if asked."""
    return [_cpu()] if device_type in (None, "CPU") else []


def list_logical_devices(device_type: str | None = None) -> list[Any]:
    """The devices that nodes may be put on."""
    return [LogicalDevice("/device:CPU:0", "CPU")] if device_type in (None, "CPU") else []


def experimental_list_devices() -> list[str]:
    """Full names of the devices."""
    return ["/job:localhost/replica:0/task:0/device:CPU:0"]


def list_local_devices(session_config: Any = None) -> list[Any]:
    """The devices that a session of this process has, as DeviceAttributes.

    Args:
      session_config: a ConfigProto, which may ask for several CPU devices.
    """
    asked = 1 if session_config is None else session_config.device_count.get("CPU", 1)
    return [
        proto.DeviceAttributes(
            name=f"/device:CPU:{number}", device_type="CPU", memory_limit=256 << 20, incarnation=number + 1
        )
        for number in range(max(asked, 1))
    ]


def get_visible_devices(device_type: str | None = None) -> list[Any]:
    """The devices that the program may see."""
    visible = _settings["visible"]
    found = list_physical_devices() if visible is None else visible
    return [d for d in found if device_type in (None, d.device_type)]


def set_visible_devices(devices: Any, device_type: str | None = None) -> None:
    """Say which devices the program may see."""
    chosen = list(devices) if isinstance(devices, (list, tuple)) else [devices]
    for device in chosen:
        _check(device)
        if device_type not in (None, device.device_type):
            raise ValueError(f"Unrecognized device: {device!r}")
    others = [d for d in get_visible_devices() if device_type not in (None, d.device_type)]
    _settings["visible"] = others + chosen


def _check(device: Any) -> None:
    if device not in list_physical_devices():
        raise ValueError(f"Unrecognized device: {device!r}")


def get_memory_growth(device: Any) -> bool:
    """Does a device take memory as it needs it?"""
    _check(device)
    return bool(_settings["growth"].get(device, False))


def set_memory_growth(device: Any, enable: bool) -> None:
    """Say whether a device takes memory as it needs it; the CPU always does."""
    _check(device)
    raise ValueError("Cannot set memory growth on non-GPU devices")


def get_virtual_device_configuration(device: Any) -> Any:
    """The virtual devices that one stands for."""
    _check(device)
    return _settings["virtual"].get(device)


def set_virtual_device_configuration(device: Any, virtual_devices: Any) -> None:
    """Say how many devices one stands for."""
    _check(device)
    if any(v.memory_limit is not None for v in virtual_devices):
        raise ValueError("Setting memory limit on CPU virtual devices is currently not supported")
    _settings["virtual"][device] = list(virtual_devices)


def get_device_policy() -> str:
    """What happens where an input lives on another device: "silent" copies it."""
    return str(_settings["device_policy"])


def set_device_policy(device_policy: str | None) -> None:
    """Say what happens where an input lives on another device."""
    if device_policy not in (None, "silent", "silent_for_int32", "warn", "explicit"):
        raise ValueError(f"{device_policy!r} is not a valid device policy")
    _settings["device_policy"] = device_policy or "silent"


def get_synchronous_execution() -> bool:
    """Do operations finish before the next begins?"""
    return bool(_settings["synchronous"])


def set_synchronous_execution(enable: bool | None) -> None:
    """Say whether operations finish before the next begins."""
    _settings["synchronous"] = enable is None or bool(enable)


def get_soft_device_placement() -> bool:
    """May a node go to another device than it asks for?"""
    return bool(_settings["soft_device_placement"])


def set_soft_device_placement(enabled: bool) -> None:
    """Say whether a node may go to another device than it asks for."""
    _settings["soft_device_placement"] = bool(enabled)


def get_inter_op_parallelism_threads() -> int:
    """Threads for independent operations; 0 lets the system choose."""
    return int(_settings["inter_op"])


def set_inter_op_parallelism_threads(num_threads: int) -> None:
    """Say how many threads independent operations have."""
    _settings["inter_op"] = int(num_threads)


def get_intra_op_parallelism_threads() -> int:
    """Threads within an operation; 0 lets the system choose."""
    return int(_settings["intra_op"])


def set_intra_op_parallelism_threads(num_threads: int) -> None:
    """Say how many threads one operation has."""
    _settings["intra_op"] = int(num_threads)


def get_jit() -> str:
    """Whether XLA was asked for."""
    return str(_settings["jit"])


def set_jit(enabled: Any) -> None:
    """Ask for XLA: noted, since compilation does not need it here."""
    _settings["jit"] = enabled if isinstance(enabled, str) else ("autoclustering" if enabled else "")


def get_experimental_options() -> dict[str, Any]:
    """The optimizer options that were set."""
    return dict(_settings["options"])


def set_experimental_options(options: dict[str, Any]) -> None:
    """Set optimizer options."""
    _settings["options"].update(options)


def experimental_run_functions_eagerly(run_eagerly: bool) -> None:
    """Ask that functions run as Python; noted."""
    _settings["eager_functions"] = bool(run_eagerly)


def cpu_count() -> int:
    """Processors that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # only Linux has it
        return os.cpu_count() or 1
