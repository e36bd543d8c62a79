"""Names that are not here say so: at once, or at the first use of what was imported."""

from __future__ import annotations

import importlib

import pytest

import headrace as tf
from headrace.api import recorded, wheel
from headrace.api.absent import Absent


def sentence(name: str) -> str:
    where = (
        wheel.advice(name.removeprefix("tf.")) if name.startswith("tf.contrib.") else "docs/compatibility.md"
    )
    return f"{name} is TensorFlow 1.15's and not in Headrace yet ({where})"


def look(path: str):
    found = tf
    for word in path.split(".")[1:]:
        found = getattr(found, word)
    return found


def imported(place: str, name: str):
    """What `from headrace.PLACE import name` gives."""
    names: dict[str, object] = {}
    exec(f"from headrace.{place} import {name}", names)
    return names[name]


@pytest.mark.parametrize(
    "name",
    [
        "tf.contrib.timeseries",
        "tf.keras.experimental.LinearModel",
        "tf.keras.experimental.WideDeepModel",
        "tf.lite",
        "tf.raw_ops.SdcaOptimizer",
    ],
)
def test_an_absent_name_is_an_error_at_once(name):
    with pytest.raises(AttributeError) as caught:
        look(name)
    assert str(caught.value) == sentence(name)
    assert not hasattr(look(name.rpartition(".")[0]), name.rpartition(".")[2])


@pytest.mark.parametrize(
    "typo, meant",
    [
        ("tf.nn.sofmax", "tf.nn.softmax"),
        ("tf.softmax", "tf.nn.softmax"),
        ("tf.Placeholder", "tf.placeholder"),
        ("tf.placehodler", "tf.placeholder"),
        ("tf.AdamOptimizer", "tf.train.AdamOptimizer"),
        ("tf.raw_ops.MatMull", "tf.raw_ops.MatMul"),
        ("tf.train.AdamOptimiser", "tf.train.AdamOptimizer"),
        ("tf.python.ops.math_ops.reduce_smu", "tensorflow.python.ops.math_ops.reduce_sum"),
    ],
)
def test_a_typo_is_told_the_nearest_name(typo, meant):
    with pytest.raises(AttributeError, match=rf"has no attribute '\w+'. Did you mean {meant}\?$"):
        look(typo)
    place, _, name = typo.partition("tf.")[2].rpartition(".")
    with pytest.raises(ImportError, match=rf"no module or name .*{name}. Did you mean {meant}\?$"):
        importlib.import_module(f"headrace.{place}.{name}".replace("..", "."))


def test_what_nobody_has_is_no_name():
    with pytest.raises(AttributeError, match="^module 'headrace' has no attribute 'zzyzx'$"):
        _ = tf.zzyzx
    with pytest.raises(ImportError, match="cannot import name 'zzyzx'"):
        imported("python.ops.math_ops", "zzyzx")
    with pytest.raises(ModuleNotFoundError, match="No module named 'headrace.zzyzx'"):
        importlib.import_module("headrace.zzyzx")


USES = {
    "call": lambda x: x(0.0, 1.0),
    "attribute": lambda x: x.prob,
    "subclass": lambda x: exec("class Mine(x): pass", {"x": x}),
    "isinstance": lambda x: isinstance(1, x),
    "issubclass": lambda x: issubclass(int, x),
    "item": lambda x: x[0],
    "iteration": lambda x: list(x),
    "set": lambda x: setattr(x, "mine", 1),
    "with": lambda x: x.__enter__(),
}


@pytest.mark.parametrize("use", USES)
def test_an_import_is_no_use(use):
    regressor = imported("contrib.timeseries", "ARRegressor")
    with pytest.raises((AttributeError, NotImplementedError)) as caught:
        USES[use](regressor)
    assert str(caught.value) == sentence("tf.contrib.timeseries.ARRegressor")
    assert not hasattr(tf.contrib, "timeseries")


def test_absent_modules_are_imported_and_not_used():
    debug = imported("python", "debug")
    assert isinstance(debug, Absent) and repr(debug).startswith("<tensorflow.python.debug")
    with pytest.raises(AttributeError) as caught:
        debug.LocalCLIDebugWrapperSession(None)
    assert str(caught.value).startswith("tensorflow.python.debug")
    with pytest.raises(ImportError, match="tf.contrib.tpu is TensorFlow 1.15's and not in"):
        exec("from headrace.contrib.tpu import *", {})
    assert isinstance(imported("contrib.eager.python.network", "Network"), Absent)


def test_the_record_knows_modules_from_names():
    assert recorded.is_module("nn.rnn_cell") and not recorded.is_module("nn.relu")
    assert recorded.is_name("nn.relu") and not recorded.is_name("nn.sofmax")
    assert recorded.is_module("python.ops.math_ops") and recorded.is_module("core.framework")
    assert recorded.is_name("contrib.distributions.Normal")
