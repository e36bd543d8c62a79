"""Local response normalisation, its gradient, and half the squared norm (L2Loss)."""

from __future__ import annotations

import numpy as np

from headrace.core.dtypes import FLOATS, bfloat16, float16, float32
from headrace.core.errors import require
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.precision import widen
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import merge, with_rank
from headrace.ops.declaration.shape_rules import scalar
from headrace.ops.declaration.signature import Type

LRN_ATTRS = {
    "depth_radius": 5,
    "bias": 1.0,
    "alpha": 1.0,
    "beta": 0.5,
    "T": Type((float16, bfloat16, float32), default=float32),
}


def neighbours(x, radius):
    """Per channel, the sum over the channels at most `radius` away."""
    reach = min(radius, max(x.shape[-1] - 1, 0))
    wide = np.pad(x, [(0, 0)] * (x.ndim - 1) + [(reach, reach)])
    return sum(wide[..., j : j + x.shape[-1]] for j in range(2 * reach + 1))


@op("LRN", "input: T -> output: T", shape=lambda x: with_rank(x, 4), attrs=LRN_ATTRS)
def lrn(input, *, depth_radius, bias, alpha, beta):
    """input / (bias + alpha * sum of the squares of its neighbours along the channels) ** beta"""
    require(input.ndim == 4, "in must be 4-dimensional")
    x = widen(input)
    return x * (bias + alpha * neighbours(x * x, depth_radius)) ** -beta


def options(node):
    return {name: node.attrs[name] for name in ("depth_radius", "bias", "alpha", "beta")}


@lrn.gradient
def _(node, dy):
    return lrn_grad(dy, node.inputs[0], node.outputs[0], **options(node))


SHORT = 8  # radius of a sum that is written out


def around(e, radius, rule):
    """The sum of rule(j) for j from -radius to radius."""
    if radius > SHORT:
        return e.reduce("sum", 2 * radius + 1, lambda j: rule(j - radius))
    total = rule(-radius)
    for j in range(1 - radius, radius + 1):
        total = total + rule(j)
    return total


def norms(e, x, radius, bias, alpha):
    """bias + alpha * the sum of the squares of the neighbours, as a stage.  What is read beyond the
    first or last channel is 0."""

    def square(n, h, w, c):
        value = e.cast(x[n, h, w, c], float32)
        return value * value

    def element(n, h, w, c):
        total = around(e, radius, lambda j: square(n, h, w, c + j))
        return total * alpha + bias

    return e.compute(x.shape, element)


def lowered_power(e, norm, beta):
    """norm ** -beta; the usual exponents without logarithms."""
    if beta == 0.5:
        return e.rsqrt(norm)
    if beta == 0.75:
        root = e.sqrt(norm)
        return 1.0 / (root * e.sqrt(root))
    return 1.0 / norm if beta == 1.0 else e.pow(norm, -beta)


@lrn.lower
def _(e, x, *, depth_radius, bias, alpha, beta):
    norm = norms(e, x, depth_radius, bias, alpha)

    def element(*i):
        return e.cast(e.cast(x[i], float32) * lowered_power(e, norm[i], beta), x.dtype)

    return e.compute(x.shape, element)


def wide_samples(rng):
    """The window sizes of well-known networks: (image, options)."""
    x = rng.normal(size=(2, 3, 2, 21)).astype(np.float32)
    for radius, beta in ((2, 0.75), (4, 0.75), (5, 0.5), (3, 1.0), (30, 0.6)):
        yield x, {"depth_radius": radius, "bias": 1.5, "alpha": 0.25, "beta": beta}


@lrn.samples
def _(rng):
    x = rng.normal(size=(2, 2, 3, 7)).astype(np.float32)
    yield Sample(x)
    for wide, chosen in wide_samples(rng):
        yield Sample(wide, **chosen, grad=False)
    yield Sample(x, depth_radius=1, bias=2.0, alpha=0.3, beta=0.75)
    yield Sample(x[..., :1], depth_radius=2, note="one channel", grad=False)
    yield Sample(x[:0], note="empty")
    yield ErrorSample(x[0], raises="must be rank 4 but is rank 3")


@op(
    "LRNGrad",
    "input_grads: T, input_image: T, output_image: T -> output: T",
    shape=lambda dy, x, y: with_rank(merge(dy, merge(x, y)), 4),
    attrs=LRN_ATTRS,
)
def lrn_grad(input_grads, input_image, output_image, *, depth_radius, bias, alpha, beta):
    """The gradient of LRN with respect to its input."""
    dy, x, y = (widen(a) for a in (input_grads, input_image, output_image))
    require(dy.ndim == 4 and x.ndim == 4, "inputs must be 4-dimensional")
    require(
        dy.shape == x.shape == y.shape, "input_grads, input_image, and out_image should have the same shape"
    )
    norm = bias + alpha * neighbours(x * x, depth_radius)
    # Each x counts in the norm of its neighbours, too.
    shared = neighbours(dy * y / norm, depth_radius)
    return dy * norm**-beta - 2 * alpha * beta * x * shared


@lrn_grad.lower
def _(e, dy, x, y, *, depth_radius, bias, alpha, beta):
    norm = norms(e, x, depth_radius, bias, alpha)

    def share(*i):
        return e.cast(dy[i], float32) * e.cast(y[i], float32) / norm[i]

    shares = e.compute(x.shape, share)

    def element(n, h, w, c):
        i = (n, h, w, c)
        shared = around(e, depth_radius, lambda j: shares[n, h, w, c + j])
        direct = e.cast(dy[i], float32) * lowered_power(e, norm[i], beta)
        return e.cast(direct - e.cast(x[i], float32) * shared * (2 * alpha * beta), x.dtype)

    return e.compute(x.shape, element)


@lrn_grad.samples
def _(rng):
    for wide, chosen in wide_samples(rng):
        image = lrn.reference(wide, **chosen).astype(np.float32)
        yield Sample(rng.normal(size=wide.shape).astype(np.float32), wide, image, **chosen)
    x = rng.normal(size=(2, 2, 3, 7)).astype(np.float32)
    chosen = {"depth_radius": 2, "bias": 1.5, "alpha": 0.5, "beta": 0.75}
    y = lrn.reference(x, **chosen).astype(np.float32)
    yield Sample(rng.normal(size=x.shape).astype(np.float32), x, y, **chosen)
    x = x[..., :1]
    y = lrn.reference(x, **chosen).astype(np.float32)
    yield Sample(rng.normal(size=x.shape).astype(np.float32), x, y, **chosen, note="one channel")


@op("L2Loss", "t: T -> output: T", T=FLOATS, shape=scalar)
def l2_loss(t):
    """sum(t ** 2) / 2"""
    return np.sum(np.square(widen(t))) / 2


@l2_loss.gradient
def _(node, dy):
    return node.inputs[0] * dy


@l2_loss.lower
def _(e, t):
    total = e.compute((), lambda: e.reduce("sum", t.shape, lambda *i: t[i] * t[i]))
    return e.compute((), lambda: total[()] * 0.5)


@l2_loss.samples
def _(rng):
    yield Sample(rng.normal(size=(3, 4)))
    yield Sample(np.float64(3.0), note="scalar")
    yield Sample(np.zeros((0, 3)), note="empty")
