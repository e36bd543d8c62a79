"""`headrace run` gives aged programs what was removed, and says so once."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """\
import collections, inspect, time, fractions
from collections import Mapping
import imp
import numpy as np
import tensorflow as tf

assert issubclass(dict, Mapping) and collections.Sequence
assert inspect.getargspec(lambda a, b=1: 0).defaults == (1,)
assert time.clock() >= 0 and fractions.gcd(12, 18) == 6
assert np.dtype(np.float) == np.float64 and np.bool is not None and np.PINF > 1
x = np.float32([1, 2])
assert np.array(x, dtype=np.float64, copy=False).dtype == np.float64
assert np.array([[1, 2], [3]]).dtype == object
assert imp.new_module("m").__name__ == "m"
np.int
np.int
print("done")
"""


def run(tmp_path, text, *flags):
    program = tmp_path / "program.py"
    program.write_text(text)
    words = [sys.executable, "-m", "headrace", "run", *flags, str(program)]
    return subprocess.run(words, capture_output=True, text=True, timeout=120)


def test_removed_names_are_back(tmp_path):
    done = run(tmp_path, PROGRAM)
    assert done.stdout == "done\n", done.stderr
    lines = [line for line in done.stderr.splitlines() if line.startswith("headrace run:")]
    said = [line for line in lines if "numpy.int is gone; it is int here" in line]
    assert len(said) == 1 and "program.py:15: " in said[0]
    assert all("program.py:" in line for line in lines)


def test_strict(tmp_path):
    done = run(tmp_path, "from collections import Mapping\n", "--strict")
    assert done.returncode == 1 and "cannot import name 'Mapping'" in done.stderr


def test_a_missing_module_is_named_with_the_command(tmp_path):
    done = run(tmp_path, "import no_such_module_of_the_time\n")
    assert done.returncode == 1
    assert done.stderr.rstrip().endswith("headrace run: pip install no_such_module_of_the_time")


OLD = """\
import sys
_b = sys.version_info[0] < 3 and (lambda x: x) or (lambda x: x.encode("latin1"))
from google.protobuf import descriptor as _descriptor
DESCRIPTOR = _descriptor.FileDescriptor(
  name='old.proto', package='old', syntax='proto3',
  serialized_pb=_b({text!r}),
)
"""


def test_old_generated_messages(tmp_path):
    descriptor_pb2 = pytest.importorskip("google.protobuf.descriptor_pb2")
    file = descriptor_pb2.FileDescriptorProto(name="old.proto", package="old", syntax="proto3")
    field = file.message_type.add(name="Point").field.add(name="x", number=1)
    field.type, field.label = field.TYPE_INT32, field.LABEL_OPTIONAL
    text = OLD.format(text=file.SerializeToString().decode("latin-1"))
    (tmp_path / "old_pb2.py").write_text(text)
    done = run(tmp_path, "import old_pb2\nprint(old_pb2.Point(x=3).x)\n")
    assert done.stdout == "3\n", done.stderr
