"""The cluster of the environment variable TF_CONFIG, which launchers set.

{"cluster": {"ps": ["a:2222"], "worker": ["b:2222", "c:2222"]}, "task": {"type": "worker", "index": 1}}
"""

from __future__ import annotations

import json
import os
from typing import Any

from headrace.distributed.cluster.resolvers.resolver import ClusterResolver, format_master_url
from headrace.distributed.cluster.spec import ClusterSpec

NAME = "TF_CONFIG"


def load() -> dict[str, Any]:
    """What TF_CONFIG says; nothing where it is not set.

    Raises:
      ValueError: it is no JSON object, or its cluster or task is none.
    """
    text = os.environ.get(NAME, "{}")
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{NAME} is not JSON: {error}: {text[:200]}") from None
    if not isinstance(found, dict):
        raise ValueError(f"{NAME} is not a JSON object: {text[:200]}")
    for part in ("cluster", "task"):
        if not isinstance(found.get(part, {}), dict):
            raise ValueError(f'"{part}" of {NAME} is not a JSON object: {text[:200]}')
    return found


class TFConfigClusterResolver(ClusterResolver):
    """The cluster of TF_CONFIG, as it is when it is asked for.

    Args:
      task_type, task_id: which task this is, instead of what TF_CONFIG says.
      rpc_layer: "grpc", to be put before addresses.
      environment: what `environment` gives.
    """

    def __init__(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        rpc_layer: str | None = None,
        environment: str | None = None,
    ) -> None:
        self._task_type, self._task_id, self._rpc_layer = task_type, task_id, rpc_layer
        self._environment = environment

    @property
    def task_type(self) -> str | None:
        found = load().get("task", {}).get("type") if self._task_type is None else self._task_type
        return None if found is None else str(found)

    @task_type.setter
    def task_type(self, value: str | None) -> None:
        self._task_type = value

    @property
    def task_id(self) -> int | None:
        found = load().get("task", {}).get("index") if self._task_id is None else self._task_id
        return None if found is None else int(found)

    @task_id.setter
    def task_id(self, value: int | None) -> None:
        self._task_id = value

    @property
    def rpc_layer(self) -> str | None:
        return load().get("rpc_layer") if self._rpc_layer is None else self._rpc_layer

    @rpc_layer.setter
    def rpc_layer(self, value: str | None) -> None:
        self._rpc_layer = value

    @property
    def environment(self) -> str | None:
        return self._environment

    def num_accelerators(
        self, task_type: str | None = None, task_id: int | None = None, config_proto: Any = None
    ) -> dict[str, int]:
        job = self.task_type if task_type is None else task_type
        return super().num_accelerators(job, self.task_id if task_id is None else task_id, config_proto)

    def cluster_spec(self) -> ClusterSpec:
        return ClusterSpec(load().get("cluster", {}))

    def master(
        self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None
    ) -> str:
        """`session_master` of TF_CONFIG; else nothing in a cluster of one task; else that of a task."""
        session_master = load().get("session_master")
        if session_master is not None:
            return str(session_master)
        cluster = self.cluster_spec()
        if sum(len(cluster.job_tasks(job)) for job in cluster.jobs) <= 1:
            return ""
        job = task_type if task_type is not None else self.task_type
        index = task_id if task_id is not None else self.task_id
        if job is None or index is None:
            raise RuntimeError(f"{NAME} does not say which task this is: {load()}")
        return format_master_url(cluster.task_address(job, index), rpc_layer or self.rpc_layer)
