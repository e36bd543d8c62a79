"""headrace explain, HEADRACE_SHOW, and traces of compiled steps."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import headrace as tf
from headrace.runtime.profile import Trace

pytestmark = pytest.mark.native

PROGRAM = textwrap.dedent(
    """
    import numpy as np
    import tensorflow as tf
    x = tf.placeholder(tf.float32, [None, 20], name="x")
    w = tf.Variable(tf.ones([20, 5]), name="w")
    y = tf.nn.softmax(tf.matmul(x, w, name="product"), name="chances")
    seen = tf.py_func(lambda a: a, [y], tf.float32, name="outside")
    loss = tf.reduce_mean(tf.square(y), name="loss")
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for _ in range(6):
            sess.run([loss, train, seen], {x: np.ones((64, 20), np.float32)})
    print("the end")
    """
)


def run(tmp_path, *words, **environment):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return subprocess.run(
        [sys.executable, "-m", "headrace", *words, str(path)],
        capture_output=True,
        text=True,
        timeout=600,
        env=os.environ | environment,
    )


@pytest.mark.process
def test_explain(tmp_path):
    found = run(tmp_path, "explain")
    assert found.returncode == 0, found.stderr
    assert found.stdout == "the end\n"
    report = found.stderr
    assert "run 6 times" in report
    assert "region of" in report and "arena of" in report and "largest:" in report
    assert "-> product" in report  # a kernel, with the node that it computes
    assert "outside (PyFunc): runs on the host" in report
    assert "%" in report and " us" in report


@pytest.mark.process
def test_explain_sums_by_kind_what_it_does_not_show_one_by_one(tmp_path):
    report = run(tmp_path, "explain", "--top", "1").stderr
    sums = [line for line in report.splitlines() if " altogether " in line]
    kinds = [line.split(" x ")[-1] for line in sums]
    assert "matmul" in kinds and "generated loop" in kinds
    assert 99 < sum(float(line.split("%")[0]) for line in sums) < 101


@pytest.mark.process
def test_explain_shows_open_sizes(tmp_path):
    """For which sizes a program ran, and what it demands of them."""
    path = tmp_path / "program.py"
    path.write_text(
        textwrap.dedent(
            """\
            import numpy as np, tensorflow as tf
            x = tf.placeholder(tf.float32, [None, None])
            y = tf.reduce_sum(tf.nn.top_k(tf.tanh(x) * 2.0, 10)[0], 1)
            with tf.Session() as sess:
                for n in (12, 30, 17, 30, 25, 40):
                    sess.run(y, {x: np.ones((3, n), np.float32)})
            """
        )
    )
    words = [sys.executable, "-m", "headrace", "explain", str(path)]
    report = subprocess.run(words, capture_output=True, text=True, timeout=600).stderr
    assert "for inputs [3, A]" in report
    assert "ran for 4 sizes: A=30 (2), A=17 (1)" in report
    assert "as long as A >= 10" in report


@pytest.mark.process
def test_explain_says_it_also_of_programs_that_fail(tmp_path):
    path = tmp_path / "program.py"
    path.write_text("import tensorflow as tf\ntf.Session().run(tf.constant(1))\nraise SystemExit(3)\n")
    found = subprocess.run(
        [sys.executable, "-m", "headrace", "explain", str(path)], capture_output=True, text=True, timeout=600
    )
    assert found.returncode == 3
    assert "step 1: Const" in found.stderr


@pytest.mark.process
@pytest.mark.parametrize(
    "word, text",
    [
        ("plan", "product = MatMul("),
        ("passes", "# "),
        ("place", "product"),
        ("pieces", "device:CPU:0"),
        ("regions", "ending in"),
        ("kernels", "sweep"),
        ("llvm", "define void @k_"),
        ("memory", "at most"),
        ("pieces", "device:CPU:0: "),
        ("stages", "= matmul("),
        ("step", " entries, arena of "),
    ],
)
def test_show(tmp_path, word, text):
    for _ in range(2 if word == "llvm" else 1):  # also when the kernel cache knows it
        found = run(tmp_path, "run", HEADRACE_SHOW=word, HEADRACE_CACHE=str(tmp_path / "cache"))
        assert f"--- {word}" in found.stderr and text in found.stderr, found.stderr


@pytest.mark.process
def test_show_knows_its_words(tmp_path):
    said = run(tmp_path, "run", HEADRACE_SHOW="plan,dinner").stderr
    assert "HEADRACE_SHOW: no stage dinner (there are plan, passes, " in said and "--- plan" in said


def test_a_traced_step_is_a_compiled_one():
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [None, 200], name="x")
        w = tf.Variable(tf.ones([200, 100]), name="w")
        y = tf.nn.softmax(tf.matmul(x, w, name="product"), name="chances")
        train = tf.assign_sub(w, tf.matmul(x, y, transpose_a=True) * 0.01, name="change")
        sess.run(w.initializer)
        feed = {x: np.random.default_rng(0).normal(size=(128, 200)).astype(np.float32)}
        for _ in range(3):
            sess.run(train, feed)
        want = sess.run(w)
        options, data = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), tf.RunMetadata()
        sess.run(train, feed, options=options, run_metadata=data)
        assert not np.array_equal(sess.run(w), want)
        (device,) = data.step_stats.dev_stats
        stats = {s.node_name: s for s in device.node_stats}
        assert {"product", "chances", "change"} <= set(stats)
        assert "product = MatMul(" in stats["product"].timeline_label
        long = max(stats.values(), key=lambda s: s.all_end_rel_nanos)
        assert long.node_name in ("product", "MatMul", "chances") and long.all_end_rel_nanos > 1000
        begins = [s.all_start_nanos for s in device.node_stats]
        assert begins == sorted(begins)


def test_a_trace_does_not_interpret(monkeypatch):
    seen = []
    monkeypatch.setattr(Trace, "region", lambda self, *args: seen.append(args))
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [1000])
        y = tf.reduce_sum(tf.exp(x))
        feed = {x: np.zeros(1000, np.float32)}
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        for _ in range(3):
            assert sess.run(y, feed, options=options, run_metadata=tf.RunMetadata()) == 1000
    assert len(seen) == 2  # the first time it was interpreted
