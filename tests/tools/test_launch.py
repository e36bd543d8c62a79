"""`headrace launch`, as a user types it: clusters of processes, and what is wrong with a command line."""

from __future__ import annotations

import ast
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import headrace
from tests.timing import PATIENCE, wait_until

ROOT = Path(headrace.__file__).parent.parent
pytestmark = pytest.mark.process

BY_TF_CONFIG = """
import json, os, sys
import tensorflow as tf

config = json.loads(os.environ["TF_CONFIG"])
job, index = config["task"]["type"], config["task"]["index"]
server = tf.train.Server(config["cluster"], job_name=job, task_index=index)
if job == "ps":
    server.join()
with tf.device("/job:ps/task:0"):
    total = tf.get_variable("total", [], initializer=tf.zeros_initializer())
add = total.assign_add(float(sys.argv[1]))
with tf.Session(server.target) as session:
    session.run(tf.global_variables_initializer())
    for _ in range(3):
        value = session.run(add)
print("total", value)
"""
BY_FLAGS = """
import tensorflow as tf

flags = tf.app.flags
flags.DEFINE_string("ps_hosts", "", "")
flags.DEFINE_string("worker_hosts", "", "")
flags.DEFINE_string("job_name", "", "")
flags.DEFINE_integer("task_index", -1, "")
flags.DEFINE_float("rate", 1.0, "")
FLAGS = flags.FLAGS

def main(_):
    cluster = tf.train.ClusterSpec(
        {"ps": FLAGS.ps_hosts.split(","), "worker": FLAGS.worker_hosts.split(",")})
    server = tf.train.Server(cluster, job_name=FLAGS.job_name, task_index=FLAGS.task_index)
    if FLAGS.job_name == "ps":
        server.join()
    with tf.device(tf.train.replica_device_setter(cluster=cluster)):
        variable = tf.Variable(FLAGS.rate)
    with tf.Session(server.target) as session:
        session.run(variable.initializer)
        print(cluster.num_tasks("ps"), FLAGS.task_index, session.run(variable), variable.device)

tf.app.run()
"""


def start(*words, **how):
    return subprocess.Popen(
        [sys.executable, "-m", "headrace", "launch", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        **how,
    )


def launch(*words):
    """Exit code, output, complaints."""
    process = start(*words)
    out, complaints = process.communicate(timeout=3 * PATIENCE)
    return process.returncode, out, complaints


@pytest.fixture
def program(tmp_path):
    def write(source):
        path = tmp_path / "train.py"
        path.write_text(source)
        return path

    return write


def test_one_server_one_worker(tmp_path, program):
    logs = tmp_path / "logs"
    words = ["--ps", 1, "--workers=1", "--logs", logs, program(BY_TF_CONFIG), 1.5]
    code, out, complaints = launch(*words)
    assert (code, out) == (0, "total 4.5\n"), complaints
    assert "1 worker, 1 ps; logs in" in complaints
    assert sorted(p.name for p in logs.iterdir()) == ["ps-0.log", "worker-0.log"]


def test_a_program_with_the_classic_flags(program):
    code, out, complaints = launch("--ps=2", "--workers=1", program(BY_FLAGS), "--rate=2.5")
    assert (code, out) == (0, "2 0 2.5 /job:ps/task:0\n"), complaints


def test_a_chief_and_an_evaluator(tmp_path, program):
    source = "import json, os\nprint(json.loads(os.environ['TF_CONFIG']))\n"
    logs = tmp_path / "logs"
    code, out, complaints = launch(
        "--chief", "--workers=1", "--evaluators=1", "--logs", logs, program(source)
    )
    assert code == 0, complaints
    found = {p.name: ast.literal_eval(p.read_text()) for p in logs.iterdir()}
    assert {name: config["task"] for name, config in found.items()} == {
        f"{job}-0.log": {"type": job, "index": 0} for job in ("chief", "worker", "ps", "evaluator")
    }
    assert all(set(config["cluster"]) == {"chief", "worker", "ps"} for config in found.values())
    assert ast.literal_eval(out)["task"]["type"] == "chief"


RECOVERS = """
import os, sys
import tensorflow as tf

cluster = tf.distribute.cluster_resolver.TFConfigClusterResolver()
server = tf.train.Server.from_tf_config()
print("pid", os.getpid(), flush=True)
if cluster.task_type == "ps":
    server.join()
with tf.device(tf.train.replica_device_setter(cluster=cluster.cluster_spec())):
    step = tf.train.get_or_create_global_step()
    add = step.assign_add(1)
with tf.train.MonitoredTrainingSession(
    server.target, checkpoint_dir=sys.argv[1], save_checkpoint_secs=None, save_checkpoint_steps=5
) as session:
    while not os.path.exists(sys.argv[2]) or session.run(step) < 50:
        print("step", session.run(add), flush=True)
"""


def test_training_goes_on_when_a_parameter_server_is_killed(tmp_path, program):
    """It comes back empty: the session is made again, from the last checkpoint."""
    logs, checkpoints, mark = (tmp_path / name for name in ("logs", "checkpoints", "mark"))
    words = ["--workers=1", "--restarts=1", "--logs", logs, program(RECOVERS), checkpoints, mark]
    process = start(*words)
    try:
        wait_until(lambda: list(checkpoints.glob("model.ckpt-*.index")))
        wait_until(lambda: "pid" in (logs / "ps-0.log").read_text())
        os.kill(int((logs / "ps-0.log").read_text().split()[1]), signal.SIGKILL)
        wait_until(lambda: (logs / "ps-0.log").read_text().count("pid") == 2)
        mark.touch()
        out, complaints = process.communicate(timeout=3 * PATIENCE)
    finally:
        process.kill()
    assert process.returncode == 0, complaints
    assert "ps:0 was ended by SIGKILL; start 1 of 1 again in 1 s" in complaints
    assert int(out.split()[-1]) >= 49


def test_a_worker_that_fails_at_once(program):
    code, _, complaints = launch("--workers=2", "--show=none", program("import os\nopen('/absent/file')\n"))
    assert code == 1
    assert "failed with exit code 1; ending the other tasks" in complaints
    assert "| FileNotFoundError: [Errno 2] No such file or directory: '/absent/file'" in complaints


def test_ctrl_c_ends_all(tmp_path, program):
    logs = tmp_path / "logs"
    source = "import time\nprint('ready', flush=True)\ntime.sleep(600)\n"
    process = start("--workers=1", "--logs", logs, program(source))
    try:
        for name in ("worker-0.log", "ps-0.log"):
            wait_until(lambda: (logs / name).exists() and "ready" in (logs / name).read_text())
        process.send_signal(signal.SIGINT)
        out, complaints = process.communicate(timeout=3 * PATIENCE)
    finally:
        process.kill()
    assert process.returncode == 130
    assert "ending all tasks" in complaints and "Traceback" not in complaints


def test_a_port_in_use(program):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        code, _, complaints = launch("--port", port, program("print(1)"))
    assert (code, complaints) == (1, f"headrace launch: port {port} of 127.0.0.1: Address already in use\n")


@pytest.mark.parametrize(
    "words, text",
    [
        ([], "which program?"),
        (["/absent/train.py"], "no such file: /absent/train.py"),
        (["-m", "no_such_module"], "no module named no_such_module"),
        (["--workers", "0", __file__], "a cluster needs a worker"),
        (["--workers", "-1", __file__], "'-1' is no number of things"),
        (["--workers", "many", __file__], "'many' is no number of things"),
        (["--workers", "5000", __file__], "5001 tasks are more than"),
        (["--show", "worker:7", __file__], "--show: no task worker:7 (there are worker:0, worker:1, ps:0)"),
        (["--no-such", __file__], "unrecognized arguments: --no-such"),
    ],
)
def test_misused(words, text):
    code, _, complaints = launch(*words)
    assert code == 2 and text in complaints and "Traceback" not in complaints
