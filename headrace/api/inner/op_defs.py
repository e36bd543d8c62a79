"""The declarations of all ops, as programs ask TF's registry for them."""

from __future__ import annotations

from typing import Any

from headrace.api.raw_ops import registered_ops
from headrace.formats import proto
from headrace.ops.declaration import catalog


def _op_list() -> Any:
    found = proto.OpList()
    for name in registered_ops():
        found.op.add().CopyFrom(catalog.find(name).op_def)
    return found


def get_registered_ops() -> dict[str, Any]:
    """The OpDef of every op, by its name."""
    return {definition.name: definition for definition in _op_list().op}


def register_op_list(op_list: Any) -> None:
    """Nothing to register: our ops are declared already, and others have no meaning here.  Using one of
    those is an error that names it."""


def TF_GetAllOpList() -> bytes:
    """An OpList, serialized."""
    data: bytes = _op_list().SerializeToString()
    return data


def TF_GetBuffer(buffer: bytes) -> bytes:
    """What a buffer of the C API holds; ours are octets already."""
    return buffer


class OpDefLibrary:
    """Makes nodes of ops by their names, as generated functions did."""

    def add_op_list(self, op_list: Any) -> None:
        register_op_list(op_list)

    def apply_op(self, op_type_name: str, name: str | None = None, **keywords: Any) -> Any:
        op = catalog.find(op_type_name)
        return op.as_function(__name__, op.name)(name=name, **keywords)

    _apply_op_helper = apply_op
