"""How much callers may ask of a task.  What is beyond is refused as ResourceExhausted, before it is done.

HEADRACE_LIMITS, or Security.limits, is words like `message=100000000 sessions=20`; the names are those of the
fields below.  A message can not be nested deeper than 100 (protobuf's own limit).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import Any

from headrace.core import dtypes
from headrace.core.errors import InvalidArgumentError, ResourceExhaustedError


@dataclass(frozen=True, slots=True)
class Limits:
    message: int = 2**31 - 1  # bytes of a request
    tensor: int = 2**31  # bytes of a tensor that a request describes: a few bytes may announce many
    nodes: int = 1_000_000  # of a graph, its functions included
    sessions: int = 1_000  # of clients at one master, and of masters at one worker
    graphs: int = 10_000  # registered in one session
    kept: int = 10_000  # callables, and partial runs, of one session
    peers: int = 1_000  # addresses that a task is connected to
    steps: int = 10_000  # that a task knows at a time: running, or waited for

    @staticmethod
    def parsed(words: str) -> Limits:
        """The limits that words change.

        Raises:
          InvalidArgumentError: a word that means nothing.
        """
        names = [field.name for field in fields(Limits)]
        given: dict[str, int] = {}
        for word in words.split():
            name, _, number = word.partition("=")
            if name not in names or not number.isdecimal() or not 0 < int(number) < 2**31 + 1:
                raise InvalidArgumentError(
                    None, None, f"HEADRACE_LIMITS: {word}: say NAME=NUMBER, of {', '.join(names)}"
                )
            given[name] = int(number)
        return replace(Limits(), **given)

    def check_graph(self, graph_def: Any, before: int = 0) -> int:
        """How many nodes a graph has, and `before` it; its constants are of sizes that can be meant."""
        count = before + len(graph_def.node) + sum(len(f.node_def) for f in graph_def.library.function)
        self.check("nodes", count, "a graph")
        for nodes in (graph_def.node, *(f.node_def for f in graph_def.library.function)):
            for node in nodes:
                for value in node.attr.values():
                    self.check_tensors((value.tensor,) if value.HasField("tensor") else value.list.tensor)
        return count

    def check_tensors(self, tensors: Iterable[Any]) -> None:
        for tensor in tensors:
            size = announced(tensor)
            if size > self.tensor:
                limit = _setting("tensor", self.tensor)
                raise ResourceExhaustedError(
                    None, None, f"a tensor of {size} bytes is announced, which is above {limit}"
                )

    def check(self, name: str, count: int, who: str) -> None:
        """Refuse the one that is too many."""
        limit: int = getattr(self, name)
        if count > limit:
            raise ResourceExhaustedError(
                None, None, f"{who} would have {count} {name}, which is above {_setting(name, limit)}"
            )


def announced(tensor: Any) -> int:
    """The bytes that a TensorProto will take; 0 where it describes no tensor."""
    sizes = [dim.size for dim in tensor.tensor_shape.dim]
    if tensor.tensor_shape.unknown_rank or any(size < 0 for size in sizes):
        return 0
    try:
        width = dtypes.as_dtype(tensor.dtype).numpy.itemsize
    except TypeError:
        return 0
    return int(math.prod(sizes)) * int(width)


def _setting(name: str, limit: int) -> str:
    return f"the limit of {limit} (HEADRACE_LIMITS={name}=...)"
