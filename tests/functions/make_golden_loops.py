"""Write GraphDefs with loops and conditionals, their feeds and results, with TensorFlow 2.21:

    PYTHON_WITH_TENSORFLOW tests/functions/make_golden_loops.py

One file, golden_loops.npz: for every case <name> the bytes <name>/graph, and for two inputs a and b the
arrays <name>/a/feed, <name>/a/y0, ..., <name>/a/slope (the derivative of the results' squares).
"""

from __future__ import annotations

import os
import pathlib

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow as tf

v1 = tf.compat.v1
OUT = pathlib.Path(__file__).parent / "golden_loops.npz"
X = np.array([[0.5, -1.0], [0.25, 2.0], [1.5, 0.75]], np.float32)


def counter(x):
    return [v1.while_loop(lambda i, s: i < 7, lambda i, s: (i + 1, s * 1.5 + x), [0, x])[1]]


def nested(x):
    def outer(i, s):
        inner = v1.while_loop(lambda j, t: j < i, lambda j, t: (j + 1, tf.sin(t) + x), [0, s])
        return i + 1, inner[1]

    return [v1.while_loop(lambda i, s: i < 4, outer, [0, x])[1]]


def branch(x):
    y = v1.cond(tf.reduce_sum(x) > 0, lambda: x * 2.0, lambda: x - 1.0)
    z = v1.cond(tf.reduce_sum(x) < 0, lambda: x * 3.0, lambda: tf.exp(x))
    return [y + z]


def branch_in_loop(x):
    def body(i, s):
        return i + 1, v1.cond(tf.equal(i % 2, 0), lambda: s * 1.1, lambda: tf.tanh(s) - 0.5 * x)

    return [v1.while_loop(lambda i, s: i < 5, body, [0, x])[1]]


def loop_in_branch(x):
    def loop():
        return v1.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s * s), [0, x])[1]

    return [v1.cond(tf.reduce_sum(x) > 0, loop, lambda: -x)]


def growing(x):
    def body(i, s):
        return i + 1, tf.concat([s, s[:1] * 2.0], 0)

    shapes = [tf.TensorShape([]), tf.TensorShape([None, 2])]
    return [v1.while_loop(lambda i, s: i < 3, body, [0, x], shape_invariants=shapes)[1]]


def rows(x):
    return [tf.map_fn(lambda row: tf.cumsum(row) * row, x)]


def scanned(x):
    return [tf.scan(lambda a, row: a * 0.5 + tf.tanh(row), x), tf.foldl(lambda a, r: a + r * r, x)]


def array(x):
    store = tf.TensorArray(tf.float32, size=0, dynamic_size=True, clear_after_read=False)

    def body(i, a):
        return i + 1, a.write(i, tf.gather(x, i % 3) * tf.cast(i, tf.float32))

    _, a = v1.while_loop(lambda i, a: i < 5, body, [0, store])
    return [a.stack(), a.read(3)]


def limited(x):
    return [
        v1.while_loop(lambda s: tf.reduce_sum(s) < 1e6, lambda s: s * 2.0 + 1.0, [x], maximum_iterations=4)
    ]


def chosen(x):
    return [v1.case([(x[0, 0] > 1, lambda: x * 2.0), (x[0, 0] > 0, lambda: x * 5.0)], default=lambda: x)]


PROGRAMS = [counter, nested, branch, branch_in_loop, loop_in_branch, growing, rows, scanned, array,
            limited, chosen]  # fmt: skip


def as_bytes(graph):
    return np.frombuffer(graph.as_graph_def().SerializeToString(), np.uint8)


def save(name, program, values):
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [3, 2], name="x")
        results = [tf.identity(y, name=f"y{i}") for i, y in enumerate(program(x))]
        total = tf.add_n([tf.reduce_sum(y * y) for y in results])
        slope = tf.identity(tf.convert_to_tensor(v1.gradients(total, x)[0]), name="slope")
        fetches = {t.op.name: t for t in [*results, slope]}
        with v1.Session() as session:
            for label, feed in (("a", X), ("b", -X)):
                values[f"{name}/{label}/feed"] = feed
                for fetch, value in session.run(fetches, {x: feed}).items():
                    values[f"{name}/{label}/{fetch}"] = value
    values[f"{name}/graph"] = as_bytes(graph)


def save_function(name, program, values):
    """A traced function: TensorFlow 2's own form."""

    @tf.function(input_signature=[tf.TensorSpec([3, 2], tf.float32, name="x")])
    def traced(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            results = program(x)
            total = tf.add_n([tf.reduce_sum(y * y) for y in results])
        slope = tf.convert_to_tensor(tape.gradient(total, x))
        results = [tf.identity(y, name=f"y{i}") for i, y in enumerate(results)]
        return [*results, tf.identity(slope, name="slope")]

    concrete = traced.get_concrete_function()
    for label, feed in (("a", X), ("b", -X)):
        values[f"{name}/{label}/feed"] = feed
        *results, slope = traced(feed)
        for i, value in enumerate(results):
            values[f"{name}/{label}/y{i}"] = value.numpy()
        values[f"{name}/{label}/slope"] = slope.numpy()
    values[f"{name}/graph"] = as_bytes(concrete.graph)


def main():
    values: dict[str, np.ndarray] = {}
    v1.disable_control_flow_v2()
    for program in PROGRAMS:
        save(f"v1_{program.__name__}", program, values)
    v1.enable_control_flow_v2()
    for program in PROGRAMS:
        save(f"v2_{program.__name__}", program, values)
    for program in (counter, nested, branch_in_loop, rows, array):
        save_function(f"traced_{program.__name__}", program, values)
    np.savez_compressed(OUT, **values)


main()
