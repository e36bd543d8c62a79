"""Sums into places that are hit very often: rounded once, compiled and interpreted, in tables of any size."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import headrace as tf

pytestmark = pytest.mark.native
DTYPES = [tf.float16, tf.bfloat16, tf.float32]
UNITS = {tf.float16: 2.0**-11, tf.bfloat16: 2.0**-8, tf.float32: 2.0**-24}
SIZES = [(20_000, 3), (20_000, 90_000), (200, 3), (200, 5000)]  # terms, rows: short sums in all types too
WIDTH = 4


def segments(x, ids, rows):
    return tf.unsorted_segment_sum(x, ids, rows)


def sorted_segments(x, ids, rows):
    return tf.segment_sum(x, tf.cast(ids > 0, tf.int32))


def places(x, ids, rows):
    return tf.scatter_nd(ids[:, None], x, [rows, WIDTH])


def gathered(x, ids, rows):
    table = tf.zeros([rows, WIDTH], x.dtype)
    return tf.convert_to_tensor(tf.gradients(tf.gather(table, ids), table, x)[0])


def changed(x, ids, rows):
    return tf.tensor_scatter_add(tf.zeros([rows, WIDTH], x.dtype), ids[:, None], x)


def variable(x, ids, rows):
    table = tf.get_variable("table", [rows, WIDTH], x.dtype, tf.zeros_initializer(), use_resource=True)
    with tf.control_dependencies([table.assign(tf.zeros([rows, WIDTH], x.dtype))]):
        updated = tf.scatter_sub(table, ids, x)
    with tf.control_dependencies([updated]):
        return -table.read_value()


def weights(x, ids, rows):
    return tf.math.bincount(ids, x[:, 0], rows)[:, None] * tf.ones([1, WIDTH], x.dtype)


def product(x, ids, rows):
    count = x.shape[0].value
    at = tf.stack([tf.cast(ids, tf.int64), tf.range(count, dtype=tf.int64)], 1)
    sparse = tf.SparseTensor(at, tf.ones([count]), [rows, count])
    return tf.sparse.matmul(sparse, x)


@pytest.mark.parametrize("compile", ["0", "always"])
@pytest.mark.parametrize("terms, rows", SIZES)
@pytest.mark.parametrize(
    "build, dtype",
    [
        *itertools.product([segments, sorted_segments, places, gathered, changed, variable], DTYPES),
        *itertools.product([weights, product], [tf.float32]),  # TensorFlow has no other kernels
    ],
)
def test_a_place_that_many_terms_hit(monkeypatch, build, dtype, terms, rows, compile):
    monkeypatch.setenv("HEADRACE_COMPILE", compile)
    x = np.full((terms, WIDTH), 0.1 if dtype is tf.float32 else 0.001).astype(dtype.as_numpy_dtype)
    ids = (np.arange(terms) % 16 == 5).astype(np.int32)
    if build is sorted_segments:
        ids = np.sort(ids)
    with tf.Graph().as_default(), tf.Session() as session:
        feeds = tf.placeholder(dtype, x.shape), tf.placeholder(tf.int32, ids.shape)
        y = build(*feeds, rows)
        session.run(tf.global_variables_initializer())
        for _ in range(2):
            found = session.run(y, dict(zip(feeds, (x, ids)))).astype(np.float64)
    one = float(x[0, 0])
    wanted = np.array([np.sum(ids == 0), np.sum(ids == 1)])[:, None] * np.full((1, WIDTH), one)
    few = 5 * np.log2(terms) if dtype is tf.float32 and terms < 256 else 1.01
    assert np.all(np.abs(found[:2] - wanted) <= few * UNITS[dtype] * wanted)
    assert not found[2:].any()
