"""tf.train.Checkpoint: objects by the attributes that lead to them."""

from __future__ import annotations

import os

import pytest

import headrace as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as fresh:
        yield fresh


class Model(tf.Module):
    def __init__(self, value=1.0):
        super().__init__("model")
        self.w = tf.Variable([value, value], name="w")
        self.parts = [tf.Variable(value + i, name=f"part{i}") for i in range(2)]
        self.by_name = {"a.b/c": tf.Variable(value, name="odd")}
        self.parent = self  # a ring


def trained(value=1.0):
    model, optimizer = Model(value), tf.train.AdamOptimizer(0.1)
    train = optimizer.minimize(tf.reduce_sum(model.w**2) + model.parts[0])
    return model, optimizer, train


def test_keys(tmp_path):
    model, optimizer, train = trained()
    checkpoint = tf.train.Checkpoint(optimizer=optimizer, model=model)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        path = checkpoint.save(tmp_path / "ckpt", session)
        count = len(tf.get_default_graph().get_operations())
        assert checkpoint.save(tmp_path / "ckpt", session) == str(tmp_path / "ckpt-2")
        assert len(tf.get_default_graph().get_operations()) == count, "saving again adds no nodes"
    assert path == str(tmp_path / "ckpt-1")
    assert tf.train.latest_checkpoint(tmp_path) == str(tmp_path / "ckpt-2")
    value = "/.ATTRIBUTES/VARIABLE_VALUE"
    slots = [f"{v}/.OPTIMIZER_SLOT/optimizer/{s}" for v in ("model/parts/0", "model/w") for s in "mv"]
    names = ["model/by_name/a..b.Sc", "model/parts/0", "model/parts/1", "model/w", "save_counter"]
    names += [*slots, "optimizer/beta1_power", "optimizer/beta2_power"]
    listed = [name for name, _ in tf.train.list_variables(path)]
    assert listed == sorted(["_CHECKPOINTABLE_OBJECT_GRAPH", *(name + value for name in names)])


def test_restore_into_other_objects(tmp_path):
    """Names of variables do not matter; slots and counters come along."""
    model, optimizer, train = trained()
    checkpoint = tf.train.Checkpoint(optimizer=optimizer, model=model)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        path = checkpoint.save(tmp_path / "ckpt", session)
        wanted = session.run([model.w, model.parts[0], optimizer.get_slot(model.w, "m")])
    with tf.Graph().as_default(), tf.Session() as session, tf.variable_scope("elsewhere"):
        other, again, _ = trained(50.0)
        new = tf.train.Checkpoint(optimizer=again, model=other)
        new.restore(path).assert_consumed().run_restore_ops(session)
        found = session.run([other.w, other.parts[0], again.get_slot(other.w, "m")])
        assert all((a == b).all() for a, b in zip(wanted, found))
        assert session.run(new.save_counter) == 1


def test_partial(tmp_path):
    a, b = tf.Variable(1.0, name="a"), tf.Variable(2.0, name="b")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        path = tf.train.Checkpoint(a=a).save(tmp_path / "c", session)
        more = tf.train.Checkpoint(a=a, b=b)
        status = more.restore(path)
        status.assert_nontrivial_match().expect_partial()
        with pytest.raises(AssertionError, match="not assigned a value"):
            status.assert_existing_objects_matched()
        session.run([a.assign(9.0), b.assign(9.0)])
        status.initialize_or_restore(session)
        assert session.run([a, b]) == [1, 2]
        with pytest.raises(AssertionError, match="Unresolved object in checkpoint: a/"):
            tf.train.Checkpoint(b=b).restore(path).assert_consumed()
        with pytest.raises(AssertionError, match="Nothing except the root"):
            tf.train.Checkpoint(c=tf.Module(name="c"), b=b).restore(
                save(tmp_path / "d", session, x=a)
            ).assert_nontrivial_match()


def save(path, session, **objects):
    checkpoint = tf.train.Checkpoint(**objects)
    return checkpoint.write(path, session)


def test_objects_that_come_later(tmp_path):
    """What is attached after `restore` is restored too."""
    with tf.Session() as session:
        a = tf.Variable(5.0)
        session.run(a.initializer)
        path = save(tmp_path / "c", session, a=a, m=[tf.Variable(6.0, name="x")][:0] or a)
        late = tf.train.Checkpoint()
        status = late.restore(path)
        late.a = tf.Variable(0.0)
        status.run_restore_ops(session)
        assert session.run(late.a) == 5


def test_checkpoint_of_a_saver(tmp_path):
    a = tf.Variable(5.0, name="a")
    with tf.Session() as session:
        session.run(a.initializer)
        path = tf.train.Saver([a]).save(session, str(tmp_path / "m"))
        session.run(a.assign(0.0))
        checkpoint = tf.train.Checkpoint(any=a)
        checkpoint.restore(path).initialize_or_restore(session)
        assert session.run(a) == 5
        # and a saver reads a checkpoint of objects, by the names it holds
        path = checkpoint.save(tmp_path / "objects", session)
        session.run(a.assign(0.0))
        tf.train.Saver([a]).restore(session, path)
        assert session.run(a) == 5


def test_no_checkpoint(tmp_path):
    a = tf.Variable(5.0)
    status = tf.train.Checkpoint(a=a).restore(None)
    with tf.Session() as session:
        status.initialize_or_restore(session)
        assert session.run(a) == 5
        with pytest.raises(AssertionError, match="no checkpoint was specified"):
            status.assert_consumed()
    with pytest.raises(tf.errors.NotFoundError):
        tf.train.Checkpoint(a=a).restore(str(tmp_path / "none"))
    with pytest.raises(ValueError, match="expecting a trackable object"):
        tf.train.Checkpoint(a=5)


def test_manager(tmp_path):
    checkpoint = tf.train.Checkpoint(a=tf.Variable(1.0, name="a"))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        manager = tf.train.CheckpointManager(checkpoint, tmp_path / "m", max_to_keep=2)
        assert manager.latest_checkpoint is None and manager.checkpoints == []
        for _ in range(3):
            path = manager.save()
        assert manager.save(checkpoint_number=40) == str(tmp_path / "m" / "ckpt-40")
        assert manager.checkpoints == [path, manager.latest_checkpoint]
        again = tf.train.CheckpointManager(checkpoint, tmp_path / "m", max_to_keep=2)
        assert again.checkpoints == manager.checkpoints
        again.save()
    kept = sorted(name for name in os.listdir(tmp_path / "m") if name.endswith(".index"))
    assert kept == ["ckpt-40.index", "ckpt-5.index"]
    with pytest.raises(ValueError, match="positive integer"):
        tf.train.CheckpointManager(checkpoint, tmp_path, max_to_keep=0)
