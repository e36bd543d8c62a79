"""tensorflow.python.framework.ops: what converts, names and finds things in graphs."""

from __future__ import annotations

import itertools
import re
from abc import ABC
from collections.abc import Iterable, Sequence
from typing import Any

from headrace.core import dtypes
from headrace.functions.platform.modes import executing_eagerly
from headrace.functions.sparse.indexed_rows import convert_to_tensor_or_indexed_slices
from headrace.functions.values.composite import CompositeTensor
from headrace.functions.values.conversion import convert_to_tensor
from headrace.graph import collection_protos
from headrace.graph.defaults import get_default_graph
from headrace.graph.graph import Graph
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor
from headrace.ops.declaration.indexed_slices import IndexedSlices
from headrace.variables.variable import Variable


class TensorLike(ABC):  # noqa: B024
    """What stands for tensors in a graph; types are registered with it."""


for _type in (Tensor, IndexedSlices, CompositeTensor):
    TensorLike.register(_type)

_dense: tuple[type, ...] = (Tensor, Variable)


def is_dense_tensor_like(t: Any) -> bool:
    """A tensor, a variable, or what a library registered as one."""
    return isinstance(t, _dense)


def register_dense_tensor_like_type(tensor_type: type) -> None:
    """From now on, its instances count as tensors.  They need properties `name` and `dtype`."""
    global _dense
    for name in ("name", "dtype"):
        if not isinstance(getattr(tensor_type, name, None), property):
            raise TypeError(f"Type {tensor_type.__name__} does not define a `{name}` property")
    _dense = (*_dense, tensor_type)


_uids = itertools.count()


def uid() -> int:
    """A number that nobody else gets in this process."""
    return next(_uids)


def executing_eagerly_outside_functions() -> bool:
    """Would an op run at once outside of the function or graph that is being built?"""
    return executing_eagerly()


def get_name_scope() -> str:
    """The current name scope, without a slash at its end."""
    return get_default_graph().get_name_scope()


def register_shape(op_type: str) -> Any:
    """A decorator without effect, as in TF 1.15: shapes of ops are in their declarations."""
    return lambda function: function


# -- names ----------------------------------------------------------------------------------------
def name_from_scope_name(name: str) -> str:
    return name[:-1] if name.endswith("/") else name


def strip_name_scope(name: str, export_scope: str | None) -> str:
    """The name without the scope at its head."""
    if not export_scope:
        return name
    scope = re.escape(export_scope.removesuffix("/"))
    return re.sub(rf"([\^]|loc:@|^){scope}[\/]+(.*)", r"\1\2", _text(name), count=1)


def prepend_name_scope(name: str, import_scope: str | None) -> str:
    """The name within a scope."""
    if not import_scope:
        return name
    mark, rest = re.fullmatch(r"([\^]|loc:@|)(.*)", _text(name), flags=re.DOTALL).groups()  # type: ignore[union-attr]
    return f"{mark}{import_scope.removesuffix('/')}/{rest}"


def _text(name: Any) -> str:
    return name.decode() if isinstance(name, bytes) else name


# -- conversions ----------------------------------------------------------------------------------
def internal_convert_to_tensor(
    value: Any,
    dtype: Any = None,
    name: str | None = None,
    as_ref: bool = False,
    preferred_dtype: Any = None,
    ctx: Any = None,
    accepted_result_types: Any = (Tensor,),
) -> Any:
    """convert_to_tensor; with `as_ref`, a variable by reference gives its reference."""
    reference = getattr(value, "_ref", None) if as_ref else None
    if reference is not None:
        return reference()
    return convert_to_tensor(value, dtype, name, preferred_dtype)


def convert_n_to_tensor(
    values: Sequence[Any], dtype: Any = None, name: str | None = None, preferred_dtype: Any = None
) -> list[Tensor]:
    if not isinstance(values, Sequence):
        raise TypeError("values must be a sequence.")
    names = [None if name is None else f"{name}_{i}" for i in range(len(values))]
    return [convert_to_tensor(v, dtype, n, preferred_dtype) for v, n in zip(values, names)]


def convert_n_to_tensor_or_indexed_slices(
    values: Sequence[Any], dtype: Any = None, name: str | None = None
) -> list[Any]:
    if not isinstance(values, Sequence):
        raise TypeError("values must be iterable.")
    names = [None if name is None else f"{name}_{i}" for i in range(len(values))]
    return [
        v if v is None else convert_to_tensor_or_indexed_slices(v, dtype, n) for v, n in zip(values, names)
    ]


def as_graph_element(obj: Any) -> Any:
    """The tensor or node that an object stands for in its graph, or None."""
    convert = getattr(obj, "_as_graph_element", None)
    return convert() if convert else None


def get_graph_from_inputs(op_input_list: Iterable[Any], graph: Any = None) -> Graph:
    """The graph that all of them are in."""
    default = get_default_graph()
    if default.building_function:
        return default
    if graph is not None and not isinstance(graph, Graph):
        raise TypeError(f"Input graph needs to be a Graph: {graph}")
    first, given = None, graph is not None
    for value in op_input_list:
        element: Any = value if isinstance(value, Tensor | Node | TensorLike) else as_graph_element(value)
        if element is None:
            continue
        if graph is None:
            first, graph = element, element.graph
        elif element.graph is not graph:
            if given:
                raise ValueError(f"{element} is not from the passed-in graph.")
            raise ValueError(f"{element} must be from the same graph as {first}.")
    return graph or default


# -- collections ----------------------------------------------------------------------------------
def _registered(part: str) -> Any:
    def get(collection_name: str) -> Any:
        found = collection_protos.conversion(collection_name)
        return found and getattr(found, part)

    return get


get_collection_proto_type = _registered("message")
get_to_proto_function = _registered("to_proto")
get_from_proto_function = _registered("from_proto")


def dismantle_graph(graph: Graph) -> None:
    """Nothing to take apart: the collector frees a graph that nobody holds."""


float16_ref = dtypes.as_dtype("float16_ref")
