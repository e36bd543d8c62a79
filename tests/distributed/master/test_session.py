"""Sessions at masters, beside plain steps: callables, what is recorded of a step, refusals."""

from __future__ import annotations

import gc
import threading

import numpy as np
import pytest

import headrace as tf
from headrace.formats import proto
from tests.distributed.clusters import cluster, elsewhere
from tests.timing import PATIENCE, soon, wait_until

pytestmark = pytest.mark.process
FULL = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE, output_partition_graphs=True)
TASKS = ["/job:ps/replica:0/task:0", "/job:worker/replica:0/task:0", "/job:worker/replica:0/task:1"]


@pytest.fixture(scope="module")
def servers():
    with cluster(ps=1, worker=2) as found:
        yield found


@pytest.fixture(params=["here", "elsewhere"])
def target(request, servers):
    """A master in this process, called directly, and one behind its address; with a graph of its own."""
    server = servers["worker"][0]
    with tf.Graph().as_default():
        if request.param == "here":
            yield server.target
            return
        with elsewhere(server):
            yield server.target


def over_three_tasks():
    with tf.device("/job:ps/task:0"):
        w = tf.get_variable("recorded", [8, 8], initializer=tf.ones_initializer(), use_resource=True)
        x = tf.placeholder(tf.float32, [8, 8])
    with tf.device("/job:worker/task:1"):
        y = tf.matmul(x, w, name="far_product")
    with tf.device("/job:worker/task:0"):
        return w, x, tf.reduce_sum(y, name="near_sum")


def test_what_all_tasks_did_is_in_one_record(target):
    w, x, total = over_three_tasks()
    data = np.ones([8, 8], np.float32)
    with tf.Session(target) as session:
        session.run(w.initializer)
        metadata = tf.RunMetadata()
        assert session.run(total, {x: data}, options=FULL, run_metadata=metadata) == 512.0
        stats = {d.device: {n.node_name for n in d.node_stats} for d in metadata.step_stats.dev_stats}
        assert {d.partition("/device:")[0] for d in stats} == set(TASKS)
        assert any("far_product" in n for n in stats[f"{TASKS[2]}/device:CPU:0"])
        assert any("near_sum" in n for n in stats[f"{TASKS[1]}/device:CPU:0"])
        named = {n.name for g in metadata.partition_graphs for n in g.node}
        assert {"far_product", "near_sum"} <= named and len(metadata.partition_graphs) == 3
        session.run(total, {x: data}, run_metadata=metadata)  # nothing was asked for
        assert not metadata.step_stats.dev_stats and not metadata.partition_graphs
        plain = tf.RunMetadata()
        session.run(total, {x: data}, options=tf.RunOptions(), run_metadata=plain)
        assert not plain.step_stats.dev_stats


def test_costs_are_recorded_every_so_many_steps(target):
    w, x, total = over_three_tasks()
    config = tf.ConfigProto(graph_options=tf.GraphOptions(build_cost_model=2))
    with tf.Session(target, config=config) as session:
        counts = []
        for _ in range(4):
            metadata = tf.RunMetadata()
            session.run(w.initializer, run_metadata=metadata)
            counts.append(len(metadata.cost_graph.node))
        assert counts[0] == counts[2] == 0 and counts[1] and counts[3]


def test_callables(servers, target):
    w, x, total = over_three_tasks()
    data = np.ones([8, 8], np.float32)
    with tf.Session(target) as session:
        session.run(w.initializer)
        add = tf.assign_add(w, tf.ones([8, 8]))
        call = session.make_callable({"total": total}, [x])
        assert call(data) == {"total": 512.0} and call(data * 2.0) == {"total": 1024.0}
        assert session.make_callable(add.op)() is None
        assert call(data)["total"] == 1024.0
        with pytest.raises(TypeError):
            call()
        options = session.make_callable(total, [x], accept_options=True)
        metadata = tf.RunMetadata()
        options(data, options=FULL, run_metadata=metadata)
        assert len(metadata.step_stats.dev_stats) == 3
        wish = proto.CallableOptions(
            fetch=[total.name], feed=[x.name], target=[add.op.name], run_options=FULL
        )
        named = session._make_callable_from_options(wish)
        metadata.Clear()
        assert named(data, run_metadata=metadata) == [pytest.approx(1024.0, abs=513.0)]  # `add` runs, too
        assert len(metadata.step_stats.dev_stats) == 3
        held = servers["worker"][0].master._session(session._remote._handle)._callables
        assert held
        del call, options, named
        gc.collect()
        wait_until(lambda: not held)


def test_a_callable_has_a_deadline(target):
    with tf.device("/job:ps/task:0"):
        queue = tf.FIFOQueue(1, [tf.float32], shapes=[[]])
        blocked = queue.dequeue()
    with tf.Session(target) as session:
        call = session.make_callable(blocked, accept_options=True)
        with soon(5), pytest.raises(tf.errors.DeadlineExceededError):
            call(options=tf.RunOptions(timeout_in_ms=200))


def test_a_debugger_is_refused(target):
    one = tf.constant(1.0)
    options = tf.RunOptions()
    options.debug_options.debug_tensor_watch_opts.add(node_name="x")
    with tf.Session(target) as session:
        with pytest.raises(tf.errors.UnimplementedError, match="debug_options"):
            session.run(one, options=options)


def test_a_signature_that_takes_long_to_prepare_holds_nobody_up(servers, target):
    """Steps of other signatures go on, and so does the end of the session."""
    with tf.device("/job:ps/task:0"):
        quick, slow = tf.constant(1.0) + 1.0, tf.constant(2.0) + 2.0
    worker = servers["ps"][0].worker
    begun, go_on, register = threading.Event(), threading.Event(), worker._register

    def waits(*arguments):
        begun.set()
        go_on.wait(PATIENCE)
        return register(*arguments)

    with tf.Session(target) as session:
        assert session.run(quick) == 2.0
        worker._register = waits
        try:
            errors = []
            thread = threading.Thread(target=lambda: errors.append(_error_of(session, slow)))
            thread.start()
            assert begun.wait(PATIENCE)
            with soon(5):
                assert session.run(quick) == 2.0
        finally:
            worker._register = register
            go_on.set()
            thread.join(PATIENCE)
        assert errors == [None]


def _error_of(session, fetch):
    try:
        session.run(fetch)
    except tf.errors.OpError as error:
        return error
    return None
