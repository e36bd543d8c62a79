"""Which tasks a session has, by which names, and whether they are who they are taken for.

Usually those of the master's own cluster.  A client may bring a cluster (ConfigProto.cluster_def): then the
tasks have the client's names for the time of the session, and state of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from headrace.core.device_name import parse
from headrace.core.errors import InvalidArgumentError
from headrace.distributed.cluster.spec import ClusterSpec, task_of
from headrace.distributed.worker.interface import DeviceInfo
from headrace.distributed.worker.session import renamed
from headrace.formats import proto


@dataclass(frozen=True, slots=True)
class Membership:
    """`task` is the master's own, as it is called in the session."""

    task: str
    cluster: ClusterSpec
    is_brought: bool = False
    is_isolated: bool = False

    @staticmethod
    def of(master: Any, config: Any, target: str) -> Membership:
        """What a client asks for.  `target`: by which address it knows the master."""
        if not config.cluster_def.job:
            return Membership(master.task, master.cluster, is_isolated=config.isolate_session_state)
        cluster = ClusterSpec(config.cluster_def)
        address = target.rpartition("://")[2]
        mine = [task for task, at in cluster.addresses().items() if at == address]
        if len(mine) != 1:
            what = f"{len(mine)} tasks have" if mine else "no task has"
            raise InvalidArgumentError(
                None,
                None,
                f"ConfigProto.cluster_def: {what} the address of the master, {target!r}: {cluster}",
            )
        is_shared = config.experimental.share_session_state_in_clusterspec_propagation
        return Membership(mine[0], cluster, True, not is_shared)

    def chosen(self, filters: Sequence[str]) -> dict[str, str]:
        """Addresses of the tasks that device filters leave; the master's own always stays."""
        tasks, wanted = self.cluster.addresses(), [parse(f) for f in filters]
        if not wanted:
            return tasks
        return {t: at for t, at in tasks.items() if t == self.task or any(_may_hold(w, t) for w in wanted)}

    def checked(self, task: str, info: DeviceInfo) -> DeviceInfo:
        """A device under the name that it has in the session.

        Raises:
          InvalidArgumentError: somebody else is at the task's address.
        """
        if task_of(info.name) == task:
            return info
        if not self.is_brought:
            at = self.cluster.addresses()[task]
            raise InvalidArgumentError(
                None,
                None,
                f"At {at}, where {self.task} has {task}, is {task_of(info.name)}: the ClusterSpecs of the "
                "two differ, or one of them was started with another job name or task index.",
            )
        return replace(info, name=renamed(info.name, task))

    def wish(self, task: str) -> tuple[Any, bool]:
        """What a worker must know of the session: a ServerDef or None, and whether its state is its own."""
        if not self.is_brought:
            return None, self.is_isolated
        device = parse(task)
        cluster = self.cluster.as_cluster_def()
        made = proto.ServerDef(cluster=cluster, job_name=device.job, task_index=device.task, protocol="grpc")
        return made, self.is_isolated


def _may_hold(request: Any, task: str) -> bool:
    """Some device of the task may be one that was asked for."""
    full = parse(task)
    return all(getattr(request, name) in (None, getattr(full, name)) for name in ("job", "replica", "task"))
