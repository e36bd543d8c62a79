"""Bad values into compiled steps: TF's error with the node's name, the session goes on; memory that is
not there; fed arrays of every layout."""

from __future__ import annotations

import numpy as np
import pytest

import headrace as tf

pytestmark = pytest.mark.native

INT, FLOAT = tf.int32, tf.float32
ROWS = np.ones((4, 3), np.float32)


def table(x, i):
    return tf.Variable(np.ones((4, 3), np.float32))


# What is computed from placeholders (types), values that are fine, values that are not, the error.
CASES = {
    "gather": (lambda x, i: tf.gather(x, i) * 2, (FLOAT, INT), (ROWS, [0, 3]), (ROWS, [0, 4]),
               r"indices\[1\] = 4 is not in \[0, 4\)"),
    "gather_below": (lambda x, i: tf.gather(x, i), (FLOAT, INT), (ROWS, [0]), (ROWS, [-1]),
                     r"indices\[0\] = -1 is not in"),
    "gather_of_nothing": (lambda x, i: tf.gather(x, i), (FLOAT, INT), (ROWS, [0]), (ROWS[:0], [0]),
                          r"= 0 is not in \[0, 0\)"),
    "gather_nd": (lambda x, i: tf.gather_nd(x, i), (FLOAT, INT), (ROWS, [[1, 2]]),
                  (ROWS, [[0, 3]]), r"\[0, 3\] does not index into"),
    "scatter_nd": (lambda i, u: tf.scatter_nd(i, u, [4]), (INT, FLOAT),
                   ([[1], [3]], np.ones(2)), ([[1], [4]], np.ones(2)), r"does not index into"),
    "scatter_add": (lambda i, u: tf.scatter_add(table(i, u), i, u), (INT, FLOAT),
                    ([1, 1], ROWS[:2]), ([1, 9], ROWS[:2]), r"indices\[1\] = 9 is not in \[0, 4\)"),
    "cross_entropy": (
        lambda x, i: tf.nn.sparse_softmax_cross_entropy_with_logits(labels=i, logits=x),
        (FLOAT, INT), (ROWS, [0, 1, 2, 0]), (ROWS, [0, 1, 2, 3]), r"label value of 3 which is outside"),
    "segments": (lambda x, i: tf.unsorted_segment_sum(x, i, 3), (FLOAT, INT),
                 (ROWS, [0, 1, 2, -1]), (ROWS, [0, 1, 2, 3]), r"= 3 is out of range \[0, 3\)"),
    "sorted_segments": (lambda x, i: tf.segment_sum(x, i), (FLOAT, INT), (ROWS, [0, 0, 1, 1]),
                        (ROWS, [1, 0, 1, 1]), "not increasing"),
    "slice": (lambda x, i: tf.slice(x, i, [1, 1]), (FLOAT, INT), (ROWS, [3, 2]), (ROWS, [3, 3]),
              r"Expected (begin|size)\[1\]"),
    "reshape": (lambda x, i: tf.reshape(x, i) + 1, (FLOAT, INT), (ROWS, [2, -1]), (ROWS, [5, -1]),
                "reshape"),
    "pad": (lambda x, i: tf.pad(x, i), (FLOAT, INT), (ROWS, [[0, 1], [1, 0]]),
            (ROWS, [[0, 1], [-1, 0]]), "must be non-negative"),
    "transpose": (lambda x, i: tf.transpose(x, i), (FLOAT, INT), (ROWS, [1, 0]), (ROWS, [1, 1]),
                  "is missing from"),
    "reduce": (lambda x, i: tf.reduce_sum(x, i), (FLOAT, INT), (ROWS, [-1]), (ROWS, [2]),
               "Invalid reduction dimension 2"),
    "divide": (lambda x, i: x // i, (INT, INT), ([7, 8], [2, 3]), ([7, 8], [2, 0]),
               "division by zero"),
    "matmul": (lambda x, y: tf.matmul(x, y), (FLOAT, FLOAT), (ROWS, ROWS.T), (ROWS, ROWS),
               "Matrix size-incompatible"),
    "add": (lambda x, y: x + y, (FLOAT, FLOAT), (ROWS, ROWS[:1]), (ROWS, ROWS[:3]), "shapes"),
    "concat": (lambda x, y: tf.concat([x, y], 0), (FLOAT, FLOAT), (ROWS, ROWS),
               (ROWS, ROWS[:, :2]), "imensions"),
    "one_hot": (lambda i, d: tf.one_hot(i, d[0]), (INT, INT), ([0, 9, -3], [3]), ([0], [-2]),
                "depth must be non-negative"),
}  # fmt: skip


@pytest.mark.parametrize("name", list(CASES))
def test_a_bad_value_is_an_error_of_its_node(name):
    make, types, good, bad, message = CASES[name]
    with tf.Graph().as_default(), tf.Session() as sess:
        places = [
            tf.placeholder(t, [None] * max(np.ndim(g), np.ndim(b))) for t, g, b in zip(types, good, bad)
        ]
        made = make(*places)
        sess.run(tf.global_variables_initializer())
        fine, wrong = (dict(zip(places, values)) for values in (good, bad))
        first = np.array(sess.run(made, fine))
        for _ in range(3):  # interpreted, compiled, by the quick way
            sess.run(made, fine)
            with pytest.raises(tf.errors.InvalidArgumentError, match=message) as caught:
                sess.run(made, wrong)
            assert "node  " in str(caught.value)
        if name != "scatter_add":
            np.testing.assert_array_equal(sess.run(made, fine), first)


def test_a_sparse_update_with_a_bad_row_changes_nothing():
    with tf.Graph().as_default(), tf.Session() as sess:
        w = tf.Variable(np.ones((4, 3), np.float32))
        at = tf.placeholder(INT, [None])
        step = tf.train.AdamOptimizer().minimize(tf.reduce_sum(tf.nn.embedding_lookup(w, at)))
        sess.run(tf.global_variables_initializer())
        for _ in range(3):
            sess.run(step, {at: [0, 1]})
        before = sess.run(tf.global_variables())
        for _ in range(2):
            with pytest.raises(tf.errors.InvalidArgumentError, match=r"= 4 is not in \[0, 4\)"):
                sess.run(step, {at: [0, 4]})
        for value, kept in zip(sess.run(tf.global_variables()), before):
            np.testing.assert_array_equal(value, kept)


def test_out_of_memory_names_the_arena_and_its_largest_values():
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(FLOAT, [None, 1])
        total = tf.reduce_sum(tf.square(tf.matmul(x, x, transpose_b=True, name="huge")))
        column = np.ones((10, 1), np.float32)
        assert sess.run(total, {x: column}) == 100
        for _ in range(2):
            with pytest.raises(tf.errors.ResourceExhaustedError) as caught:
                sess.run(total, {x: np.ones((2_000_000, 1), np.float32)})
        text = str(caught.value)
        assert "OOM" in text and "huge" in text and "16000000000000 bytes" in text
        assert sess.run(total, {x: column}) == 100


def misaligned(array):
    raw = np.empty(array.nbytes + 1, np.uint8)
    out = raw[1:].view(array.dtype).reshape(array.shape)
    out[...] = array
    return out


def read_only(array):
    array = array.copy()
    array.flags.writeable = False
    return array


LAYOUTS = {
    "plain": lambda a: a,
    "read_only": read_only,
    "transposed": lambda a: np.ascontiguousarray(a.T).T,
    "reversed": lambda a: np.ascontiguousarray(a[::-1, ::-1])[::-1, ::-1],
    "every_other": lambda a: np.repeat(a, 2, 1)[:, ::2],
    "spread": lambda a: np.broadcast_to(a[:1], a.shape),
    "misaligned": misaligned,
    "big_endian": lambda a: a.astype(a.dtype.newbyteorder(">")),
    "objects": lambda a: a.astype(object),
    "wider": lambda a: a.astype(np.float64),
    "integers": lambda a: a.astype(np.int64),
    "list": lambda a: a.tolist(),
    "matrix": lambda a: np.ma.masked_array(a),
    "subclass": lambda a: a.view(type("Mine", (np.ndarray,), {})),
    "memory_map": lambda a: np.frombuffer(a.tobytes(), a.dtype).reshape(a.shape),
}


@pytest.mark.parametrize("name", list(LAYOUTS))
def test_feeds_of_every_layout(name):
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(FLOAT, [None, None])
        w = tf.Variable(np.zeros((6, 8), np.float32))
        made = [tf.reduce_sum(tf.exp(x) + 1, 1), tf.identity(x), tf.assign(w, x)]
        sess.run(w.initializer)
        plain = np.round(np.random.default_rng(0).normal(size=(6, 8))).astype(np.float32)
        fed = LAYOUTS[name](plain)
        want = np.asarray(fed, dtype=np.float32)
        for _ in range(4):
            rows, same, kept = sess.run(made, {x: fed})
            np.testing.assert_allclose(rows, (np.exp(want) + 1).sum(1), rtol=1e-5)
            np.testing.assert_array_equal(same, want)
            np.testing.assert_array_equal(kept, want)
            assert same.flags.writeable and type(same) is np.ndarray
            same[...] = -1  # the user's own
        np.testing.assert_array_equal(sess.run(w), want)
        np.testing.assert_array_equal(np.asarray(fed, dtype=np.float32), want)


@pytest.mark.parametrize(
    "value, kind",
    [
        (np.ones((2, 4), np.float32), ValueError),  # shape
        (np.ones((2, 3, 1), np.float32), ValueError),
        (np.float32(1), ValueError),
        ([["a", "b", "c"]], ValueError),
        (np.array([["a", 1, 2]], dtype=object), ValueError),
        ([[1.0, 2.0], [3.0]], ValueError),
    ],
)
def test_feeds_that_do_not_fit(value, kind):
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(FLOAT, [None, 3], name="the_input")
        y = x * 2
        for _ in range(3):
            sess.run(y, {x: np.ones((2, 3), np.float32)})
            with pytest.raises(kind, match="the_input"):
                sess.run(y, {x: value})
