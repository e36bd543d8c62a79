"""tf.contrib.layers: other shapes of the same numbers, and functions of a whole picture."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from headrace.contrib.framework.arg_scope import add_arg_scope
from headrace.contrib.framework.variables import model_variable
from headrace.contrib.layers.named_outputs import collect_named_outputs, get_variable_collections
from headrace.core import dtypes
from headrace.functions.array.array import reshape, shape, transpose
from headrace.functions.array.indexing import gather_nd, where
from headrace.functions.array.rank_checks import assert_rank_at_least
from headrace.functions.array.stacking import concat
from headrace.functions.array.tiling import meshgrid
from headrace.functions.math.elementwise import square
from headrace.functions.math.math import not_equal
from headrace.functions.math.reduce import reduce_prod, reduce_sum
from headrace.functions.nn.softmax import softmax
from headrace.functions.sparse.sparse import sparse_reshape
from headrace.functions.sparse.tensor import SparseTensor
from headrace.functions.values.structure import name_scope
from headrace.graph.defaults import get_default_graph
from headrace.ops.array.constant import constant
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.math.arithmetic import minimum, mul
from headrace.ops.math.exponential import rsqrt
from headrace.ops.math.sequence import lin_space
from headrace.variables.initializers.initializers import Constant, Ones
from headrace.variables.scope import variable_scope


@add_arg_scope
def dense_to_sparse(
    tensor: Any, eos_token: Any = 0, outputs_collections: Any = None, scope: Any = None
) -> Any:
    """What is not `eos_token`, as a SparseTensor."""
    with variable_scope(scope, "dense_to_sparse", [tensor]) as sc:
        tensor = convert_to_tensor(tensor)
        places = where(not_equal(tensor, constant(eos_token, tensor.dtype)))
        values = gather_nd(tensor, places)
        outputs = SparseTensor(places, values, shape(tensor, out_type=dtypes.int64))
        return collect_named_outputs(outputs_collections, sc.name, outputs)


@add_arg_scope
def inner_flatten(inputs: Any, new_rank: int, output_collections: Any = None, scope: Any = None) -> Any:
    """The last dimensions in one, so that `new_rank` are left; dense or sparse.

    Raises:
      ValueError: there are fewer.
    """
    with name_scope(scope, "InnerFlatten", [inputs, new_rank]) as sc:
        sparse = isinstance(inputs, SparseTensor)
        outputs = _sparse_flat(inputs, new_rank) if sparse else _dense_flat(inputs, new_rank)
    return collect_named_outputs(output_collections, sc, outputs)


def _sparse_flat(inputs: Any, new_rank: int) -> Any:
    rank = inputs.dense_shape.shape.as_list()[0]
    if rank < new_rank:
        raise ValueError(
            f"Inputs has rank less than new_rank. {inputs} must have rank at least {new_rank}. "
            f"Received rank {rank}, shape {inputs.get_shape()}"
        )
    outer, inner = inputs.dense_shape[: new_rank - 1], inputs.dense_shape[new_rank - 1 :]
    return sparse_reshape(inputs, concat((outer, [reduce_prod(inner)]), 0))


def _dense_flat(inputs: Any, new_rank: int) -> Any:
    inputs = convert_to_tensor(inputs)
    check = assert_rank_at_least(inputs, new_rank, message="inputs has rank less than new_rank")
    with get_default_graph().control_dependencies([check]):
        outer = shape(inputs)[: new_rank - 1]
        outputs = reshape(inputs, concat((outer, [-1]), 0))
    if inputs.shape.ndims is not None:
        sizes = inputs.shape.as_list()
        inner = sizes[new_rank - 1 :]
        outputs.set_shape([*sizes[: new_rank - 1], None if None in inner else math.prod(inner)])
    return outputs


@add_arg_scope
def images_to_sequence(
    inputs: Any, data_format: str = "NHWC", outputs_collections: Any = None, scope: Any = None
) -> Any:
    """Pictures as sequences of columns: [width, batch · height, channels].

    Raises:
      ValueError: an unknown format.
    """
    if data_format not in ("NCHW", "NHWC"):
        raise ValueError("data_format has to be either NCHW or NHWC.")
    with name_scope(scope, "ImagesToSequence", [inputs]) as sc:
        inputs = convert_to_tensor(inputs)
        if data_format == "NCHW":
            inputs = transpose(inputs, [0, 2, 3, 1])
        _, _, width, depth = inputs.shape.as_list()
        known = shape(inputs)
        rows = known[0] * known[1]
        outputs = reshape(transpose(inputs, [2, 0, 1, 3]), [width, rows, depth])
        return collect_named_outputs(outputs_collections, sc, outputs)


@add_arg_scope
def sequence_to_images(
    inputs: Any,
    height: int,
    output_data_format: str = "channels_last",
    outputs_collections: Any = None,
    scope: Any = None,
) -> Any:
    """The pictures of this height that `images_to_sequence` made a sequence of."""
    with name_scope(scope, "SequenceToImages", [inputs]) as sc:
        inputs = convert_to_tensor(inputs)
        width, rows, depth = inputs.shape.as_list()
        batch = -1 if rows is None else rows // height
        cut = reshape(inputs, [width, batch, height, depth])
        first = output_data_format == "channels_first"
        outputs = transpose(cut, [1, 3, 2, 0] if first else [1, 2, 0, 3])
        return collect_named_outputs(outputs_collections, sc, outputs)


@add_arg_scope
def spatial_softmax(
    features: Any,
    temperature: float | None = None,
    name: str | None = None,
    variables_collections: Iterable[str] | Mapping[str, Any] | None = None,
    trainable: bool = True,
    data_format: str = "NHWC",
) -> Any:
    """The expected place of each channel, in [-1, 1]², under its softmax over space.

    Args:
      features: pictures.
      temperature: divides the features; default 1, trained.
      name: name of the variable scope.
      variables_collections: where the temperature is added.
      trainable: is the temperature to be trained?
      data_format: NHWC or NCHW.

    Returns:
      [batch, channels · 2].

    Raises:
      ValueError: an unknown format or number of channels.
    """
    with variable_scope(name, "spatial_softmax"):
        known, sizes = shape(features), features.shape.as_list()
        if data_format not in ("NCHW", "NHWC"):
            raise ValueError("data_format has to be either NCHW or NHWC.")
        first = data_format == "NCHW"
        channels = sizes[1] if first else sizes[3]
        height, width = (known[2], known[3]) if first else (known[1], known[2])
        if channels is None:
            raise ValueError(
                "The num_channels dimension of the inputs to `spatial_softmax` should be defined. "
                "Found `None`."
            )
        with name_scope("spatial_softmax_op", "spatial_softmax_op", [features]):
            across = [lin_space(-1.0, 1.0, num=count) for count in (height, width)]
            places = [reshape(p, [height * width]) for p in meshgrid(*across, indexing="ij")]
            heat = model_variable(
                "temperature",
                shape=(),
                dtype=dtypes.float32,
                initializer=Ones() if temperature is None else Constant(temperature),
                collections=get_variable_collections(variables_collections, "temperature")
                if trainable
                else None,
                trainable=trainable,
            )
            if not first:
                features = transpose(features, [0, 3, 1, 2])
            attention = softmax(reshape(features, [-1, height * width]) / heat)
            expected = [reduce_sum(p * attention, [1], keepdims=True) for p in places]
            return reshape(concat(expected, 1), [-1, channels * 2])


def poincare_normalize(x: Any, axis: Any = 1, epsilon: float = 1e-5, name: str | None = None) -> Any:
    """Vectors along `axis`, shortened where need be to stay inside the unit ball."""
    with name_scope(name, "poincare_normalize", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        inverse = rsqrt(reduce_sum(square(x), axis, keepdims=True))
        return mul(x, minimum((1.0 - epsilon) * inverse, 1.0), name=scope)
