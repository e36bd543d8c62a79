"""Devices of a replica's nodes: state on parameter servers, everything else on the replica's worker."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import md5
from typing import Any

import numpy as np

from headrace.core.device_name import DeviceSpec
from headrace.distributed.cluster.spec import ClusterSpec
from headrace.ops.state.served import SERVED_OPS

Strategy = Callable[[Any], int]  # a node -> the number of its parameter server


class RoundRobin:
    """One server after the other."""

    def __init__(self, num_tasks: int) -> None:
        self._count, self._next = num_tasks, 0

    def __call__(self, op: Any) -> int:
        chosen, self._next = self._next, (self._next + 1) % self._count
        return chosen


class RandomStrategy:
    """Any server, by the node's name: every replica chooses alike, TensorFlow's too.

    Args:
      num_ps_tasks: how many there are.
      seed: another seed, another choice.
    """

    def __init__(self, num_ps_tasks: int, seed: int = 0) -> None:
        self._count, self._seed = num_ps_tasks, seed

    def __call__(self, op: Any) -> int:
        digest = md5(f"{op.name}_{self._seed}".encode(), usedforsecurity=False).digest()
        return int.from_bytes(digest, "big") % self._count


class GreedyLoadBalancingStrategy:
    """The server that has least to carry, the first of several.

    Args:
      num_tasks: how many servers there are.
      load_fn: a node -> what it costs, for example `byte_size_load_fn`.

    Example:
      >>> strategy = tf.contrib.training.GreedyLoadBalancingStrategy(
      ...     2, tf.contrib.training.byte_size_load_fn)
      >>> setter = tf.train.replica_device_setter(ps_tasks=2, ps_strategy=strategy)
    """

    def __init__(self, num_tasks: int, load_fn: Callable[[Any], float]) -> None:
        self._load_fn = load_fn
        self._loads = np.zeros(num_tasks)

    def __call__(self, op: Any) -> int:
        chosen = int(np.argmin(self._loads))
        self._loads[chosen] += self._load_fn(op)
        return chosen


def byte_size_load_fn(op: Any) -> float:
    """The bytes of a node's only output, whose shape must be known.

    Raises:
      ValueError: it has several outputs, or its shape is not known.
    """
    if len(op.outputs) != 1:
        raise ValueError(f"Op {op} must have a single output")
    output = op.outputs[0]
    shape = output.get_shape()
    if not shape.is_fully_defined():
        raise ValueError(f"Op {op} must have a shape that is known: it is {shape}")
    return float(shape.num_elements() * output.dtype.size)


def replica_device_setter(
    ps_tasks: int = 0,
    ps_device: str = "/job:ps",
    worker_device: str = "/job:worker",
    merge_devices: bool = True,
    cluster: Any = None,
    ps_ops: Sequence[str] | None = None,
    ps_strategy: Strategy | None = None,
) -> Callable[[Any], str] | None:
    """What to give to `tf.device` where a replica is built: its variables go to parameter servers.

    Args:
      ps_tasks: how many parameter servers there are; a `cluster` knows it.
      ps_device: the servers' job; "" for none.
      worker_device: where everything else goes.
      merge_devices: devices that nodes ask for themselves are completed, not taken as they are.
      cluster: a ClusterSpec, or what one is made of.
      ps_ops: types of the nodes that go to servers; variables and tables if absent.
      ps_strategy: a node -> the number of its server; one after the other if absent.

    Returns:
      A function of a node, or None where there are no parameter servers.

    Raises:
      TypeError: `ps_strategy` can not be called, or `cluster` is none.

    Example:
      >>> with tf.device(tf.train.replica_device_setter(cluster={"ps": ["a:1", "b:1"], "worker": ["c:1"]})):
      ...     v = tf.Variable(1.0)
      >>> v.device
      '/job:ps/task:0'
    """
    if cluster is not None:
        spec, job = ClusterSpec(cluster), DeviceSpec.from_string(ps_device).job
        ps_tasks = spec.num_tasks(job) if job is not None and job in spec.jobs else 0
    if not ps_tasks:
        return None
    strategy = RoundRobin(ps_tasks) if ps_strategy is None else ps_strategy
    if not callable(strategy):
        raise TypeError("ps_strategy must be callable")
    served = frozenset(SERVED_OPS if ps_ops is None else ps_ops)

    def choose(op: Any) -> str:
        if not merge_devices and op.device:
            return str(op.device)
        own = DeviceSpec.from_string(op.device or "")
        wanted = DeviceSpec.from_string(worker_device or "")
        if ps_device and op.node_def.op in served:
            wanted = DeviceSpec.from_string(ps_device)
            if wanted.job and own.job in (None, wanted.job):
                wanted = wanted.replace(task=strategy(op))
        return wanted.make_merged_spec(own).to_string()

    return choose
