"""Tables of an object that is saved: a copy of each in the model's graph, the functions that make and fill
it, and the vocabulary files that go with the model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from headrace.formats import proto
from headrace.functions.platform.scopes import control_dependencies
from headrace.graph.tensor import Tensor
from headrace.ops.array.constant import constant
from headrace.ops.lookup import make_table
from headrace.train.saved_model import assets
from headrace.train.saved_model.signatures import build_tensor_info
from headrace.variables.functions.graph_function import GraphFunction


class SavedTables:
    """The tables of one model; `message` is its object graph."""

    MAKE: ClassVar[str] = "_create_resource"
    FILL: ClassVar[str] = "_initialize"

    def __init__(self, message: Any) -> None:
        self._message = message
        self._tables: list[tuple[int, Any]] = []
        self.sources: dict[str, str] = {}  # files to copy, by their names among the assets
        self.files: list[Any] = []  # AssetFileDefs

    def add(self, number: int, table: Any) -> Tensor:
        """A table, which is this node of the object graph; its handle in the model's graph."""
        self._tables.append((number, table))
        return _like(table.resource_handle, table.resource_handle.op.name)

    def assets(self) -> Iterator[tuple[Tensor, Tensor, int]]:
        """(name of a file as a tensor, the same in the model's graph, node of the object graph)"""
        for _, table in self._tables:
            tensor = getattr(table._initializer, "_filename", None)
            if tensor is None:
                continue
            source = assets.path_of(tensor)
            name = assets.free_name(source, self.sources)
            self.sources[name] = source
            copy = constant(name, dtype="string", name="asset_path_initializer")
            number = len(self._message.nodes)
            self._message.nodes.add().asset.asset_file_def_index = len(self.files)
            self.files.append(proto.AssetFileDef(filename=name, tensor_info=build_tensor_info(copy)))
            yield tensor, copy, number

    def functions(self) -> Iterator[tuple[int, str, GraphFunction]]:
        """(node of a table, name, function of a loader)"""
        for number, table in self._tables:
            for name, python in ((self.MAKE, _maker(table)), (self.FILL, _filler(table))):
                function = GraphFunction(python, None)
                function.get_concrete_function()
                yield number, name, function


def _like(handle: Tensor, name: str) -> Tensor:
    attrs = handle.op.attrs
    made: Tensor = make_table.hash_table_v2(
        shared_name=attrs["shared_name"],
        key_dtype=attrs["key_dtype"],
        value_dtype=attrs["value_dtype"],
        name=name,
    )
    return made


def _maker(table: Any) -> Any:
    def creator() -> Tensor:
        return _like(table.resource_handle, "hash_table")

    return creator


def _filler(table: Any) -> Any:
    def initializer() -> Tensor:
        with control_dependencies([table._initialize()]):
            done: Tensor = constant(1.0)
        return done

    return initializer
