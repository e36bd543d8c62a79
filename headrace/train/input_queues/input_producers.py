"""Queues that are filled with numbers, names or slices, epoch after epoch: the start of TF1's input
pipelines."""

from __future__ import annotations

from typing import Any

from headrace.core.dtypes import float32, int64, string
from headrace.core.families import takes
from headrace.functions.array.array import shape as shape_of
from headrace.functions.array.array import size
from headrace.functions.array.checks import Assert
from headrace.functions.array.indexing import gather
from headrace.functions.io import summary
from headrace.functions.math.cast import cast
from headrace.functions.math.math import range_
from headrace.functions.platform.scopes import control_dependencies
from headrace.functions.queues.queue import FIFOQueue
from headrace.functions.random.random import random_shuffle
from headrace.functions.values.structure import name_scope
from headrace.graph.keys import GraphKeys
from headrace.graph.tensor import Tensor
from headrace.ops.array.constant import constant
from headrace.ops.array.source import identity
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.io.file import matching_files
from headrace.ops.math import comparison
from headrace.train.input_queues.queue_runners import QueueRunner, add_queue_runner
from headrace.variables.variable import Variable


def match_filenames_once(pattern: Any, name: str | None = None) -> Any:
    """A local variable with the names of the files that match a pattern when it is initialised.

    Args:
      pattern: a pattern, or a vector of them.
      name: name of the variable.
    """
    with name_scope(name, "matching_filenames", [pattern]) as scope:
        return Variable(
            name=scope,
            initial_value=matching_files(pattern),
            trainable=False,
            validate_shape=False,
            collections=[GraphKeys.LOCAL_VARIABLES],
        )


def limit_epochs(tensor: Any, num_epochs: int | None = None, name: str | None = None) -> Any:
    """The tensor, `num_epochs` times; then OutOfRangeError.

    Args:
      tensor: any tensor.
      num_epochs: how often it may be computed; None for ever.
      name: name of the node.

    Raises:
      ValueError: `num_epochs` is not positive.
    """
    if num_epochs is None:
        return tensor
    if num_epochs <= 0:
        raise ValueError(f"num_epochs must be > 0 not {num_epochs}.")
    with name_scope(name, "limit_epochs", [tensor]) as scope:
        epochs = Variable(
            constant(0, dtype=int64), name="epochs", trainable=False, collections=[GraphKeys.LOCAL_VARIABLES]
        )
        with control_dependencies([epochs.count_up_to(num_epochs)]):
            return identity(tensor, name=scope)


def input_producer(
    input_tensor: Any,
    element_shape: Any = None,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    summary_name: str | None = None,
    name: str | None = None,
    cancel_op: Any = None,
) -> FIFOQueue:
    """A queue of the rows of a tensor, filled by a queue runner.

    Args:
      input_tensor: the rows.
      element_shape: shape of a row, where the tensor does not say it.
      num_epochs: how often all rows are given; None for ever.
      shuffle: in a new order in every epoch.
      seed: seed of the order.
      capacity: how many rows the queue holds.
      shared_name: the name under which other nodes find the same queue.
      summary_name: name of a summary that says how full the queue is; none if None.
      name: name of the scope and of the queue.
      cancel_op: closes the queue when the coordinator stops.

    Raises:
      ValueError: the shape of a row is not known.
    """
    with name_scope(name, "input_producer", [input_tensor]):
        rows = convert_to_tensor(input_tensor, name="input_tensor")
        shape = rows.shape[1:].merge_with(element_shape)
        if not shape.is_fully_defined():
            raise ValueError(
                "Either `input_tensor` must have a fully defined shape or `element_shape` must be specified"
            )
        if shuffle:
            rows = random_shuffle(rows, seed=seed)
        rows = limit_epochs(rows, num_epochs)
        queue = FIFOQueue(
            capacity=capacity,
            dtypes=[rows.dtype.base_dtype],
            shapes=[shape],
            shared_name=shared_name,
            name=name,
        )
        add_queue_runner(QueueRunner(queue, [queue.enqueue_many([rows])], cancel_op=cancel_op))
        if summary_name is not None:
            summary.scalar(summary_name, cast(queue.size(), float32) * (1.0 / capacity))
        return queue


def _epochs(
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
) -> None:
    """The arguments of the producers below, after what they produce."""


@takes(_epochs, first="string_tensor", cancel_op=None)
def string_input_producer(string_tensor: Any, capacity: int, name: str | None, **options: Any) -> FIFOQueue:
    """A queue of strings (names of files, most often), filled by a queue runner.

    Args:
      string_tensor: a vector of strings.
      num_epochs: how often all strings are given; None for ever.
      shuffle: in a new order in every epoch.
      seed: seed of the order.
      capacity: how many strings the queue holds.
      shared_name: the name under which other nodes find the same queue.
      name: name of the scope and of the queue.
      cancel_op: closes the queue when the coordinator stops.

    Raises:
      ValueError: `string_tensor` is an empty list.
    """
    message = "string_input_producer requires a non-null input tensor"
    if not isinstance(string_tensor, Tensor) and not _has_strings(string_tensor):
        raise ValueError(message)
    with name_scope(name, "input_producer", [string_tensor]) as scope:
        strings = convert_to_tensor(string_tensor, dtype=string)
        check = Assert(comparison.greater(size(strings), 0), [message])
        with control_dependencies([check]):
            strings = identity(strings)
        full = f"fraction_of_{capacity}_full"
        return input_producer(strings, [], capacity=capacity, summary_name=full, name=scope, **options)


def _has_strings(value: Any) -> bool:
    return isinstance(value, Variable) or (value is not None and len(value) > 0)


@takes(_epochs, first="limit")
def range_input_producer(limit: Any, capacity: int, name: str | None, **options: Any) -> FIFOQueue:
    """A queue of the numbers below `limit`, filled by a queue runner.

    Args:
      limit: a scalar integer.
      num_epochs: how often all numbers are given; None for ever.
      shuffle: in a new order in every epoch.
      seed: seed of the order.
      capacity: how many numbers the queue holds.
      shared_name: the name under which other nodes find the same queue.
      name: name of the scope and of the queue.
    """
    with name_scope(name, "input_producer", [limit]) as scope:
        full = f"fraction_of_{capacity}_full"
        return input_producer(range_(limit), [], capacity=capacity, summary_name=full, name=scope, **options)


@takes(_epochs, first="tensor_list")
def slice_input_producer(tensor_list: Any, name: str | None, **options: Any) -> list[Tensor]:
    """A row of each tensor, the same row of all; another one in every step.

    Args:
      tensor_list: tensors of one first size.
      num_epochs: how often all rows are given; None for ever.
      shuffle: in a new order in every epoch.
      seed: seed of the order.
      capacity: how many numbers of rows the queue holds.
      shared_name: the name under which other nodes find the same queue.
      name: name of the scope.

    Raises:
      ValueError: `tensor_list` is empty.
    """
    with name_scope(name, "input_producer", tensor_list):
        tensors = [convert_to_tensor(t) for t in tensor_list]
        if not tensors:
            raise ValueError("Expected at least one tensor in slice_input_producer().")
        count = shape_of(tensors[0])[0]
        queue = range_input_producer(count, **options)
        row = queue.dequeue()
        return [gather(t, row) for t in tensors]
