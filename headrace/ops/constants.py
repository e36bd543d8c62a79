"""What is known of a tensor's value while the graph is built.

`constant` evaluates a small stateless subgraph of constants with the ops' own references, as TF does
for its shape functions; `partial_vector` knows vectors of sizes of which some entries are unknown;
`constant_value` is `tf.get_static_value`'s smaller set.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core.errors import OpError
from headrace.core.shapes import Dim, Shape, make_shape
from headrace.graph.tensor import Tensor
from headrace.ops.traits import CONSTANT, CONTROL_FLOW, HOST, REPLACEABLE, SOURCE, STATEFUL

_LIMIT = 1 << 16  # elements: larger values are not worth evaluating while building
_DEPTH = 100
_NEVER = frozenset({STATEFUL, SOURCE, REPLACEABLE, CONTROL_FLOW, HOST})


def constant(tensor: Tensor, depth: int = 0) -> Any:
    """The value as an array, or None.  Remembered on the tensor once found."""
    known = tensor.__dict__.get("_constant")
    if known is not None:
        return known
    node = tensor.op
    op = node.declaration
    if CONSTANT in op.traits:
        value = node.attrs["value"].array
    elif depth > _DEPTH:
        return None
    elif op.name in _FROM_SHAPE:
        shape = node.inputs[0].shape
        value = _FROM_SHAPE[op.name](shape, tensor.dtype.numpy)
    else:
        value = _evaluate(tensor, depth)
    if value is not None:
        tensor.__dict__["_constant"] = value
    return value


_FROM_SHAPE: dict[str, Any] = {
    "Shape": lambda s, t: np.array(s.as_list(), t) if s.is_full else None,
    "Size": lambda s, t: np.array(s.num_elements(), t) if s.is_full else None,
    "Rank": lambda s, t: np.array(s.rank, t) if s.rank is not None else None,
}


def _evaluate(tensor: Tensor, depth: int) -> Any:
    from headrace.ops.build import group

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
            result = op.compute(group(values, op, node.attrs), node.attrs)
    except (OpError, ValueError, IndexError, TypeError, ArithmeticError):
        return None  # it will fail with a proper message when it runs
    outputs = result if isinstance(result, (tuple, list)) else (result,)
    flat = [x for o in outputs for x in (o if isinstance(o, list) else (o,))]
    value = flat[tensor.value_index]
    if tensor.dtype.kind in "rv":
        return None
    return np.asarray(value).astype(tensor.dtype.numpy, copy=False)


def partial_vector(tensor: Tensor, depth: int = 0) -> tuple[Dim, ...] | None:
    """A vector of sizes, with None for entries that are unknown or -1; None if its length is."""
    value = constant(tensor)
    if value is not None:
        if value.ndim != 1:
            return None
        return tuple(None if v < 0 else int(v) for v in value)
    if depth > _DEPTH:
        return None
    rule = _PARTIAL.get(tensor.op.type)
    found = rule(tensor.op, depth + 1) if rule else None
    if found is None and tensor.shape.rank == 1 and tensor.shape.dim(0) is not None:
        found = (None,) * tensor.shape.sizes[0]  # type: ignore[operator]
    return found


def _partial_shape(node: Any, depth: int) -> tuple[Dim, ...] | None:
    shape = node.inputs[0].shape
    return None if shape.rank is None else shape.sizes


def _partial_pack(node: Any, depth: int) -> tuple[Dim, ...] | None:
    out: list[Dim] = []
    for source in node.inputs:
        if source.shape.rank not in (None, 0):
            return None
        out.append(partial_scalar(source, depth))
    return tuple(out)


def _partial_concat(node: Any, depth: int) -> tuple[Dim, ...] | None:
    parts = node.inputs[:-1] if node.type == "ConcatV2" else node.inputs[1:]
    out: tuple[Dim, ...] = ()
    for source in parts:
        part = partial_vector(source, depth)
        if part is None:
            return None
        out += part
    return out


def _partial_slice(node: Any, depth: int) -> tuple[Dim, ...] | None:
    whole = partial_vector(node.inputs[0], depth)
    index = _slice_of(node)
    if whole is None or not isinstance(index, slice):
        return None
    return whole[index]


def _slice_of(node: Any) -> Any:
    """The Python index of a one-dimensional StridedSlice with constant bounds, or None."""
    bounds = [constant(t) for t in node.inputs[1:]]
    a = node.attrs
    if any(b is None or b.size != 1 for b in bounds) or a["ellipsis_mask"] or a["new_axis_mask"]:
        return None
    begin, end, step = (int(b[0]) for b in bounds)
    if a["shrink_axis_mask"]:
        return begin
    return slice(None if a["begin_mask"] else begin, None if a["end_mask"] else end, step)


def _partial_cast(node: Any, depth: int) -> tuple[Dim, ...] | None:
    return partial_vector(node.inputs[0], depth)


_PARTIAL: dict[str, Any] = {
    "Shape": _partial_shape,
    "Pack": _partial_pack,
    "ConcatV2": _partial_concat,
    "Concat": _partial_concat,
    "StridedSlice": _partial_slice,
    "Cast": _partial_cast,
    "Identity": _partial_cast,
}


def partial_scalar(tensor: Tensor, depth: int = 0) -> Dim:
    """A size, if it is known: a constant or an entry of a partly known vector."""
    value = constant(tensor)
    if value is not None:
        return None if value < 0 else int(value)
    if tensor.op.type in ("Cast", "Identity") and depth < _DEPTH:
        return partial_scalar(tensor.op.inputs[0], depth + 1)
    if tensor.op.type == "StridedSlice":
        whole = partial_vector(tensor.op.inputs[0], depth + 1)
        index = _slice_of(tensor.op)
        if whole is not None and isinstance(index, int) and -len(whole) <= index < len(whole):
            return whole[index]
    return None


_STATIC = frozenset("Range Cast Concat ConcatV2 Fill Equal NotEqual".split())


def constant_value(tensor: Any, partial: bool = False) -> Any:
    """TF's `get_static_value`: the value where it follows from a short list of ops, else None.

    The array is the caller's own.  With `partial` a Pack may be known in part: an array of objects
    with None for the rest.  What is no tensor at all is its own value.
    """
    if not isinstance(tensor, Tensor):
        return None if hasattr(tensor, "graph") else tensor
    value = _static(tensor, partial)
    if value is not None:
        tensor.graph.prevent_feeding(tensor)  # its value has been used
    return value


def _static(tensor: Tensor, partial: bool) -> Any:
    node = tensor.op
    if node.type == "Pack":
        return _static_pack(node, partial)
    if CONSTANT not in node.declaration.traits and node.type not in _FROM_SHAPE:
        if node.type not in _STATIC or any(constant_value(t) is None for t in node.inputs):
            return None
    value = constant(tensor)
    return None if value is None else np.array(value)


def _static_pack(node: Any, partial: bool) -> Any:
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
