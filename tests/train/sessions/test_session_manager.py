"""SessionManager: restored, initialised or waited for."""

from __future__ import annotations

import threading

import pytest

import headrace as tf
from headrace.train.sessions.session_manager import Patience, with_filters
from tests.distributed.clusters import addresses, cluster
from tests.timing import soon, wait_until


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def test_a_model_is_initialised_then_restored(tmp_path):
    v = tf.get_variable("v", [], initializer=tf.ones_initializer())
    saver, init = tf.train.Saver([v]), tf.global_variables_initializer()
    manager = tf.train.SessionManager(ready_op=tf.report_uninitialized_variables())
    change = tf.assign(v, 5.0)
    with manager.prepare_session("", init_op=init, saver=saver, checkpoint_dir=str(tmp_path)) as sess:
        assert sess.run(v) == 1.0
        sess.run(change)
        saver.save(sess, str(tmp_path / "model"))
    with manager.prepare_session("", init_op=init, saver=saver, checkpoint_dir=str(tmp_path)) as sess:
        assert sess.run(v) == 5.0
    path = str(tmp_path / "model")
    with manager.prepare_session("", saver=saver, checkpoint_filename_with_path=path) as sess:
        assert sess.run(v) == 5.0
    sess, is_restored = manager.recover_session("", saver=saver, checkpoint_dir=str(tmp_path))
    assert is_restored and sess.run(v) == 5.0
    sess.close()
    with pytest.raises(ValueError, match="Can not provide both"):
        manager.prepare_session("", saver=saver, checkpoint_dir="a", checkpoint_filename_with_path=path)


def test_what_is_not_ready_is_named():
    tf.get_variable("named", [], initializer=tf.ones_initializer())
    manager = tf.train.SessionManager(ready_op=tf.report_uninitialized_variables())
    nothing = tf.no_op()
    with pytest.raises(RuntimeError, match="did not make model ready.*named"):
        manager.prepare_session("", init_op=nothing)
    with pytest.raises(RuntimeError, match="no init_op or init_fn or local_init_op was given"):
        manager.prepare_session("")
    with soon(10), pytest.raises(tf.errors.DeadlineExceededError, match="after waiting 1 secs.*named"):
        manager.wait_for_session("", max_wait_secs=1)
    with pytest.raises(ValueError, match="must also pass a local_init_op"):
        tf.train.SessionManager(ready_for_local_init_op=nothing)


def test_local_variables_are_initialised_once_the_model_is():
    v = tf.get_variable("v", [], initializer=tf.ones_initializer())
    own = tf.Variable(v.initialized_value() + 1, collections=[tf.GraphKeys.LOCAL_VARIABLES])
    manager = tf.train.SessionManager(
        ready_op=tf.report_uninitialized_variables(),
        ready_for_local_init_op=tf.report_uninitialized_variables(tf.global_variables()),
        local_init_op=own.initializer,
    )
    with manager.prepare_session("", init_op=v.initializer) as sess:
        assert sess.run(own) == 2.0
    sess, is_restored = manager.recover_session("")
    assert not is_restored
    sess.close()


def test_a_worker_waits_for_the_chief_and_no_longer():
    """The chief initialises soon after the worker has looked: the worker is there within a second or so,
    though it may wait half a minute between two looks."""
    pytest.importorskip("grpc")
    with cluster(worker=2) as servers:
        chief, worker = servers["worker"]
        with tf.device("/job:worker/task:0"):
            v = tf.get_variable("v", [], initializer=tf.ones_initializer())
        manager = tf.train.SessionManager(ready_op=tf.report_uninitialized_variables(), recovery_wait_secs=30)
        init, found = tf.global_variables_initializer(), []
        thread = threading.Thread(target=lambda: found.append(manager.wait_for_session(worker.target)))
        thread.start()
        with manager.prepare_session(chief.target, init_op=init), soon(20):
            wait_until(lambda: found)
            assert found[0].run(v) == 1.0
            found[0].close()
        thread.join(10)


def test_a_replica_waits_for_those_that_its_graph_names():
    """The other worker is not there, and nobody needs it."""
    pytest.importorskip("grpc")
    at = addresses(ps=1, worker=2)
    ps, chief = (tf.train.Server(at, job_name=job, task_index=0) for job in ("ps", "worker"))
    try:
        with tf.device(tf.train.replica_device_setter(worker_device="/job:worker/task:0", cluster=at)):
            step = tf.train.get_or_create_global_step()
            add = tf.assign_add(step, 1)
        with soon(20), tf.train.MonitoredTrainingSession(chief.target) as sess:
            assert sess.run(add) == 1
        with soon(20), tf.train.Supervisor().managed_session(chief.target) as sess:
            assert sess.run(add) == 1
    finally:
        chief.stop()
        ps.stop()


def test_filters_that_are_given_stay():
    with tf.device("/job:ps/task:3/cpu:0"):
        tf.constant(1)
    with tf.device("/job:worker"):
        tf.constant(1)
    graph = tf.get_default_graph()
    made = with_filters(tf.ConfigProto(log_device_placement=True), "grpc://here:1", graph)
    assert list(made.device_filters) == ["/job:ps/task:3", "/job:worker"] and made.log_device_placement
    given = tf.ConfigProto(device_filters=["/job:ps"])
    assert with_filters(given, "grpc://here:1", graph) is given
    assert with_filters(None, "", graph) is None
    assert with_filters(None, "grpc://here:1", tf.Graph()) is None


def test_patience_grows_ends_and_speaks(monkeypatch):
    from headrace.train.sessions import session_manager

    now, said = [0.0], []
    monkeypatch.setattr(session_manager.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(session_manager.time, "sleep", lambda s: now.__setitem__(0, now[0] + s))
    monkeypatch.setattr(session_manager.log, "warning", lambda *args: said.append(args[0] % args[1:]))
    patience = Patience(limit=60, longest=8)
    while patience.wait("Godot"):
        pass
    assert 50 < now[0] <= 60
    assert 2 <= len(said) <= 6 and all("Waiting for Godot" in line for line in said)
    assert not Patience(limit=0, longest=8).wait("nobody")
