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


BREADTH = """
import numpy as np
with tf.device("/job:ps/task:0"):
    a = tf.placeholder(tf.float32, [])
    table = tf.get_variable("table", [100, 4], initializer=tf.zeros_initializer(), use_resource=True)
    twice = a * 2.0
with tf.device("/job:worker/task:0"):
    b = tf.placeholder(tf.float32, [])
    sum = twice + b
    rows = tf.nn.embedding_lookup(table, [3, 7, 3])
    loss = tf.reduce_sum(rows)
    kinds = (tf.bool, tf.uint8, tf.int8, tf.uint16, tf.int16, tf.int32, tf.int64, tf.float16)
    kinds += (tf.bfloat16, tf.float32, tf.float64, tf.complex64, tf.complex128)
    everything = [tf.cast(tf.constant([0, 1, 2]), kind) for kind in kinds]
    everything += [tf.bitcast(tf.constant([1, 2], tf.uint8), tf.quint8), tf.zeros([0, 3])]
    everything += [tf.zeros([2, 0], tf.string), tf.constant(["", "a" * 300])]
    everything += [tf.constant(5.0), tf.constant("one")]
with tf.device("/job:ps/task:0"):
    there = [tf.identity(x) for x in everything]
sparse = tf.train.AdagradOptimizer(1.0).minimize(loss)

with tf.Session("grpc://{target}") as session:
    session.run(tf.global_variables_initializer())
    for _ in range(2):
        run = session.partial_run_setup([twice, sum], [a, b])
        assert session.partial_run(run, twice, feed_dict={{a: 3.0}}) == 6.0
        assert session.partial_run(run, sum, feed_dict={{b: 1.0}}) == 7.0
    run = session.partial_run_setup([twice, sum], [a, b])
    try:
        session.partial_run(run, sum, feed_dict={{a: 3.0}})
    except tf.errors.InvalidArgumentError as error:
        assert "can't be computed" in str(error)
    else:
        raise AssertionError("no error")
    session.run(sparse)
    changed = np.flatnonzero(np.any(session.run(table) != 0.0, axis=1))
    assert changed.tolist() == [3, 7], changed
    for x, y in zip(session.run(everything), session.run(there)):
        x, y = np.asarray(x), np.asarray(y)
        assert x.dtype == y.dtype and x.shape == y.shape and x.tolist() == y.tolist(), (x, y)
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE, output_partition_graphs=True)
    metadata = tf.RunMetadata()
    session.run(sum, {{a: 1.0, b: 2.0}}, options=options, run_metadata=metadata)
    seen = [(d.device, n.node_name) for d in metadata.step_stats.dev_stats for n in d.node_stats]
    for task, node in (("/job:ps/", twice), ("/job:worker/", sum)):
        assert any(task in device and node.op.name in name for device, name in seen), (node.name, seen)
    assert len(metadata.partition_graphs) == 2
    call = session.make_callable(sum, [a, b])
    assert call(1.0, 2.0) == 4.0 and call(2.0, 2.0) == 6.0
    with tf.device("/job:ps/task:0"):
        queue = tf.FIFOQueue(1, [tf.float32], shapes=[[]])
        blocked = queue.dequeue()
    try:
        session.run(blocked, options=tf.RunOptions(timeout_in_ms=300))
    except tf.errors.DeadlineExceededError:
        pass
    else:
        raise AssertionError("no error")
    with tf.device("/job:ps/task:0"):
        kept = tf.get_variable("kept", [], initializer=tf.ones_initializer(), use_resource=True)
    session.run(kept.initializer)
    assert session.run(kept) == 1.0
tf.Session.reset("grpc://{target}")
with tf.Session("grpc://{target}") as session:
    try:
        session.run(kept)
    except (tf.errors.FailedPreconditionError, tf.errors.NotFoundError):
        pass
    else:
        raise AssertionError("no error")
print("done")
"""
PROGRAMS = {"training": CLIENT, "breadth": BREADTH}


def start(kind: str, program: str, **more: object) -> subprocess.Popen[str]:
    environment = os.environ | {"PYTHONPATH": str(ROOT) if kind == OURS else "", "TF_CPP_MIN_LOG_LEVEL": "3"}
    python = sys.executable if kind == OURS else str(TF_PYTHON)
    command = [python, "-c", f"{IMPORTS[kind]}\n{program}"]
    return subprocess.Popen(command, env=environment, text=True, **more)


@needs_tensorflow
@pytest.mark.process
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize(
    ("client", "ps", "worker"), [c for c in itertools.product([OURS, THEIRS], repeat=3) if len(set(c)) > 1]
)
def test_they_work_together(client, ps, worker, program):
    cluster = addresses(ps=1, worker=1)
    tasks = {"ps": ps, "worker": worker}
    running = [start(kind, SERVER.format(cluster=cluster, job=job)) for job, kind in tasks.items()]
    try:
        text = PROGRAMS[program].format(target=cluster["worker"][0])
        asking = start(client, text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        running.append(asking)
        said = asking.communicate(timeout=PATIENCE)[0]
        assert said.endswith("done\n"), said
    finally:
        for process in running:
            process.kill()
            process.wait()


TWO = """
def model(index):
    with tf.Graph().as_default() as graph:
        with tf.device("/job:ps/task:0"):
            v = tf.Variable(0., name="v")
        with tf.device(f"/job:worker/task:{index}"):
            u = v + 1.
        with tf.device("/job:ps/task:0"):
            return graph, v, tf.assign_add(v, u * 0. + 1.).op


servers = [tf.train.Server(CLUSTER, job_name="worker", task_index=i) for i in range(2)]
models = [model(i) for i in range(2)]
sessions = [tf.Session(s.target, graph=m[0]) for s, m in zip(servers, models)]
sessions[0].run(models[0][1].initializer)
for _ in range(3):
    for session, (_, v, add) in zip(sessions, models):
        session.run(add, options=tf.RunOptions(timeout_in_ms=60_000))
assert sessions[0].run(models[0][1]) == 6.
print("done")
"""


@needs_tensorflow
@pytest.mark.process
def test_two_masters_of_ours_at_a_task_of_tensorflow():
    """Graphs of two masters have nodes of the same names; TensorFlow's task keeps them apart by session."""
    cluster = addresses(ps=1, worker=2)
    ps = start(THEIRS, SERVER.format(cluster=cluster, job="ps"))
    try:
        asking = start(OURS, f"CLUSTER = {cluster}\n{TWO}", stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        said = asking.communicate(timeout=PATIENCE)[0]
        assert said.endswith("done\n"), said
    finally:
        for process in (ps, asking):
            process.kill()
            process.wait()
