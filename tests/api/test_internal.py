"""TensorFlow's internal modules: every word of their tables is what the table says."""

from __future__ import annotations

import importlib
import inspect
import pickle

import pytest

import headrace as tf
from headrace import api
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


# -- what a reader of TensorFlow's modules looks for ------------------------------------------------
# Names of TensorFlow's modules that are here under the same word somewhere, and are something else there.
OTHERS = {
    "contrib.distributions.python.ops": "poisson shape",  # modules
    "contrib.distributions.python.ops.bijectors": "batch_normalization fill_triangular reshape",
    "python.framework.sparse_tensor": "is_sparse",
    "python.keras.backend": "separable_conv1d",
    "python.keras.preprocessing": "image text",
    "contrib": "deprecated image quantize text",  # modules
    "contrib.learn.python.learn": "utils",
    "python": "debug",
    "python.eager": "function wrap_function",
    "python.eager.context": "VirtualDeviceConfiguration",
    "python.eager.monitoring": "Metric",  # not of models
    "python.feature_column.feature_column": "InputLayer",  # not of Keras
    "python.framework.common_shapes": "rank",  # of an old shape function
    "python.framework.tensor_conversion_registry": "get",
    "python.keras.utils.losses_utils": "compute_weighted_loss",  # Keras's
    "python.ops.confusion_matrix": "confusion_matrix",  # TF 2's arguments
    "python.ops.gen_experimental_dataset_ops": "parse_example_dataset",  # the op
    "python.ops.distributions.util": "pad",  # at one end
    "python.ops.image_ops_impl": "ResizeMethod",  # TF 2's words
    "python.ops.math_ops": "bincount",  # TF 2's arguments, as in the next one
    "python.ops.parsing_ops": "decode_raw",
    "python.ops.ragged.ragged_math_ops": (  # of ragged tensors
        "segment_max segment_mean segment_min segment_prod segment_sqrt_n segment_sum"
    ),
    "python.ops.ragged.ragged_string_ops": "reduce_join",
    "python.ops.state_ops": "is_variable_initialized",  # of a reference
    "python.profiler": "model_analyzer",
    "python.tools.inspect_checkpoint": "main",
    "python.training.tracking.util": "Checkpoint get_session",  # TF 2's
}


def test_what_is_public_is_in_its_module_too():
    """A name of a module that is present here, public under the same word: it is in the module, unless that
    has another thing of this word."""
    public = api.public_places()
    missing: dict[str, list[str]] = {}
    for place, names in recorded.names("internal").items():
        module = modules.find(place)
        for name in names if module is not None else ():
            if name in public and not hasattr(module, name):
                missing.setdefault(place, []).append(name)
    assert {place: " ".join(sorted(names)) for place, names in missing.items()} == OTHERS


def test_modules_that_programs_use():
    platform = tf.python.platform
    assert platform.gfile.FastGFile is tf.gfile.FastGFile and platform.gfile.Exists is tf.gfile.Exists
    assert platform.tf_logging.info is tf.logging.info
    assert tf.python.framework.errors.OUT_OF_RANGE == tf.errors.OUT_OF_RANGE
    assert tf.python.ops.gen_nn_ops.BiasAdd is tf.raw_ops.BiasAdd
    nest = importlib.import_module("headrace.python.util.nest")
    assert nest.flatten_up_to([0, 0], [[1, 2], [3]]) == [[1, 2], [3]]
    shapes = importlib.import_module("headrace.python.framework.tensor_shape")
    found = [shapes.unknown_shape(), shapes.unknown_shape(2), shapes.scalar(), shapes.vector(3)]
    assert [str(shape) for shape in found] == ["<unknown>", "(?, ?)", "()", "(3,)"]
    assert shapes.matrix(None, 2).as_list() == [None, 2]


def test_moving_averages_of_programs():
    averages = importlib.import_module("headrace.python.training.moving_averages")
    v = tf.Variable(1.0)
    step = averages.assign_moving_average(v, 3.0, 0.75, zero_debias=False)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(step) == 1.5


def test_linear_of_old_recurrent_programs():
    cells = importlib.import_module("headrace.contrib.rnn.python.ops.core_rnn_cell")
    y = cells._linear(
        [tf.ones([2, 3]), tf.ones([2, 1])], 5, True, tf.constant_initializer(1.0), tf.ones_initializer()
    )
    assert [v.op.name for v in tf.trainable_variables()] == ["kernel", "bias"]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(y).tolist() == [[5.0] * 5] * 2
    with pytest.raises(ValueError, match="must be specified"):
        cells._linear([], 5, True)


def test_keras_itself_finds_what_its_backend_leans_on():
    backend = importlib.import_module("headrace.python.keras.backend")
    tf_utils = importlib.import_module("headrace.python.keras.utils.tf_utils")
    before = backend.floatx()
    backend.set_floatx("float64")
    try:
        assert tf.keras.backend.floatx() == "float64"
    finally:
        backend.set_floatx(before)
    backend.set_epsilon(backend.epsilon())
    backend.set_image_data_format(backend.image_data_format())
    graph = backend.get_graph()
    assert graph is tf.get_default_graph()
    x, other = tf.keras.backend.placeholder([2]), tf.constant(1.0)
    v = tf.Variable(1.0)
    y, z = x * 2.0, other + v
    assert y in tf_utils.get_reachable_from_inputs([x])
    assert tf_utils.get_reachable_from_inputs([x]) == {x, y, y.op}
    assert z in tf_utils.get_reachable_from_inputs(v, targets=[z])
    assert y not in tf_utils.get_reachable_from_inputs([other, v])
    with pytest.raises(TypeError, match="Expected Operation, Variable, or Tensor, got 3"):
        tf_utils.get_reachable_from_inputs([3])


class Placed:
    """What Keras shows a graph to learn the device around it."""

    device = None

    def _set_device_from_string(self, text):
        self.device = tf.DeviceSpec.from_string(text)


def test_the_device_around_is_told_to_an_object_of_a_library():
    graph, free, held, asked = tf.get_default_graph(), Placed(), Placed(), Placed()
    graph._apply_device_functions(free)
    with tf.device("/job:worker"), tf.device("/gpu:1"):
        graph._apply_device_functions(held)
        with tf.device(None):
            graph._apply_device_functions(free)
        with tf.device(lambda op: f"/task:3{op.device or ''}"):
            graph._apply_device_functions(asked)
    assert free.device is None
    assert held.device.to_string() == "/job:worker/device:GPU:1"
    assert asked.device.to_string() == "/job:worker/task:3/device:GPU:1"
