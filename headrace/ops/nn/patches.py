"""Patches of images and volumes: everything that a window sees, laid out along the channels."""

from __future__ import annotations

import numpy as np

from headrace.core.dtypes import REALS
from headrace.core.errors import OutOfRangeError, UnimplementedError, require
from headrace.core.shapes import make_shape
from headrace.ops.array import concat, reshape, transpose
from headrace.ops.array.indexing import segment
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import with_rank
from headrace.ops.declaration.signature import Ints, String
from headrace.ops.math import reduce, sequence
from headrace.ops.nn.window import padded, patches, window


def spatial_attr(name, values, rank):
    """The entries for space; the others must be 1."""
    require(len(values) == rank, f"{name} must specify {rank} dimensions, but got {len(values)}")
    if not values[0] == values[-1] == 1:
        raise UnimplementedError(None, None, f"Only support {name} across space.")
    if min(values[1:-1]) < 1:
        raise OutOfRangeError(None, None, f"{name} is out of range.")
    return values[1:-1]


def patches_shape(name, x, padding, rank, **lists):
    x = with_rank(x, rank)
    for what, values in lists.items():
        require(
            len(values) == rank,
            f"{name} requires the {what} attribute to contain {rank} values, but got: {len(values)}",
        )
    sizes, steps = lists["ksizes"][1:-1], lists["stride"][1:-1]
    rates = lists.get("rates", [1] * rank)[1:-1]
    space = [
        None if n is None else window(n, k, s, padding, d).count
        for n, k, s, d in zip(x.sizes[1:-1], sizes, steps, rates)
    ]
    depth = x.sizes[-1]
    depth = None if depth is None else depth * int(np.prod(sizes))
    return make_shape((x.sizes[0], *space, depth))


def extract(x, sizes, steps, rates, padding):
    """(batch, places..., window... * channels): the channels vary fastest."""
    windows = [window(n, k, s, padding, d) for n, k, s, d in zip(x.shape[1:-1], sizes, steps, rates)]
    places = tuple(w.count for w in windows)
    depth = int(np.prod(sizes)) * x.shape[-1]
    if 0 in (*places, depth, len(x)):
        return np.zeros((len(x), *places, depth), x.dtype)
    view = patches(padded(x, windows), windows)
    view = np.moveaxis(view, 1 + len(windows), -1)
    return view.reshape(len(x), *places, depth)


def spread_back(x, dy, extract_one):
    """The gradient: every element of dy goes back to where it was read.

    The patches of an image of numbers 1, 2, ... say where that was; 0 is padding.
    """
    sizes = reshape.shape_of(x)
    space, depth = sizes[1:-1], sizes[-1:]
    count = reduce.prod(space, [0])
    numbers = reshape.reshape(sequence.range_(1, count + 1, 1), concat.concat_v2([[1], space, [1]], 0))
    owners = reshape.reshape(extract_one(numbers), [-1])
    batch = sizes[:1]
    rows = reshape.reshape(dy, concat.concat_v2([batch, reshape.shape_of(owners), depth], 0))
    rows = transpose.transpose(rows, [1, 0, 2])
    total = segment.unsorted_segment_sum(rows, owners, count + 1)[1:]
    return reshape.reshape(transpose.transpose(total, [1, 0, 2]), sizes)


# -- images -------------------------------------------------------------------------------------
def image_patches_shape(images, *, ksizes, strides, rates, padding):
    return patches_shape(
        "ExtractImagePatches", images, padding, 4, ksizes=ksizes, stride=strides, rates=rates
    )


@op(
    "ExtractImagePatches",
    "images: T -> patches: T",
    shape=image_patches_shape,
    ksizes=Ints(min=4),
    strides=Ints(min=4),
    rates=Ints(min=4),
    T=REALS,
    padding=String("SAME", "VALID"),
)
def extract_image_patches(images, *, ksizes, strides, rates, padding):
    """What a window [height, width] over the images sees; `rates` spreads the window out."""
    require(images.ndim == 4, f"input must be 4-dimensional{list(images.shape)}")
    sizes = spatial_attr("ksizes", ksizes, 4)
    steps = spatial_attr("strides", strides, 4)
    return extract(images, sizes, steps, spatial_attr("rates", rates, 4), padding)


@extract_image_patches.gradient
def _(node, dy):
    given = {name: node.attrs[name] for name in ("ksizes", "strides", "rates", "padding")}
    return spread_back(node.inputs[0], dy, lambda x: extract_image_patches(x, **given))


@extract_image_patches.samples
def _(rng):
    x = rng.normal(size=(2, 5, 6, 3))
    one = [1, 1, 1, 1]
    yield Sample(x, ksizes=[1, 2, 3, 1], strides=one, rates=one, padding="SAME")
    yield Sample(x, ksizes=[1, 2, 2, 1], strides=[1, 2, 3, 1], rates=one, padding="VALID")
    yield Sample(x, ksizes=[1, 2, 2, 1], strides=one, rates=[1, 2, 2, 1], padding="SAME")
    yield Sample(x[:0], ksizes=[1, 2, 2, 1], strides=one, rates=one, padding="SAME", note="empty")
    yield Sample(
        rng.integers(0, 9, size=(1, 3, 3, 1)), ksizes=[1, 2, 2, 1], strides=one, rates=one, padding="VALID"
    )
    yield ErrorSample(
        x,
        ksizes=[2, 1, 1, 1],
        strides=one,
        rates=one,
        padding="SAME",
        raises="Only support ksizes across space",
    )


# -- volumes ------------------------------------------------------------------------------------
def volume_patches_shape(input, *, ksizes, strides, padding):
    return patches_shape("ExtractVolumePatches", input, padding, 5, ksizes=ksizes, stride=strides)


@op(
    "ExtractVolumePatches",
    "input: T -> patches: T",
    shape=volume_patches_shape,
    ksizes=Ints(min=5),
    strides=Ints(min=5),
    T=REALS,
    padding=String("SAME", "VALID"),
)
def extract_volume_patches(input, *, ksizes, strides, padding):
    """What a window [planes, height, width] over the volumes sees."""
    require(input.ndim == 5, f"input must be 5-dimensional{list(input.shape)}")
    sizes, steps = spatial_attr("ksizes", ksizes, 5), spatial_attr("strides", strides, 5)
    return extract(input, sizes, steps, (1, 1, 1), padding)


@extract_volume_patches.gradient
def _(node, dy):
    given = {name: node.attrs[name] for name in ("ksizes", "strides", "padding")}
    return spread_back(node.inputs[0], dy, lambda x: extract_volume_patches(x, **given))


@extract_volume_patches.samples
def _(rng):
    x = rng.normal(size=(2, 4, 3, 5, 2))
    yield Sample(x, ksizes=[1, 2, 2, 2, 1], strides=[1] * 5, padding="SAME")
    yield Sample(x, ksizes=[1, 2, 1, 3, 1], strides=[1, 2, 1, 1, 1], padding="VALID")
