"""MaxPoolWithArgmax: the maxima and where they are, as flat indices; and its gradients.

An index counts through (height, width, channels) of one image, or through the whole batch.
"""

from __future__ import annotations

import numpy as np

from headrace.core.dtypes import INDEX, REALS
from headrace.core.errors import require
from headrace.ops.array import fill
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.precision import widest
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import merge, with_rank
from headrace.ops.declaration.signature import INDEX64, Ints, String
from headrace.ops.nn.pools import pooling
from headrace.ops.nn.pools.pool import CASES, check_window, distinct, max_pool_shape, refuse, windows_of

WINDOW = {"ksize": Ints(min=4), "strides": Ints(min=4)}
PADDING = {"padding": String("SAME", "VALID")}
IN_BATCH = {"include_batch_in_index": False}
GRAD_ATTRS = WINDOW | PADDING | IN_BATCH | {"Targmax": INDEX, "T": REALS}
PLAIN_CASES = tuple(case for case in CASES if "data_format" not in case[1] and 0 not in case[0])


def pooled_shape(input, ksize, strides, padding):
    return max_pool_shape(input, ksize=ksize, strides=strides, padding=padding, data_format="NHWC")


def argmax_shape(input, *, ksize, strides, padding):
    return [pooled_shape(input, ksize, strides, padding)] * 2


def spatial_windows(x, ksize, strides, padding):
    check_window(ksize, strides, "NHWC")
    if ksize[3] != 1:
        refuse("Max pooling with argmax is not supported on the depth dimension.")
    return windows_of(x.shape, ksize, strides, padding, "NHWC")


@op(
    "MaxPoolWithArgmax",
    "input: T -> output: T, argmax: Targmax",
    shape=argmax_shape,
    attrs=WINDOW | {"Targmax": INDEX64} | PADDING | IN_BATCH | {"T": REALS},
)
def max_pool_with_argmax(input, *, ksize, strides, padding, include_batch_in_index):
    """The largest element under a window, and its flat index."""
    require(input.ndim == 4, "tensor_in must be 4-dimensional (2)")
    require(input.size > 0, "tensor_in must not be empty (2)")
    found = pooling.argmax_pool(input, spatial_windows(input, ksize, strides, padding))
    best = pooling.gather_places(input, found)
    batch, height, width, channels = input.shape
    index = found * channels + np.arange(channels)
    if include_batch_in_index:
        index += np.arange(batch).reshape(-1, 1, 1, 1) * (height * width * channels)
    return best, index


@max_pool_with_argmax.gradient
def _(node, dy, _):
    given = {name: node.attrs[name] for name in (*WINDOW, *PADDING, *IN_BATCH)}
    return max_pool_grad_with_argmax(node.inputs[0], dy, node.outputs[1], **given)


@max_pool_with_argmax.samples
def _(rng):
    for shape, chosen in PLAIN_CASES:
        for whole in (False, True):
            yield Sample(distinct(rng, shape), **chosen, include_batch_in_index=whole)
    yield ErrorSample(np.zeros((0, 4, 4, 2)), **PLAIN_CASES[0][1], raises="tensor_in must not be empty")


def flat_places(x, argmax, include_batch_in_index):
    """Indices into the flattened x; refuses those outside."""
    index = argmax.astype(np.int64)
    if not include_batch_in_index and x.ndim:
        image = int(np.prod(x.shape[1:]))
        index = index + np.arange(len(x)).reshape(-1, 1, 1, 1) * image
    for bad in argmax[(index < 0) | (index >= x.size)]:
        require(False, f"Invalid argmax value: {bad}")
    return index


def require_pooled(x, ksize, strides, padding, **given):
    windows = spatial_windows(x, ksize, strides, padding)
    expected = (len(x), *(w.count for w in windows), x.shape[3])
    for name, array in given.items():
        require(
            array.shape == expected,
            f"Expected {name} shape to be {list(expected)}, but got {list(array.shape)}",
        )


@op(
    "MaxPoolGradWithArgmax",
    "input: T, grad: T, argmax: Targmax -> output: T",
    shape=lambda input, grad, argmax: with_rank(input, 4),
    attrs=GRAD_ATTRS,
)
def max_pool_grad_with_argmax(input, grad, argmax, *, ksize, strides, padding, include_batch_in_index):
    """grad, added up at the indices that MaxPoolWithArgmax gave."""
    require_pooled(input, ksize, strides, padding, grad=grad, argmax=argmax)
    dx = np.zeros(input.size, widest(grad).dtype)
    np.add.at(dx, flat_places(input, argmax, include_batch_in_index).ravel(), grad.ravel())
    return dx.reshape(input.shape)


@max_pool_grad_with_argmax.samples
def _(rng):
    for shape, chosen in PLAIN_CASES:
        x = distinct(rng, shape)
        y, index = max_pool_with_argmax.reference(x, **chosen, include_batch_in_index=False)
        yield Sample(x, rng.normal(size=y.shape), index, **chosen, grad=False)


def grad_grad_shape(input, grad, argmax, *, ksize, strides, padding):
    merge(input, grad)
    return merge(argmax, pooled_shape(input, ksize, strides, padding))


@op(
    "MaxPoolGradGradWithArgmax",
    "input: T, grad: T, argmax: Targmax -> output: T",
    shape=grad_grad_shape,
    attrs=GRAD_ATTRS,
)
def max_pool_grad_grad_with_argmax(input, grad, argmax, *, ksize, strides, padding, include_batch_in_index):
    """grad (like the input), read at the indices that MaxPoolWithArgmax gave."""
    require_pooled(input, ksize, strides, padding, argmax=argmax)
    require(
        grad.shape == input.shape,
        f"Expected grad shape to be {list(input.shape)}, but got {list(grad.shape)}",
    )
    return grad.ravel()[flat_places(input, argmax, include_batch_in_index)]


@max_pool_grad_with_argmax.gradient
def _(node, ddx):
    x, _, argmax = node.inputs
    given = {name: node.attrs[name] for name in (*WINDOW, *PADDING, *IN_BATCH)}
    return fill.zeros_like(x), max_pool_grad_grad_with_argmax(x, ddx, argmax, **given), None


@max_pool_grad_grad_with_argmax.samples
def _(rng):
    for shape, chosen in PLAIN_CASES:
        x = distinct(rng, shape)
        index = max_pool_with_argmax.reference(x, **chosen, include_batch_in_index=True)[1]
        yield Sample(x, rng.normal(size=shape), index, **chosen, include_batch_in_index=True, grad=False)
