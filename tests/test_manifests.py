"""Clusters of Slurm and Kubernetes: the script runs under a `srun` of ours, the manifest fits its schema."""

from __future__ import annotations

import importlib.util
import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

from headrace.distributed.launch.ports import PortInUse, choose

ROOT = Path(__file__).parent.parent
MANIFEST = ROOT / "examples" / "clusters" / "kubernetes.yaml"
SCRIPT = ROOT / "examples" / "clusters" / "slurm.sh"
HAS_SCHEMA = all(importlib.util.find_spec(name) for name in ("kubernetes_validate", "yaml"))


# -- Kubernetes ------------------------------------------------------------------------------------
def documents():
    return MANIFEST.read_text().split("\n---\n")


@pytest.mark.skipif(not HAS_SCHEMA, reason="NO SCHEMA OF KUBERNETES: pip install kubernetes-validate")
def test_the_manifest_fits_the_schema():
    import kubernetes_validate
    import yaml

    found = list(yaml.safe_load_all(MANIFEST.read_text()))
    assert [one["kind"] for one in found] == ["Service", "StatefulSet", "Job"]
    for one in found:
        kubernetes_validate.validate(one, kubernetes_validate.latest_version(), strict=True)


def test_tasks_of_the_manifest_are_those_of_its_tf_config():
    service, servers, workers = documents()
    configs = {}
    for text in (servers, workers):
        value = re.search(r"name: TF_CONFIG\n\s+value: '(.*)'", text).group(1)
        assert text.index("name: INDEX") < text.index("name: TF_CONFIG")  # or $(INDEX) means nothing
        config = json.loads(value.replace("$(INDEX)", "0"))
        configs[config["task"]["type"]] = config["cluster"]
    assert configs["ps"] == configs["worker"] and set(configs) == {"ps", "worker"}
    counts = {
        "ps": int(re.search(r"replicas: (\d+)", servers).group(1)),
        "worker": int(re.search(r"completions: (\d+)", workers).group(1)),
    }
    (port,) = re.findall(r"port: (\d+)", service)
    for job, addresses in configs["ps"].items():
        assert addresses == [f"train-{job}-{i}.train:{port}" for i in range(counts[job])]
    assert {f"containerPort: {port}" in text for text in (servers, workers)} == {True}
    assert "name: train-ps\n" in servers and "name: train-worker\n" in workers
    assert re.search(r"serviceName: (\w+)", servers).group(1) == "train"
    assert re.search(r"subdomain: (\w+)", workers).group(1) == "train"


# -- Slurm -----------------------------------------------------------------------------------------
PROGRAM = """
import sys, tensorflow as tf
server = tf.train.Server.from_tf_config()
resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
if resolver.task_type == "ps":
    server.join()
with tf.device("/job:ps/task:0"):
    variable = tf.Variable(1.0)
own = f"/job:{resolver.task_type}/task:{resolver.task_id}"  # or a session waits for workers that have ended
with tf.Session(server.target, config=tf.ConfigProto(device_filters=["/job:ps", own])) as session:
    session.run(variable.initializer)
    print(resolver.task_type, resolver.task_id, session.run(variable), sys.argv[1])
"""
SRUN = """#!/bin/bash
# Four processes on "two nodes", which are this machine.
while [ "${1#--}" != "$1" ]; do shift; done
for rank in 0 1 2 3; do SLURM_PROCID=$rank "$@" & pids="${pids:-} $!"; done
code=0
for pid in $pids; do wait $pid || code=$?; done
exit $code
"""


def four_ports():
    """The first of four in a row that nobody uses now, below those that the system gives by itself."""
    for first in random.sample(range(12_000, 30_000, 4), 100):
        try:
            return choose(4, first)[0]
        except PortInUse:
            continue
    pytest.fail("no four ports in a row were free")


@pytest.mark.process
def test_the_script_of_slurm(tmp_path):
    """srun and scontrol are ours; the ports of the four processes are some that are free."""
    tools = tmp_path / "tools"
    tools.mkdir()
    port = four_ports()
    for name, text in {
        "srun": SRUN,
        "scontrol": "#!/bin/sh\necho 127.0.0.1\necho localhost\n",
        "headrace": f'#!/bin/sh\nexec {sys.executable} -m headrace "$@"\n',
        "python": f'#!/bin/sh\nexec {sys.executable} "$@" --port={port}\n',
    }.items():
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    (tmp_path / "train.py").write_text(PROGRAM)
    environment = {
        **os.environ,
        "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "SLURM_NTASKS": "4",
        "SLURM_NTASKS_PER_NODE": "4",
    }
    done = subprocess.run(
        ["bash", str(SCRIPT), "train.py", "word"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=400,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(done.stdout.splitlines()) == [f"worker {i} 1.0 word" for i in range(3)]
    assert not list(tmp_path.glob("headrace-done-*"))
