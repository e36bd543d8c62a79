"""BatchNormWithGlobalNormalization and its gradient: the ops before FusedBatchNorm."""

from __future__ import annotations

import numpy as np

from headrace.core.dtypes import NUMBERS
from headrace.core.errors import require
from headrace.core.shapes import make_shape
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.precision import block_sum, widen
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import merge, merge_sizes, replaced, with_rank
from headrace.ops.declaration.signature import Bool, Float

ATTRS = {"T": NUMBERS, "variance_epsilon": Float(), "scale_after_normalization": Bool()}
OLD = (9, "Use tf.nn.batch_normalization()")


def channels_of(x, *vectors):
    channels = x.sizes[3]
    for vector in vectors:
        channels = merge_sizes(channels, with_rank(vector, 1).dim(0))
    return channels


def global_norm_shape(t, m, v, beta, gamma):
    t = with_rank(t, 4)
    return replaced(t, 3, channels_of(t, m, v, beta, gamma))


def check(x, **vectors):
    require(x.ndim == 4, f"input must be 4-dimensional{list(x.shape)}")
    for name, vector in vectors.items():
        require(vector.ndim == 1, f"{name} must be 1-dimensional{list(vector.shape)}")
        require(vector.shape == x.shape[3:], f"{name} has {len(vector)} elements for {x.shape[3]} channels")


@op(
    "BatchNormWithGlobalNormalization",
    "t: T, m: T, v: T, beta: T, gamma: T -> result: T",
    shape=global_norm_shape,
    attrs=ATTRS,
    deprecated=OLD,
)
def batch_norm_with_global_normalization(
    t, m, v, beta, gamma, *, variance_epsilon, scale_after_normalization
):
    """(t - m) / sqrt(v + variance_epsilon), times gamma if it is asked for, plus beta."""
    check(t, mean=m, var=v, beta=beta, gamma=gamma)
    t, m, v, beta, gamma = (widen(a) for a in (t, m, v, beta, gamma))
    factor = 1 / np.sqrt(v + v.dtype.type(variance_epsilon))
    return (t - m) * (factor * gamma if scale_after_normalization else factor) + beta


@batch_norm_with_global_normalization.gradient
def _(node, dy):
    t, m, v, _, gamma = node.inputs
    given = {name: node.attrs[name] for name in ATTRS if name != "T"}
    return batch_norm_with_global_normalization_grad(t, m, v, gamma, dy, **given)


@batch_norm_with_global_normalization.samples
def _(rng):
    for scaled in (True, False):
        m, beta, gamma = rng.normal(size=(3, 4))
        v = rng.uniform(0.5, 2, size=4)
        chosen = {"variance_epsilon": 0.01, "scale_after_normalization": scaled}
        yield Sample(rng.normal(size=(2, 3, 2, 4)), m, v, beta, gamma, **chosen)
    yield ErrorSample(np.ones((2, 3, 2, 4)), m[1:], v, beta, gamma, **chosen, raises="equal")


def global_norm_grad_shape(t, m, v, gamma, backprop):
    t = merge(with_rank(t, 4), backprop)
    channels = channels_of(t, m, v, gamma)
    return [replaced(t, 3, channels)] + [make_shape((channels,))] * 4


@op(
    "BatchNormWithGlobalNormalizationGrad",
    "t: T, m: T, v: T, gamma: T, backprop: T -> dx: T, dm: T, dv: T, db: T, dg: T",
    shape=global_norm_grad_shape,
    attrs=ATTRS,
    deprecated=OLD,
)
def batch_norm_with_global_normalization_grad(
    t, m, v, gamma, backprop, *, variance_epsilon, scale_after_normalization
):
    """The gradients of BatchNormWithGlobalNormalization."""
    check(t, mean=m, var=v, gamma=gamma)
    require(backprop.ndim == 4, f"out_backprop must be 4-dimensional{list(backprop.shape)}")
    require(
        backprop.shape == t.shape,
        f"out_backprop {list(backprop.shape)} does not belong to input {list(t.shape)}",
    )
    t, m, v, gamma, dy = (widen(a) for a in (t, m, v, gamma, backprop))
    wide = v + v.dtype.type(variance_epsilon)
    factor = 1 / np.sqrt(wide)
    scale = gamma if scale_after_normalization else np.ones_like(gamma)
    db = block_sum(dy, (0, 1, 2))
    moved = block_sum(dy * (t - m), (0, 1, 2))
    dg = moved * factor if scale_after_normalization else np.zeros_like(gamma)
    return dy * (factor * scale), -db * (factor * scale), -0.5 * moved * scale * factor / wide, db, dg


@batch_norm_with_global_normalization_grad.samples
def _(rng):
    for scaled in (True, False):
        m, gamma = rng.normal(size=(2, 4))
        v = rng.uniform(0.5, 2, size=4)
        t, dy = rng.normal(size=(2, 2, 3, 2, 4))
        yield Sample(t, m, v, gamma, dy, variance_epsilon=0.01, scale_after_normalization=scaled)
