"""The older forms of the tensor array's ops, in graphs made before TF 1.0: the array is named by a
reference to a string (first version) or by a string (second).  The arrays end with the step."""

from __future__ import annotations

import numpy as np

from headrace.core import dtypes
from headrace.core.errors import NotFoundError, require
from headrace.core.shapes import UNKNOWN, Shape
from headrace.graph.defaults import get_default_graph
from headrace.ops.array.source import identity
from headrace.ops.control.tensor_array import gradient_source
from headrace.ops.control.tensor_array_access import concat, gather, new_state, read, scatter, split, write
from headrace.ops.control.tensor_array_state import CONTAINER, GRADIENT_CONTAINER, shown
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.resources import Slot, named
from headrace.ops.declaration.shape_rules import none, require_rank
from headrace.ops.declaration.signature import ShapeAttr, String, Type
from headrace.ops.declaration.traits import STATEFUL


def _named(handle):
    """container, name"""
    words = handle.read() if isinstance(handle, Slot) else handle
    require(
        words.size == 2, f"Tensor array handle must be 2-element vector, but had shape: {shown(words.shape)}"
    )
    return named(words.ravel())


def _find(ctx, handle):
    key = "".join(_named(handle))
    if key not in ctx.local:
        raise NotFoundError(None, None, f"Resource {key} does not exist.")
    return ctx.local[key]


def _keep(ctx, container, state):
    """The state lives as long as the step; returns its name."""
    ctx.local[container + state.name] = state
    return np.array([container.encode(), state.name.encode()], object)


def _referenced(words):
    slot = Slot(words[1].decode(), dtypes.string, Shape.of(2))
    slot.value = words
    return slot


# -- creation -------------------------------------------------------------------------------------
_ARRAY = {"dynamic_size": False, "clear_after_read": True, "tensor_array_name": ""}


def _make(ctx, size, dtype, element_shape, dynamic_size, clear_after_read, tensor_array_name):
    name = tensor_array_name or ctx.node.name
    state = new_state(name, size, dtype, element_shape, dynamic_size, clear_after_read)
    return _keep(ctx, CONTAINER, state)


@op(
    "TensorArray",
    "size: int32 -> handle: Ref(string)",
    traits={STATEFUL},
    shape=lambda size: UNKNOWN,
    deprecated=(16, "Use TensorArrayV3"),
    attrs={"dtype": Type(), **_ARRAY, "element_shape": ShapeAttr(None)},
)
def tensor_array(ctx, size, **attrs):
    """A new array, named by a reference."""
    return _referenced(_make(ctx, size, **attrs))


def array_shape(size):
    require_rank(size, 0)
    return Shape.of(2)


@op(
    "TensorArrayV2",
    "size: int32 -> handle: string",
    traits={STATEFUL},
    shape=array_shape,
    attrs={"dtype": Type(), "element_shape": ShapeAttr(None), **_ARRAY},
    deprecated=(26, "Use TensorArrayV3"),
)
def tensor_array_v2(ctx, size, **attrs):
    """A new array, named by a string."""
    return _make(ctx, size, **attrs)


def _make_gradient(ctx, handle, source):
    container, _ = _named(handle)
    require(container == CONTAINER, f"Input container should be '{CONTAINER}',  but received '{container}'")
    return _keep(ctx, GRADIENT_CONTAINER, _find(ctx, handle).gradient(source))


@op(
    "TensorArrayGrad",
    "handle: string, flow_in: float32 -> grad_handle: Ref(string)",
    source=String(),
    traits={STATEFUL},
    shape=lambda handle, flow_in: UNKNOWN,
    deprecated=(16, "Use TensorArrayGradV3"),
)
def tensor_array_grad(ctx, handle, flow_in, *, source):
    """The array of gradients, named by a reference."""
    return _referenced(_make_gradient(ctx, handle, source))


@op(
    "TensorArrayGradV2",
    "handle: string, flow_in: float32 -> grad_handle: string",
    source=String(),
    traits={STATEFUL},
    shape=lambda handle, flow_in: Shape.of(2),
    deprecated=(26, "Use TensorArrayGradV3"),
)
def tensor_array_grad_v2(ctx, handle, flow_in, *, source):
    """The array of gradients, named by a string."""
    return _make_gradient(ctx, handle, source)


# -- use ------------------------------------------------------------------------------------------
def _two(name, signature, body, shape, first=16, use=None, second=26, **attrs):
    """Both versions of an op.  The first knows no shapes."""
    use = f"Use {use or name + 'V3'}"

    def unknown(*inputs):
        return [UNKNOWN] * count if count != 1 else UNKNOWN

    count = len([part for part in signature.partition("->")[2].split(",") if part.strip()])
    old = op(name, f"handle: Ref(string), {signature}", shape=unknown, deprecated=(first, use), attrs=attrs)(
        body
    )
    new = op(
        name + "V2",
        f"handle: string, {signature}",
        shape=shape,
        attrs=attrs,
        deprecated=second and (second, f"Use {name}V3"),
    )(body)
    return old, new


def _write(ctx, handle, index, value, flow_in, *, T):
    """Write to a cell."""
    return write(_find(ctx, handle), index, value, flow_in, T)


def _read(ctx, handle, index, flow_in, *, dtype):
    """What is in a cell."""
    return read(_find(ctx, handle), index, dtype)


def _gather(ctx, handle, indices, flow_in, *, dtype, element_shape):
    """The cells at `indices`, stacked."""
    return gather(_find(ctx, handle), indices, dtype, element_shape)


def _scatter(ctx, handle, indices, value, flow_in, *, T):
    """The rows of `value` to the cells at `indices`."""
    return scatter(_find(ctx, handle), indices, value, flow_in, T)


def _concat(ctx, handle, flow_in, *, dtype, element_shape_except0):
    """All cells one after the other, and their lengths."""
    return concat(_find(ctx, handle), dtype, element_shape_except0)


def _split(ctx, handle, value, lengths, flow_in, *, T):
    """`lengths[i]` rows of `value` to cell i."""
    return split(_find(ctx, handle), value, lengths, flow_in, T)


def _size(ctx, handle, flow_in):
    """How many cells there are."""
    return np.array(_find(ctx, handle).size(), np.int32)


def _close(ctx, handle):
    """Forget the values."""
    _find(ctx, handle).close()
    return ()


def _flow(*inputs):
    return Shape.of()


tensor_array_write, tensor_array_write_v2 = _two(
    "TensorArrayWrite",
    "index: int32, value: T, flow_in: float32 -> flow_out: float32",
    _write,
    _flow,
    T=Type(),
)
tensor_array_read, tensor_array_read_v2 = _two(
    "TensorArrayRead",
    "index: int32, flow_in: float32 -> value: dtype",
    _read,
    lambda handle, index, flow_in: UNKNOWN,
    dtype=Type(),
)
tensor_array_gather, tensor_array_gather_v2 = _two(
    "TensorArrayGather",
    "indices: int32, flow_in: float32 -> value: dtype",
    _gather,
    lambda handle, indices, flow_in: UNKNOWN,
    dtype=Type(),
    element_shape=ShapeAttr(None),
)
tensor_array_scatter, tensor_array_scatter_v2 = _two(
    "TensorArrayScatter",
    "indices: int32, value: T, flow_in: float32 -> flow_out: float32",
    _scatter,
    _flow,
    first=19,
    use="TensorArrayGradV3",
    T=Type(),
)
tensor_array_concat, tensor_array_concat_v2 = _two(
    "TensorArrayConcat",
    "flow_in: float32 -> value: dtype, lengths: int64",
    _concat,
    lambda handle, flow_in: [UNKNOWN, Shape.of(None)],
    use="TensorArrayGradV3",
    second=None,
    dtype=Type(),
    element_shape_except0=ShapeAttr(None),
)
tensor_array_split, tensor_array_split_v2 = _two(
    "TensorArraySplit",
    "value: T, lengths: int64, flow_in: float32 -> flow_out: float32",
    _split,
    _flow,
    T=Type(),
)
tensor_array_size, tensor_array_size_v2 = _two(
    "TensorArraySize", "flow_in: float32 -> size: int32", _size, _flow
)
tensor_array_close, tensor_array_close_v2 = _two("TensorArrayClose", "->", _close, none)


@op(
    "TensorArrayPack",
    "handle: Ref(string), flow_in: float32 -> value: dtype",
    dtype=Type(),
    element_shape=ShapeAttr(None),
    shape=lambda handle, flow_in: UNKNOWN,
    deprecated=(16, "Use TensorArrayGatherV3 with RangeOp"),
)
def tensor_array_pack(ctx, handle, flow_in, *, dtype, element_shape):
    """All cells, stacked."""
    return gather(_find(ctx, handle), None, dtype, element_shape)


@op(
    "TensorArrayUnpack",
    "handle: Ref(string), value: T, flow_in: float32 -> flow_out: float32",
    T=Type(),
    shape=lambda handle, value, flow_in: UNKNOWN,
    deprecated=(20, "Use TensorArrayScatterV3 with RangeOp"),
)
def tensor_array_unpack(ctx, handle, value, flow_in, *, T):
    """A row of `value` to each cell."""
    return scatter(_find(ctx, handle), None, value, flow_in, T)


for _op in (
    tensor_array,
    tensor_array_v2,
    tensor_array_grad,
    tensor_array_grad_v2,
    tensor_array_size,
    tensor_array_size_v2,
    tensor_array_close,
    tensor_array_close_v2,
):
    _op.no_gradient()


# -- gradients: those of the third version (ops.control.tensor_array), each in its own --------------------
def _gradients(make, write, read, scatter, gather, split, concat):
    """Hang them on the ops of one version; `make` makes the array of gradients."""

    def array_of(node, flow, dy):
        """The array of gradients, and a flow that waits for it."""
        handle, graph = node.inputs[0], get_default_graph()
        with graph.name_scope("TensorArrayGrad"), graph.colocate_with(handle.op):
            found = make(handle, flow, source=gradient_source(dy))
            with graph.control_dependencies([found]):
                return found, identity(flow, name="gradient_flow")

    @read.gradient
    def _(node, dy):
        found, waited = array_of(node, node.inputs[2], dy)
        return None, None, write(found, node.inputs[1], dy, waited)

    @write.gradient
    def _(node, flow):
        found, waited = array_of(node, flow, flow)
        return None, None, read(found, node.inputs[1], waited, dtype=node.attrs["T"]), flow

    @gather.gradient
    def _(node, dy):
        found, waited = array_of(node, node.inputs[2], dy)
        return None, None, scatter(found, node.inputs[1], dy, waited)

    @scatter.gradient
    def _(node, flow):
        found, waited = array_of(node, flow, flow)
        return None, None, gather(found, node.inputs[1], waited, dtype=node.attrs["T"]), flow

    @concat.gradient
    def _(node, dy, _):
        found, waited = array_of(node, node.inputs[1], dy)
        return None, split(found, dy, node.outputs[1], waited)

    @split.gradient
    def _(node, flow):
        found, waited = array_of(node, flow, flow)
        return None, concat(found, waited, dtype=node.attrs["T"])[0], None, flow


_gradients(
    tensor_array_grad,
    tensor_array_write,
    tensor_array_read,
    tensor_array_scatter,
    tensor_array_gather,
    tensor_array_split,
    tensor_array_concat,
)
_gradients(
    tensor_array_grad_v2,
    tensor_array_write_v2,
    tensor_array_read_v2,
    tensor_array_scatter_v2,
    tensor_array_gather_v2,
    tensor_array_split_v2,
    tensor_array_concat_v2,
)
