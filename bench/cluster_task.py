"""One task of a cluster under measurement: a parameter server, or a worker that runs steps on command.

    python -m bench.cluster_task '{"kind": "tf", "job": "ps", "index": 0, "cluster": {...}, "work": "null"}'

A worker obeys lines of JSON: `start` (the chief first: it makes the variables), `burst`.  Every answer is
one line of JSON."""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from bench.workloads import values
from bench.workloads.sizes import FULL

PS = "/job:ps/task:0"
LAYERS = ((784, 512), (512, 512), (512, 10))
ROWS, WIDTH, FEW = 1_000_000, 32, 32
Feeds = Callable[[], dict[Any, Any]]


def module(kind: str) -> Any:
    if kind == "headrace":
        return importlib.import_module("headrace")
    tf = importlib.import_module("tensorflow.compat.v1")
    tf.logging.set_verbosity(tf.logging.ERROR)
    tf.disable_v2_behavior()
    return tf


class Work:
    """What a worker does: `fetch` in every step, with `feeds()`; `optimizer` where steps are synchronous."""

    optimizer: Any = None

    def __init__(self, tf: Any, name: str, index: int, workers: int) -> None:
        self.tf, self.here, self.workers = tf, f"/job:worker/task:{index}", workers
        self.feeds: Feeds = dict
        with tf.device(PS):
            self.count = tf.train.get_or_create_global_step()
        self.fetch = BUILD[name](self)

    def null(self) -> Any:
        """A scalar comes from the parameter server, an update goes back."""
        tf = self.tf
        with tf.device(PS):
            v = tf.Variable(0.0, name="v")
        with tf.device(self.here):
            u = v + 1.0
        with tf.device(PS):
            return tf.assign_add(v, u * 0.0 + 1.0).op

    def scalar(self) -> Any:
        """A scalar comes from the parameter server."""
        with self.tf.device(PS):
            v = self.tf.Variable(0.0, name="v")
        with self.tf.device(self.here):
            return (v + 1.0).op

    def dense(self, megabytes: int) -> Any:
        with self.tf.device(PS):
            v = self.tf.Variable(self.tf.zeros([megabytes * 250_000]), name="v")
        with self.tf.device(self.here):
            return self.tf.reduce_sum(v + 1.0).op

    def sparse(self) -> Any:
        """A few rows out of many, chosen anew in each step."""
        tf = self.tf
        with tf.device(PS):
            table = tf.Variable(tf.zeros([ROWS, WIDTH]), name="table")
        ids = tf.placeholder(tf.int32, [FEW])
        rng = np.random.RandomState(0)
        self.feeds = lambda: {ids: rng.randint(0, ROWS, FEW)}
        with tf.device(PS):
            rows = tf.gather(table, ids)
        with tf.device(self.here):
            return (rows + 1.0).op

    def mlp(self, together: int = 0) -> Any:
        """`together`: so many gradients make an update; 0: each makes one."""
        tf = self.tf
        with tf.device(self.here):
            x, labels = tf.placeholder(tf.float32, [128, 784]), tf.placeholder(tf.int32, [128])
        h = x
        for i, shape in enumerate(LAYERS):
            with tf.device(PS):
                w = tf.get_variable(f"w{i}", shape, initializer=tf.random_uniform_initializer(-0.05, 0.05))
                b = tf.get_variable(f"b{i}", shape[1:], initializer=tf.zeros_initializer())
            with tf.device(self.here):
                h = tf.matmul(h, w) + b
                h = tf.nn.relu(h) if i < 2 else h
        with tf.device(self.here):
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=h)
            loss = tf.reduce_mean(losses)
        batch = values.forever(values.digits(128))
        self.feeds = lambda: dict(zip((x, labels), batch()))
        optimizer = tf.train.GradientDescentOptimizer(0.05)
        if together:
            optimizer = tf.train.SyncReplicasOptimizer(
                optimizer, replicas_to_aggregate=together, total_num_replicas=self.workers
            )
            self.optimizer = optimizer
        with tf.device(PS):
            train = optimizer.minimize(loss, global_step=self.count)
        if not together:
            return train
        with tf.control_dependencies([train]), tf.device(PS):
            return tf.identity(self.count.read_value())

    def lstm(self) -> Any:
        """The small language model of the PTB tutorial, its variables on the parameter server."""
        recurrent = importlib.import_module("bench.workloads.recurrent")
        tf, size = self.tf, FULL.lstm_small
        shape = (size.batch, size.steps)
        with tf.device(tf.train.replica_device_setter(1, worker_device=self.here)):
            inputs, targets = tf.placeholder(tf.int32, shape), tf.placeholder(tf.int32, shape)
            before = [tf.zeros([size.batch, size.hidden]) for _ in range(2 * recurrent.LAYERS)]
            first = tf.random_uniform_initializer(-size.scale, size.scale)
            table = tf.get_variable("embedding", (size.vocabulary, size.hidden), initializer=first)
            outputs, _ = recurrent.static_layers(tf, size, tf.nn.embedding_lookup(table, inputs), before)
            w = tf.get_variable("softmax_w", (size.hidden, size.vocabulary), initializer=first)
            b = tf.get_variable("softmax_b", (size.vocabulary,), initializer=first)
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
                labels=tf.reshape(targets, [-1]), logits=tf.matmul(outputs, w) + b
            )
            train = tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(losses) / size.batch)
        batch = values.forever(values.words(size))
        self.feeds = lambda: dict(zip((inputs, targets), batch()))
        return train


BUILD: dict[str, Callable[[Work], Any]] = {
    "null": Work.null,
    "scalar": Work.scalar,
    "dense_10": lambda work: work.dense(10),
    "dense_100": lambda work: work.dense(100),
    "sparse": Work.sparse,
    "mlp_async": lambda work: work.mlp(),
    "mlp_sync": lambda work: work.mlp(work.workers),
    "mlp_backup": lambda work: work.mlp(work.workers - 1),
    "lstm": Work.lstm,
}


def burst(run: Callable[[Any, Any], Any], work: Work, told: dict[str, Any], slow: float) -> dict[str, float]:
    """So many steps; where none are given, as many as fit into the time; or updates up to a common one.
    `slow`: by which factor each takes longer than it needs."""
    begin, done, steps, until = time.perf_counter(), 0, told.get("steps", 0), told.get("until")
    before = after = 0
    while True:
        since = time.perf_counter()
        value = run(work.fetch, work.feeds())
        done += 1
        time.sleep((slow - 1.0) * (time.perf_counter() - since))
        seconds = time.perf_counter() - begin
        if until is not None:
            before, after = before or int(value), int(value)
            if after >= until:
                return {"steps": max(1, after - before), "seconds": seconds}
        elif done >= steps if steps else seconds >= told["seconds"]:
            return {"steps": done, "seconds": seconds}


def start(tf: Any, session: Any, work: Work, index: int, initialize: list[Any]) -> None:
    for op in initialize:
        session.run(op)
    if work.optimizer is not None and index == 0:
        work.queue.create_threads(session, coord=tf.train.Coordinator(), daemon=True, start=True)
        session.run(work.tokens)


def main() -> None:
    given = json.loads(sys.argv[1])
    tf, index = module(given["kind"]), given["index"]
    server = tf.train.Server(given["cluster"], job_name=given["job"], task_index=index)
    if given["job"] == "ps":
        server.join()
    work = Work(tf, given["work"], index, len(given["cluster"]["worker"]))
    initialize = [tf.global_variables_initializer()] if index == 0 else []
    if work.optimizer is not None:
        made = work.optimizer
        initialize.append(made.chief_init_op if index == 0 else made.local_step_init_op)
        work.queue, work.tokens = made.get_chief_queue_runner(), made.get_init_tokens_op()
    session = tf.Session(server.target)
    print(json.dumps({"up": tf.__version__}), flush=True)
    for line in sys.stdin:
        told = json.loads(line)
        answer: dict[str, float] = {}
        if told["do"] == "start":
            start(tf, session, work, index, initialize)
        else:
            time.sleep(max(0.0, told["at"] - time.time()))  # all workers at once
            answer = burst(session.run, work, told, given["slow"])
        print(json.dumps(answer), flush=True)
    os._exit(0)  # threads of either kind may wait for tasks that are gone


if __name__ == "__main__":
    main()
