"""What tests need beside a TestCase: folders, devices, stubs, measurements."""

from __future__ import annotations

import atexit
import functools
import os
import re
import shutil
import sys
import tempfile
import time
import unittest
from collections.abc import Mapping
from typing import Any
from unittest import mock

import numpy as np

from headrace.core.modules import late
from headrace.formats import proto
from headrace.ops.array.constant import const

__all__ = ["mock"]

ports = late("headrace.distributed.launch.ports")
servers = late("headrace.distributed.server")
specs = late("headrace.distributed.cluster.spec")


def get_temp_dir() -> str:
    """A folder for the files of this process's tests; it is removed at the end."""
    return _temp_dir(os.getpid())


@functools.cache
def _temp_dir(process: int) -> str:
    base = os.environ.get("TEST_TMPDIR")
    made = tempfile.mkdtemp(prefix="headrace_test_", dir=base)
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


def test_src_dir_path(relative_path: str) -> str:
    """A path below the folder of the package."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), relative_path)


def is_built_with_cuda() -> bool:
    """Is there code for NVIDIA's processors?"""
    return False


def is_built_with_rocm() -> bool:
    """Is there code for AMD's processors?"""
    return False


def is_built_with_gpu_support() -> bool:
    """Is there code for graphics processors?"""
    return False


def is_gpu_available(
    cuda_only: bool = False, min_cuda_compute_capability: tuple[int, int] | None = None
) -> bool:
    """Is there a graphics processor to use?"""
    return False


def gpu_device_name() -> str:
    """The name of a graphics processor; empty where there is none."""
    return ""


def main(argv: Any = None) -> None:
    """Run the tests of the program's module."""
    unittest.main(argv=argv or sys.argv)


def benchmark_config() -> Any:
    """A ConfigProto for measurements."""
    return proto.ConfigProto()


def create_local_cluster(
    num_workers: int, num_ps: int, protocol: str = "grpc", worker_config: Any = None, ps_config: Any = None
) -> tuple[list[Any], list[Any]]:
    """Tasks of a cluster in this process, which listen on ports of the loopback address.

    Args:
      num_workers: how many tasks of the job `worker`.
      num_ps: how many tasks of the job `ps`.
      protocol: of `tf.train.Server`.
      worker_config: a ConfigProto for the workers.
      ps_config: a ConfigProto for the others.

    Returns:
      (servers of `worker`, servers of `ps`).
    """
    chosen = iter(ports.choose(num_workers + num_ps))
    jobs = {"worker": (num_workers, worker_config), "ps": (num_ps, ps_config)}
    addresses = {job: [f"localhost:{next(chosen)}" for _ in range(n)] for job, (n, _) in jobs.items()}
    cluster = specs.ClusterSpec({job: tasks for job, tasks in addresses.items() if tasks})
    workers, others = (
        [servers.Server(cluster, job, index, protocol, config) for index in range(n)]
        for job, (n, config) in jobs.items()
    )
    return workers, others


def assert_equal_graph_def(
    actual: Any, expected: Any, checkpoint_v2: bool = False, hash_table_shared_name: bool = False
) -> None:
    """Refuse GraphDefs that differ in more than the order of nodes and control inputs."""
    for name, message in (("actual", actual), ("expected", expected)):
        if not isinstance(message, proto.GraphDef):
            raise TypeError(f"Expected tf.GraphDef for {name}, got {type(message).__name__}")
    ours = {n.name: _comparable(n, checkpoint_v2, hash_table_shared_name) for n in actual.node}
    theirs = {n.name: _comparable(n, checkpoint_v2, hash_table_shared_name) for n in expected.node}
    different = sorted(n for n in ours.keys() | theirs if ours.get(n) != theirs.get(n))
    if different:
        name = different[0]
        raise AssertionError(
            f"GraphDefs differ at nodes {different[:5]}:\n{ours.get(name)}\nand\n{theirs.get(name)}"
        )


def _comparable(node: Any, checkpoint_v2: bool, hash_table_shared_name: bool) -> Any:
    copy = proto.NodeDef()
    copy.CopyFrom(node)
    data = [i for i in node.input if not i.startswith("^")]
    del copy.input[:]
    copy.input.extend(data + sorted(i for i in node.input if i.startswith("^")))
    if hash_table_shared_name and "Hash" in node.op and "Table" in node.op:
        copy.attr.pop("shared_name", None)
    if checkpoint_v2 and node.op == const.name:
        values = copy.attr["value"].tensor.string_val
        if any(re.search(rb"_temp_.*/part", v) for v in values):
            copy.attr["value"].tensor.Clear()
    return copy


class StubOutForTesting:
    """Replaces attributes, and puts the old ones back."""

    def __init__(self) -> None:
        self._old: list[tuple[Any, str, Any]] = []

    def __enter__(self) -> StubOutForTesting:
        return self

    def __exit__(self, *error: Any) -> None:
        self.CleanUp()

    def Set(self, parent: Any, child_name: str, new_child: Any) -> None:
        self._old.append((parent, child_name, getattr(parent, child_name)))
        setattr(parent, child_name, new_child)

    SmartSet = Set

    def UnsetAll(self) -> None:
        while self._old:
            setattr(*self._old.pop())

    SmartUnsetAll = UnsetAll

    def CleanUp(self) -> None:
        self.UnsetAll()


class Benchmark:
    """Measures steps: subclasses have methods benchmarkXyz."""

    def report_benchmark(
        self,
        iters: int | None = None,
        cpu_time: float | None = None,
        wall_time: float | None = None,
        throughput: float | None = None,
        extras: Mapping[str, Any] | None = None,
        name: str | None = None,
        metrics: Any = None,
    ) -> None:
        """Print one result."""
        print(f"{name or type(self).__name__}: {iters} iterations, {wall_time} s each {extras or ''}")

    def run_op_benchmark(
        self,
        sess: Any,
        op_or_tensor: Any,
        feed_dict: Mapping[Any, Any] | None = None,
        burn_iters: int = 2,
        min_iters: int = 10,
        store_trace: bool = False,
        store_memory_usage: bool = True,
        name: str | None = None,
        extras: Mapping[str, Any] | None = None,
        mbs: float = 0,
    ) -> dict[str, Any]:
        """Run a step many times; the median of the times is reported."""
        for _ in range(burn_iters):
            sess.run(op_or_tensor, feed_dict)
        times = []
        for _ in range(min_iters):
            start = time.perf_counter()
            sess.run(op_or_tensor, feed_dict)
            times.append(time.perf_counter() - start)
        median = float(np.median(times))
        extra = dict(extras or {}) | {"wall_time_mean": float(np.mean(times))}
        if mbs:
            extra["throughput"] = mbs / median
        self.report_benchmark(min_iters, wall_time=median, extras=extra, name=name)
        return {"iters": min_iters, "wall_time": median, "extras": extra}
