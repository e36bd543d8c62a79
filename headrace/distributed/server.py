"""`tf.train.Server`: a task of a cluster in this process, with a master and a worker behind one address."""

from __future__ import annotations

import threading
from typing import Any

from headrace.core.errors import CancelledError, InvalidArgumentError
from headrace.distributed.cluster import ClusterSpec, task_name
from headrace.distributed.grpc_server import GrpcServer
from headrace.distributed.master import Master
from headrace.distributed.master_service import MasterService
from headrace.distributed.remote_worker import RemoteWorker
from headrace.distributed.worker import Worker, WorkerInterface
from headrace.distributed.worker_service import WorkerService
from headrace.formats import proto

here: dict[str, Server] = {}  # servers of this process, by target: no network between them and a session


class Server:
    """A task of a cluster.

    Args:
      server_or_cluster_def: a ServerDef, or what a ClusterSpec is made of.
      job_name, task_index: which task this is; needed where the cluster has several.
      protocol: "grpc".
      config: a ConfigProto, for all sessions.
      start: start at once.

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
    ) -> None:
        self._server_def = make_server_def(server_or_cluster_def, job_name, task_index, protocol, config)
        cluster = ClusterSpec(self._server_def.cluster)
        job, index = self._server_def.job_name, self._server_def.task_index
        self.task = task_name(job, index)
        self._workers: dict[str, WorkerInterface] = {}
        self._lock = threading.Lock()
        counts = dict(self._server_def.default_session_config.device_count)
        self.worker = Worker(self.task, counts, self._connect)
        self._workers[self.task] = self.worker
        self._cluster = cluster
        self.master = Master(self.task, cluster, self._connect)
        handlers = WorkerService(self.worker).handlers() | MasterService(self.master).handlers()
        address = cluster.task_address(job, index)
        host, _, port = address.rpartition(":")
        self._grpc = GrpcServer(f"{_bind_host(host)}:{port}", handlers)
        self.address = f"{host}:{self._grpc.port}"
        self._ended = threading.Event()
        self._is_started = False
        if start:
            self.start()

    @staticmethod
    def create_local_server(config: Any = None, start: bool = True) -> Server:
        """A cluster of one task, on this host, at a free port."""
        return Server({"local": ["localhost:0"]}, protocol="grpc", config=config, start=start)

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
        """Wait until the server is stopped."""
        while not self._ended.wait(1.0):  # with a limit, so that Ctrl-C arrives
            pass

    def stop(self) -> None:
        """End its sessions and steps, and listen no more."""
        here.pop(self.target, None)
        self.master.close()
        self.worker.close(CancelledError(None, None, "The server is shutting down."))
        self._grpc.stop()
        with self._lock:
            for worker in self._workers.values():
                if isinstance(worker, RemoteWorker):
                    worker.close()
        self._ended.set()

    def _connect(self, task: str) -> WorkerInterface:
        with self._lock:
            found = self._workers.get(task)
            if found is None:
                address = self._cluster.addresses().get(task)
                if address is None:
                    raise InvalidArgumentError(None, None, f"{task} is not in the cluster {self._cluster}")
                found = self._workers[task] = RemoteWorker(task, address)
            return found


def _bind_host(host: str) -> str:
    """Loopback names stay loopback; any other address is served on all interfaces, as the cluster says."""
    return host if host in ("localhost", "127.0.0.1", "[::1]") else "0.0.0.0"


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
    if config is not None:
        made.default_session_config.MergeFromString(config.SerializeToString())
    return made
