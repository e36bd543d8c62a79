"""Tables, queues, optimizers and large tensors over tasks of both kinds; training that loses a parameter
server of the other kind (kill -9) and goes on from its last checkpoint."""

from __future__ import annotations

import itertools
import re
import subprocess

import pytest

from tests.distributed.clusters import addresses
from tests.distributed.test_interop import OURS, SERVER, THEIRS, start
from tests.tensorflow_peer import needs_tensorflow
from tests.timing import PATIENCE, wait_until

pytestmark = [needs_tensorflow, pytest.mark.process]

OPTIMIZERS = """
    kinds = "GradientDescent 0.1|Adagrad 0.1|Adam 0.1|Momentum 0.1 0.9|RMSProp 0.1|Ftrl 0.1|Adadelta 1.0"
    for kind in (kinds + "|ProximalAdagrad 0.1").split("|"):
        for by_handle in (False, True):
            with tf.variable_scope("m%d" % len(made)), tf.device(ps):
                first = np.linspace(-1, 1, 12).reshape(6, 2).astype("f")
                table = tf.get_variable("table", initializer=first, use_resource=by_handle)
                w = tf.get_variable("w", initializer=first[:2], use_resource=by_handle)
            with tf.device(worker):
                rows = tf.nn.embedding_lookup(table, [1, 4, 1])
                loss = tf.reduce_sum(tf.square(tf.matmul(rows, w) - 0.3))
            name, *numbers = kind.split()
            optimizer = getattr(tf.train, name + "Optimizer")(*map(float, numbers))
            gate = tf.train.Optimizer.GATE_GRAPH  # no gradient reads what another has updated
            made.append((optimizer.minimize(loss, gate_gradients=gate), [table, w]))
"""
STATE = (
    """
import numpy as np


def trained(target, ps, worker):
    made = []
    with tf.Graph().as_default(), tf.Session(target) as session:
        build(made, ps, worker)
        session.run(tf.global_variables_initializer())
        for _ in range(3):
            session.run([op for op, _ in made])
        return session.run([v for _, v in made])


def build(made, ps, worker):"""
    + OPTIMIZERS
    + """

PS, WORKER = "/job:ps/task:0", "/job:worker/task:0"
for over_tasks, alone in zip(trained("grpc://{target}", PS, WORKER), trained("", "", "")):
    for x, y in zip(over_tasks, alone):
        np.testing.assert_allclose(x, y, rtol=2e-5, atol=1e-6)

with tf.device(PS):
    rows = tf.lookup.KeyValueTensorInitializer(["a", "b", "c"], tf.constant([1, 2, 3], tf.int64))
    fixed = tf.lookup.StaticHashTable(rows, -1)
    dense = tf.lookup.experimental.DenseHashTable(tf.int64, tf.float32, 0., 0, -1)
    fifo = tf.FIFOQueue(10, [tf.string, tf.int32], shapes=[[], [2]])
    padding = tf.PaddingFIFOQueue(10, [tf.float32], shapes=[[None]])
    urgent = tf.PriorityQueue(10, [tf.string], shapes=[[]])
    shuffled = tf.RandomShuffleQueue(10, 0, [tf.int32], shapes=[[]], seed=1)
    large = tf.fill([20_000_000], 2.0)  # 80 MB
with tf.device(WORKER):
    words = tf.constant([["c", "x"], ["a", "b"]])
    keys = tf.constant([5, 7], tf.int64) * 2
    total = tf.reduce_sum(tf.cast(large, tf.float64))
    texts = tf.strings.join([tf.constant(["x", "y", "z"]), "!"])
    enqueue = fifo.enqueue_many([texts, tf.reshape(tf.range(6), [3, 2])])
    ragged = [padding.enqueue(tf.ones([n])) for n in (1, 3, 2)]
    calls = [urgent.enqueue([tf.constant(n, tf.int64), str(n)]) for n in (3, 1, 2)]
    numbers = shuffled.enqueue_many(tf.range(8))
found = fixed.lookup(words)
insert, seen = dense.insert(keys, tf.constant([0.5, 0.25])), dense.lookup(keys)
with tf.Session("grpc://{target}") as session:
    session.run(tf.tables_initializer())
    assert session.run(found).tolist() == [[3, -1], [1, 2]]
    session.run(insert)
    assert session.run(seen).tolist() == [0.5, 0.25] and session.run(dense.size()) == 2
    session.run(enqueue)
    assert session.run(fifo.size()) == 3
    text, pair = session.run(fifo.dequeue())
    assert text == b"x!" and pair.tolist() == [0, 1]
    session.run(fifo.close())
    text, pair = session.run(fifo.dequeue_up_to(5))
    assert text.tolist() == [b"y!", b"z!"] and pair.tolist() == [[2, 3], [4, 5]]
    try:
        session.run(fifo.dequeue())
    except tf.errors.OutOfRangeError:
        pass
    else:
        raise AssertionError("no error")
    for op in ragged:
        session.run(op)
    assert session.run(padding.dequeue_many(3)).tolist() == [[1, 0, 0], [1, 1, 1], [1, 1, 0]]
    session.run(calls)
    assert [session.run(urgent.dequeue())[1] for _ in range(3)] == [b"1", b"2", b"3"]
    session.run(numbers)
    assert sorted(session.run(shuffled.dequeue_many(8)).tolist()) == list(range(8))
    assert session.run(total) == 4e7
    there = session.run(large[:3_000_000])
    assert there.shape == (3_000_000,) and (there == 2.0).all()
print("done")
"""
)


@pytest.mark.parametrize(
    ("client", "ps", "worker"),
    [(OURS, THEIRS, THEIRS), (THEIRS, OURS, OURS), (OURS, THEIRS, OURS), (OURS, OURS, THEIRS)],
)
def test_state_on_tasks(client, ps, worker):
    cluster = addresses(ps=1, worker=1)
    tasks = {"ps": ps, "worker": worker}
    running = [start(kind, SERVER.format(cluster=cluster, job=job)) for job, kind in tasks.items()]
    try:
        text = STATE.replace("{target}", cluster["worker"][0])
        asking = start(client, text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        running.append(asking)
        said = asking.communicate(timeout=PATIENCE)[0]
        assert said.endswith("done\n"), said
    finally:
        for process in running:
            process.kill()
            process.wait()


TRAINING = """
server = tf.train.Server({cluster}, job_name="worker", task_index=0)
with tf.device("/job:ps/task:0"):
    step = tf.train.get_or_create_global_step()
    w = tf.get_variable("w", [], initializer=tf.zeros_initializer())
with tf.device("/job:worker/task:0"):
    loss = tf.square(w - 3.0 * tf.placeholder_with_default(1.0, []))
train = tf.train.GradientDescentOptimizer(0.05).minimize(loss, global_step=step)
hooks = [tf.train.StopAtStepHook(last_step=400)]
with tf.train.MonitoredTrainingSession(
    server.target, True, checkpoint_dir={folder!r}, hooks=hooks, save_checkpoint_steps=50,
    save_checkpoint_secs=None, save_summaries_steps=None, save_summaries_secs=None, log_step_count_steps=None,
) as session:
    while not session.should_stop():
        _, count, value = session.run([train, step, loss])
        print("step", count, value, flush=True)
        __import__("time").sleep(0.005)
print("done", flush=True)
"""


@pytest.mark.parametrize(("ps", "worker"), [(THEIRS, OURS), (OURS, THEIRS)])
def test_a_parameter_server_of_the_other_kind_is_killed(ps, worker, tmp_path):
    cluster = addresses(ps=1, worker=1)
    program, log = SERVER.format(cluster=cluster, job="ps"), tmp_path / "log"
    serving = start(ps, program)
    with open(log, "w") as out:
        text = TRAINING.format(cluster=cluster, folder=str(tmp_path / "model"))
        training = start(worker, text, stdout=out, stderr=subprocess.STDOUT)

    def steps():
        return list(map(int, re.findall(r"^step (\d+) ", log.read_text(), re.MULTILINE)))

    try:
        wait_until(lambda: training.poll() is not None or max(steps(), default=0) > 120)
        serving.kill()
        serving.wait()
        serving = start(ps, program)
        assert training.wait(PATIENCE) == 0, log.read_text()[-3000:]
    finally:
        for process in (training, serving):
            process.kill()
            process.wait()
    seen = steps()
    back = [(a, b) for a, b in itertools.pairwise(seen) if b != a + 1]
    # TensorFlow may fetch the step before the step has added to it.
    assert seen[-1] in (399, 400) and len(back) == 1, back
    assert back[0][1] % 50 in (0, 1)  # on from the last checkpoint
    assert float(re.findall(r"^step \d+ (\S+)$", log.read_text(), re.MULTILINE)[-1]) < 1e-6
