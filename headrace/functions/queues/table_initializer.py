"""The node that initialises all tables of a graph."""

from __future__ import annotations

from headrace.functions.control.grouping import group
from headrace.graph.defaults import get_default_graph
from headrace.graph.keys import GraphKeys
from headrace.graph.node import Node


def tables_initializer(name: str = "init_all_tables") -> Node:
    """A node that initialises all tables of the default graph; it does nothing where there are none.

    Args:
      name: name of the node.
    """
    found = get_default_graph().get_collection(GraphKeys.TABLE_INITIALIZERS)
    return group(*found, name=name)


def initialize_all_tables(name: str = "init_all_tables") -> Node:
    """Old name of `tables_initializer`.

    Args:
      name: name of the node.
    """
    return tables_initializer(name)
