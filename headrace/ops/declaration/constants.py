"""What is known of a tensor's value while the graph is built.

`constant` evaluates a small stateless subgraph of constants with the ops' own references, as TF does
for its shape functions; `known` knows sizes of which some entries are unknown, by the ops' own rules;
`constant_value` is `tf.get_static_value`'s smaller set.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core.errors import OpError
from headrace.core.modules import late
from headrace.core.shapes import Dim, Shape, make_shape
from headrace.graph.eager_tensor import EagerTensor
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor
from headrace.ops.declaration.traits import (
    CONSTANT,
    CONTROL_FLOW,
    HOST,
    OF_SHAPE,
    REPLACEABLE,
    SOURCE,
    STATEFUL,
    STATIC,
)

build = late("headrace.ops.declaration.building.build")
constant_ops = late("headrace.ops.array.constant")

Known = Dim | tuple[Dim, ...]  # a scalar, or a vector

_LIMIT = 1 << 16  # elements: larger values are not worth evaluating while building
_DEPTH = 100
_NEVER = frozenset({STATEFUL, SOURCE, REPLACEABLE, CONTROL_FLOW, HOST})


def constant(tensor: Tensor, depth: int = 0) -> Any:
    """The value as an array, or None.  Remembered on the tensor once found."""
    found = tensor.__dict__.get("_constant")
    if found is not None:
        return found
    node = tensor.op
    op = node.declaration
    if CONSTANT in op.traits:
        value = node.attrs["value"].array
    elif depth > _DEPTH:
        return None
    elif OF_SHAPE in op.traits and op.known_rule is not None:
        value = _from_shape(tensor)
    else:
        value = _evaluate(tensor, depth)
    if value is not None:
        tensor.__dict__["_constant"] = value
    return value


def _from_shape(tensor: Tensor) -> Any:
    rule, limit = tensor.op.declaration.known_rule, np.iinfo(tensor.dtype.numpy).max
    found: Known = rule(tensor.op, known)
    entries = found if isinstance(found, tuple) else (found,)
    if any(size is None or size > limit for size in entries):
        return None
    return np.array(found, tensor.dtype.numpy)


def _evaluate(tensor: Tensor, depth: int) -> Any:
    node = tensor.op
    op = node.declaration
    if op.reference is None or op.traits & _NEVER or op.wants_context or not node.inputs:
        return None
    size = tensor.shape.num_elements()
    if size is not None and size > _LIMIT:
        return None
    values = []
    for source in node.inputs:
        value = constant(source, depth + 1)
        if value is None or not isinstance(value, np.ndarray) or value.size > _LIMIT:
            return None
        values.append(value)
    try:
        with np.errstate(all="ignore"):
            result = op.compute(build.group(values, op, node.attrs), node.attrs)
    except (OpError, ValueError, IndexError, TypeError, ArithmeticError, MemoryError):
        return None  # it will fail with a proper message when it runs
    outputs = result if isinstance(result, (tuple, list)) else (result,)
    flat = [x for o in outputs for x in (o if isinstance(o, list) else (o,))]
    value = flat[tensor.value_index]
    if tensor.dtype.kind in "rv":
        return None
    return np.asarray(value).astype(tensor.dtype.numpy, copy=False)


def known(tensor: Tensor, depth: int = 0) -> Known:
    """A size, or a tuple of sizes, with None for what is unknown (or negative)."""
    value = constant(tensor)
    if value is not None:
        return _entries(value)
    if depth > _DEPTH:
        return None
    rule = tensor.op.declaration.known_rule
    found: Known = rule(tensor.op, lambda t: known(t, depth + 1)) if rule else None
    if found is None and tensor.shape.rank == 1:
        length = tensor.shape.dim(0)
        return None if length is None else (None,) * length
    return found


def _entries(value: Any) -> Known:
    if value.ndim > 1 or value.dtype.kind not in "iu":
        return None
    sizes = [None if v < 0 else int(v) for v in value.flat]
    return tuple(sizes) if value.ndim else sizes[0]


def partial_vector(tensor: Tensor) -> tuple[Dim, ...] | None:
    """The sizes in a vector, None for those that are unknown; None if even their number is."""
    found = known(tensor)
    return found if isinstance(found, tuple) else None


def constant_value(tensor: Any, partial: bool = False) -> Any:
    """TF's `get_static_value`: the value where it follows from a short list of ops, else None.

    The array is the caller's own.  With `partial` a Pack may be known in part: an array of objects
    with None for the rest.  What is no tensor at all is its own value.
    """
    if not isinstance(tensor, Tensor):
        return None if hasattr(tensor, "graph") else tensor
    if isinstance(tensor, EagerTensor):
        return None if tensor.dtype.kind in "rv" else np.array(tensor._constant)
    value = _static(tensor, partial)
    if value is not None:
        tensor.graph.prevent_feeding(tensor)  # its value has been used
    return value


def _static(tensor: Tensor, partial: bool) -> Any:
    node, traits = tensor.op, tensor.op.declaration.traits
    if node.declaration is constant_ops.pack:
        return _static_pack(node, partial)
    if not traits & {CONSTANT, OF_SHAPE}:
        if STATIC not in traits or any(constant_value(t) is None for t in node.inputs):
            return None
    value = constant(tensor)
    return None if value is None else np.array(value)


def _static_pack(node: Node, partial: bool) -> Any:
    if node.attrs["axis"] != 0:
        return None
    values = [constant_value(t, partial) for t in node.inputs]
    if all(v is not None and v.dtype != object for v in values):
        return np.array(values)
    if not partial and any(v is None for v in values):
        return None
    out = np.empty(len(values), object)
    out[:] = values
    return out


def constant_value_as_shape(tensor: Tensor) -> Shape:
    """The shape that a vector describes, as far as it is known; the scalar -1 describes any."""
    if tensor.shape.rank == 0:
        value = constant_value(tensor)
        if value is None or value != -1:
            which = "with unknown value" if value is None else f"value '{value}'"
            raise ValueError(
                f"Received a scalar {which} as shape; require a statically known scalar with value "
                "'-1' to describe an unknown shape."
            )
        return make_shape(None)
    sizes = partial_vector(tensor)
    if sizes is not None:
        return make_shape(sizes)
    length = tensor.shape.dim(0) if tensor.shape.rank == 1 else None
    return make_shape(None if length is None else (None,) * length)
