"""Positions of iterators: in checkpoints, and through every transformation."""

from __future__ import annotations

import numpy as np
import pytest

import headrace as tf

D, X, R = tf.data.Dataset, tf.data.experimental, tf.data.Dataset.range

PIPELINES = {
    "range": lambda: R(8),
    "shuffle": lambda: R(20).shuffle(6, seed=3).repeat(2),
    "map": lambda: R(8).map(lambda x: x * 2).batch(3),
    "parallel map": lambda: R(12).map(lambda x: x * 2, num_parallel_calls=3),
    "prefetch": lambda: R(12).prefetch(4),
    "flat_map": lambda: R(5).flat_map(lambda x: R(x)),
    "interleave": lambda: R(6).interleave(lambda x: R(x), 3, 2),
    "parallel interleave": lambda: R(6).interleave(lambda x: R(x), 3, 2, num_parallel_calls=2),
    "window": lambda: R(9).window(3, 2).flat_map(lambda w: w.batch(3)),
    "groups": lambda: R(20).apply(X.group_by_window(lambda x: x % 3, lambda k, w: w.batch(3), 3)),
    "scan": lambda: R(9).apply(X.scan(np.int64(0), lambda s, x: (s + x, s))),
    "text": lambda: D.from_tensor_slices(["a", "b", "c", "d"]).cache().repeat(2),
    "sparse": lambda: D.from_tensor_slices(tf.SparseTensor([[0, 1], [2, 0]], [5, 6], [3, 2])).map(
        tf.sparse.to_dense
    ),
    "choice": lambda: X.sample_from_datasets([R(5), R(10, 15)], seed=4),
    "unbatch": lambda: R(10).batch(4).unbatch().filter(lambda x: x % 2 < 1),
}


def rest(session, following):
    found = []
    while True:
        try:
            value = session.run(following)
        except tf.errors.OutOfRangeError:
            return found
        found.append(value.tolist() if hasattr(value, "tolist") else value)


@pytest.mark.parametrize("name", PIPELINES)
def test_goes_on_where_it_stood(name, tmp_path):
    iterator = PIPELINES[name]().make_initializable_iterator()
    following = iterator.get_next()
    tf.add_to_collection(tf.GraphKeys.SAVEABLE_OBJECTS, X.make_saveable_from_iterator(iterator))
    saver = tf.train.Saver()
    with tf.Session() as session:
        session.run(iterator.initializer)
        for _ in range(3):
            session.run(following)
        path = saver.save(session, str(tmp_path / "place"))
        expected = rest(session, following)
    for _ in range(2):
        with tf.Session() as session:
            session.run(iterator.initializer)
            saver.restore(session, path)
            assert rest(session, following) == expected


def test_a_damaged_position_is_an_error():
    iterator = R(3).make_initializable_iterator()
    restore = tf.raw_ops.DeserializeIterator(
        resource_handle=iterator._iterator_resource, serialized=tf.raw_ops.OptionalNone()
    )
    with tf.Session() as session:
        session.run(iterator.initializer)
        with pytest.raises(tf.errors.InvalidArgumentError, match="Unable to parse"):
            session.run(restore)
