"""The cluster of a job of Slurm, by the variables that srun sets and a `scontrol` of our own."""

from __future__ import annotations

import os

import pytest

import headrace as tf

Resolver = tf.distribute.cluster_resolver.SlurmClusterResolver


@pytest.fixture
def slurm(monkeypatch, tmp_path):
    """Two nodes, two processes on each; this one has a rank."""
    scontrol = tmp_path / "scontrol"
    scontrol.write_text("#!/bin/sh\n[ \"$*\" = 'show hostname' ] && printf 't02n13\\nt02n41\\n'\n")
    scontrol.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.delenv("OMPI_COMM_WORLD_RANK", raising=False)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")

    def started(rank, tasks=4, per_node="2(x2)"):
        monkeypatch.setenv("SLURM_PROCID", str(rank))
        monkeypatch.setenv("SLURM_NTASKS", str(tasks))
        monkeypatch.setenv("SLURM_NTASKS_PER_NODE", per_node)

    return started


def test_ranks(slurm):
    slurm(2)
    resolver = Resolver({"worker": 3, "ps": 1}, port_base=8888, gpus_per_node=2)
    assert resolver.get_task_info() == (None, None)
    assert resolver.cluster_spec().as_dict() == {
        "ps": ["t02n13:8888"],
        "worker": ["t02n13:8889", "t02n41:8888", "t02n41:8889"],
    }
    assert resolver.get_task_info() == ("worker", 1)
    assert resolver.master() == "grpc://t02n41:8888"
    assert resolver.master("ps", 0, rpc_layer="x") == "x://t02n13:8888"
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "0"
    assert resolver.num_accelerators() == {"GPU": 2}


def test_nodes_without_gpus(slurm):
    slurm(3)
    resolver = Resolver({"worker": 3, "ps": 1}, gpus_per_node=0, gpus_per_task=0)
    assert resolver.cluster_spec().num_tasks("worker") == 3
    assert os.environ["CUDA_VISIBLE_DEVICES"] == ""


def test_mpirun(slurm, monkeypatch):
    slurm(9, 9)
    monkeypatch.setenv("OMPI_COMM_WORLD_RANK", "0")
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "2")
    resolver = Resolver({"worker": 1, "ps": 1}, tasks_per_node=1)
    assert resolver.cluster_spec().as_dict() == {"ps": ["t02n13:8888"], "worker": ["t02n41:8888"]}
    assert resolver.get_task_info() == ("ps", 0)


def test_what_does_not_fit(slurm, monkeypatch):
    slurm(0)
    with pytest.raises(RuntimeError, match="more GPUs per node"):
        Resolver({"worker": 4})
    with pytest.raises(RuntimeError, match="more tasks then assigned tasks: 5 in"):
        Resolver({"worker": 5}, gpus_per_node=2)
    slurm(0, tasks=6)
    with pytest.raises(RuntimeError, match="6 tasks do not fit on 4 places"):
        Resolver({"worker": 6}, gpus_per_node=2).cluster_spec()
    monkeypatch.delenv("SLURM_NTASKS_PER_NODE")
    with pytest.raises(RuntimeError, match="SLURM_NTASKS_PER_NODE is set"):
        Resolver({"worker": 4})
    monkeypatch.delenv("SLURM_PROCID")
    with pytest.raises(RuntimeError, match="SLURM_PROCID is not set: start this process by srun"):
        Resolver({"worker": 4})
