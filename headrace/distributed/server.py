"""`tf.train.Server`: a task of a cluster in this process, with a master and a worker behind one address."""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from headrace.core.errors import CancelledError, InvalidArgumentError, NotFoundError
from headrace.distributed.cluster.resolvers.tf_config import TFConfigClusterResolver
from headrace.distributed.cluster.spec import ClusterSpec, task_name
from headrace.distributed.master.master import Master
from headrace.distributed.master.service import MasterService
from headrace.distributed.security.allow import Allowed, allowed
from headrace.distributed.security.binding import binding
from headrace.distributed.security.settings import Security
from headrace.distributed.transport.links import Links
from headrace.distributed.wire.grpc_server import GrpcServer, Handle
from headrace.distributed.wire.task_status import MOST_ERROR, TaskStatus, memory_of_process
from headrace.distributed.worker.futures import done
from headrace.distributed.worker.interface import WorkerInterface
from headrace.distributed.worker.link_service import LinkService
from headrace.distributed.worker.remote import RemoteWorker
from headrace.distributed.worker.service import WorkerService
from headrace.distributed.worker.worker import Worker
from headrace.formats import proto
from headrace.version import __version__

log = logging.getLogger("headrace")
here: dict[str, Server] = {}  # servers of this process, by target: no network between them and a session


class Server:
    """A task of a cluster.

    Args:
      server_or_cluster_def: a ServerDef, or what a ClusterSpec is made of.
      job_name, task_index: which task this is; needed where the cluster has several.
      protocol: "grpc".
      config: a ConfigProto, for all sessions.
      start: start at once.
      security: who may call it and what for (`headrace.distributed.security`); the environment says it if
        absent.

    Example:
      >>> server = tf.train.Server.create_local_server()
      >>> with tf.Session(server.target) as sess: ...
    """

    def __init__(
        self,
        server_or_cluster_def: Any,
        job_name: str | None = None,
        task_index: int | None = None,
        protocol: str | None = None,
        config: Any = None,
        start: bool = True,
        security: Security | None = None,
    ) -> None:
        self.security = Security.from_environment() if security is None else security
        self._server_def = make_server_def(server_or_cluster_def, job_name, task_index, protocol, config)
        cluster = ClusterSpec(self._server_def.cluster)
        job, index = self._server_def.job_name, self._server_def.task_index
        self.task = task_name(job, index)
        self._workers: dict[tuple[str, str], RemoteWorker] = {}  # by name and address
        self._lock = threading.Lock()
        counts = dict(self._server_def.default_session_config.device_count)
        address = cluster.task_address(job, index)
        if not address.rpartition(":")[2].isdigit():
            raise InvalidArgumentError(
                None, None, f"Could not parse port for local server from {address!r}: it must be host:port."
            )
        place = binding(address, self.security.bind)
        allows = allowed(self.security.allow, place.is_local or self.security.knows_callers)
        self.worker = Worker(
            self.task,
            counts,
            cluster.addresses(),
            self._connect,
            allows,
            self.security.limits,
            self._server_def.default_session_config.experimental.collective_group_leader,
        )
        self._cluster = cluster
        timeout = self._server_def.default_session_config.operation_timeout_in_ms
        self.master = Master(self.task, cluster, self._connect, self.security.limits, timeout, self.worker)
        self._began = time.monotonic()
        self.links = Links(self.task, lambda: self.address, LinkService(self.worker))
        self._grpc = GrpcServer(place.address, self._handlers(allows), self.security, self.task)
        self.address = f"{address.rpartition(':')[0]}:{self._grpc.port}"
        is_warning, line = place.notice(self.task, self._grpc.port, self.security)
        log.log(logging.WARNING if is_warning else logging.INFO, "%s", line)
        self._ended = threading.Event()
        self._is_started = False
        if start:
            self.start()

    def _handlers(self, allows: Allowed) -> dict[str, Handle]:
        """What answers each method: TensorFlow's two services, and what only our own tasks ask for."""
        return {
            **WorkerService(self.worker).handlers(),
            **MasterService(self.master, allows).handlers(),
            "Meet": lambda question: done(self.links.answer(question)),
            "Attend": self.master.attend,
            "TaskStatus": lambda request: done(self.status()),
        }

    @staticmethod
    def create_local_server(config: Any = None, start: bool = True) -> Server:
        """A cluster of one task, on this host, at a free port."""
        return Server({"local": ["localhost:0"]}, protocol="grpc", config=config, start=start)

    @staticmethod
    def from_tf_config(config: Any = None, start: bool = True) -> Server:
        """The task that the environment variable TF_CONFIG says this process is.

        Raises:
          ValueError: it is not set, is malformed, or does not say which task this is.
        """
        resolver = TFConfigClusterResolver()
        cluster, job, index = resolver.cluster_spec(), resolver.task_type, resolver.task_id
        if not cluster or job is None or index is None:
            raise ValueError(
                "TF_CONFIG needs a cluster and a task, "
                '{"cluster": {"worker": ["host:port"]}, "task": {"type": "worker", "index": 0}}; '
                f"it is {os.environ.get('TF_CONFIG', 'not set')}"
            )
        return Server(cluster, job_name=job, task_index=index, config=config, start=start)

    @property
    def server_def(self) -> Any:
        return self._server_def

    @property
    def target(self) -> str:
        """What to give to a Session."""
        return f"grpc://{self.address}"

    def start(self) -> None:
        if not self._is_started:
            self._is_started = True
            self._grpc.start()
            here[self.target] = self

    def join(self) -> None:
        """Wait until the server is stopped.

        SIGTERM, unless the program handles it itself, stops the server and then ends the process with exit
        code 143.
        """
        with _ending_on_sigterm():
            try:
                while not self._ended.wait(1.0):  # with a limit, so that Ctrl-C arrives
                    pass
            except SystemExit:
                self.stop()  # peers hear that the task ends, instead of losing a connection
                raise

    def stop(self) -> None:
        """End its sessions and steps, and listen no more."""
        here.pop(self.target, None)
        self.master.close()
        self.worker.close(CancelledError(None, None, "The server is shutting down."))
        self._grpc.stop()
        self.links.close()
        with self._lock:
            for worker in self._workers.values():
                worker.close()
        self._ended.set()

    def status(self) -> TaskStatus:
        """How this task is: what `headrace cluster status` shows of it."""
        graphs, running = self.worker.counts()
        served, worked = self.master.tally, self.worker.tally
        last = max(served, worked, key=lambda tally: tally.error_at)
        return TaskStatus(
            task=self.task,
            cluster=self._cluster.addresses(),
            version=__version__,
            pid=os.getpid(),
            seconds=time.monotonic() - self._began,
            memory=memory_of_process(),
            devices=[info.name for info in self.worker.infos],
            sessions=self.master.count_sessions(),
            graphs=graphs,
            running=running,
            steps=served.done,
            parts=worked.done,
            failures=served.failures + worked.failures,
            last_error=last.error[:MOST_ERROR],
            last_error_at=last.error_at,
        )

    def _connect(self, task: str, address: str) -> WorkerInterface:
        """A task by its name and address; clients may bring other names than the cluster has."""
        is_known = self._cluster.addresses().get(task) == address
        if address == self.address or (is_known and task == self.task):
            return self.worker
        with self._lock:
            found = self._workers.get((task, address))
            if found is None:
                self.security.limits.check("peers", len(self._workers) + 1, self.task)
                links = self.links if is_known else None  # they go by the names of the cluster
                found = self._workers[task, address] = RemoteWorker(
                    task, address, self.security, links, f"{self.task} {self.worker.infos[0].incarnation}"
                )
            return found


@contextmanager
def _ending_on_sigterm() -> Iterator[None]:
    """SIGTERM raises SystemExit in the main thread, where nobody has decided otherwise.

    Programs of TensorFlow rely on join() not to return: code behind it is that of other tasks.
    """
    is_ours = threading.current_thread() is threading.main_thread()
    if not is_ours or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return

    def end(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def make_server_def(given: Any, job: str | None, index: int | None, protocol: str | None, config: Any) -> Any:
    """A ServerDef with everything in it."""
    if hasattr(given, "job_name") and hasattr(given, "cluster"):
        made = proto.ServerDef.FromString(given.SerializeToString())
        made.job_name = job if job is not None else made.job_name
        made.task_index = index if index is not None else made.task_index
        made.protocol = protocol if protocol is not None else made.protocol
    else:
        cluster = ClusterSpec(given)
        if job is None:
            if len(cluster.jobs) != 1:
                raise ValueError(
                    "Must specify an explicit `job_name` when `server_or_cluster_def` has several jobs"
                )
            job = cluster.jobs[0]
        if index is None:
            indices = cluster.task_indices(job)
            if len(indices) > 1:
                raise ValueError("Must specify an explicit `task_index` when the job has several tasks")
            index = indices[0]
        made = proto.ServerDef(
            cluster=cluster.as_cluster_def(), job_name=job, task_index=index, protocol=protocol or "grpc"
        )
    if not made.job_name or not made.protocol:
        raise ValueError("server_def needs a job_name and a protocol")
    _check(ClusterSpec(made.cluster), made.job_name, made.task_index, made.protocol)
    if config is not None:
        made.default_session_config.MergeFromString(config.SerializeToString())
    return made


def _check(cluster: ClusterSpec, job: str, index: int, protocol: str) -> None:
    """A task that can be served: it is in the cluster, its address is one, and nobody else's.

    Raises:
      InvalidArgumentError: with TensorFlow's words where it has some.
    """
    if protocol != "grpc":
        raise NotFoundError(None, None, f"No server factory registered for the given ServerDef: {protocol}")
    if job not in cluster.jobs:
        raise InvalidArgumentError(None, None, f'Job "{job}" was not defined in cluster {cluster}')
    if index not in cluster.task_indices(job):
        raise InvalidArgumentError(None, None, f'Task {index} was not defined in job "{job}" of {cluster}')
    owners: dict[str, str] = {}
    for task, address in cluster.addresses().items():
        host, _, port = address.rpartition(":")
        if not host or not port.isdecimal() or int(port) > 65535:
            raise InvalidArgumentError(
                None, None, f'Could not interpret "{address}" as a host-port pair: the address of {task}'
            )
        if int(port) and owners.setdefault(address, task) != task:
            raise InvalidArgumentError(
                None, None, f"{owners[address]} and {task} have one address: {address}"
            )
