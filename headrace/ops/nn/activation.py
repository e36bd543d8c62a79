"""Activations (the Relu family, Elu, Selu, Softplus, Softsign) and the ops of their gradients.

A gradient op takes what its activation already knows: Relu and Elu are decided by their output.
"""

from __future__ import annotations

import numpy as np

from headrace.core.dtypes import FLOATS, REALS, float32, qint8
from headrace.ops.array import fill
from headrace.ops.array.indexing import where
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.families import paired, require_same_shape
from headrace.ops.declaration.precision import widen
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_rules import same
from headrace.ops.declaration.signature import Type
from headrace.ops.declaration.traits import ELEMENTWISE
from headrace.ops.math import exponential

# The fixed point of Selu: mean 0 and variance 1 stay so from layer to layer.
SCALE = 1.0507009873554805
SCALE_ALPHA = 1.7580993408473769


def forward(rng):
    """Samples of an activation, away from kinks at 0, 1 and 6."""
    yield Sample(rng.uniform(0.2, 5, size=(3, 4)) * rng.choice([-1, 1, 2], size=(3, 4)))
    yield Sample(np.zeros((0, 3)), note="empty")
    yield Sample(np.array(-0.5), note="scalar")
    yield Sample(np.array([-800.0, -30.0, 30.0, 800.0]), note="far", grad=False)
    yield Sample(np.array([np.nan, np.inf, -np.inf, 0.0]), note="edges", grad=False)


def backward(rng):
    """Samples of the gradient of an activation: dy, and the input or output it is decided by."""
    yield Sample(rng.normal(size=(3, 4)), rng.uniform(0.2, 0.9, size=(3, 4)))
    yield Sample(rng.normal(size=(3, 4)), rng.uniform(-0.9, -0.2, size=(3, 4)))
    yield Sample(np.zeros((0, 3)), np.zeros((0, 3)), note="empty")
    yield ErrorSample(np.ones((2, 3)), np.ones((3, 2)), raises="must be equal")


@op("Relu", "features: T -> activations: T", T=(*REALS, qint8), shape=same, traits={ELEMENTWISE})
def relu(features):
    """max(features, 0)"""
    return np.maximum(features, np.zeros((), features.dtype))


@relu.gradient
def _(node, dy):
    return relu_grad(dy, node.outputs[0])


@relu.lower
def _(e, x):
    return e.max(x, 0)


relu.samples(forward)


@op("ReluGrad", "gradients: T, features: T -> backprops: T", T=REALS, shape=paired, traits={ELEMENTWISE})
def relu_grad(gradients, features):
    """gradients where features > 0, else 0."""
    require_same_shape(gradients, features)
    return gradients * (features > 0)


@relu_grad.gradient
def _(node, dy):
    return relu_grad(dy, node.inputs[1]), fill.zeros_like(node.inputs[1])


@relu_grad.lower
def _(e, dy, x):
    return dy * e.cast(x > 0, dy.dtype)


relu_grad.samples(backward)


@op("Relu6", "features: T -> activations: T", T=REALS, shape=same, traits={ELEMENTWISE})
def relu6(features):
    """min(max(features, 0), 6)"""
    return np.clip(features, np.asarray(0, features.dtype), np.asarray(6, features.dtype))


@relu6.gradient
def _(node, dy):
    return relu6_grad(dy, node.outputs[0])


@relu6.lower
def _(e, x):
    return e.min(e.max(x, 0), 6)


relu6.samples(forward)


@op("Relu6Grad", "gradients: T, features: T -> backprops: T", T=REALS, shape=paired, traits={ELEMENTWISE})
def relu6_grad(gradients, features):
    """gradients where 0 < features < 6, else 0."""
    require_same_shape(gradients, features)
    return gradients * ((features > 0) & (features < 6))


@relu6_grad.gradient
def _(node, dy):
    return relu6_grad(dy, node.inputs[1]), fill.zeros_like(node.inputs[1])


@relu6_grad.lower
def _(e, dy, x):
    return dy * e.cast((x > 0) & (x < 6), dy.dtype)


relu6_grad.samples(backward)


@op(
    "LeakyRelu",
    "features: T -> activations: T",
    alpha=0.20000000298023224,
    T=Type(FLOATS, default=float32),
    shape=same,
    traits={ELEMENTWISE},
)
def leaky_relu(features, *, alpha):
    """features where they are positive, else alpha * features."""
    return np.where(features > 0, features, features * features.dtype.type(alpha))


@leaky_relu.gradient
def _(node, dy):
    return leaky_relu_grad(dy, node.inputs[0], alpha=node.attrs["alpha"])


@leaky_relu.lower
def _(e, x, *, alpha):
    return e.select(x > 0, x, x * alpha)


@leaky_relu.samples
def _(rng):
    yield from forward(rng)
    yield Sample(rng.normal(size=(3, 4)), alpha=0.5)


@op(
    "LeakyReluGrad",
    "gradients: T, features: T -> backprops: T",
    alpha=0.20000000298023224,
    T=Type(FLOATS, default=float32),
    shape=paired,
    traits={ELEMENTWISE},
)
def leaky_relu_grad(gradients, features, *, alpha):
    """gradients where features are positive, else alpha * gradients."""
    require_same_shape(gradients, features)
    return np.where(features > 0, gradients, gradients * gradients.dtype.type(alpha))


@leaky_relu_grad.gradient
def _(node, dy):
    x = node.inputs[1]
    return leaky_relu_grad(dy, x, alpha=node.attrs["alpha"]), fill.zeros_like(x)


@leaky_relu_grad.lower
def _(e, dy, x, *, alpha):
    return e.select(x > 0, dy, dy * alpha)


leaky_relu_grad.samples(backward)


@op("Elu", "features: T -> activations: T", T=FLOATS, shape=same, traits={ELEMENTWISE})
def elu(features):
    """features where they are not negative, else exp(features) - 1."""
    x = widen(features)
    return np.where(x < 0, np.expm1(np.minimum(x, 0)), x)


@elu.gradient
def _(node, dy):
    return elu_grad(dy, node.outputs[0])


@elu.lower
def _(e, x):
    return e.select(x < 0, e.expm1(x), x)


elu.samples(forward)


@op("EluGrad", "gradients: T, outputs: T -> backprops: T", T=FLOATS, shape=paired, traits={ELEMENTWISE})
def elu_grad(gradients, outputs):
    """gradients times the slope of Elu, told from Elu's output."""
    require_same_shape(gradients, outputs)
    return np.where(outputs < 0, (outputs + 1) * gradients, gradients)


@elu_grad.lower
def _(e, dy, y):
    return e.select(y < 0, (y + 1) * dy, dy)


elu_grad.samples(backward)


@op("Selu", "features: T -> activations: T", T=FLOATS, shape=same, traits={ELEMENTWISE})
def selu(features):
    """Elu, scaled so that it keeps mean 0 and variance 1 (Klambauer et al. 2017)."""
    x = widen(features)
    return np.where(x < 0, SCALE_ALPHA * np.expm1(np.minimum(x, 0)), SCALE * x)


@selu.gradient
def _(node, dy):
    return selu_grad(dy, node.outputs[0])


@selu.lower
def _(e, x):
    return e.select(x < 0, e.expm1(x) * SCALE_ALPHA, x * SCALE)


selu.samples(forward)


@op("SeluGrad", "gradients: T, outputs: T -> backprops: T", T=FLOATS, shape=paired, traits={ELEMENTWISE})
def selu_grad(gradients, outputs):
    """gradients times the slope of Selu, told from Selu's output."""
    require_same_shape(gradients, outputs)
    dy, y = widen(gradients), widen(outputs)
    return np.where(y < 0, dy * (y + SCALE_ALPHA), dy * SCALE)


@elu_grad.gradient
@selu_grad.gradient
def _(node, dy):
    y = node.inputs[1]
    bent = where.select(y < 0, dy * node.inputs[0], fill.zeros_like(y))
    return node.declaration(dy, y), bent


@selu_grad.lower
def _(e, dy, y):
    return e.select(y < 0, dy * (y + SCALE_ALPHA), dy * SCALE)


selu_grad.samples(backward)


@op("Softplus", "features: T -> activations: T", T=FLOATS, shape=same, traits={ELEMENTWISE})
def softplus(features):
    """log(1 + exp(features)), exact for large magnitudes."""
    x = widen(features)
    with np.errstate(invalid="ignore"):
        return np.logaddexp(x, np.zeros((), x.dtype))


@softplus.gradient
def _(node, dy):
    return dy * exponential.sigmoid(node.inputs[0])


@softplus.lower
def _(e, x):
    return e.max(x, 0) + e.log1p(e.exp(-e.abs(x)))


softplus.samples(forward)


@op("SoftplusGrad", "gradients: T, features: T -> backprops: T", T=FLOATS, shape=paired, traits={ELEMENTWISE})
def softplus_grad(gradients, features):
    """gradients / (1 + exp(-features))"""
    require_same_shape(gradients, features)
    with np.errstate(over="ignore"):
        return widen(gradients) / (1 + np.exp(-widen(features)))


@softplus_grad.gradient
def _(node, ddx):
    dy, x = node.inputs
    with node.graph.control_dependencies([ddx]):
        ddy = softplus_grad(ddx, x)
        return ddy, dy * ddx / (exponential.exp(-x) + 2.0 + exponential.exp(x))


@softplus_grad.lower
def _(e, dy, x):
    return dy * e.sigmoid(x)


softplus_grad.samples(backward)


@op("Softsign", "features: T -> activations: T", T=FLOATS, shape=same, traits={ELEMENTWISE})
def softsign(features):
    """features / (1 + abs(features))"""
    with np.errstate(invalid="ignore"):  # inf / inf
        return features / (1 + np.abs(features))


@softsign.gradient
def _(node, dy):
    return softsign_grad(dy, node.inputs[0])


@softsign.lower
def _(e, x):
    return x / (e.abs(x) + 1)


softsign.samples(forward)


@op("SoftsignGrad", "gradients: T, features: T -> backprops: T", T=FLOATS, shape=paired, traits={ELEMENTWISE})
def softsign_grad(gradients, features):
    """gradients / (1 + abs(features)) ** 2"""
    require_same_shape(gradients, features)
    return gradients / (1 + np.abs(features)) ** 2


@softsign_grad.lower
def _(e, dy, x):
    return dy / ((e.abs(x) + 1) * (e.abs(x) + 1))


softsign_grad.samples(backward)
