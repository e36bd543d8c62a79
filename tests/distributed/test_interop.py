"""Tasks, masters and clients of TensorFlow beside ours, in all mixtures, in processes of their own."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.distributed.clusters import addresses
from tests.tensorflow_peer import TF_PYTHON, needs_tensorflow
from tests.timing import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
OURS, THEIRS = "ours", "tensorflow"
IMPORTS = {
    OURS: "import headrace as tf",
    THEIRS: "import tensorflow.compat.v1 as tf\ntf.disable_v2_behavior()",
}
SERVER = "tf.train.Server({cluster}, job_name={job!r}, task_index=0).join()"
CLIENT = """
import numpy as np
with tf.device("/job:ps/task:0"):
    w = tf.Variable(tf.zeros([2, 1]))
    r = tf.get_variable("r", [3], initializer=tf.ones_initializer(), use_resource=True)
    step = tf.train.get_or_create_global_step()
    queue = tf.FIFOQueue(4, [tf.float32], shapes=[[]])
x = tf.placeholder(tf.float32, [None, 2])
with tf.device("/job:worker/task:0"):
    loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - tf.matmul(x, [[1.], [2.]]))) + 0. * tf.reduce_sum(r)
    text = tf.strings.join([tf.constant(["a", "b"]), tf.constant(["c", "d"])])
    loop = tf.while_loop(lambda i, a: i < 5, lambda i, a: (i + 1, a + tf.reduce_sum(r)), [0, 0.])
flag = tf.placeholder(tf.bool)


def there(value):
    with tf.device("/job:ps/task:0"):
        return value * 2.0


def nested(i, a):
    inner = tf.while_loop(lambda j, b: j < i, lambda j, b: (j + 1, there(b) + 1.0), [0, a])
    return i + 1, tf.cond(inner[1] > 10.0, lambda: there(inner[1]), lambda: inner[1] - 1.0)


with tf.device("/job:worker/task:0"):
    deep = tf.while_loop(lambda i, a: i < 4, nested, [0, 1.0], parallel_iterations=1)
    branch = tf.cond(flag, lambda: there(loop[1]), lambda: there(loop[1] + 1.0) - 1.0)
    slope = tf.gradients(deep[1] * r[0], [r])[0]
train = tf.train.AdamOptimizer(0.1).minimize(loss, global_step=step)


def expected():
    a = 1.0
    for i in range(4):
        for _ in range(i):
            a = a * 2.0 + 1.0
        a = a * 2.0 if a > 10.0 else a - 1.0
    return a


data = np.random.RandomState(0).randn(32, 2).astype("f")
with tf.Session("grpc://{target}") as session:
    assert len(session.list_devices()) >= 2
    session.run(tf.global_variables_initializer())
    for _ in range(100):
        session.run(train, {{x: data}})
    value, count = session.run([w, step])
    np.testing.assert_allclose(value, [[1.], [2.]], atol=0.05)
    assert count == 100
    assert session.run(text).tolist() == [b"ac", b"bd"]
    assert session.run(loop)[1] == 15.
    assert session.run(branch, {{flag: True}}) == 30. and session.run(branch, {{flag: False}}) == 31.
    for _ in range(3):
        assert session.run(deep)[1] == expected()
    np.testing.assert_allclose(session.run(slope), [expected(), 0., 0.])
    assert session.run(r.assign_add([1., 2., 3.])).tolist() == [2., 3., 4.]
    session.run(queue.enqueue(3.))
    assert session.run(queue.dequeue()) == 3.
    call = session.make_callable(loss, [x])
    np.testing.assert_allclose(call(data), session.run(loss, {{x: data}}), rtol=1e-4)
    bad = tf.gather([1., 2.], tf.cast(step, tf.int32), name="bad")
    try:
        session.run(bad)
    except tf.errors.InvalidArgumentError as error:
        assert error.op is bad.op and "not in [0, 2)" in str(error)
    else:
        raise AssertionError("no error")
print("done")
"""


def start(kind: str, program: str, **more: object) -> subprocess.Popen[str]:
    environment = os.environ | {"PYTHONPATH": str(ROOT) if kind == OURS else "", "TF_CPP_MIN_LOG_LEVEL": "3"}
    python = sys.executable if kind == OURS else str(TF_PYTHON)
    command = [python, "-c", f"{IMPORTS[kind]}\n{program}"]
    return subprocess.Popen(command, env=environment, text=True, **more)


@needs_tensorflow
@pytest.mark.process
@pytest.mark.parametrize(
    ("client", "ps", "worker"), [c for c in itertools.product([OURS, THEIRS], repeat=3) if len(set(c)) > 1]
)
def test_they_train_together(client, ps, worker):
    cluster = addresses(ps=1, worker=1)
    tasks = {"ps": ps, "worker": worker}
    running = [start(kind, SERVER.format(cluster=cluster, job=job)) for job, kind in tasks.items()]
    try:
        program = CLIENT.format(target=cluster["worker"][0])
        asking = start(client, program, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        running.append(asking)
        said = asking.communicate(timeout=PATIENCE)[0]
        assert said.endswith("done\n"), said
    finally:
        for process in running:
            process.kill()
            process.wait()
