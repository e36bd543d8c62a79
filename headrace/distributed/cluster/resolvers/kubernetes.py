"""The cluster of pods that labels select."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Any

from headrace.distributed.cluster.resolvers.resolver import ClusterResolver
from headrace.distributed.cluster.spec import ClusterSpec


class KubernetesClusterResolver(ClusterResolver):
    """Pods that run, sorted by name for each selector.

    Args:
      job_to_label_mapping: label selectors by job, {"worker": ["job-name=worker"]}.
      tf_server_port: the port of every task.
      rpc_layer: put before addresses.
      override_client: what is asked instead of the Kubernetes Python client's CoreV1Api.

    Raises:
      ImportError: there is neither a client given nor the package `kubernetes`.
    """

    def __init__(
        self,
        job_to_label_mapping: Mapping[str, Sequence[str]] | None = None,
        tf_server_port: int = 8470,
        rpc_layer: str | None = "grpc",
        override_client: Any = None,
    ) -> None:
        self._labels = job_to_label_mapping or {"worker": ["job-name=tensorflow"]}
        self._port, self._override_client = tf_server_port, override_client
        self.task_type, self.task_id, self.rpc_layer = None, None, rpc_layer
        if override_client is None:
            _client()

    def cluster_spec(self) -> ClusterSpec:
        """The pods of this moment.

        Raises:
          RuntimeError: one of them does not run.
        """
        client = self._override_client or _client()
        return ClusterSpec(
            {
                job: [self._address_of(pod) for selector in selectors for pod in _pods(client, selector)]
                for job, selectors in self._labels.items()
            }
        )

    def _address_of(self, pod: Any) -> str:
        if pod.status.phase != "Running":
            raise RuntimeError(f'Pod "{pod.metadata.name}" is not running; phase: "{pod.status.phase}"')
        return f"{pod.status.host_ip}:{self._port}"

    def master(
        self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None
    ) -> str:
        return self._address(task_type, task_id, rpc_layer)


def _pods(client: Any, selector: str) -> list[Any]:
    found = client.list_pod_for_all_namespaces(label_selector=selector)
    return sorted(found.items, key=lambda pod: str(pod.metadata.name))


def _client() -> Any:
    """The cluster's API, with the credentials of ~/.kube/config."""
    try:
        kubernetes = importlib.import_module("kubernetes")
    except ImportError:
        raise ImportError(
            "The Kubernetes Python client must be installed before using the Kubernetes Cluster Resolver. "
            "To install the Kubernetes Python client, run `pip install kubernetes` on your command line."
        ) from None
    kubernetes.config.load_kube_config()
    return kubernetes.client.CoreV1Api()
