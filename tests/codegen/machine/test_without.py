"""Without oneDNN, libgomp or llvmlite: the same results, and `headrace doctor` says so."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

pytestmark = [pytest.mark.native, pytest.mark.process]

PROGRAM = textwrap.dedent(
    """
    import sys
    import numpy as np
    import headrace as tf
    rng = np.random.default_rng(0)
    made = {}

    def value(*shape, kind=np.float32):
        return rng.normal(size=shape).astype(kind)

    def net():
        image = tf.placeholder(tf.float32, [None, 14, 13, 6])
        feed[image] = value(3, 14, 13, 6)
        w = [tf.Variable(value(*s) * 0.3) for s in ((3, 3, 6, 8), (3, 3, 8, 2), (2, 2, 8, 16), (10, 5))]
        h = tf.nn.relu(tf.nn.conv2d(image, w[0], [1, 1, 1, 1], "SAME") + 0.1)
        h = tf.nn.lrn(tf.nn.max_pool(h, [1, 3, 3, 1], [1, 2, 2, 1], "SAME"), 4)
        deep = tf.nn.depthwise_conv2d(h, w[1], [1, 1, 1, 1], "SAME")
        back = tf.nn.conv2d_transpose(deep, w[2], [3, 14, 14, 8], [1, 2, 2, 1], "SAME")
        back, mean, variance = tf.nn.fused_batch_norm(back, tf.ones([8]), tf.zeros([8]))
        spread = w[0][:, :, :1, :] * tf.ones([1, 1, 8, 1])
        wide = tf.nn.atrous_conv2d(h, spread, 2, "SAME")
        flat = tf.nn.avg_pool(back, [1, 7, 7, 1], [1, 7, 7, 1], "VALID")
        flat = tf.reshape(flat, [3, 32])
        logits = tf.matmul(flat[:, :10], w[3])
        loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.constant([0, 3, 1]), logits=logits)
        loss = tf.reduce_mean(loss) + tf.reduce_sum(tf.square(wide)) * 1e-3
        made["grads"] = tf.gradients(loss, w)
        with tf.control_dependencies([loss]):
            train = tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)
        made["loss"] = loss
        return train, w

    def products():
        for kind in (np.float32, np.float64, np.float16):
            a, b = (tf.placeholder(kind, [None, 33, 40]) for _ in range(2))
            feed[a], feed[b] = value(4, 33, 40, kind=kind), value(4, 33, 40, kind=kind)
            made[f"batch {kind.__name__}"] = tf.matmul(a, b, transpose_b=True)
            made[f"one {kind.__name__}"] = tf.matmul(a[0], b[1], transpose_a=True)
        big = tf.placeholder(tf.float64, [300, 300])
        feed[big] = value(300, 300, kind=np.float64)
        made["big"] = tf.matmul(big, big)
        made["norm"] = tf.nn.softmax(tf.tanh(big)) + tf.reduce_sum(big, 0)
        pixels = tf.reshape(big, [1, 100, 100, 9])
        filters = tf.constant(value(3, 3, 9, 4, kind=np.float64))
        made["conv64"] = tf.nn.conv2d(pixels, filters, [1, 2, 2, 1], "VALID")

    feed = {}
    train, variables = net()
    products()
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for _ in range(3):
            out, _ = sess.run([made, train], feed)
        out["variables"] = sess.run(variables)
    flat = {}
    for name, found in out.items():
        for k, one in enumerate(found if isinstance(found, list) else [found]):
            flat[f"{name} {k}"] = one
    np.savez(sys.argv[1], **flat)
    """
)


def run(path, **settings):
    found = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(path)],
        capture_output=True,
        text=True,
        timeout=300,
        env=os.environ | {"HEADRACE_WITHOUT": ""} | settings,
    )
    assert found.returncode == 0, found.stderr[-3000:]
    return dict(np.load(path))


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    return run(tmp_path_factory.mktemp("reference") / "out.npz", HEADRACE_COMPILE="0")


@pytest.mark.parametrize("without", ["", "onednn", "gomp", "onednn,gomp", "llvm", "llvm,onednn,gomp"])
def test_same_results(tmp_path, reference, without):
    found = run(tmp_path / "out.npz", HEADRACE_WITHOUT=without)
    assert set(found) == set(reference)
    for name, want in reference.items():
        loose = {2: 3e-2, 4: 2e-4, 8: 1e-9}[want.dtype.itemsize]
        assert found[name].dtype == want.dtype
        np.testing.assert_allclose(
            found[name], want, rtol=loose, atol=loose * np.abs(want).max(), err_msg=name
        )


@pytest.mark.parametrize(
    "without, line",
    [
        ("", "compile     on"),
        ("llvm", "compile     off (HEADRACE_WITHOUT)"),
        ("onednn", "oneDNN      not used (HEADRACE_WITHOUT)"),
        ("gomp", "oneDNN      not used (no libgomp)"),
        ("gomp", "our own (no libgomp)"),
    ],
)
def test_doctor(without, line):
    found = subprocess.run(
        [sys.executable, "-m", "headrace", "doctor"],
        capture_output=True,
        text=True,
        timeout=600,
        env=os.environ | {"HEADRACE_WITHOUT": without},
    )
    assert line in found.stdout, found.stdout


BROKEN = """
import sys, types, warnings
package, binding = types.ModuleType("llvmlite"), types.ModuleType("llvmlite.binding")
package.__path__, package.__version__ = [], "0"
import importlib.machinery
package.__spec__ = importlib.machinery.ModuleSpec("llvmlite", None, is_package=True)
def refuse():
    raise OSError("cannot load")
binding.initialize_native_target = refuse
package.binding = binding
sys.modules.update({"llvmlite": package, "llvmlite.binding": binding})
import headrace as tf
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    with tf.Session() as sess:
        x = tf.placeholder(tf.float32, [3])
        y = tf.reduce_sum(x * 2)  # what depends on nothing that is fed is not compiled
        for _ in range(3):
            print(sess.run(y, {x: [1, 1, 1]}))
print(len([w for w in seen if "llvmlite does not work" in str(w.message)]))
"""


def test_a_broken_llvmlite():
    found = subprocess.run([sys.executable, "-c", BROKEN], capture_output=True, text=True, timeout=600)
    assert found.stdout.split() == ["6.0", "6.0", "6.0", "1"], found.stderr


THREADS = """
import os, sys, threading, warnings
import numpy as np
from headrace.codegen.machine import threads
from headrace.codegen.program import native
from tests.codegen.machine.test_threads import large_program, run_and_compare, wait
assert threads.libgomp() is None
program = large_program()
run_and_compare(program)
if threads.count() > 1:
    assert program.uses_team and [t for t in threading.enumerate() if t.name == "headrace-1"]
for k in range(50):
    run_and_compare(program, k)
workers = [threading.Thread(target=run_and_compare, args=(program, k)) for k in range(4)]
for w in workers: w.start()
for w in workers: w.join(300)
warnings.simplefilter("ignore")
child = os.fork()
if child == 0:
    try:
        run_and_compare(program, 1)
        os._exit(0)
    except BaseException:
        os._exit(1)
assert wait(child) == 0
run_and_compare(program)
print("fine")
"""


def test_threads_of_our_own():
    found = subprocess.run(
        [sys.executable, "-c", THREADS],
        capture_output=True,
        text=True,
        timeout=600,
        env=os.environ | {"HEADRACE_WITHOUT": "gomp"},
    )
    assert found.stdout == "fine\n", found.stderr
