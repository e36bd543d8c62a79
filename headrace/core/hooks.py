"""Where a lower folder calls what a higher one brings: every such place, declared once.

Imports point downward (ARCHITECTURE.md).  What must go the other way goes through a name of this file: the
lower folder reads the hook's `value`, or has the methods; the higher one fills it while it is imported, or
when it is switched on.  `tests/core/test_hooks.py` compares the list with the table of ARCHITECTURE.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Hook(Generic[T]):
    """A value that somebody above may replace."""

    __slots__ = ("called_by", "filled_by", "meaning", "value")

    def __init__(self, value: T, filled_by: str, called_by: str, meaning: str) -> None:
        self.value, self.filled_by, self.called_by, self.meaning = value, filled_by, called_by, meaning


class Methods:
    """Methods of a class that need what is declared above it."""

    __slots__ = ("called_by", "filled_by", "meaning", "names")

    def __init__(self, names: tuple[str, ...], filled_by: str, called_by: str, meaning: str) -> None:
        self.names, self.filled_by, self.called_by, self.meaning = names, filled_by, called_by, meaning

    def give(self, owner: type, methods: Mapping[str, Any]) -> None:
        """Make these the methods of the class: all that are declared, and no others."""
        if methods.keys() != set(self.names):
            raise ValueError(
                f"{owner}: {sorted(methods.keys() ^ set(self.names))} declared or given, not both"
            )
        for name, method in methods.items():
            setattr(owner, name, method)


# -- values ----------------------------------------------------------------------------------------
native_checksum: Hook[Callable[[int, Any], int] | None] = Hook(
    None, "codegen.accelerate", "formats.records.crc32c", "CRC32C of large buffers: checksum so far, octets"
)
native_words: Hook[Callable[[int, int, int], Any] | None] = Hook(
    None, "codegen.accelerate", "ops.random.philox", "many random words: key, counter, how many"
)
native_log32: Hook[Callable[[Any], Any] | None] = Hook(
    None, "codegen.accelerate", "ops.random.sampling", "logarithms of float32, as compiled rules have them"
)
native_truncated32: Hook[Callable[[Any, int], Any] | None] = Hook(
    None, "codegen.accelerate", "ops.random.sampling", "normal numbers within limits: generator, groups"
)
native_key_rows: Hook[Callable[[Any], Any] | None] = Hook(
    None, "codegen.accelerate", "ops.lookup.table", "which row a key has, for many keys: type of the keys"
)
native_unfilter: Hook[Callable[[Any, int], Any] | None] = Hook(
    None,
    "codegen.accelerate",
    "formats.images.png",
    "lines of a PNG without filters: lines, bytes of a pixel",
)
native_jpeg_colors: Hook[Callable[[Any, int], Any] | None] = Hook(
    None,
    "codegen.accelerate",
    "formats.images.jpeg",
    "YCbCr as interpolated RGB: image, how many times rows of colours are repeated",
)
cached_reads: Hook[Callable[[], AbstractContextManager[Any]]] = Hook(
    nullcontext, "variables.scope", "functions.control", "inside, `get_variable` reads a variable once"
)
step_watcher: Hook[Any] = Hook(
    None, "tools.explain", "runtime.step", "the trace (runtime.profile.Trace) that all steps fill"
)
run_at_once: Hook[Callable[..., Any] | None] = Hook(
    None,
    "eager.context",
    "graph.eager_graph",
    "runs one op in eager mode: graph, op, name, inputs, their types, attributes; gives the node",
)
mean_metric: Hook[Callable[..., Any] | None] = Hook(
    None,
    "keras.metrics.averages",
    "layers.engine.reports",
    "makes the metric that averages what a layer reports: its name and type",
)

# -- methods ---------------------------------------------------------------------------------------
_BINARY = "add sub mul div truediv floordiv mod pow and or xor matmul".split()
tensor_operators = Methods(
    (
        *(f"__{side}{word}__" for word in _BINARY for side in ("", "r")),
        *(f"__{word}__" for word in "neg abs invert getitem lt le gt ge".split()),
    ),
    "ops.declaration.building.operators",
    "graph.tensor.Tensor",
    "Python's operators, which build nodes",
)
graph_messages = Methods(
    ("as_graph_def", "_as_graph_def", "node_to_proto", "attr_from_proto", "create_op"),
    "ops.graphdef.import_export",
    "graph.graph.Graph",
    "GraphDef out, and nodes by the name of their op: both need the declarations",
)
shape_messages = Methods(
    ("as_proto",), "formats.shape_proto", "core.shapes.Shape", "a shape as TensorShapeProto"
)
