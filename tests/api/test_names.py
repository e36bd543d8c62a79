"""Every public name of the tables resolves, and none before it is asked for."""

from __future__ import annotations

import importlib
import inspect
import pickle
import subprocess
import sys
from functools import partial
from types import FunctionType, ModuleType

import pytest

import headrace as tf
from headrace.api import FAMILIES
from headrace.api.namespace import expand
from headrace.core.dtypes import DType
from headrace.ops.declaration.declare import Op

NOTHING = object()


def names(family):
    table = importlib.import_module(f"headrace.api.tables.{family}").NAMES
    for module, text in table.items():
        for place, name, internal in expand(text):
            yield f"{place}.{name}" if place else name, module, internal


@pytest.mark.parametrize("family", FAMILIES)
def test_resolve(family):
    missing = []
    for public, module, internal in names(family):
        owner = importlib.import_module(module)
        wanted = owner if internal == "." else getattr(owner, internal, NOTHING)
        found = tf
        for word in public.split("."):
            found = getattr(found, word, NOTHING)
        if isinstance(wanted, Op):  # users get a function
            wanted = found if getattr(found, "__doc__", NOTHING) is wanted.__doc__ else wanted
        if wanted is NOTHING or found is not wanted:
            missing.append(f"tf.{public} is {found!r}, {module}.{internal} is {wanted!r}")
    assert not missing, "\n".join(missing)


def test_a_name_has_one_home():
    """Two families may name the same thing, but not two things alike."""
    homes: dict[str, object] = {}
    for family in FAMILIES:
        for public, module, internal in names(family):
            owner = importlib.import_module(module)
            thing = owner if internal == "." else getattr(owner, internal)
            assert homes.setdefault(public, thing) is thing, f"tf.{public} has two homes"


def public_values(family):
    for public, _, _ in names(family):
        value = tf
        for word in public.split("."):
            value = getattr(value, word)
        yield public, value


@pytest.mark.parametrize("family", FAMILIES)
def test_public_functions_are_functions(family):
    """What a user can do with a function of Python: ask for its name, help and signature, pickle it."""
    for public, value in public_values(family):
        if isinstance(value, ModuleType) or not callable(value) or isinstance(value, DType):
            continue
        again = pickle.loads(pickle.dumps(value))
        if isinstance(value, partial):  # as in TF: tf.contrib.layers.relu
            assert (again.func, again.keywords) == (value.func, value.keywords), public
            continue
        assert again is value and not isinstance(value, Op), public
        if isinstance(value, FunctionType):
            assert value.__qualname__ == value.__name__ and value.__doc__, public
            assert inspect.signature(value).parameters is not None, public
            assert getattr(importlib.import_module(value.__module__), value.__name__) is value


def test_an_op_is_a_function_to_its_user():
    assert type(tf.nn.relu) is FunctionType and tf.nn.relu.__name__ == "relu"
    assert str(inspect.signature(tf.nn.relu)) == "(features, name=None)"
    assert inspect.getfullargspec(tf.multiply).args == ["x", "y", "name"]
    assert tf.exp is tf.math.exp and tf.exp.__module__ == "headrace"
    assert not hasattr(tf.nn.relu, "lower") and not hasattr(tf.nn.relu, "gradient")
    tf.nn.relu.note = "a user's own"
    del tf.nn.relu.note


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: tf.exp(1.0, nmae="e"), "exp() got an unexpected keyword argument 'nmae'"),
        (lambda: tf.multiply(1, b=2), "multiply() got an unexpected keyword argument 'b'"),
        (lambda: tf.multiply(1), "multiply() missing a required argument: 'y'"),
        (lambda: tf.exp(1.0, x=2.0), "exp() multiple values for argument 'x'"),
        (lambda: tf.exp(1.0, "e", 3), "exp() too many positional arguments"),
        (lambda: tf.layers.dense([[1.0]], 2, act=None), "dense() got an unexpected keyword argument 'act'"),
        (lambda: tf.Variable(1.0, value=2.0), "Variable() got an unexpected keyword argument 'value'"),
        (
            lambda: tf.losses.hinge_loss([1.0], [1.0], k=2),
            "hinge_loss() got an unexpected keyword argument 'k'",
        ),
        (
            lambda: tf.contrib.slim.conv2d(1, 2, 3, k=2),
            "convolution2d() got an unexpected keyword argument 'k'",
        ),
        (lambda: tf.train.batch([[1.0]], 2, k=2), "batch() got an unexpected keyword argument 'k'"),
        (lambda: tf.layers.dense([[1.0]]), "dense() missing a required argument: 'units'"),
        (lambda: tf.reduce_sum(1, axs=0), "reduce_sum() got an unexpected keyword argument 'axs'"),
        (lambda: tf.raw_ops.Add(x=1, z=2), "Add() got an unexpected keyword argument 'z'"),
    ],
)
def test_a_wrong_call_says_what_python_says(call, message):
    with pytest.raises(TypeError) as caught:
        call()
    assert str(caught.value).startswith(message)  # Python 3.13 adds a guess


def test_a_wrong_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="'headrace.nn' has no attribute 'sofmax'. Did you mean"):
        _ = tf.nn.sofmax
    assert not hasattr(tf, "contribs")
    assert "softmax" in dir(tf.nn) and "reduce_sum" in dir(tf)


PROBE = """
import sys
before = set(sys.modules)
import headrace as tf
def loaded():
    names = {m for m in sys.modules if m.startswith("headrace.")} - before
    ours = {m.__name__ for n in names if (m := sys.modules[n]).__spec__ is not None}
    return sorted(n for n in ours if not n.startswith("headrace.api"))
print(" ".join(loaded()))
print(" ".join(sorted({"numpy", "ml_dtypes", "google.protobuf", "llvmlite"} & set(sys.modules))))
tf.float32
print(" ".join(loaded()))
tf.nn.softmax
print(len(loaded()))
print("headrace.codegen" in sys.modules, "llvmlite" in sys.modules)
"""


@pytest.mark.process
def test_names_resolve_lazily():
    done = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, check=True)
    at_import, heavy, with_types, with_softmax, native = done.stdout.splitlines()
    loaded = ("core", "core.collecting", "core.later", "core.modules", "core.sources", "version")
    first = [f"headrace.{name}" for name in loaded]
    assert at_import.split() == first, "import headrace loads little more than tables of names"
    assert heavy == "", "NumPy and protobuf load when something needs them"
    assert with_types.split() == sorted([*first, "headrace.core.dtypes", "headrace.core.fields"])
    assert int(with_softmax) > 10
    assert native == "False False", "building a graph compiles nothing"
