"""Files that a plugin of TensorBoard wants beside the events: kept with the graph, written with it."""

from __future__ import annotations

import abc
from typing import Any

from headrace.graph.defaults import get_default_graph
from headrace.graph.graph import Graph

_PREFIX = "__tensorboard_plugin_asset__"


class PluginAsset(abc.ABC):
    """What a plugin wants to have written; one per plugin and graph."""

    plugin_name: str | None = None

    @abc.abstractmethod
    def assets(self) -> dict[str, str]:
        """Contents by file name."""


def get_plugin_asset(plugin_asset_cls: Any, graph: Graph | None = None) -> Any:
    """The asset of this class that belongs to a graph, made if need be.

    Raises:
      ValueError: the class has no plugin name, or another class has it too.
    """
    graph = graph or get_default_graph()
    if not plugin_asset_cls.plugin_name:
        raise ValueError(f"Class {plugin_asset_cls.__name__} has no plugin_name")
    found = graph.get_collection(_PREFIX + plugin_asset_cls.plugin_name)
    if not found:
        asset = plugin_asset_cls()
        graph.add_to_collection(_PREFIX + plugin_asset_cls.plugin_name, asset)
        graph.add_to_collection(_PREFIX, plugin_asset_cls.plugin_name)
        return asset
    if not isinstance(found[0], plugin_asset_cls):
        raise ValueError(
            f"Plugin name collision between classes {plugin_asset_cls.__name__} and {type(found[0]).__name__}"
        )
    return found[0]


def get_all_plugin_assets(graph: Graph | None = None) -> list[Any]:
    """All assets of a graph."""
    graph = graph or get_default_graph()
    return [graph.get_collection(_PREFIX + name)[0] for name in graph.get_collection(_PREFIX)]
