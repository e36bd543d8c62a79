"""State that is spread over parameter servers: what travels, where it is changed, how it is saved; and many
steps at once."""

from __future__ import annotations

import gc
import threading

import numpy as np
import pytest

import headrace as tf
from headrace.distributed.wire import recv_response
from headrace.ops.declaration.resources import Slot
from tests.distributed.clusters import cluster
from tests.timing import PATIENCE, wait_until

pytestmark = pytest.mark.process
ROWS, WIDTH = 20_000, 16


@pytest.fixture(scope="module", params=["grpc", "local"])
def servers(request):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADRACE_TRANSPORTS", request.param)
        with cluster(ps=2, worker=2) as found:
            found["way"] = request.param
            try:
                yield found
            finally:
                del found["way"]


@pytest.fixture
def graph(servers):
    with tf.Graph().as_default() as made:
        yield made
    tf.Session.reset(servers["worker"][0].target)


@pytest.fixture
def travelled(monkeypatch):
    """The sizes of all messages with a tensor."""
    sizes: list[int] = []
    original = recv_response.encode

    def counting(value, dtype=None):
        made = original(value, dtype)
        sizes.append(len(made))
        return made

    monkeypatch.setattr(recv_response, "encode", counting)
    return sizes


def table():
    with tf.device(tf.train.replica_device_setter(ps_tasks=2, worker_device="/job:worker/task:0")):
        return tf.get_variable(
            "table",
            [ROWS, WIDTH],
            initializer=tf.zeros_initializer(),
            partitioner=tf.fixed_size_partitioner(2),
            use_resource=True,
        )


@pytest.mark.parametrize("kind", [tf.train.GradientDescentOptimizer, tf.train.AdagradOptimizer])
def test_of_a_sharded_table_only_touched_rows_travel(servers, graph, travelled, kind):
    shards = list(table())
    assert [s.device for s in shards] == ["/job:ps/task:0", "/job:ps/task:1"]
    ids = tf.placeholder(tf.int64, [None])
    with tf.device("/job:worker/task:0"):
        rows = tf.nn.embedding_lookup(shards, ids, partition_strategy="div")
        loss = tf.reduce_sum(rows)
    train = kind(1.0).minimize(loss)
    chosen = np.array([3, 10_000, 3, 19_999])
    with tf.Session(servers["worker"][0].target) as session:
        session.run(tf.global_variables_initializer())
        session.run(train, {ids: chosen})
        travelled.clear()
        session.run(train, {ids: chosen})
        if servers["way"] == "grpc":
            assert travelled and sum(travelled) < 4096, travelled  # of 1.3 MB
        values = [session.run(s) for s in shards]
    whole = np.concatenate(values)
    assert np.flatnonzero(whole.any(axis=1)).tolist() == [3, 10_000, 19_999]
    if kind is tf.train.GradientDescentOptimizer:
        assert whole[3, 0] == -4.0 and whole[10_000, 0] == -2.0


def test_sparse_updates_happen_in_place(servers, graph):
    """At the parameter server: no copy of the table is made for a row."""
    shards = list(table())
    with tf.device("/job:worker/task:1"):
        delta = tf.placeholder(tf.float32, [1, WIDTH])
    update = shards[1].scatter_add(tf.IndexedSlices(delta, tf.constant([5])))
    with tf.Session(servers["worker"][0].target) as session:
        session.run(tf.global_variables_initializer())
        session.run(update.op, {delta: np.ones([1, WIDTH])})
        addresses = set()
        for _ in range(5):
            session.run(update.op, {delta: np.ones([1, WIDTH])})
            addresses.add(slot_of("table/part_1").value.ctypes.data)
        assert len(addresses) == 1
        assert session.run(shards[1])[5].tolist() == [6.0] * WIDTH


def slot_of(name):
    gc.collect()  # slots of earlier tests have this name, too
    return next(s for s in gc.get_objects() if isinstance(s, Slot) and s.name == name and s.value is not None)


def test_checkpoints_are_sharded(servers, graph, tmp_path):
    """One Save per task, and they run beside one another."""
    shards = list(table())
    with tf.device("/job:ps/task:1"):
        single = tf.get_variable("single", [3], initializer=tf.ones_initializer(), use_resource=True)
    saver = tf.train.Saver(sharded=True)
    prefix = str(tmp_path / "model")
    target = servers["worker"][0].target
    with tf.Session(target) as session:
        session.run(tf.global_variables_initializer())
        session.run(single.assign([1.0, 2.0, 3.0]))
        session.run(shards[0].scatter_add(tf.IndexedSlices(tf.ones([1, WIDTH]), tf.constant([7]))))
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        metadata = tf.RunMetadata()
        saved = saver.save(session, prefix)
        session.run(
            saver.saver_def.save_tensor_name,
            {saver.saver_def.filename_tensor_name: prefix + "2"},
            options=options,
            run_metadata=metadata,
        )
    saves = {
        d.device: n.node_name
        for d in metadata.step_stats.dev_stats
        for n in d.node_stats
        if "SaveV2" in n.node_name and "Merge" not in n.node_name
    }
    assert set(saves) == {f"/job:ps/replica:0/task:{i}/device:CPU:0" for i in range(2)}
    assert sorted(p.name for p in tmp_path.glob("model.data-*")) == [
        f"model.data-0000{i}-of-00002" for i in range(2)
    ]
    tf.Session.reset(target)
    with tf.Session(target) as session:
        saver.restore(session, saved)
        assert session.run(single).tolist() == [1.0, 2.0, 3.0]
        assert session.run(shards[0])[7].tolist() == [1.0] * WIDTH


def test_many_steps_at_once(servers, graph):
    """Threads, two masters, several signatures, a graph that grows meanwhile: every update counts once."""
    with tf.device("/job:ps/task:0"):
        total = tf.get_variable("total", [], initializer=tf.zeros_initializer(), use_resource=True)
        amount = tf.placeholder(tf.float32, [])
        queue = tf.FIFOQueue(100, [tf.float32], shapes=[[]])
    adds = []
    for i in range(2):
        with tf.device(f"/job:worker/task:{i}"):
            given = amount * 1.0
            loop = tf.while_loop(lambda k, a: k < 3, lambda k, a: (k + 1, a + given), [0, 0.0])[1]
        adds += [total.assign_add(loop), total.assign_add(given)]
    put, take = queue.enqueue(amount), queue.dequeue()
    sessions = [tf.Session(s.target) for s in servers["worker"]]
    sessions[0].run(total.initializer)
    errors: list[Exception] = []

    def work(number: int) -> None:
        try:
            for i in range(10):
                session = sessions[(number + i) % 2]
                session.run(adds[(number + i) % 4], {amount: 1.0})
                session.run(put, {amount: 1.0})
                session.run(take)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    grown = []
    for i in range(5):
        with tf.device("/job:ps/task:1"):
            grown.append(tf.constant(float(i)) * 2.0)
        assert sessions[0].run(grown[-1]) == 2.0 * i
    for thread in threads:
        thread.join(PATIENCE)
    assert not errors, errors
    expected = sum(3.0 if ((n + i) % 4) % 2 == 0 else 1.0 for n in range(8) for i in range(10))
    assert sessions[0].run(total) == expected
    for session in sessions:
        session.close()
    tasks = [s.worker for job in ("ps", "worker") for s in servers[job]]
    wait_until(lambda: not any(len(t._steps) for t in tasks))


def test_queues_of_all_kinds_on_tasks(servers, graph):
    with tf.device("/job:ps/task:1"):
        ranked = tf.PriorityQueue(10, [tf.string], [[]])
        mixed = tf.RandomShuffleQueue(10, 0, [tf.float32, tf.string], [[2], []])
        padded = tf.PaddingFIFOQueue(10, [tf.int32], [[None]])
    with tf.device("/job:worker/task:1"):
        rank = ranked.enqueue_many((tf.constant([2, 1], tf.int64), tf.constant(["late", "early"])))
        mix = mixed.enqueue_many((tf.ones([3, 2]), tf.constant(["x", "y", "z"])))
        pad = [padded.enqueue([tf.range(n)]) for n in (1, 3)]
        taken = ranked.dequeue(), mixed.dequeue_many(3), padded.dequeue_many(2)
        empty = padded.dequeue()
    with tf.Session(servers["worker"][0].target) as session:
        session.run([rank, mix, *pad])
        first, shuffled, rows = session.run(taken)
        assert first[1] == b"early" and sorted(shuffled[1]) == [b"x", b"y", b"z"]
        assert sorted(rows.tolist()) == [[0, 0, 0], [0, 1, 2]]
        session.run(padded.close())
        with pytest.raises(tf.errors.OutOfRangeError, match="closed") as raised:
            session.run(empty)
        assert raised.value.op is empty.op
