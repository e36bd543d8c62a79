"""MaxPool with its window and strides as inputs instead of attributes, and its gradients."""

from __future__ import annotations

import numpy as np

from headrace.core.dtypes import REALS, float32
from headrace.core.shapes import UNKNOWN
from headrace.ops.array import fill
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.samples import Sample
from headrace.ops.declaration.shape_checks import merge, with_rank, with_size
from headrace.ops.declaration.signature import Type
from headrace.ops.nn.pools.pool import (
    CASES,
    MAX_FORMATS,
    MAX_TYPES,
    WINDOW,
    distinct,
    grad_samples,
    like_input,
    max_pool,
    max_pool_grad,
    max_pool_grad_grad,
    max_pool_shape,
)

V2 = {name: WINDOW[name] for name in ("padding", "data_format")}


def options(node):
    return {name: node.attrs[name] for name in V2}


def with_window(ksize, strides, attrs):
    """The attributes of MaxPool."""
    return {"ksize": ksize.tolist(), "strides": strides.tolist(), **{name: attrs[name] for name in V2}}


def max_pool_v2_shape(input, ksize, strides, **attrs):
    for values in (ksize, strides):
        with_size(with_rank(values, 1).dim(0), 4)
    sizes, steps = ksize.value, strides.value
    if sizes is None or steps is None:
        return UNKNOWN
    return max_pool_shape(input, **with_window(sizes, steps, attrs))


def grad_grad_v2_shape(orig_input, orig_output, grad, ksize, strides, **attrs):
    out = max_pool_v2_shape(orig_input, ksize, strides, **attrs)
    merge(orig_input, grad)
    return merge(orig_output, out)


@op(
    "MaxPoolV2",
    "input: T, ksize: int32, strides: int32 -> output: T",
    shape=max_pool_v2_shape,
    attrs={"T": Type(MAX_TYPES, default=float32)} | V2 | MAX_FORMATS,
)
def max_pool_v2(input, ksize, strides, **attrs):
    """MaxPool with its window as an input."""
    return max_pool.reference(input, **with_window(ksize, strides, attrs))


@max_pool_v2.gradient
def _(node, dy):
    x, ksize, strides = node.inputs
    given = options(node)
    return max_pool_grad_v2(x, node.outputs[0], dy, ksize, strides, **given), None, None


def split_options(chosen):
    """Options of MaxPool as (inputs, attributes) of V2."""
    inputs = [np.array(chosen[name], np.int32) for name in ("ksize", "strides")]
    return inputs, {k: v for k, v in chosen.items() if k in V2}


@max_pool_v2.samples
def _(rng):
    for shape, chosen in CASES:
        inputs, attrs = split_options(chosen)
        yield Sample(distinct(rng, shape), *inputs, **attrs)


@op(
    "MaxPoolGradV2",
    "orig_input: T, orig_output: T, grad: T, ksize: int32, strides: int32 -> output: T",
    shape=like_input,
    attrs=V2 | {"T": Type(REALS, default=float32)},
)
def max_pool_grad_v2(orig_input, orig_output, grad, ksize, strides, **attrs):
    """MaxPoolGrad with its window as an input."""
    given = with_window(ksize, strides, attrs)
    return max_pool_grad.reference(orig_input, orig_output, grad, **given)


@op(
    "MaxPoolGradGradV2",
    "orig_input: T, orig_output: T, grad: T, ksize: int32, strides: int32 -> output: T",
    shape=grad_grad_v2_shape,
    attrs=V2 | {"T": REALS},
)
def max_pool_grad_grad_v2(orig_input, orig_output, grad, ksize, strides, **attrs):
    """MaxPoolGradGrad with its window as an input."""
    given = with_window(ksize, strides, attrs)
    return max_pool_grad_grad.reference(orig_input, orig_output, grad, **given)


def _of_each_other(one, other, size):
    """A gradient and the gradient of that: what they are to each other, and samples, `size` of which
    array (the input or the output) their third input has."""

    @one.gradient
    def _(node, dy):
        x, y, _, ksize, strides = node.inputs
        found = other(x, y, dy, ksize, strides, **options(node))
        return fill.zeros_like(x), fill.zeros_like(y), found, None, None

    @one.samples
    def _(rng):
        for x, y, chosen in grad_samples(rng):
            inputs, attrs = split_options(chosen)
            yield Sample(x, y, rng.normal(size=size(x, y)), *inputs, **attrs, grad=False)


_of_each_other(max_pool_grad_v2, max_pool_grad_grad_v2, lambda x, y: y.shape)
_of_each_other(max_pool_grad_grad_v2, max_pool_grad_v2, lambda x, y: x.shape)
