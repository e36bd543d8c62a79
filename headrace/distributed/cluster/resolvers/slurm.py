"""The cluster of a job of Slurm: `srun` starts one process per task, numbered through all nodes."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
from collections.abc import Mapping
from itertools import islice

from headrace.distributed.cluster.resolvers.resolver import ClusterResolver
from headrace.distributed.cluster.spec import ClusterSpec


class SlurmClusterResolver(ClusterResolver):
    """Tasks by their rank: jobs in the order of their names, nodes as Slurm lists them.

    The ports of a node's tasks follow one another from `port_base` on.

    Args:
      jobs: how many tasks each job has, by name.
      port_base: the first port of each node.
      gpus_per_node, gpus_per_task: tasks of a node get their share in CUDA_VISIBLE_DEVICES.
      tasks_per_node: tasks of each node; by default what Slurm says.
      auto_set_gpu: set CUDA_VISIBLE_DEVICES when the cluster is asked for.
      rpc_layer: put before addresses.

    Raises:
      RuntimeError: Slurm has started another number of processes, or the nodes have too few GPUs, or this
        process was not started by Slurm (nor by mpirun).
    """

    def __init__(
        self,
        jobs: Mapping[str, int],
        port_base: int = 8888,
        gpus_per_node: int = 1,
        gpus_per_task: int = 1,
        tasks_per_node: int | None = None,
        auto_set_gpu: bool = True,
        rpc_layer: str | None = "grpc",
    ) -> None:
        ranked = "OMPI_COMM_WORLD_RANK" in os.environ  # started by mpirun
        self._rank = _number("OMPI_COMM_WORLD_RANK" if ranked else "SLURM_PROCID")
        started = _number("OMPI_COMM_WORLD_SIZE" if ranked else "SLURM_NTASKS")
        if tasks_per_node is None:
            if "SLURM_NTASKS_PER_NODE" not in os.environ:
                raise RuntimeError("Neither `tasks_per_node` or SLURM_NTASKS_PER_NODE is set.")
            tasks_per_node = _number("SLURM_NTASKS_PER_NODE")
        self._jobs = dict(sorted(jobs.items()))
        self._port_base, self._tasks_per_node = port_base, tasks_per_node
        self._gpus_per_node, self._gpus_per_task = gpus_per_node, gpus_per_task
        self._auto_set_gpu = auto_set_gpu
        self.task_type, self.task_id, self.rpc_layer = None, None, rpc_layer
        if tasks_per_node * gpus_per_task > gpus_per_node:
            raise RuntimeError("Requested more GPUs per node then available.")
        if sum(self._jobs.values()) != started:
            raise RuntimeError(
                "Requested more tasks then assigned tasks: "
                f"{sum(self._jobs.values())} in {self._jobs}, and Slurm has started {started}"
            )

    def cluster_spec(self) -> ClusterSpec:
        """The cluster; from then on `task_type` and `task_id` say which task this process is."""
        places = [
            f"{host}:{self._port_base + i}"
            for host in self._resolve_hostnames()
            for i in range(self._tasks_per_node)
        ]
        addresses = iter(places)
        jobs = {job: list(islice(addresses, count)) for job, count in self._jobs.items()}
        ranks = [(job, i) for job, count in self._jobs.items() for i in range(count)]
        if len(places) < len(ranks):
            raise RuntimeError(f"{len(ranks)} tasks do not fit on {len(places)} places: {places}")
        self.task_type, self.task_id = ranks[self._rank]
        if self._auto_set_gpu and self._gpus_per_task:
            first = self._rank % self._tasks_per_node * self._gpus_per_task
            mine = range(first, first + self._gpus_per_task)
            os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(map(str, mine))
        return ClusterSpec(jobs)

    def _resolve_hostnames(self) -> list[str]:
        """The nodes of this job, in Slurm's order."""
        return subprocess.check_output(["scontrol", "show", "hostname"], text=True).split()

    def get_task_info(self) -> tuple[str | None, int | None]:
        """Which task this process is, once the cluster was asked for."""
        return self.task_type, self.task_id

    def master(
        self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None
    ) -> str:
        return self._address(task_type, task_id, rpc_layer)

    def num_accelerators(
        self, task_type: str | None = None, task_id: int | None = None, config_proto: object = None
    ) -> dict[str, int]:
        """As given; nobody is asked."""
        return {"GPU": self._gpus_per_node}


def _number(name: str) -> int:
    """A number that Slurm has set.  Of "4(x2)" (two nodes with four tasks each) the first."""
    text = os.environ.get(name)
    if text is None:
        raise RuntimeError(f"{name} is not set: start this process by srun")
    return int(text.partition("(")[0])


def main() -> None:
    """Print the TF_CONFIG of this process (examples/clusters/slurm.sh)."""
    parser = argparse.ArgumentParser(description="The TF_CONFIG of a process that srun has started.")
    parser.add_argument("jobs", nargs="+", metavar="JOB=COUNT", help="ps=1 worker=3")
    parser.add_argument("--port", type=int, default=8888, help="the first port of each node")
    given = parser.parse_args()
    jobs = {job: int(count) for job, _, count in (word.partition("=") for word in given.jobs)}
    resolver = SlurmClusterResolver(jobs, given.port, gpus_per_node=0, gpus_per_task=0)
    cluster = resolver.cluster_spec().as_dict()
    task = {"type": resolver.task_type, "index": resolver.task_id}
    print(json.dumps({"cluster": cluster, "task": task}))


if __name__ == "__main__":
    main()
