"""What layers of tf.contrib share: outputs with names, collections of variables, sizes."""

from __future__ import annotations

from collections import OrderedDict, namedtuple
from collections.abc import Callable
from typing import Any

from headrace.functions.control.cond import cond
from headrace.graph.defaults import get_default_graph
from headrace.graph.tensor import Tensor
from headrace.ops.declaration import constants
from headrace.variables.variable import Variable

NamedOutputs = namedtuple("NamedOutputs", ["name", "outputs"])


# -- outputs --------------------------------------------------------------------------------------
def collect_named_outputs(collections: Any, alias: str, outputs: Any) -> Any:
    """Add `outputs` to collections, under the name `alias`."""
    if collections:
        append_tensor_alias(outputs, alias)
        get_default_graph().add_to_collections(collections, outputs)
    return outputs


def append_tensor_alias(tensor: Any, alias: str) -> Any:
    """Give a tensor one more name."""
    name = alias.removesuffix("/")
    if hasattr(tensor, "aliases"):
        tensor.aliases.append(name)
    else:
        tensor.aliases = [name]
    return tensor


def get_tensor_aliases(tensor: Any) -> list[str]:
    """The names that were given to a tensor, else its own."""
    if hasattr(tensor, "aliases"):
        found: list[str] = tensor.aliases
        return found
    return [tensor.op.name if tensor.name.endswith(":0") else tensor.name]


def gather_tensors_aliases(tensors: Any) -> list[str]:
    """The names of all tensors."""
    return [alias for tensor in tensors for alias in get_tensor_aliases(tensor)]


def convert_collection_to_dict(collection: str, clear_collection: bool = False) -> OrderedDict[str, Any]:
    """The tensors of a collection, by name."""
    graph = get_default_graph()
    found = OrderedDict(
        (alias, tensor) for tensor in graph.get_collection(collection) for alias in get_tensor_aliases(tensor)
    )
    if clear_collection:
        graph.clear_collection(collection)
    return found


def get_variable_collections(variables_collections: Any, name: str) -> Any:
    """The collections for the variable of this role."""
    if isinstance(variables_collections, dict):
        return variables_collections.get(name)
    return variables_collections


# -- conditions -----------------------------------------------------------------------------------
def constant_value(value_or_tensor_or_var: Any, dtype: Any = None) -> Any:
    """The value where it is known while building, else None."""
    value = value_or_tensor_or_var
    if value is None:
        raise ValueError("value_or_tensor_or_var cannot be None")
    if not isinstance(value, Tensor | Variable):
        return value
    if dtype and value.dtype != dtype:
        raise ValueError(f"It has the wrong type {value.dtype} instead of {dtype}")
    return None if isinstance(value, Variable) else constants.constant_value(value)


def static_cond(pred: Any, fn1: Callable[[], Any], fn2: Callable[[], Any]) -> Any:
    """fn1() or fn2(), decided now."""
    for name, function in (("fn1", fn1), ("fn2", fn2)):
        if not callable(function):
            raise TypeError(f"{name} must be callable.")
    return fn1() if pred else fn2()


def smart_cond(pred: Any, fn1: Callable[[], Any], fn2: Callable[[], Any], name: str | None = None) -> Any:
    """fn1() or fn2(), decided now where the value of `pred` is known, else at run time."""
    known = constant_value(pred)
    return cond(pred, fn1, fn2, name=name) if known is None else static_cond(known, fn1, fn2)


# -- sizes ----------------------------------------------------------------------------------------
def _dimension(shape: Any, dim: int, min_rank: int) -> int:
    if shape.ndims is None:
        raise ValueError("dims of shape must be known but is None")
    if shape.ndims < min_rank:
        raise ValueError(f"rank of shape must be at least {min_rank} not: {shape.ndims}")
    size: int | None = shape.dim(dim)
    if size is None:
        raise ValueError(f"dimension {dim} of shape must be known but is None: {shape}")
    return size


def channel_dimension(shape: Any, data_format: str, min_rank: int = 1) -> int:
    """How many channels a shape has; they must be known."""
    return _dimension(shape, 1 if data_format == "channels_first" else -1, min_rank)


def last_dimension(shape: Any, min_rank: int = 1) -> int:
    """The last size of a shape; it must be known."""
    return _dimension(shape, -1, min_rank)


def two_element_tuple(int_or_tuple: Any) -> tuple[int, int]:
    """A pair from one number or two."""
    if isinstance(int_or_tuple, int):
        return int_or_tuple, int_or_tuple
    try:
        sizes = tuple(int(size) for size in int_or_tuple)
    except TypeError:
        raise ValueError("Must be an int, a list with 2 elements or a TensorShape of length 2") from None
    if len(sizes) != 2:
        raise ValueError(f"Must be a list with 2 elements: {int_or_tuple}")
    return sizes


def n_positive_integers(n: int, value: Any) -> tuple[int, ...]:
    """`n` positive integers from one or as many."""
    if int(n) < 1 or int(n) != n:
        raise ValueError("n must be a positive integer")
    try:
        values = (int(value),) * int(n)
    except (TypeError, ValueError):
        values = _integers(n, value)
    for v in values:
        if v < 1:
            raise ValueError(f"expected positive integer, but received {v}")
    return values


def _integers(n: int, value: Any) -> tuple[int, ...]:
    fault = f"Expected sequence of {n} positive integers, but received {value!r}"
    if len(value) != n:
        raise ValueError(fault)
    try:
        return tuple(int(v) for v in value)
    except (TypeError, ValueError):
        raise ValueError(fault) from None


def op_format(data_format: str | None) -> str:
    """NHWC and the like, as tf.layers call it."""
    first = data_format is not None and data_format.startswith("NC")
    return "channels_first" if first else "channels_last"
