"""tf.contrib.layers: summaries of tensors by kind: numbers as scalars, others as histograms."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

from headrace.core import dtypes
from headrace.functions.io.summary import histogram, scalar
from headrace.functions.math.cast import cast
from headrace.functions.math.reduce import reduce_mean
from headrace.graph.defaults import get_default_graph
from headrace.graph.keys import GraphKeys
from headrace.ops.math.comparison import greater, less
from headrace.ops.nn.activation import relu, relu6, softplus


def summarize_tensor(tensor: Any, tag: str | None = None) -> Any:
    """A scalar or a histogram; None for strings and booleans."""
    if tensor.dtype.base_dtype in (dtypes.string, dtypes.bool_):
        return None
    tag = tag or f"{tensor.op.name}_summary"
    return scalar(tag, tensor) if tensor.shape.ndims == 0 else histogram(tag, tensor)


def summarize_activation(op: Any) -> Any:
    """A histogram of an activation, and which part of it is cut off."""
    node = op.op

    def share(test: Callable[..., Any], limit: float, what: str) -> None:
        inner = node.inputs[0]
        cut = cast(test(inner, cast(limit, inner.dtype)), dtypes.float32)
        scalar(f"{node.name}/{what}", reduce_mean(cut))

    if node.declaration in (relu, softplus, relu6):
        share(less, 0.0, "zeros")
    if node.declaration is relu6:
        share(greater, 6.0, "sixes")
    return histogram(f"{node.name}/activation", op)


def summarize_tensors(tensors: Any, summarizer: Callable[[Any], Any] = summarize_tensor) -> list[Any]:
    """A summary of each tensor."""
    return [summarizer(tensor) for tensor in tensors]


def summarize_collection(
    collection: str, name_filter: str | None = None, summarizer: Callable[[Any], Any] = summarize_tensor
) -> list[Any]:
    """A summary of each tensor of a collection whose name matches a regular expression."""
    found = get_default_graph().get_collection(collection)
    return summarize_tensors(
        [x for x in found if name_filter is None or re.match(name_filter, x.op.name)], summarizer
    )


summarize_variables = functools.partial(summarize_collection, GraphKeys.GLOBAL_VARIABLES)
summarize_weights = functools.partial(summarize_collection, GraphKeys.WEIGHTS)
summarize_biases = functools.partial(summarize_collection, GraphKeys.BIASES)


def summarize_activations(
    name_filter: str | None = None, summarizer: Callable[[Any], Any] = summarize_activation
) -> list[Any]:
    """A summary of each tensor of `GraphKeys.ACTIVATIONS`."""
    return summarize_collection(GraphKeys.ACTIVATIONS, name_filter, summarizer)
