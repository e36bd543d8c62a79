"""Blocks of space moved into the batch or into the depth, and back: SpaceToBatch(ND),
BatchToSpace(ND), SpaceToDepth, DepthToSpace.  Each is a reshape, a transpose and a reshape."""

from __future__ import annotations

import math

import numpy as np

from headrace.core.errors import require
from headrace.core.shapes import UNKNOWN, make_shape
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.emit import Decline
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import divided, merge, with_rank, with_rank_at_least
from headrace.ops.declaration.signature import INDEX32, Int, String, Type


# -- batch --------------------------------------------------------------------------------------
def _block_count(block_shape):
    require(block_shape.rank in (None, 1), "block_shape must have rank 1.")
    return block_shape.dim(0)


def _times(a, b):
    return None if a is None or b is None else a * b


def space_to_batch_nd_shape(input, block_shape, paddings):
    count = _block_count(block_shape)
    if count is None:
        return UNKNOWN
    return _to_batch_shape(input, count, block_shape.value, paddings)


def _to_batch_shape(input, count, blocks, paddings):
    input = with_rank_at_least(input, count + 1)
    merge(paddings, make_shape((count, 2)))
    require(blocks is None or (blocks >= 1).all(), "block_shape must be positive")
    pads = paddings.value
    require(pads is None or (pads >= 0).all(), "paddings cannot be negative")
    if input.rank is None:
        return UNKNOWN
    total = None if blocks is None else math.prod(blocks.tolist())
    out = [_times(input.sizes[0], total if count else 1)]
    for i, size in enumerate(input.sizes[1 : count + 1]):
        known = not any(v is None for v in (blocks, pads, size))
        out.append(divided(size + int(pads[i].sum()), int(blocks[i])) if known else None)
    return make_shape((*out, *input.sizes[count + 1 :]))


def _checked(input, block_shape, borders, what):
    require(block_shape.ndim == 1, f"block_shape rank should be 1 instead of {block_shape.ndim}")
    count = block_shape.size
    require(input.ndim >= 1 + count, f"input rank should be >= {1 + count} instead of {input.ndim}")
    require(
        borders.shape == (count, 2), f"{what} should have shape [{count}, 2] instead of {list(borders.shape)}"
    )
    blocks = [int(b) for b in block_shape]
    total = math.prod(blocks)
    require(total > 0, f"Product of block sizes must be positive, got {total}")
    require((borders >= 0).all(), f"{what.capitalize()} must be non-negative")
    return blocks, total


def _to_batch(input, block_shape, paddings):
    blocks, total = _checked(input, block_shape, paddings, "paddings")
    count, batch = len(blocks), input.shape[0]
    rest = input.shape[count + 1 :]
    for i, (block, pad) in enumerate(zip(blocks, paddings)):
        size = input.shape[i + 1] + int(pad.sum())
        require(size % block == 0, f"padded_shape[{i}]={size} is not divisible by block_shape[{i}]={block}")
    borders = [(0, 0), *((int(a), int(b)) for a, b in paddings), *[(0, 0)] * len(rest)]
    padded = np.pad(input, borders) if any(map(any, borders)) else input
    split = [batch]
    for size, block in zip(padded.shape[1:], blocks):
        split += [size // block, block]
    inner, outer = range(2, 2 * count + 1, 2), range(1, 2 * count + 1, 2)
    tail = range(2 * count + 1, 2 * count + 1 + len(rest))
    moved = padded.reshape(*split, *rest).transpose(*inner, 0, *outer, *tail)
    return moved.reshape(batch * total, *(split[i] for i in outer), *rest)


@op(
    "SpaceToBatchND",
    "input: T, block_shape: Tblock_shape, paddings: Tpaddings -> output: T",
    T=Type(),
    Tblock_shape=INDEX32,
    Tpaddings=INDEX32,
    shape=space_to_batch_nd_shape,
)
def space_to_batch_nd(input, block_shape, paddings):
    """The input, padded; the places inside each block of the first dimensions go to the batch."""
    return _to_batch(input, block_shape, paddings)


@space_to_batch_nd.gradient
def _(node, dy):
    return batch_to_space_nd(dy, node.inputs[1], node.inputs[2]), None, None


@space_to_batch_nd.lower
def _(e, x, block_shape, paddings):
    blocks, pads = _known(block_shape, paddings)
    batch, count = x.shape[0], len(blocks)

    def element(at, *i):
        block, index, inside = at // batch, [at % batch], None
        for k, b, (a, _), n in reversed(list(zip(i, blocks, pads, x.shape[1:]))):
            place = k * b + block % b - a
            index.insert(1, place)
            block = block // b
            test = (place >= 0) & (place < n)
            inside = test if inside is None else inside & test
        value = x[tuple(index) + i[count:]]
        return value if inside is None else e.select(inside, value, e.const(0, x.dtype))

    space = [(n + a + z) // b for n, (a, z), b in zip(x.shape[1:], pads, blocks)]
    shape = [batch * math.prod(blocks), *space, *x.shape[count + 1 :]]
    return e.compute(shape, element)


def _known(block_shape, borders):
    if block_shape.value is None or borders.value is None:
        raise Decline("the blocks are not known")
    return [int(b) for b in block_shape.value], [(int(a), int(b)) for a, b in borders.value]


@space_to_batch_nd.samples
def _(rng):
    blocks, pads = np.array([2, 2], np.int32), np.array([[0, 0], [1, 0]], np.int32)
    yield Sample(rng.normal(size=(2, 4, 3, 2)), blocks, pads)
    yield Sample(rng.normal(size=(1, 6)), np.array([3]), np.array([[0, 0]]))
    yield Sample(rng.normal(size=(2, 3)), np.zeros(0, np.int32), np.zeros((0, 2), np.int32))
    yield Sample(np.zeros((0, 4, 4)), np.array([2]), np.array([[0, 0]]), note="empty")
    yield ErrorSample(np.ones((1, 3)), np.array([2]), np.array([[0, 0]]), raises="divisible")
    yield ErrorSample(np.ones((1, 3)), np.array([1]), np.array([[-1, 0]]), raises="negative")


def batch_to_space_nd_shape(input, block_shape, crops):
    count = _block_count(block_shape)
    if count is None:
        return UNKNOWN
    return _to_space_shape(input, count, block_shape.value, crops)


def _to_space_shape(input, count, blocks, crops):
    input = with_rank_at_least(input, count + 1)
    merge(crops, make_shape((count, 2)))
    require(blocks is None or (blocks >= 1).all(), "block_shape must be positive")
    cuts = crops.value
    require(cuts is None or (cuts >= 0).all(), "crops cannot be negative")
    if input.rank is None:
        return UNKNOWN
    batch = None
    if blocks is not None or count == 0:
        batch = divided(input.sizes[0], math.prod(blocks.tolist()) if count else 1)
    out = [batch]
    for i, size in enumerate(input.sizes[1 : count + 1]):
        if any(v is None for v in (blocks, cuts, size)):
            out.append(None)
            continue
        left = size * int(blocks[i]) - int(cuts[i].sum())
        require(left >= 0, f"Negative dimension size caused by subtracting: cropped_shape[{i}]={left}")
        out.append(left)
    return make_shape((*out, *input.sizes[count + 1 :]))


def _to_space(input, block_shape, crops):
    blocks, total = _checked(input, block_shape, crops, "crops")
    count, many = len(blocks), input.shape[0]
    require(
        many % total == 0,
        f"Input batch dimension ({many}) is not divisible by product of block sizes ({total})",
    )
    space, rest = input.shape[1 : count + 1], input.shape[count + 1 :]
    order = [count]
    for i in range(count):
        order += [count + 1 + i, i]
    order += range(2 * count + 1, 2 * count + 1 + len(rest))
    split = input.reshape(*blocks, many // total, *space, *rest).transpose(order)
    whole = split.reshape(many // total, *(s * b for s, b in zip(space, blocks)), *rest)
    index = [slice(None)]
    for i, (a, b) in enumerate(crops):
        size = whole.shape[i + 1]
        left = size - int(a) - int(b)
        require(left >= 0, f"cropped_shape[{i}]={left} must be non-negative")
        index.append(slice(int(a), size - int(b)))
    return np.asarray(whole[tuple(index)], order="C")


@op(
    "BatchToSpaceND",
    "input: T, block_shape: Tblock_shape, crops: Tcrops -> output: T",
    T=Type(),
    Tblock_shape=INDEX32,
    Tcrops=INDEX32,
    shape=batch_to_space_nd_shape,
)
def batch_to_space_nd(input, block_shape, crops):
    """What SpaceToBatchND undoes: batches become places inside blocks, then borders are cut off."""
    return _to_space(input, block_shape, crops)


@batch_to_space_nd.gradient
def _(node, dy):
    return space_to_batch_nd(dy, node.inputs[1], node.inputs[2]), None, None


@batch_to_space_nd.lower
def _(e, x, block_shape, crops):
    blocks, cuts = _known(block_shape, crops)
    batch, count = x.shape[0] // math.prod(blocks), len(blocks)

    def element(at, *i):
        block, index = 0, []
        for k, b, (a, _) in zip(i, blocks, cuts):
            index.append((k + a) // b)
            block = block * b + (k + a) % b
        return x[(block * batch + at,) + tuple(index) + i[count:]]

    space = [n * b - a - z for n, b, (a, z) in zip(x.shape[1:], blocks, cuts)]
    return e.compute([batch, *space, *x.shape[count + 1 :]], element)


@batch_to_space_nd.samples
def _(rng):
    blocks, crops = np.array([2, 2], np.int32), np.array([[0, 1], [1, 0]], np.int32)
    yield Sample(rng.normal(size=(8, 2, 3, 2)), blocks, crops)
    yield Sample(rng.normal(size=(3, 2)), np.array([3]), np.array([[0, 0]]))
    yield ErrorSample(np.ones((3, 2)), np.array([2]), np.array([[0, 0]]), raises="divisible")
    yield ErrorSample(np.ones((2, 1)), np.array([2]), np.array([[2, 1]]), raises="egative")


def space_to_batch_shape(input, paddings, *, block_size):
    return _to_batch_shape(with_rank(input, 4), 2, np.array([block_size] * 2), paddings)


@op(
    "SpaceToBatch",
    "input: T, paddings: Tpaddings -> output: T",
    T=Type(),
    Tpaddings=INDEX32,
    block_size=Int(min=2),
    shape=space_to_batch_shape,
)
def space_to_batch(input, paddings, *, block_size):
    """SpaceToBatchND for images and square blocks."""
    require(input.ndim == 4, f"Input rank should be: 4instead of: {input.ndim}")
    return _to_batch(input, np.array([block_size] * 2), paddings)


@space_to_batch.gradient
def _(node, dy):
    return batch_to_space(dy, node.inputs[1], node.attrs["block_size"]), None


@space_to_batch.samples
def _(rng):
    yield Sample(rng.normal(size=(1, 4, 3, 2)), np.array([[0, 0], [1, 0]]), block_size=2)


def batch_to_space_shape(input, crops, *, block_size):
    return _to_space_shape(with_rank(input, 4), 2, np.array([block_size] * 2), crops)


@op(
    "BatchToSpace",
    "input: T, crops: Tidx -> output: T",
    T=Type(),
    block_size=Int(min=2),
    Tidx=INDEX32,
    shape=batch_to_space_shape,
)
def batch_to_space(input, crops, *, block_size):
    """BatchToSpaceND for images and square blocks."""
    require(input.ndim == 4, f"Input rank should be: 4instead of: {input.ndim}")
    return _to_space(input, np.array([block_size] * 2), crops)


@batch_to_space.gradient
def _(node, dy):
    return space_to_batch(dy, node.inputs[1], node.attrs["block_size"]), None


@batch_to_space.samples
def _(rng):
    yield Sample(rng.normal(size=(4, 2, 2, 2)), np.array([[0, 0], [1, 0]]), block_size=2)


# -- depth --------------------------------------------------------------------------------------
_FORMAT = String("NHWC", "NCHW", "NCHW_VECT_C", default="NHWC")
_VECTOR = 4  # NCHW_VECT_C keeps channels in groups of four


def _sizes(shape, data_format):
    """(batch, height, width, depth) of a shape in this format."""
    match data_format:
        case "NHWC":
            return tuple(shape)
        case "NCHW":
            return shape[0], shape[2], shape[3], shape[1]
    return shape[0], shape[2], shape[3], _times(shape[1], _VECTOR)


def _arranged(data_format, n, h, w, c):
    match data_format:
        case "NHWC":
            return n, h, w, c
        case "NCHW":
            return n, c, h, w
    return n, divided(c, _VECTOR), h, w, _VECTOR


def _as_nhwc(x, data_format):
    match data_format:
        case "NHWC":
            return x
        case "NCHW":
            return x.transpose(0, 2, 3, 1)
    n, c, h, w, v = x.shape
    return x.transpose(0, 2, 3, 1, 4).reshape(n, h, w, c * v)


def _from_nhwc(x, data_format):
    match data_format:
        case "NHWC":
            out = x
        case "NCHW":
            out = x.transpose(0, 3, 1, 2)
        case _:
            n, h, w, c = x.shape
            out = x.reshape(n, h, w, c // _VECTOR, _VECTOR).transpose(0, 3, 1, 2, 4)
    return np.asarray(out, order="C")


def _image_rank(data_format):
    return 5 if data_format == "NCHW_VECT_C" else 4


def space_to_depth_shape(input, *, block_size, data_format):
    n, h, w, c = _sizes(with_rank(input, _image_rank(data_format)).sizes, data_format)
    h, w = divided(h, block_size), divided(w, block_size)
    return make_shape(_arranged(data_format, n, h, w, _times(c, block_size**2)))


@op(
    "SpaceToDepth",
    "input: T -> output: T",
    T=Type(),
    block_size=Int(min=2),
    data_format=_FORMAT,
    shape=space_to_depth_shape,
)
def space_to_depth(input, *, block_size, data_format):
    """The places inside each block of an image become channels."""
    rank, b = _image_rank(data_format), block_size
    require(input.ndim == rank, f"Input rank should be {rank} instead of {input.ndim}")
    x = _as_nhwc(input, data_format)
    n, h, w, c = x.shape
    require(
        w % b == 0 and h % b == 0, f"Image width {w} and height {h} should be divisible by block_size: {b}"
    )
    split = x.reshape(n, h // b, b, w // b, b, c).transpose(0, 1, 3, 2, 4, 5)
    return _from_nhwc(split.reshape(n, h // b, w // b, b * b * c), data_format)


def _no_vectors(node, name):
    if node.attrs["data_format"] == "NCHW_VECT_C":
        raise ValueError(
            f"Cannot compute {name} gradient with NCHW_VECT_C. NCHW_VECT_C requires qint8 data type."
        )
    return node.attrs["block_size"], node.attrs["data_format"]


@space_to_depth.gradient
def _(node, dy):
    return depth_to_space(dy, *_no_vectors(node, "SpaceToDepth"))


@space_to_depth.lower
def _(e, x, *, block_size, data_format):
    if data_format != "NHWC":
        raise Decline("another order of dimensions")
    (n, h, w, c), b = x.shape, block_size

    def element(i, j, k, d):
        return x[i, j * b + d // (b * c), k * b + d // c % b, d % c]

    return e.compute((n, h // b, w // b, c * b * b), element)


@space_to_depth.samples
def _(rng):
    yield Sample(rng.normal(size=(2, 4, 6, 3)), block_size=2)
    yield Sample(rng.normal(size=(2, 3, 4, 6)), block_size=2, data_format="NCHW")
    yield Sample(
        np.arange(16, dtype=np.int8).reshape(1, 1, 2, 2, 4),
        block_size=2,
        data_format="NCHW_VECT_C",
        grad=False,
    )
    yield Sample(np.zeros((0, 2, 2, 1)), block_size=2, note="empty")
    yield ErrorSample(np.ones((1, 3, 2, 1)), block_size=2, raises="divisible by")
    yield ErrorSample(np.ones((3, 2, 1)), block_size=2, raises="rank")


def depth_to_space_shape(input, *, block_size, data_format):
    n, h, w, c = _sizes(with_rank(input, _image_rank(data_format)).sizes, data_format)
    c = divided(c, block_size**2)
    return make_shape(_arranged(data_format, n, _times(h, block_size), _times(w, block_size), c))


@op(
    "DepthToSpace",
    "input: T -> output: T",
    T=Type(),
    block_size=Int(min=2),
    data_format=_FORMAT,
    shape=depth_to_space_shape,
)
def depth_to_space(input, *, block_size, data_format):
    """What SpaceToDepth undoes: channels become places inside blocks of an image."""
    rank, b = _image_rank(data_format), block_size
    require(input.ndim == rank, f"Input rank should be: {rank} instead of: {input.ndim}")
    x = _as_nhwc(input, data_format)
    n, h, w, c = x.shape
    require(c % (b * b) == 0, f"Input depth dimension {c} should be divisible by: {b * b}")
    split = x.reshape(n, h, w, b, b, c // (b * b)).transpose(0, 1, 3, 2, 4, 5)
    return _from_nhwc(split.reshape(n, h * b, w * b, c // (b * b)), data_format)


@depth_to_space.gradient
def _(node, dy):
    return space_to_depth(dy, *_no_vectors(node, "DepthToSpace"))


@depth_to_space.lower
def _(e, x, *, block_size, data_format):
    if data_format != "NHWC":
        raise Decline("another order of dimensions")
    (n, h, w, c), b = x.shape, block_size
    depth = c // (b * b)

    def element(i, j, k, d):
        return x[i, j // b, k // b, (j % b * b + k % b) * depth + d]

    return e.compute((n, h * b, w * b, depth), element)


@depth_to_space.samples
def _(rng):
    yield Sample(rng.normal(size=(2, 2, 3, 12)), block_size=2)
    yield Sample(rng.normal(size=(2, 12, 2, 3)), block_size=2, data_format="NCHW")
    yield ErrorSample(np.ones((1, 2, 2, 3)), block_size=2, raises="divisible by")
