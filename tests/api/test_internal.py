"""TensorFlow's internal modules: every word of their tables is what the table says."""

from __future__ import annotations

import importlib
import inspect
import pickle

import pytest

import headrace as tf
from headrace.api import internal, modules, recorded
from headrace.ops.declaration import catalog
from headrace.python.layers import convolutional, core
from headrace.python.ops import gen_math_ops, gradients, math_ops, nn_ops, variable_scope

TABLES = internal.modules()


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default():
        yield


def space(place):
    if place.startswith("headrace."):
        return importlib.import_module(place)
    found = tf
    for word in place.split(".") if place else ():
        found = getattr(found, word)
    return found


@pytest.mark.parametrize("file", internal.FILES)
def test_every_word_resolves(file):
    table = importlib.import_module(f"headrace.api.internal.{file}").MODULES
    for place, text in table.items():
        module = importlib.import_module(f"headrace.{place}")
        names = internal.Names(text)
        if names.whole:
            assert module is importlib.import_module(names.whole)
        for name, (there, old) in names.found.items():
            assert getattr(module, name) is getattr(space(there), old), f"{place}.{name}"
        for op in names.ops:
            function = getattr(module, catalog.find(op).__name__)
            assert function.__doc__ == catalog.find(op).__doc__, f"{place}: {op}"
        for included in names.included:
            assert modules.find(included) is not None, f"{place}: *{included}"


def test_every_module_is_tensorflows():
    assert [place for place in TABLES if not recorded.is_module(place)] == []


def test_one_word_in_two_modules():
    assert convolutional.conv2d is tf.layers.conv2d
    assert nn_ops.conv2d is tf.nn.conv2d
    assert core.dropout is tf.layers.dropout
    assert nn_ops.dropout is tf.nn.dropout
    assert tf.python.layers.core.flatten is tf.layers.flatten
    assert tf.contrib.layers.python.layers.layers.conv2d is tf.contrib.layers.conv2d


def test_a_module_is_a_module_though_a_function_has_its_name():
    assert inspect.ismodule(gradients) and gradients.gradients is tf.gradients
    assert inspect.ismodule(variable_scope) and variable_scope.variable_scope is tf.variable_scope
    map_fn = importlib.import_module("headrace.python.ops.map_fn")
    assert inspect.ismodule(map_fn) and map_fn.map_fn is tf.map_fn


def test_a_name_comes_from_what_its_module_includes():
    assert math_ops.exp is gen_math_ops.exp is tf.exp
    assert nn_ops.relu is tf.nn.relu
    assert importlib.import_module("headrace.python.ops.standard_ops").concat is tf.concat
    assert "concat" in dir(importlib.import_module("headrace.python.ops.array_ops"))


def test_generated_functions_take_tensorflows_arguments():
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    total = gen_math_ops._sum(x, axis=1, keep_dims=True, name="total")
    assert total.op.type == "Sum" and total.op.name == "total"
    assert gen_math_ops.mat_mul(x, x, True).op.get_attr("transpose_a")
    assert list(inspect.signature(gen_math_ops._sum).parameters)[:2] == ["input", "axis"]
    assert pickle.loads(pickle.dumps(gen_math_ops._sum)) is gen_math_ops._sum


def test_messages_are_where_protoc_puts_them():
    from headrace.core.framework import graph_pb2, types_pb2
    from headrace.core.protobuf.config_pb2 import ConfigProto

    assert graph_pb2.GraphDef is tf.GraphDef and ConfigProto is tf.ConfigProto
    assert types_pb2.DT_FLOAT == 1
