"""Objects beside variables that must be made before a model can run: each has a node that makes it and one
that says whether it is there.  Shared ones are made once for all tasks, local ones by every worker."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from headrace.core import dtypes
from headrace.core.modules import late
from headrace.functions.control.grouping import group
from headrace.functions.values.structure import name_scope
from headrace.graph.defaults import get_default_graph
from headrace.graph.keys import GraphKeys
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor
from headrace.ops.array.constant import constant, pack
from headrace.ops.math.logical import logical_not

indexing = late("headrace.functions.array.indexing")


class Resource(NamedTuple):
    handle: Any
    create: Any
    is_initialized: Any


def register_resource(handle: Any, create_op: Any, is_initialized_op: Any, is_shared: bool = True) -> None:
    """Let sessions make an object before training.

    Args:
      handle: its handle.
      create_op: makes it.
      is_initialized_op: says whether it is there.
      is_shared: among all tasks.
    """
    key = GraphKeys.RESOURCES if is_shared else GraphKeys.LOCAL_RESOURCES
    get_default_graph().add_to_collection(key, Resource(handle, create_op, is_initialized_op))


def shared_resources() -> list[Any]:
    """Those that all tasks share."""
    return get_default_graph().get_collection(GraphKeys.RESOURCES)


def local_resources() -> list[Any]:
    """Those of every worker."""
    return get_default_graph().get_collection(GraphKeys.LOCAL_RESOURCES)


def report_uninitialized_resources(
    resource_list: Any = None, name: str = "report_uninitialized_resources"
) -> Tensor:
    """A tensor with the names of those that are not there yet.

    Args:
      resource_list: which; all if None.
      name: name of the scope.
    """
    if resource_list is None:
        resource_list = shared_resources() + local_resources()
    device = os.environ.get("TF_DEVICE_FOR_UNINITIALIZED_VARIABLE_REPORTING", "/cpu:0")
    with name_scope(name), get_default_graph().device(device):
        if not resource_list:
            return constant([], dtype=dtypes.string)
        missing = logical_not(pack([r.is_initialized for r in resource_list], name="stack"))
        names = constant([r.handle.name for r in resource_list])
        reported: Tensor = indexing.boolean_mask(names, missing)
        return reported


def initialize_resources(resource_list: Any, name: str = "init") -> Node:
    """A node that makes them.

    Args:
      resource_list: which.
      name: name of the node.
    """
    return group(*[r.create for r in resource_list], name=name)
