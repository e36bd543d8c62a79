"""tf.print and tf.Print: values shown while the graph runs."""

from __future__ import annotations

import logging
import os
import pprint
import random
import sys
from typing import Any

from headrace.core import dtypes
from headrace.functions.sparse.tensor import SparseTensor
from headrace.functions.strings.string import string_format
from headrace.functions.values import nest
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor
from headrace.ops.declaration.convert import is_dense_tensor_like
from headrace.ops.strings import format as printing

_LEVELS = {logging.INFO: "log(info)", logging.WARNING: "log(warning)", logging.ERROR: "log(error)"}
_FUNCTIONS = {"info": "log(info)", "warning": "log(warning)", "warn": "log(warning)", "error": "log(error)"}


def Print(
    input_: Any,
    data: Any,
    message: str | None = None,
    first_n: int | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> Tensor:
    """A tensor; other tensors are printed to stderr whenever it is computed.

    Args:
      input_: a tensor, passed through.
      data: a list of tensors to print.
      message: text in front of them.
      first_n: print in the first `first_n` steps alone.
      summarize: how many elements of each tensor to print; 3 by default, -1 for all.
      name: name of the node.

    Returns:
      `input_`.
    """
    return printing.print_(input_, data, message, first_n, summarize, name=name)


def print_(*inputs: Any, **kwargs: Any) -> Node:
    """Print values when the returned node runs; in a graph that is when something depends on it.

    Args:
      *inputs: strings, tensors, nested structures of them, and other Python values.
      **kwargs: output_stream (sys.stderr, sys.stdout, tf.logging.info, ..., "file://path"),
        summarize (how many elements of each dimension's ends to show, 3; -1 for all),
        sep (between inputs, " "), end (a line break), name.

    Returns:
      A node without outputs.

    Example:
      >>> with tf.control_dependencies([tf.print("loss", loss)]):
      ...   train = optimizer.minimize(loss)
    """
    stream = kwargs.pop("output_stream", sys.stderr)
    name = kwargs.pop("name", None)
    summarize = kwargs.pop("summarize", 3)
    sep, end = kwargs.pop("sep", " "), kwargs.pop("end", os.linesep)
    if kwargs:
        raise ValueError(f"Unrecognized keyword arguments for tf.print: {kwargs}")
    text = _formatted(inputs, sep, summarize, f"{name}_format" if name else None)
    return printing.print_v2(text, output_stream=_stream_name(stream), end=end, name=name)


def _stream_name(stream: Any) -> str:
    """How the op calls an output stream."""
    if isinstance(stream, str) and stream.startswith("file://"):
        return stream
    if stream is sys.stdout or stream is sys.__stdout__:
        return "stdout"
    if stream is sys.stderr or stream is sys.__stderr__:
        return "stderr"
    if isinstance(stream, int) and stream in _LEVELS:
        return _LEVELS[stream]
    if callable(stream) and getattr(stream, "__name__", None) in _FUNCTIONS:
        return _FUNCTIONS[stream.__name__]
    raise ValueError(
        f"Unsupported output stream, logging level, or file.{stream}. Supported streams are "
        "sys.stdout, sys.stderr, tf.logging.info, tf.logging.warning, tf.logging.error. File "
        "needs to be in the form of 'file://<filepath>'."
    )


def _is_tensor(value: Any) -> bool:
    return isinstance(value, SparseTensor) or is_dense_tensor_like(value)


def _formatted(inputs: tuple[Any, ...], sep: str, summarize: int, name: str | None) -> Any:
    """One string tensor for all inputs."""
    if len(inputs) == 1:
        only = inputs[0]
        if is_dense_tensor_like(only) and only.shape.rank == 0 and only.dtype == dtypes.string:
            return only
    bare = nest.map_structure(lambda x: "" if _is_tensor(x) else x, inputs)
    mark = _placeholder(" ".join(pprint.pformat(x) for x in bare))
    tensors: list[Any] = []
    templates = [_template(value, mark, tensors) for value in inputs]
    # What stood in a structure was quoted; tensors are shown without quotes.
    template = sep.join(templates).replace(f"'{mark}'", mark)
    return string_format(template, tensors, mark, summarize, name)


def _template(value: Any, mark: str, tensors: list[Any]) -> str:
    """The text of one input, with a mark for every tensor in it."""
    leaves = []
    for leaf in nest.flatten(value):
        if isinstance(leaf, SparseTensor):
            tensors += [leaf.indices, leaf.values, leaf.dense_shape]
            leaves.append(f"SparseTensor(indices={mark}, values={mark}, shape={mark})")
        elif _is_tensor(leaf):
            tensors.append(leaf)
            leaves.append(mark)
        else:
            leaves.append(leaf)
    if isinstance(value, str):
        return value
    return pprint.pformat(nest.pack_sequence_as(value, leaves))


def _placeholder(text: str) -> str:
    """A mark that does not occur in the text."""
    mark, draw = "{}", random.Random(5)
    while mark in text:
        mark += str(draw.randint(0, 9))
    return mark
