"""Who serves a session whose target is not this process: by the target's scheme (grpc://host:port)."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any, Protocol

from headrace.core.errors import NotFoundError
from headrace.graph.graph import Graph
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor


class Remote(Protocol):
    """A session at a master, as its client sees it."""

    def prepare(self, feeds: Sequence[Tensor], fetches: Sequence[Tensor], targets: Sequence[Node]) -> Any:
        """A run_cache.Prepared: `run` sends values and brings others, `watched(options, run_metadata)` is the
        same with a RunOptions, `pinned(run_options)` is for many calls."""

    def partial(self, feeds: Sequence[Tensor], fetches: Sequence[Tensor], targets: Sequence[Node]) -> Any:
        """A run that takes feeds and gives fetches bit by bit: `run(values by tensor, tensors)`."""

    def list_devices(self) -> list[Any]: ...

    def close(self) -> None: ...


# A scheme's module has connect(target, graph, config) -> Remote and reset(target, containers, config).
# It stands above this folder, so it is named, and loaded when a session first asks for it.
SCHEMES: dict[str, str] = {"grpc": "headrace.distributed.client"}


def register(scheme: str, module: str) -> None:
    """Targets of another scheme."""
    SCHEMES[scheme] = module


def _module(target: str) -> Any:
    found = SCHEMES.get(target.partition("://")[0])
    if found is None:
        raise NotFoundError(
            None,
            None,
            "No session factory registered for the given session options: "
            f"{{target: {target!r}}}; this process is the target '', a master is grpc://host:port.",
        )
    return importlib.import_module(found)


def connect(target: str, graph: Graph, config: Any) -> Remote:
    made: Remote = _module(target).connect(target, graph, config)
    return made


def reset(target: str, containers: Sequence[str], config: Any) -> None:
    _module(target).reset(target, containers, config)
