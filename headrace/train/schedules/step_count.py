"""The global step: the variable that counts training steps."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.graph.defaults import get_default_graph
from headrace.graph.keys import GraphKeys
from headrace.graph.tensor import Tensor
from headrace.variables.initializers.initializers import Zeros
from headrace.variables.modes import VariableAggregation
from headrace.variables.resource_base import is_resource_variable
from headrace.variables.scope import get_variable
from headrace.variables.update import assign_add
from headrace.variables.variable import Variable

GLOBAL_STEP_READ_KEY = "global_step_read_op_cache"


def global_step(sess: Any, global_step_tensor: Any) -> int:
    """The number of steps so far in a session."""
    return int(np.asarray(sess.run(global_step_tensor)).item())


def get_global_step(graph: Any = None) -> Any:
    """The global step of a graph, or None.

    Args:
      graph: the graph to search; default the default graph.

    Returns:
      The variable in `GraphKeys.GLOBAL_STEP`, or the tensor "global_step:0".

    Raises:
      TypeError: it is not a scalar integer.
    """
    graph = graph or get_default_graph()
    found = graph.get_collection(GraphKeys.GLOBAL_STEP)
    if len(found) > 1:
        warnings.warn("Multiple tensors in global_step collection.", stacklevel=2)
        return None
    if found:
        step = found[0]
    else:
        try:
            step = graph.get_tensor_by_name("global_step:0")
        except KeyError:
            return None
    assert_global_step(step)
    return step


def create_global_step(graph: Any = None) -> Any:
    """A new global step, zero at first.

    Args:
      graph: where to make it; default the default graph.

    Raises:
      ValueError: the graph has one.
    """
    graph = graph or get_default_graph()
    if get_global_step(graph) is not None:
        raise ValueError('"global_step" already exists.')
    with graph.as_default(), graph.name_scope(None):
        return get_variable(
            GraphKeys.GLOBAL_STEP,
            shape=[],
            dtype=dtypes.int64,
            initializer=Zeros(),
            trainable=False,
            aggregation=VariableAggregation.ONLY_FIRST_REPLICA,
            collections=[GraphKeys.GLOBAL_VARIABLES, GraphKeys.GLOBAL_STEP],
        )


def get_or_create_global_step(graph: Any = None) -> Any:
    """The global step of a graph; made if there is none."""
    graph = graph or get_default_graph()
    found = get_global_step(graph)
    return create_global_step(graph) if found is None else found


def assert_global_step(global_step_tensor: Any) -> None:
    """Refuse what can not be a global step.

    Raises:
      TypeError: it is not a scalar integer tensor or variable.
    """
    step = global_step_tensor
    if not isinstance(step, (Variable, Tensor)) and not is_resource_variable(step):
        raise TypeError(f'Existing "global_step" must be a Variable or Tensor: {step}.')
    if not step.dtype.base_dtype.is_integer:
        raise TypeError(f'Existing "global_step" does not have integer type: {step.dtype}')
    if step.get_shape().ndims != 0 and step.get_shape().is_fully_defined():
        raise TypeError(f'Existing "global_step" is not scalar: {step.get_shape()}')


def global_step_read(graph: Any = None) -> Any:
    """The global step as read before this step's increment; None if there is no global step."""
    graph = graph or get_default_graph()
    reads = graph.get_collection_ref(GLOBAL_STEP_READ_KEY)
    if len(reads) > 1:
        raise RuntimeError(
            f"There are multiple items in collection {GLOBAL_STEP_READ_KEY}. There should be only one."
        )
    if reads:
        return reads[0]
    step = get_global_step(graph)
    if step is None:
        return None
    with graph.as_default(), graph.name_scope(None), graph.name_scope(step.op.name + "/"):
        with graph.device(step.device):  # all of it there, so that one number crosses in a step
            value = step.initialized_value() if isinstance(step, Variable) else step
            reads.append(value + 0)
    return reads[0]


def increment_global_step(increment: int, graph: Any = None) -> Any:
    """A node that adds to the global step, once it has been read."""
    graph = graph or get_default_graph()
    step = get_global_step(graph)
    if step is None:
        raise ValueError(
            "Global step tensor should be created by tf.train.get_or_create_global_step before "
            "calling increment."
        )
    read = global_step_read(graph)
    with graph.as_default(), graph.name_scope(None), graph.name_scope(step.op.name + "/"):
        with graph.control_dependencies([read]):
            return assign_add(step, increment)
