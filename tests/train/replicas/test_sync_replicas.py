"""Synchronous replicas: N workers with batches of b are one worker with batches of N*b; late gradients are
dropped; more replicas than are needed are backups."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import headrace as tf
from tests.distributed.clusters import cluster
from tests.timing import PATIENCE

pytest.importorskip("grpc")

STEPS, BATCH, WIDTH = 6, 4, 5
EXAMPLES = np.random.RandomState(0).randn(STEPS, 2 * BATCH, WIDTH).astype(np.float32)
TARGETS = EXAMPLES @ np.linspace(-1, 1, WIDTH, dtype=np.float32).reshape(WIDTH, 1)
# Both halves of a batch touch the same rows: the mean of a sparse gradient is that of who has the row.
ROWS = np.tile(np.arange(2 * BATCH, dtype=np.int32) % BATCH, [STEPS, 1])


class Model:
    """A dense variable and an embedding, on the parameter server."""

    def __init__(self, device, optimizer):
        with tf.device(device):
            self.x = tf.placeholder(tf.float32, [None, WIDTH])
            self.y = tf.placeholder(tf.float32, [None, 1])
            self.rows = tf.placeholder(tf.int32, [None])
            self.w = tf.get_variable("w", [WIDTH, 1], initializer=tf.zeros_initializer())
            self.table = tf.get_variable("table", [7, 1], initializer=tf.ones_initializer())
            shift = tf.nn.embedding_lookup(self.table, self.rows)
            loss = tf.reduce_mean(tf.square(tf.matmul(self.x, self.w) + shift - self.y))
            self.step = tf.train.get_or_create_global_step()
            self.optimizer = optimizer()
            self.train = self.optimizer.minimize(loss, global_step=self.step)

    def feed(self, step, rows):
        return {self.x: EXAMPLES[step, rows], self.y: TARGETS[step, rows], self.rows: ROWS[step, rows]}


def alone(optimizer):
    with tf.Graph().as_default(), tf.Session() as sess:
        model = Model("", optimizer)
        sess.run(tf.global_variables_initializer())
        for step in range(STEPS):
            sess.run(model.train, model.feed(step, slice(None)))
        return sess.run([model.w, model.table])


def together(optimizer, workers=2):
    found, errors = [], []
    barrier = threading.Barrier(workers)

    def work(index, server, at):
        try:
            with tf.Graph().as_default():
                device = tf.train.replica_device_setter(worker_device=f"/job:worker/task:{index}", cluster=at)
                sync = lambda: tf.train.SyncReplicasOptimizer(optimizer(), workers, workers)
                model = Model(device, sync)
                hook = model.optimizer.make_session_run_hook(index == 0, num_tokens=0)
                mine = slice(index * BATCH, (index + 1) * BATCH)
                with tf.train.MonitoredTrainingSession(server.target, index == 0, hooks=[hook]) as sess:
                    for step in range(STEPS):
                        sess.run(model.train, model.feed(step, mine))
                        barrier.wait(PATIENCE)  # nobody takes the token of another
                    if index == 0:
                        found.append(sess._tf_sess().run([model.w, model.table, model.step]))
                    barrier.wait(PATIENCE)
        except BaseException as error:
            errors.append(error)
            barrier.abort()

    with cluster(ps=1, worker=workers) as servers:
        at = servers["ps"][0].server_def.cluster
        threads = [threading.Thread(target=work, args=(i, s, at)) for i, s in enumerate(servers["worker"])]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
    assert not errors, errors
    return found[0]


@pytest.mark.parametrize(
    "optimizer",
    [lambda: tf.train.GradientDescentOptimizer(0.05), lambda: tf.train.AdagradOptimizer(0.1)],
    ids=["descent", "adagrad"],
)
def test_two_workers_are_one_with_a_batch_of_both(optimizer):
    w, table, step = together(optimizer)
    alone_w, alone_table = alone(optimizer)
    assert step == STEPS
    np.testing.assert_allclose(w, alone_w, atol=1e-5)
    np.testing.assert_allclose(table, alone_table, atol=1e-5)


def test_a_gradient_of_an_older_step_is_dropped():
    with tf.Graph().as_default(), tf.Session() as sess:
        v = tf.get_variable("v", [], initializer=tf.zeros_initializer())
        step = tf.train.get_or_create_global_step()
        opt = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(1.0), 1, 1)
        train = opt.apply_gradients([(tf.constant(1.0), v)], global_step=step)
        tokens = opt.get_init_tokens_op(3)
        sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        sess.run(opt.chief_init_op)
        sess.run(tokens)
        update = opt.get_chief_queue_runner().enqueue_ops[0]
        sess.run(train)
        sess.run(update)  # step 1; the replica still has a token of step 0
        sess.run(train)  # computed at step 0: dropped
        accumulator = opt._accumulator_list[0][0]
        assert sess.run([v, step, accumulator.num_accumulated()]) == [-1.0, 1, 0]


def test_misuse_is_refused():
    opt = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(1.0), 3, 2)
    with pytest.raises(ValueError, match="after apply_gradients"):
        opt.get_init_tokens_op()
    with pytest.raises(ValueError, match="after apply_gradients"):
        opt.get_chief_queue_runner()
    with pytest.raises(ValueError, match="at least one variable"):
        opt.apply_gradients([])
    with tf.Graph().as_default():
        v = tf.get_variable("v", [], initializer=tf.zeros_initializer())
        with pytest.raises(ValueError, match="Global step is required"):
            opt.apply_gradients([(tf.constant(1.0), v)])
        opt.apply_gradients([(tf.constant(1.0), v)], global_step=tf.train.create_global_step())
        with pytest.raises(ValueError, match=r"Too few tokens.*0 \(given\) vs 1 \(needed\)"):
            opt.get_init_tokens_op(0)
