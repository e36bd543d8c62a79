"""One task of the cluster in test_chaos.py: a program as users write it.

    python -m tests.distributed.chaos_task CLUSTER JOB INDEX FOLDER STEPS SYNC

A linear model that can be fitted exactly: however often training begins anew at a checkpoint, it ends at the
same values.  A worker prints "step N" as it goes on, and "done step=N loss=L" at the end.
"""

from __future__ import annotations

import json
import sys

import numpy as np

import headrace as tf

WIDTH = 8


def train(cluster: dict[str, list[str]], server: tf.train.Server, index: int, options: list[str]) -> None:
    folder, steps, is_sync = options[0], int(options[1]), options[2] == "1"
    is_chief, workers = index == 0, len(cluster["worker"])
    with tf.device(
        tf.train.replica_device_setter(worker_device=f"/job:worker/task:{index}", cluster=cluster)
    ):
        x, y = tf.placeholder(tf.float32, [None, WIDTH]), tf.placeholder(tf.float32, [None, 1])
        w = tf.get_variable("w", [WIDTH, 1], initializer=tf.zeros_initializer())
        b = tf.get_variable("b", [1], initializer=tf.zeros_initializer())
        loss = tf.reduce_mean(tf.square(tf.matmul(x, w) + b - y))
        step = tf.train.get_or_create_global_step()
        opt = tf.train.GradientDescentOptimizer(0.1)
        if is_sync:
            opt = tf.train.SyncReplicasOptimizer(opt, workers, workers)
        update = opt.minimize(loss, global_step=step)
    hooks = [tf.train.StopAtStepHook(last_step=steps)]
    if is_sync:
        hooks.append(opt.make_session_run_hook(is_chief))
    random = np.random.RandomState(index)
    true = np.linspace(-1, 1, WIDTH, dtype=np.float32).reshape(WIDTH, 1)
    with tf.train.MonitoredTrainingSession(
        server.target,
        is_chief,
        checkpoint_dir=folder,
        hooks=hooks,
        save_checkpoint_steps=20,
        save_summaries_steps=None,
        log_step_count_steps=None,
    ) as sess:
        found, value = 0, float("nan")
        while not sess.should_stop():
            rows = random.randn(16, WIDTH).astype(np.float32)
            _, value, found = sess.run([update, loss, step], {x: rows, y: rows @ true + 0.5})
            print(f"step {found}", flush=True)
    print(f"done step={found} loss={value}", flush=True)


def main() -> None:
    cluster, job, index = json.loads(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    server = tf.train.Server(cluster, job_name=job, task_index=index)
    if job == "ps":
        server.join()
    else:
        train(cluster, server, index, sys.argv[4:])


main()
