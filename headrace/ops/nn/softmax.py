"""Softmax, its logarithm, and the cross entropies, which bring their gradient with them."""

from __future__ import annotations

import numpy as np

from headrace.core.dtypes import FLOATS
from headrace.core.errors import require
from headrace.core.shapes import make_shape, show
from headrace.graph.tensor import Tensor
from headrace.ops.array import reshape, source
from headrace.ops.declaration.constants import constant
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.emit import Decline
from headrace.ops.declaration.precision import widen
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import merge_sizes, with_rank, with_rank_at_least
from headrace.ops.declaration.shape_rules import broadcast
from headrace.ops.declaration.signature import INDEX64
from headrace.ops.linalg import matrix
from headrace.ops.math import exponential, reduce


def softmax_shape(logits):
    return with_rank_at_least(logits, 1)


def check_rank(logits):
    require(len(logits.shape) >= 1, f"logits must have >= 1 dimension, got {show(logits.shape)}")


def shifted(x):
    """x minus its largest entry per row: exp of it neither overflows nor is 0 everywhere."""
    with np.errstate(invalid="ignore"):  # inf - inf
        return x - x.max(axis=-1, keepdims=True, initial=-np.inf)


@op("Softmax", "logits: T -> softmax: T", T=FLOATS, shape=softmax_shape)
def softmax(logits):
    """exp(logits) / sum(exp(logits)) along the last dimension."""
    check_rank(logits)
    up = np.exp(shifted(widen(logits)))
    return up / up.sum(axis=-1, keepdims=True)


@softmax.gradient
def _(node, dy):
    y = node.outputs[0]
    return (dy - reduce.sum_(dy * y, -1, keep_dims=True)) * y


@softmax.lower
def _(e, logits):
    check_rank(logits)
    *rows, n = logits.shape
    top = e.compute(rows, lambda *i: e.reduce("max", n, lambda j: logits[(*i, j)]))
    up = e.compute(logits.shape, lambda *i: e.exp(logits[i] - top[i[:-1]]))
    # One division per row; the sum is at least 1, so its inverse is a good number.
    share = e.compute(rows, lambda *i: 1.0 / e.reduce("sum", n, lambda j: up[(*i, j)]))
    return e.compute(logits.shape, lambda *i: up[i] * share[i[:-1]])


@softmax.samples
def _(rng):
    yield Sample(rng.normal(size=(3, 5)))
    yield Sample(rng.normal(size=(2, 3, 4)))
    yield Sample(rng.normal(size=(4,)))
    yield Sample(np.zeros((0, 3)), note="empty")
    yield Sample(np.zeros((3, 0)), note="no classes")
    yield Sample(np.array([[-1e4, 0.0, 1e4], [800.0, 800.0, 800.0]]), note="no overflow")
    yield Sample(np.array([[np.nan, 0.0], [-np.inf, 0.0], [np.inf, 0.0]]), note="edges", grad=False)
    yield ErrorSample(np.float64(1), raises="at least rank 1 but is rank 0")


@op("LogSoftmax", "logits: T -> logsoftmax: T", T=FLOATS, shape=softmax_shape)
def log_softmax(logits):
    """logits - log(sum(exp(logits))) along the last dimension."""
    check_rank(logits)
    low = shifted(widen(logits))
    with np.errstate(divide="ignore"):
        return low - np.log(np.exp(low).sum(axis=-1, keepdims=True))


@log_softmax.gradient
def _(node, dy):
    return dy - reduce.sum_(dy, -1, keep_dims=True) * exponential.exp(node.outputs[0])


@log_softmax.lower
def _(e, logits):
    check_rank(logits)
    *rows, n = logits.shape
    top = e.compute(rows, lambda *i: e.reduce("max", n, lambda j: logits[(*i, j)]))
    total = e.compute(rows, lambda *i: e.reduce("sum", n, lambda j: e.exp(logits[(*i, j)] - top[i])))
    return e.compute(logits.shape, lambda *i: logits[i] - top[i[:-1]] - e.log(total[i[:-1]]))


@log_softmax.samples
def _(rng):
    yield Sample(rng.normal(size=(3, 5)))
    yield Sample(rng.normal(size=(2, 3, 4)))
    yield Sample(np.zeros((0, 3)), note="empty")
    yield Sample(np.array([[-1e4, 0.0, 1e4], [800.0, 800.0, 800.0]]), note="no overflow")
    yield ErrorSample(np.float64(1), raises="at least rank 1 but is rank 0")


def cross_entropy_shape(features, labels):
    out = broadcast(features, labels)
    if features.rank in (None, 2) and labels.rank in (None, 2) and out.rank is None:
        known = features if features.rank == 2 else labels
        sizes = (None, None) if known.rank is None else known.sizes
        out = make_shape(None if n == 1 else n for n in sizes)  # 1 may broadcast
    require(out.rank == 2, f"Shape must be broadcasted with rank 2, but is rank {out.rank}")
    return [make_shape(out.sizes[:1]), out]


@op(
    "SoftmaxCrossEntropyWithLogits",
    "features: T, labels: T -> loss: T, backprop: T",
    T=FLOATS,
    shape=cross_entropy_shape,
)
def softmax_cross_entropy_with_logits(features, labels):
    """Per row sum(labels * -log softmax(features)), and its gradient softmax(features) - labels."""
    try:
        features, labels = np.broadcast_arrays(widen(features), widen(labels))
    except ValueError:
        sizes = (f"[{','.join(map(str, x.shape))}]" for x in (features, labels))
        message = "logits and labels must be broadcastable: logits_size={} labels_size={}"
        require(False, message.format(*sizes))
    require(
        features.ndim == 2,
        "logits and labels must be either 2-dimensional, or broadcasted to be 2-dimensional",
    )
    low = shifted(features)
    up = np.exp(low)
    total = up.sum(axis=-1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        return (labels * (np.log(total) - low)).sum(axis=-1), up / total - labels


@softmax_cross_entropy_with_logits.gradient
def _(node, dloss, dback):
    logits = node.inputs[0]
    back = node.outputs[1]
    row = reshape.expand_dims(dloss, -1)
    dx = row * back
    if dback is not None and not _is_zero(dback):
        # The gradient's own gradient: the Jacobian of softmax, applied to dback.
        probability = softmax(logits)
        inner = matrix.batch_matmul_v2(reshape.expand_dims(dback, 1), reshape.expand_dims(probability, 2))
        dback = convert_to_tensor(dback)
        dx += (dback - reshape.squeeze(inner, [1])) * probability
        return dx, reshape.expand_dims(dloss, -1) * -log_softmax(logits) - dback
    return dx, reshape.expand_dims(dloss, -1) * -log_softmax(logits)


def _is_zero(tensor):
    if not isinstance(tensor, Tensor):
        return False
    if tensor.op.type in ("ZerosLike", "Zeros"):
        return True
    value = constant(tensor)
    return value is not None and not value.any()


@softmax_cross_entropy_with_logits.lower
def _(e, features, labels):
    if not len(features.shape) == len(labels.shape) == 2:
        raise Decline("matrices that broadcast from fewer dimensions")
    rows, n = (max(sizes) for sizes in zip(features.shape, labels.shape))
    if 0 in (*features.shape, *labels.shape):
        rows, n = (min(sizes) for sizes in zip(features.shape, labels.shape))

    def at(x, i, j):
        return x[i if x.shape[0] == rows else 0, j if x.shape[1] == n else 0]

    top = e.compute((rows,), lambda i: e.reduce("max", n, lambda j: at(features, i, j)))
    low = e.compute((rows, n), lambda i, j: at(features, i, j) - top[i])
    up = e.compute((rows, n), lambda i, j: e.exp(low[i, j]))
    total = e.compute((rows,), lambda i: e.reduce("sum", n, lambda j: up[i, j]))

    def term(i, j):
        return at(labels, i, j) * (e.log(total[i]) - low[i, j])

    loss = e.compute((rows,), lambda i: e.reduce("sum", n, lambda j: term(i, j)))
    share = e.compute((rows,), lambda i: 1.0 / total[i])
    back = e.compute((rows, n), lambda i, j: up[i, j] * share[i] - at(labels, i, j))
    return loss, back


@softmax_cross_entropy_with_logits.samples
def _(rng):
    labels = rng.dirichlet(np.ones(5), size=3)
    yield Sample(rng.normal(size=(3, 5)), labels)
    yield Sample(rng.normal(size=(1, 5)), labels, note="one row of logits", grad=False)
    yield Sample(rng.normal(size=(3, 5)), labels[:1], note="one row of labels", grad=False)
    yield Sample(rng.normal(size=(3, 5)), rng.uniform(size=(3, 1)), note="equal labels", grad=False)
    yield Sample(np.zeros((0, 4)), np.zeros((0, 4)), note="empty")
    yield Sample(np.array([[0.0, -1e5]]), np.array([[1.0, 0.0]]), note="far", grad=False)
    yield ErrorSample(np.ones((2, 3, 4)), np.ones((2, 3, 4)), raises="rank 2, but is rank 3")
    yield ErrorSample(np.ones((2, 3)), np.ones((2, 4)), raises="Dimensions must be equal")


def sparse_cross_entropy_shape(features, labels):
    features, labels = with_rank(features, 2), with_rank(labels, 1)
    rows = merge_sizes(features.dim(0), labels.dim(0))
    return [make_shape((rows,)), make_shape((rows, features.dim(1)))]


@op(
    "SparseSoftmaxCrossEntropyWithLogits",
    "features: T, labels: Tlabels -> loss: T, backprop: T",
    T=FLOATS,
    Tlabels=INDEX64,
    shape=sparse_cross_entropy_shape,
)
def sparse_softmax_cross_entropy_with_logits(features, labels):
    """The cross entropy of softmax(features) with one class per row, and its gradient."""
    _check_sparse(features, labels)
    if not len(labels):
        return np.zeros(0, features.dtype), features
    low = shifted(widen(features))
    up = np.exp(low)
    total = up.sum(axis=-1, keepdims=True)
    row = np.arange(len(labels))
    back = up / total
    back[row, labels] -= 1
    return np.log(total[:, 0]) - low[row, labels], back


def _check_sparse(features, labels):
    require(features.ndim == 2, f"logits must be 2-D, but got shape {show(features.shape)}")
    require(labels.ndim == 1, f"labels must be 1-D, but got shape {show(labels.shape)}")
    require(
        len(features) == len(labels),
        "logits and labels must have the same first dimension, got logits shape "
        f"{show(features.shape)} and labels shape {show(labels.shape)}",
    )
    classes = features.shape[1]
    require(classes > 0, f"Must have at least one class, but got logits shape {show(features.shape)}")
    if len(labels):
        low, high = labels.min(), labels.max()
        require(
            low >= 0 and high < classes,
            f"Received a label value of {low if low < 0 else high} which is outside the valid "
            f"range of [0, {classes}).  Label values: {' '.join(map(str, labels))}",
        )


@sparse_softmax_cross_entropy_with_logits.gradient
def _(node, dloss, dback):
    # The op's second output says nothing of its own derivative, so a second gradient would be
    # wrong, and is refused.
    back = source.prevent_gradient(
        node.outputs[1],
        message="sparse_softmax_cross_entropy_with_logits computes its gradient along with its value, so "
        "it has no second derivative",
    )
    return reshape.expand_dims(dloss, -1) * back, None


@sparse_softmax_cross_entropy_with_logits.lower
def _(e, features, labels):
    rows, n = features.shape
    if not n:
        raise Decline("there are no classes")
    refusal = f"Received a label value of {{value}} which is outside the valid range of [0, {n})."
    top = e.compute((rows,), lambda i: e.reduce("max", n, lambda j: features[i, j]))
    low = e.compute((rows, n), lambda i, j: features[i, j] - top[i])
    up = e.compute((rows, n), lambda i, j: e.exp(low[i, j]))
    total = e.compute((rows,), lambda i: e.reduce("sum", n, lambda j: up[i, j]))
    loss = e.compute((rows,), lambda i: e.log(total[i]) - low[i, e.checked(labels[i], n, refusal)])
    share = e.compute((rows,), lambda i: 1.0 / total[i])

    def backprop(i, j):
        hit = e.select(labels[i] == e.cast(j, labels.dtype), 1.0, e.const(0, features.dtype))
        return up[i, j] * share[i] - hit

    return loss, e.compute((rows, n), backprop)


@sparse_softmax_cross_entropy_with_logits.samples
def _(rng):
    labels = np.array([3, 1, 4], np.int32)
    # The rule knows the loss alone: the second output can not be differentiated.
    yield Sample(rng.normal(size=(3, 5)), labels, grad=False)
    yield Sample(rng.normal(size=(3, 5)), labels.astype(np.int64), grad=False)
    yield Sample(np.array([[-1e4, 0.0, 1e4]]), np.array([2]), note="no overflow", grad=False)
    yield Sample(np.zeros((0, 4)), np.zeros(0, np.int64), note="empty")
    yield ErrorSample(np.ones((2, 3)), np.array([0, 3]), raises="label value of 3 which is outside")
    yield ErrorSample(np.ones((0, 0)), np.zeros(0, np.int64), raises="at least one class")
    yield ErrorSample(np.ones((2, 3)), np.array([0]), raises="Dimensions must be equal")
