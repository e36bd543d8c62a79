"""ConfigProto -> what the session does differently.  Protobuf is only touched if the user gave one."""

from __future__ import annotations

from typing import Any

from headrace.core.device_name import parse
from headrace.core.records import record
from headrace.devices.cpu import Cpu
from headrace.devices.device import Device, local_devices
from headrace.devices.reference import Reference
from headrace.session.run_cache import Settings


@record
class Configuration:
    run: Settings
    timeout_in_ms: int = 0
    infer_shapes: bool = False  # show shapes in `graph_def`
    place_whole_graph: bool = True  # a node that is not run must have a place, too
    cost_model_every: int = 0  # steps


def configuration(config: Any) -> Configuration:
    """A ConfigProto as the session's settings.  Optimization level -1 (L0) interprets: CPUs become
    references."""
    if config is None:
        return Configuration(Settings(local_devices({})))
    if not hasattr(config, "device_count"):
        raise TypeError(f"config must be a tf.ConfigProto, but got {type(config)}")
    options = config.graph_options.optimizer_options
    optimize = options.opt_level != -1
    devices = local_devices(dict(config.device_count))
    settings = Settings(
        devices=devices if optimize else tuple(map(_interpreted, devices)),
        soft_placement=config.allow_soft_placement,
        optimize=optimize,
        log_placement=config.log_device_placement,
        halves=config.graph_options.enable_bfloat16_sendrecv,
    )
    graph_options = config.graph_options
    return Configuration(
        settings,
        config.operation_timeout_in_ms,
        graph_options.infer_shapes,
        not graph_options.place_pruned_graph,
        graph_options.build_cost_model,
    )


def _interpreted(device: Device) -> Device:
    return Reference(device.name) if isinstance(device, Cpu) else device


class DeviceAttributes:
    """One device of a session, as `Session.list_devices` shows it."""

    def __init__(self, name: str, memory_limit_bytes: int, incarnation: int = 1) -> None:
        self.name, self.memory_limit_bytes, self.incarnation = name, memory_limit_bytes, incarnation

    @property
    def device_type(self) -> str:
        return parse(self.name).device_type or ""

    def __repr__(self) -> str:
        return (
            f"_DeviceAttributes({self.name}, {self.device_type}, {self.memory_limit_bytes}, "
            f"{self.incarnation})"
        )
