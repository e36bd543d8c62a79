"""Tensor arrays: the values that the iterations of a loop write and read, one cell each.

`flow` is a float that carries no number: it orders writes before reads, and gradients follow it
back.  The gradient of a read is a write to the gradient array, and the other way round.
"""

from __future__ import annotations

import numpy as np

from headrace.core.errors import require
from headrace.core.shapes import UNKNOWN, Shape, make_shape
from headrace.graph.defaults import get_default_graph
from headrace.ops.array.source import identity
from headrace.ops.control.tensor_array_access import concat, gather, new_state, read, scatter, split, write
from headrace.ops.control.tensor_array_state import CONTAINER, GRADIENT_CONTAINER, ArrayState
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.in_region import InRegion
from headrace.ops.declaration.resources import Handle
from headrace.ops.declaration.shape_rules import none, require_rank, scalar
from headrace.ops.declaration.signature import ShapeAttr, String, Type
from headrace.ops.declaration.traits import READS, STATEFUL, TEMPORARY, WRITES

KIND = "tensor_array"


def _state(handle):
    return handle.get(ArrayState)


HANDLE = Shape.of(2)  # what TF says of these handles, although they are scalars when they run


def array_shape(size):
    require_rank(size, 0)
    return [HANDLE, Shape.of()]


@op(
    "TensorArrayV3",
    "size: int32 -> handle: resource, flow: float32",
    dtype=Type(),
    element_shape=ShapeAttr(None),
    dynamic_size=False,
    clear_after_read=True,
    identical_element_shapes=False,
    tensor_array_name="",
    traits={STATEFUL, TEMPORARY},
    shape=array_shape,
)
def tensor_array_v3(
    ctx,
    size,
    *,
    dtype,
    element_shape,
    dynamic_size,
    clear_after_read,
    identical_element_shapes,
    tensor_array_name,
):
    """A new array, every time it runs."""
    state = new_state(
        tensor_array_name or ctx.node.name,
        size,
        dtype,
        element_shape,
        dynamic_size,
        clear_after_read,
        identical_element_shapes,
    )
    return Handle("", CONTAINER + state.name, KIND, ctx.node.device, state), _FLOW


tensor_array_v3.in_region(InRegion.CREATE_ARRAY)


_FLOW = np.zeros((), np.float32)


@tensor_array_v3.points_to
def _(size, *, dtype, element_shape, identical_element_shapes):
    return (dtype, element_shape) if element_shape.is_full or identical_element_shapes else None


def _gradient(handle, flow_in, source, device, prefix=()):
    require(handle.name.startswith(CONTAINER), f"Wrong input container. {handle.name}")
    state = _state(handle).gradient(source, prefix)
    return Handle("", GRADIENT_CONTAINER + state.name, KIND, device, state), flow_in


@op(
    "TensorArrayGradV3",
    "handle: resource, flow_in: float32 -> grad_handle: resource, flow_out: float32",
    source=String(),
    traits={STATEFUL},
    shape=lambda handle, flow_in: [HANDLE, Shape.of()],
)
def tensor_array_grad_v3(ctx, handle, flow_in, *, source):
    """The array of gradients of an array; `source` names the call of tf.gradients."""
    return _gradient(handle, flow_in, source, ctx.node.device)


tensor_array_grad_v3.in_region(InRegion.GRADIENT)


@op(
    "TensorArrayGradWithShape",
    "handle: resource, flow_in: float32, shape_to_prepend: int32 -> grad_handle: resource, flow_out: float32",
    source=String(),
    traits={STATEFUL},
    shape=lambda handle, flow_in, shape_to_prepend: [HANDLE, Shape.of()],
)
def tensor_array_grad_with_shape(ctx, handle, flow_in, shape_to_prepend, *, source):
    """Like TensorArrayGradV3, with more dimensions in front of every element."""
    prefix = tuple(shape_to_prepend.tolist())
    return _gradient(handle, flow_in, source, ctx.node.device, prefix)


@tensor_array_grad_with_shape.points_to
def _(handle, flow_in, shape_to_prepend):
    if handle.handle is None:
        return None
    dtype, shape = handle.handle
    more = shape_to_prepend.dim(0) if shape_to_prepend.rank == 1 else None
    return dtype, UNKNOWN if more is None else make_shape((None,) * more).concatenate(shape)


def write_shape(handle, index, value, flow_in):
    require_rank(index, 0)
    require_rank(flow_in, 0)
    if handle.handle is not None:
        handle.handle[1].merge_with(value.plain())
    return Shape.of()


@op(
    "TensorArrayWriteV3",
    "handle: resource, index: int32, value: T, flow_in: float32 -> flow_out: float32",
    T=Type(),
    traits={STATEFUL, WRITES},
    shape=write_shape,
)
def tensor_array_write_v3(handle, index, value, flow_in, *, T):
    """Write to a cell.  A second write to it is an error."""
    return write(_state(handle), index, value, flow_in, T)


tensor_array_write_v3.in_region(InRegion.WRITE)


@tensor_array_write_v3.gradient
def _(node, flow):
    grad, waited = _gradient_of(node, flow, flow)
    found = tensor_array_read_v3(grad, node.inputs[1], waited, dtype=node.attrs["T"])
    return None, None, found, flow


def read_shape(handle, index, flow_in):
    require_rank(index, 0)
    require_rank(flow_in, 0)
    return UNKNOWN if handle.handle is None else handle.handle[1]


@op(
    "TensorArrayReadV3",
    "handle: resource, index: int32, flow_in: float32 -> value: dtype",
    dtype=Type(),
    traits={STATEFUL},
    shape=read_shape,
)
def tensor_array_read_v3(handle, index, flow_in, *, dtype):
    """What is in a cell."""
    return read(_state(handle), index, dtype)


tensor_array_read_v3.in_region(InRegion.READ)


@tensor_array_read_v3.gradient
def _(node, dy):
    dy = convert_to_tensor(dy)
    grad, waited = _gradient_of(node, node.inputs[2], dy)
    with get_default_graph().name_scope("TensorArrayWrite"):
        return None, None, tensor_array_write_v3(grad, node.inputs[1], dy, waited)


def gather_shape(handle, indices, flow_in, *, element_shape):
    require_rank(indices, 1)
    require_rank(flow_in, 0)
    each = element_shape if handle.handle is None else handle.handle[1]
    return make_shape([indices.dim(0) if indices.rank else None]).concatenate(each)


@op(
    "TensorArrayGatherV3",
    "handle: resource, indices: int32, flow_in: float32 -> value: dtype",
    dtype=Type(),
    element_shape=ShapeAttr(None),
    traits={STATEFUL},
    shape=gather_shape,
)
def tensor_array_gather_v3(handle, indices, flow_in, *, dtype, element_shape):
    """The cells at `indices`, stacked."""
    return gather(_state(handle), indices, dtype, element_shape)


tensor_array_gather_v3.in_region(InRegion.GATHER)


@tensor_array_gather_v3.gradient
def _(node, dy):
    dy = convert_to_tensor(dy)
    grad, waited = _gradient_of(node, node.inputs[2], dy)
    with get_default_graph().name_scope("TensorArrayScatter"):
        return None, None, tensor_array_scatter_v3(grad, node.inputs[1], dy, waited)


def scatter_shape(handle, indices, value, flow_in):
    require_rank(indices, 1)
    require_rank(flow_in, 0)
    if value.rank is not None:
        require(value.rank >= 1, f"Shape must be at least rank 1 but is rank {value.rank}")
        make_shape(value.sizes[:1]).merge_with(indices.plain())
        if handle.handle is not None:
            handle.handle[1].merge_with(make_shape(value.sizes[1:]))
    return Shape.of()


@op(
    "TensorArrayScatterV3",
    "handle: resource, indices: int32, value: T, flow_in: float32 -> flow_out: float32",
    T=Type(),
    traits={STATEFUL, WRITES},
    shape=scatter_shape,
)
def tensor_array_scatter_v3(handle, indices, value, flow_in, *, T):
    """The rows of `value` to the cells at `indices`."""
    return scatter(_state(handle), indices, value, flow_in, T)


tensor_array_scatter_v3.in_region(InRegion.SCATTER)


@tensor_array_scatter_v3.gradient
def _(node, flow):
    grad, waited = _gradient_of(node, flow, flow)
    found = tensor_array_gather_v3(grad, node.inputs[1], waited, dtype=node.attrs["T"])
    return None, None, found, flow


def concat_shape(handle, flow_in, *, element_shape_except0):
    require_rank(flow_in, 0)
    return [UNKNOWN, Shape.of(None)]


@op(
    "TensorArrayConcatV3",
    "handle: resource, flow_in: float32 -> value: dtype, lengths: int64",
    dtype=Type(),
    element_shape_except0=ShapeAttr(None),
    traits={STATEFUL},
    shape=concat_shape,
)
def tensor_array_concat_v3(handle, flow_in, *, dtype, element_shape_except0):
    """All cells one after the other, and their lengths."""
    return concat(_state(handle), dtype, element_shape_except0)


tensor_array_concat_v3.in_region(InRegion.CONCAT)


@tensor_array_concat_v3.gradient
def _(node, dy, _):
    dy = convert_to_tensor(dy)
    grad, waited = _gradient_of(node, node.inputs[1], dy)
    with get_default_graph().name_scope("TensorArraySplit"):
        return None, tensor_array_split_v3(grad, dy, node.outputs[1], waited)


def split_shape(handle, value, lengths, flow_in):
    require_rank(lengths, 1)
    require_rank(flow_in, 0)
    return Shape.of()


@op(
    "TensorArraySplitV3",
    "handle: resource, value: T, lengths: int64, flow_in: float32 -> flow_out: float32",
    T=Type(),
    traits={STATEFUL, WRITES},
    shape=split_shape,
)
def tensor_array_split_v3(handle, value, lengths, flow_in, *, T):
    """`lengths[i]` rows of `value` to cell i."""
    return split(_state(handle), value, lengths, flow_in, T)


tensor_array_split_v3.in_region(InRegion.SPLIT)


@tensor_array_split_v3.gradient
def _(node, flow):
    grad, waited = _gradient_of(node, flow, flow)
    found, _ = tensor_array_concat_v3(grad, waited, dtype=node.attrs["T"])
    return None, found, None, flow


@op(
    "TensorArraySizeV3",
    "handle: resource, flow_in: float32 -> size: int32",
    traits={STATEFUL, READS},
    shape=scalar,
)
def tensor_array_size_v3(handle, flow_in):
    """How many cells there are."""
    return np.array(_state(handle).size(), np.int32)


tensor_array_size_v3.in_region(InRegion.SIZE)


@op("TensorArrayCloseV3", "handle: resource ->", traits={STATEFUL, WRITES}, shape=none)
def tensor_array_close_v3(handle):
    """Forget the values; the array can not be used afterwards."""
    _state(handle).close()
    return ()


tensor_array_close_v3.in_region(InRegion.CLOSE)


for _op in (
    tensor_array_v3,
    tensor_array_grad_v3,
    tensor_array_grad_with_shape,
    tensor_array_size_v3,
    tensor_array_close_v3,
):
    _op.no_gradient()


# -- gradients ------------------------------------------------------------------------------------
def _gradient_of(node, flow, dy):
    """The gradient array of a node's array, and a flow that waits for it."""
    handle, graph = node.inputs[0], get_default_graph()
    with graph.name_scope("TensorArrayGrad"), graph.colocate_with(handle.op):
        found, _ = tensor_array_grad_v3(handle, flow, source=gradient_source(dy))
        with graph.control_dependencies([found]):
            return found, identity(flow, name="gradient_flow")


def gradient_source(dy):
    """The scope of the call of tf.gradients that made `dy`: two calls must not share an array."""
    words = dy.name.split("/")
    places = [i for i, word in enumerate(words) if word.startswith("gradients")]
    if not places:
        raise ValueError(
            f"The name of a gradient, {dy.name}, does not start with 'gradients' in any scope, by which "
            "the gradients of a TensorArray are told apart: a `name` given to tf.gradients must "
            "start so."
        )
    return "/".join(words[: places[-1] + 1])
