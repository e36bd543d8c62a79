"""Clusters of Google's cloud: instance groups, by an API object that the caller brings; no TPUs."""

from __future__ import annotations

import importlib
from typing import Any, NoReturn

from headrace.distributed.cluster.resolvers.resolver import ClusterResolver
from headrace.distributed.cluster.spec import ClusterSpec


class GCEClusterResolver(ClusterResolver):
    """The running instances of an instance group.

    Args:
      project, zone, instance_group: which one.
      port: the port of every task.
      task_type: the name of their job.
      task_id: which of them this one is.
      rpc_layer: put before addresses.
      credentials: for googleapiclient; "default" for those of the application.
      service: what is asked instead of discovery.build("compute", "v1") of googleapiclient.

    Raises:
      ImportError: there is neither a service given nor googleapiclient.
    """

    def __init__(
        self,
        project: str,
        zone: str,
        instance_group: str,
        port: int,
        task_type: str = "worker",
        task_id: int = 0,
        rpc_layer: str | None = "grpc",
        credentials: Any = "default",
        service: Any = None,
    ) -> None:
        self._place = {"project": project, "zone": zone}
        self._group, self._port, self._task_type = instance_group, port, task_type
        self.task_id, self.rpc_layer = task_id, rpc_layer
        self._service = service if service is not None else _compute(credentials)

    @property
    def task_type(self) -> str:
        return self._task_type

    @task_type.setter
    def task_type(self, value: str) -> NoReturn:
        raise RuntimeError(
            "You cannot reset the task_type of the GCEClusterResolver after it has been created."
        )

    def cluster_spec(self) -> ClusterSpec:
        """The instances of this moment, sorted by address."""
        groups, found = self._service.instanceGroups(), []
        request = groups.listInstances(
            **self._place, instanceGroups=self._group, body={"instanceState": "RUNNING"}, orderBy="name"
        )
        while request is not None:
            response = request.execute()
            for item in response["items"]:
                name = item["instance"].rpartition("/")[2]
                details = self._service.instances().get(**self._place, instance=name).execute()
                found.append(f"{details['networkInterfaces'][0]['networkIP']}:{self._port}")
            request = groups.listInstances_next(previous_request=request, previous_response=response)
        return ClusterSpec({self._task_type: sorted(found)})

    def master(
        self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None
    ) -> str:
        return self._address(task_type, task_id, rpc_layer)


def _compute(credentials: Any) -> Any:
    try:
        discovery = importlib.import_module("googleapiclient.discovery")
        if credentials == "default":
            client = importlib.import_module("oauth2client.client")
            credentials = client.GoogleCredentials.get_application_default()
    except ImportError:
        raise ImportError(
            "googleapiclient must be installed before using the GCE cluster resolver "
            "(pip install google-api-python-client oauth2client)"
        ) from None
    return discovery.build("compute", "v1", credentials=credentials)


class TPUClusterResolver(ClusterResolver):
    """There are no devices of this kind here: making one is an error that says so."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(
            "TPUClusterResolver needs Google's cloud client and TPUs, for which Headrace has no device"
        )

    def cluster_spec(self) -> NoReturn:
        raise NotImplementedError

    def master(
        self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None
    ) -> NoReturn:
        raise NotImplementedError
