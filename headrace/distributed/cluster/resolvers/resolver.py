"""What a cluster resolver is, one of a given ClusterSpec, and several as one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from typing import Any

from headrace.distributed.cluster.spec import ClusterSpec, Tasks
from headrace.graph.graph import Graph
from headrace.session.session import Session


def format_master_url(master: str, rpc_layer: str | None = None) -> str:
    """host:port as what a Session takes."""
    return f"{rpc_layer}://{master}" if rpc_layer else master


class ClusterResolver(ABC):
    """Finds the tasks of a cluster when it is asked.

    A resolver has `task_type` and `task_id`, which task this process is, and `rpc_layer`, "grpc" or None.
    """

    task_type: Any
    task_id: Any
    rpc_layer: Any

    @abstractmethod
    def cluster_spec(self) -> ClusterSpec:
        """The cluster as it is now."""
        raise NotImplementedError

    @abstractmethod
    def master(
        self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None
    ) -> str:
        """What to give to a Session: the master of a task, by default this process's own."""
        raise NotImplementedError

    def num_accelerators(
        self, task_type: str | None = None, task_id: int | None = None, config_proto: Any = None
    ) -> dict[str, int]:
        """How many devices of each kind a master has, or one task of its cluster."""
        with Graph().as_default(), Session(self.master(task_type, task_id), config=config_proto) as session:
            devices = session.list_devices()
        if task_type is not None and task_id is not None:
            task = f"/job:{task_type}/", f"/task:{task_id}/"
            devices = [d for d in devices if all(part in d.name for part in task)]
        found: dict[str, int] = defaultdict(int)
        for device in devices:
            found[device.device_type] += 1
        return found

    @property
    def environment(self) -> Any:
        """Empty, outside of Google."""
        return ""

    def _address(self, task_type: str | None, task_id: int | None, rpc_layer: str | None) -> str:
        """The master of a task, by default of this one; empty where that is not known."""
        job = task_type if task_type is not None else self.task_type
        index = task_id if task_id is not None else self.task_id
        if job is None or index is None:
            return ""
        return format_master_url(self.cluster_spec().task_address(job, index), rpc_layer or self.rpc_layer)


class SimpleClusterResolver(ClusterResolver):
    """A cluster that is known from the beginning.

    Args:
      cluster_spec: the ClusterSpec.
      master: what `master` gives where no task is named.
      task_type, task_id: which task this process is.
      environment: what `environment` gives.
      num_accelerators: what `num_accelerators` gives.
      rpc_layer: "grpc", to be put before addresses.
    """

    def __init__(
        self,
        cluster_spec: ClusterSpec,
        master: str = "",
        task_type: str | None = None,
        task_id: int | None = None,
        environment: str = "",
        num_accelerators: dict[str, int] | None = None,
        rpc_layer: str | None = None,
    ) -> None:
        if not isinstance(cluster_spec, ClusterSpec):
            raise TypeError("cluster_spec must be a ClusterSpec.")
        if not isinstance(master, str):
            raise TypeError("master must be a string.")
        self._cluster_spec, self._master = cluster_spec, master
        self.task_type, self.task_id, self.rpc_layer = task_type, task_id, rpc_layer
        self._environment, self._num_accelerators = environment, num_accelerators

    def cluster_spec(self) -> ClusterSpec:
        return self._cluster_spec

    def master(
        self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None
    ) -> str:
        if task_type is not None and task_id is not None:
            return self._address(task_type, task_id, rpc_layer)
        return format_master_url(self._master, rpc_layer or self.rpc_layer)

    @property
    def environment(self) -> str:
        return self._environment

    def num_accelerators(
        self, task_type: str | None = None, task_id: int | None = None, config_proto: Any = None
    ) -> dict[str, int]:
        """As given; nobody is asked."""
        return self._num_accelerators or {}


def _of_first(name: str) -> Any:
    """A field of a union: the first resolver's, until it is set."""

    def get(self: UnionClusterResolver) -> Any:
        return self._given[name] or getattr(self._resolvers[0], name)

    def set_(self: UnionClusterResolver, value: Any) -> None:
        self._given[name] = value

    return property(get, set_)


class UnionClusterResolver(ClusterResolver):
    """The tasks of several resolvers; what else is asked, the first answers.

    Args:
      *args: ClusterResolvers.
      **kwargs: `task_type`, `task_id`, `rpc_layer`, instead of those of the first.

    Raises:
      ValueError: there is none, or another keyword was given.
      TypeError: one is no ClusterResolver.
    """

    task_type, task_id, rpc_layer = map(_of_first, ("task_type", "task_id", "rpc_layer"))

    def __init__(self, *args: ClusterResolver, **kwargs: Any) -> None:
        self._given = {name: kwargs.pop(name, None) for name in ("rpc_layer", "task_type", "task_id")}
        if kwargs:
            raise ValueError(f"Unexpected kwargs provided {kwargs!r}")
        if not args:
            raise ValueError("At least one ClusterResolver is required.")
        if not all(isinstance(resolver, ClusterResolver) for resolver in args):
            raise TypeError("All arguments must be a sub-class of `ClusterResolver.`")
        self._resolvers = args

    def cluster_spec(self) -> ClusterSpec:
        """All jobs.  Tasks of a job that is in several follow one another, unless some have numbers.

        Raises:
          KeyError: two tasks have the same number.
        """
        clusters = [resolver.cluster_spec().as_dict() for resolver in self._resolvers]
        merged: dict[str, list[str] | Tasks] = {}
        for job in dict.fromkeys(job for cluster in clusters for job in cluster):
            merged[job] = _merged([cluster[job] for cluster in clusters if job in cluster])
        return ClusterSpec(merged)

    def master(
        self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None
    ) -> str:
        if task_type is not None and task_id is not None:
            address = self.cluster_spec().task_address(task_type, task_id)
            return format_master_url(address, rpc_layer or self._given["rpc_layer"])
        return self._resolvers[0].master(rpc_layer=rpc_layer)

    def num_accelerators(
        self, task_type: str | None = None, task_id: int | None = None, config_proto: Any = None
    ) -> dict[str, int]:
        return self._resolvers[0].num_accelerators(task_type, task_id, config_proto)

    @property
    def environment(self) -> Any:
        return self._resolvers[0].environment


def _merged(tasks: list[list[str] | Tasks]) -> list[str] | Tasks:
    if all(isinstance(some, list) for some in tasks):
        return [address for some in tasks for address in some]  # type: ignore[misc]  # lists, as just seen
    merged: Tasks = {}
    for some in tasks:
        numbered = dict(enumerate(some)) if isinstance(some, list) else some
        twice = set(merged) & set(numbered)
        if twice:
            raise KeyError(f"Duplicate keys detected when merging two ClusterSpecs: {twice!r}")
        merged.update(numbered)
    return merged
