"""What the pure ops of random programs compute, in NumPy: `KERNELS[op](node, *arrays)`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.state.nodes import Node

Kernel = Callable[..., Any]


def plain(function: Kernel) -> Kernel:
    """A kernel that needs nothing but its inputs."""
    return lambda node, *inputs: function(*inputs)


def same(node: Node, x: Any, *rest: Any) -> Any:
    return x


class NotFinite(Exception):
    """A program whose numbers grew beyond all bounds, and that asks whether they did."""


def check_numerics(node: Node, x: Any) -> Any:
    if not np.isfinite(x).all():
        raise NotFinite(node.name)
    return x


def cast(node: Node, x: Any) -> Any:
    return x.astype(node.attr("DstT"))


def shape(node: Node, x: Any) -> Any:
    return np.array(x.shape, node.attr("out_type", np.int32))


def squeeze(node: Node, x: Any) -> Any:
    axes = node.attr("squeeze_dims", [])
    return np.squeeze(x, tuple(axes)) if axes else np.squeeze(x)


def reduction(function: Kernel) -> Kernel:
    def reduce(node: Node, x: Any, axes: Any) -> Any:
        keep = node.attr("keep_dims", False)
        axis = tuple(int(a) for a in np.ravel(axes))
        return np.asarray(function(x, axis=axis, keepdims=keep)).astype(x.dtype)

    return reduce


def broadcast_gradient_args(node: Node, s0: Any, s1: Any) -> Any:
    """The axes along which the gradients of two broadcast operands are summed."""
    rank = max(len(s0), len(s1))
    a, b = ([1] * (rank - len(s)) + list(s) for s in (s0, s1))
    first = [i for i in range(rank) if a[i] == 1 and (b[i] != 1 or i < rank - len(s0))]
    second = [i for i in range(rank) if b[i] == 1 and (a[i] != 1 or i < rank - len(s1))]
    return np.array(first, s0.dtype), np.array(second, s0.dtype)


def gather(node: Node, x: Any, indices: Any, axis: Any = 0) -> Any:
    return np.take(x, indices, axis=int(axis))


def slices(node: Node, begin: Any, end: Any, strides: Any) -> tuple[Any, ...]:
    """The index that a strided slice means."""
    masks = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")
    open_begin, open_end, ellipsis, new, shrink = (node.attr(m, 0) for m in masks)
    index: list[Any] = []
    for i, (first, last, step) in enumerate(zip(begin, end, strides)):
        bit = 1 << i
        if ellipsis & bit:
            index.append(...)
        elif new & bit:
            index.append(None)
        elif shrink & bit:
            index.append(int(first))
        else:
            low = None if open_begin & bit else int(first)
            index.append(slice(low, None if open_end & bit else int(last), int(step)))
    return tuple(index)


def strided_slice(node: Node, x: Any, begin: Any, end: Any, strides: Any) -> Any:
    return x[slices(node, begin, end, strides)]


def strided_slice_grad(node: Node, size: Any, begin: Any, end: Any, strides: Any, dy: Any) -> Any:
    out = np.zeros(size, dy.dtype)
    out[slices(node, begin, end, strides)] = dy
    return out


def unsorted_segment_sum(node: Node, data: Any, segments: Any, count: Any) -> Any:
    out = np.zeros((int(count), *data.shape[segments.ndim :]), data.dtype)
    np.add.at(out, segments, data)
    return out


def unique(node: Node, x: Any) -> Any:
    """In the order of first appearance."""
    order = list(dict.fromkeys(x.tolist()))
    places = [order.index(v) for v in x.tolist()]
    return np.array(order, x.dtype), np.array(places, node.attr("out_idx", np.int32))


def unpack(node: Node, x: Any) -> Any:
    return tuple(np.moveaxis(x, node.attr("axis", 0), 0))


def matmul(node: Node, a: Any, b: Any) -> Any:
    return (a.T if node.attr("transpose_a") else a) @ (b.T if node.attr("transpose_b") else b)


KERNELS: dict[str, Kernel] = {
    "Const": lambda node: node.attr("value"),
    "NoOp": lambda node: (),
    "Cast": cast,
    "CheckNumerics": check_numerics,
    "Shape": shape,
    "Size": lambda node, x: np.array(x.size, node.attr("out_type", np.int32)),
    "Rank": lambda node, x: np.array(x.ndim, np.int32),
    "ZerosLike": plain(np.zeros_like),
    "OnesLike": plain(np.ones_like),
    "Fill": lambda node, size, x: np.full(size, x, x.dtype),
    "Range": plain(lambda a, b, step: np.arange(a, b, step, a.dtype)),
    "Reshape": plain(lambda x, size: x.reshape(size)),
    "ExpandDims": plain(lambda x, axis: np.expand_dims(x, int(axis))),
    "Squeeze": squeeze,
    "Transpose": plain(lambda x, order: np.transpose(x, order)),
    "Pack": lambda node, *xs: np.stack(xs, node.attr("axis", 0)),
    "Unpack": unpack,
    "ConcatV2": plain(lambda *xs: np.concatenate(xs[:-1], int(xs[-1]))),
    "Tile": plain(np.tile),
    "BroadcastTo": plain(np.broadcast_to),
    "Pad": plain(np.pad),
    "Gather": gather,
    "GatherV2": gather,
    "StridedSlice": strided_slice,
    "StridedSliceGrad": strided_slice_grad,
    "UnsortedSegmentSum": unsorted_segment_sum,
    "Unique": unique,
    "MatMul": matmul,
    "Sum": reduction(np.sum),
    "Mean": reduction(np.mean),
    "Prod": reduction(np.prod),
    "Max": reduction(np.max),
    "All": reduction(np.all),
    "BroadcastGradientArgs": broadcast_gradient_args,
    "Select": plain(np.where),
    "Add": plain(np.add),
    "AddV2": plain(np.add),
    "AddN": plain(lambda *xs: sum(xs[1:], xs[0])),
    "Sub": plain(np.subtract),
    "Mul": plain(np.multiply),
    "RealDiv": plain(np.true_divide),
    "FloorDiv": plain(np.floor_divide),
    "FloorMod": plain(np.mod),
    "Pow": plain(np.power),
    "Maximum": plain(np.maximum),
    "Minimum": plain(np.minimum),
    "Neg": plain(np.negative),
    "Square": plain(np.square),
    "Sqrt": plain(np.sqrt),
    "Abs": plain(np.abs),
    "Sign": plain(np.sign),
    "Tanh": plain(np.tanh),
    "Less": plain(np.less),
    "LessEqual": plain(np.less_equal),
    "Greater": plain(np.greater),
    "GreaterEqual": plain(np.greater_equal),
    "Equal": plain(np.equal),
    "NotEqual": plain(np.not_equal),
    "LogicalAnd": plain(np.logical_and),
    "LogicalOr": plain(np.logical_or),
    "LogicalNot": plain(np.logical_not),
    # The input comes out, in memory of its own or not: tests.state.model says which.
    **dict.fromkeys(
        ["Identity", "StopGradient", "PreventGradient", "EnsureShape", "Snapshot",
         "PlaceholderWithDefault", "Enter", "Exit", "NextIteration", "LoopCond", "RefEnter",
         "RefIdentity", "RefExit"], same),
    "IdentityN": lambda node, *xs: xs,
}  # fmt: skip
OF_SHAPE = {"Shape", "Size", "Rank", "ZerosLike", "OnesLike"}  # the values do not matter
