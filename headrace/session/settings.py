"""ConfigProto -> what the session does differently.  Protobuf is only touched if the user gave one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.core.device_name import parse
from headrace.session.run_cache import Settings

LOCAL = "/job:localhost/replica:0/task:0/device:CPU:"


@dataclass(frozen=True, slots=True)
class Configuration:
    run: Settings
    timeout_in_ms: int = 0
    infer_shapes: bool = False  # show shapes in `graph_def`
    place_whole_graph: bool = True  # a node that is not run must have a place, too
    cost_model_every: int = 0  # steps


def configuration(config: Any) -> Configuration:
    if config is None:
        return Configuration(Settings((LOCAL + "0",)))
    if not hasattr(config, "device_count"):
        raise TypeError(f"config must be a tf.ConfigProto, but got {type(config)}")
    count = config.device_count.get("CPU", 1) or 1
    options = config.graph_options.optimizer_options
    settings = Settings(
        devices=tuple(f"{LOCAL}{i}" for i in range(count)),
        soft_placement=config.allow_soft_placement,
        optimize=options.opt_level != -1,
        log_placement=config.log_device_placement,
    )
    graph_options = config.graph_options
    return Configuration(
        settings,
        config.operation_timeout_in_ms,
        graph_options.infer_shapes,
        not graph_options.place_pruned_graph,
        graph_options.build_cost_model,
    )


class DeviceAttributes:
    """One device of a session, as `Session.list_devices` shows it."""

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def device_type(self) -> str:
        return parse(self.name).device_type or ""

    @property
    def memory_limit_bytes(self) -> int:
        return 256 << 20

    @property
    def incarnation(self) -> int:
        return 1

    def __repr__(self) -> str:
        return (
            f"_DeviceAttributes({self.name}, {self.device_type}, {self.memory_limit_bytes}, "
            f"{self.incarnation})"
        )
