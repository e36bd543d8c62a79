"""`import tensorflow` means headrace: in a fresh interpreter, as `headrace run` does it."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.process

PROGRAM = """
import importlib
import headrace.as_tensorflow
import headrace
import tensorflow as tf
import tinyflow
from tensorflow.python.ops import math_ops, array_ops, nn_ops
from tensorflow.python.ops.math_ops import reduce_sum
from tensorflow.python.framework import dtypes, ops
from tensorflow.core.framework import graph_pb2
from tensorflow.core.framework.graph_pb2 import GraphDef
from tensorflow.examples.tutorials.mnist import input_data
from tensorflow.python.platform import gfile
import tensorflow.compat.v1 as tf1
import tensorflow.nn

facts = dict(
    version=tf.__version__ == tf.VERSION == tinyflow.__version__ == "1.15.5",
    own_version=headrace.__version__ != "1.15.5",
    math_ops=math_ops.reduce_sum is reduce_sum is tf.reduce_sum,
    same=math_ops is importlib.import_module("headrace.python.ops.math_ops"),
    namespaces=tensorflow.nn is headrace.nn,
    array_ops=array_ops.placeholder is tf.placeholder,
    nn_ops=nn_ops.softmax is tf.nn.softmax is tensorflow.nn.softmax,
    dtypes=dtypes.float32 is tf.float32,
    ops=ops.Graph is tf.Graph,
    messages=graph_pb2.GraphDef is GraphDef is tf.GraphDef,
    mnist=callable(input_data.read_data_sets),
    gfile=gfile.Exists is tf.gfile.Exists and gfile.FastGFile is tf.gfile.FastGFile,
    compat=tf1.placeholder is tf.placeholder and tf.compat.v1.Session is tf.Session,
    tinyflow=tinyflow.placeholder is tf.placeholder,
    runs=tf.Session().run(tf.reduce_sum([1, 2])) == 3,
)
print(" ".join(name for name, right in facts.items() if not right) or "all right")
try:
    import tensorflow.no_such_module
except ModuleNotFoundError as error:
    print(error)
try:
    tf.no_such_name
except AttributeError as error:
    print(error)
import tensorflow.contrib.tpu as tpu
try:
    tpu.TPUEstimator
except AttributeError as error:
    print(error)
try:
    math_ops.no_such_name
except AttributeError as error:
    print(error)
"""


@pytest.fixture(scope="module")
def lines():
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_names_are_headraces(lines):
    assert lines[0] == "all right"


def test_what_is_not_there(lines):
    assert lines[1:] == [
        "No module named 'tensorflow.no_such_module'",
        "module 'headrace' has no attribute 'no_such_name'",
        "tf.contrib.tpu.TPUEstimator is TensorFlow 1.15's and not in Headrace yet "
        "(it needs native code or a service; use CPUs: estimators without TPUs)",
        "module 'headrace.python.ops.math_ops' has no attribute 'no_such_name'",
    ]


def test_nothing_happens_unasked():
    """`import headrace` alone leaves `tensorflow` to whoever owns the name."""
    program = (
        "import headrace, sys; print([f.find_spec('tensorflow', None, None) for f in sys.meta_path "
        "if type(f).__module__.startswith('headrace.')])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "[None]"
