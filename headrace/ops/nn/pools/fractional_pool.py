"""Fractional pooling (Graham 2014): windows of two neighbouring sizes in a random order.

A pooling sequence holds where the windows begin, and the end: [0, ..., length].  With `overlapping`
a window also has the first element of the next one.
"""

from __future__ import annotations

import math
import secrets

import numpy as np

from headrace.core.dtypes import float32, float64, int32, int64
from headrace.core.errors import UnimplementedError, require
from headrace.core.shapes import make_shape
from headrace.ops.array import reshape
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import with_rank
from headrace.ops.declaration.signature import Floats
from headrace.ops.declaration.traits import DIFFERENT_EACH_TIME
from headrace.ops.math import cast
from headrace.ops.random.philox import Philox
from headrace.ops.random.word_stream import WordStream

POOLED = (float32, float64, int32, int64)
ATTRS = {
    "pooling_ratio": Floats(min=4),
    "pseudo_random": False,
    "overlapping": False,
    "deterministic": False,
    "seed": 0,
    "seed2": 0,
    "T": POOLED,
}
SEQUENCES = "row_pooling_sequence: int64, col_pooling_sequence: int64"


# -- the sequences ------------------------------------------------------------------------------
def random_steps(length, count, generator):
    """Sizes in a random order; and the generator behind what was drawn."""
    short, longer = divmod(length, count)
    steps = [short + 1] * longer + [short] * (count - longer)
    stream = WordStream(generator)
    for i in range(count - 1):
        j = i + stream.word() % (count - i)
        steps[i], steps[j] = steps[j], steps[i]
    return steps, generator.skipped(-(-count // 4))


def pseudo_random_steps(length, count, generator):
    """Sizes as even as possible, by ceil(ratio * (i + u)) with one random u."""
    ratio, short = length / count, length // count
    # u is limited so that the first and the last window are not of a third size.
    limit = min((short + 2) / ratio - 1, (length + 1 - short) / ratio - (count - 1))
    u = WordStream(generator).float64() * limit
    ends = [1, *(math.ceil(ratio * (i + u)) for i in range(1, count)), length + 1]
    return list(np.diff(ends)), generator.skipped(1)


def sequences(sizes, counts, pseudo_random, deterministic, seed, seed2):
    """Row and column sequences of one call."""
    if not deterministic:
        require(seed == seed2 == 0, "Both seed and seed2 should be 0 if deterministic is false.")
    if seed == seed2 == 0:
        seed, seed2 = secrets.randbits(64), secrets.randbits(64)
    generator = Philox(seed, seed2)
    draw = pseudo_random_steps if pseudo_random else random_steps
    found = []
    for length, count in zip(sizes, counts):
        steps, generator = draw(length, count, generator)
        found.append(np.cumsum([0, *steps]))
    return found


def ranges(sequence, length, overlapping):
    """(start, stop) of every window."""
    ends = np.minimum(sequence[1:] + bool(overlapping), length)
    return list(zip(sequence[:-1].tolist(), ends.tolist()))


def pooled_sizes(sizes, ratio):
    for i, (n, r) in enumerate(zip(sizes, ratio)):
        require(
            n >= r,
            f"Pooling ratio is higher than input dimension size for dimension {i}. "
            f"Input dim size: {n} pooling ratio: {r}",
        )
    return [int(math.floor(n / np.float32(r))) for n, r in zip(sizes, ratio)]


def check_ratio(ratio):
    require(len(ratio) == 4, "pooling_ratio field must specify 4 dimensions")
    for r in ratio:
        require(r >= 1, f"pooling_ratio cannot be smaller than 1, got: {r}")


def check_value(value, ratio):
    check_ratio(ratio)
    if not ratio[0] == ratio[3] == 1:
        raise UnimplementedError(
            None, None, "Fractional pooling is not yet supported on the batch nor channel dimension."
        )
    require(value.ndim == 4, "tensor_in must be 4-dimensional")


def fractional_shape(value, *, pooling_ratio):
    value = with_rank(value, 4)
    check_ratio(pooling_ratio)
    sizes = [
        None if n is None else int(math.floor(n / np.float32(r))) for n, r in zip(value.sizes, pooling_ratio)
    ]
    # A sequence has one entry more than there are windows.
    lengths = [make_shape((None if n is None else n + 1,)) for n in sizes[1:3]]
    return [make_shape(sizes), *lengths]


def reduced(x, rows, columns, reduce):
    """Each window of each image, reduced: along height, then along width."""
    x = np.stack([reduce(x[:, a:b], 1) for a, b in rows], 1)
    return np.stack([reduce(x[:, :, a:b], 2) for a, b in columns], 2)


# -- FractionalMaxPool --------------------------------------------------------------------------
@op(
    "FractionalMaxPool",
    f"value: T -> output: T, {SEQUENCES}",
    shape=fractional_shape,
    attrs=ATTRS,
    traits={DIFFERENT_EACH_TIME},
)
def fractional_max_pool(value, *, pooling_ratio, pseudo_random, overlapping, deterministic, seed, seed2):
    """The largest element of every window, and where the windows begin."""
    check_value(value, pooling_ratio)
    sizes = pooled_sizes(value.shape, pooling_ratio)
    found = sequences(value.shape[1:3], sizes[1:3], pseudo_random, deterministic, seed, seed2)
    windows = [ranges(s, n, overlapping) for s, n in zip(found, value.shape[1:3])]
    return reduced(value, *windows, lambda x, axis: x.max(axis=axis)), *found


@fractional_max_pool.gradient
def _(node, dy, *rest):
    y, rows, columns = node.outputs
    given = {"overlapping": node.attrs["overlapping"]}
    return fractional_max_pool_grad(node.inputs[0], y, dy, rows, columns, **given)


def check_sequences(dy, sizes, row_sequence, col_sequence):
    """Windows must lie inside of the input, one per row or column of the output."""
    require(dy.ndim == 4, "out_backprop must be 4-dimensional")
    for name, sequence, n, count in (
        ("Row", row_sequence, sizes[1], dy.shape[1]),
        ("Column", col_sequence, sizes[2], dy.shape[2]),
    ):
        require(
            sequence.ndim == 1 and len(sequence) > count,
            f"{name} sequence tensor must be a vector of {count + 1} elements, got {list(sequence.shape)}",
        )
        used = sequence[: count + 1]
        text = " ".join(map(str, sequence))
        require(used.min() >= 0, f"{name} sequence tensor values must not be negative, got {text}")
        require(
            used.max() <= n and (np.diff(used) > 0).all(),
            f"{name} sequence tensor values must increase up to {n}, got {text}",
        )


@op(
    "FractionalMaxPoolGrad",
    f"orig_input: T, orig_output: T, out_backprop: T, {SEQUENCES} -> output: T",
    shape=lambda x, *rest: with_rank(x, 4),
    overlapping=False,
    T=POOLED,
)
def fractional_max_pool_grad(
    orig_input, orig_output, out_backprop, row_pooling_sequence, col_pooling_sequence, *, overlapping
):
    """The gradient of FractionalMaxPool: the first maximum of a window gets it all."""
    x, dy = orig_input, out_backprop
    require(x.ndim == 4, "orig_input must be 4-dimensional")
    check_sequences(dy, x.shape, row_pooling_sequence, col_pooling_sequence)
    require(
        dy.shape == orig_output.shape and dy.shape[::3] == x.shape[::3],
        f"out_backprop {list(dy.shape)} does not belong to orig_output {list(orig_output.shape)}",
    )
    rows = ranges(row_pooling_sequence[: dy.shape[1] + 1], x.shape[1], overlapping)
    columns = ranges(col_pooling_sequence[: dy.shape[2] + 1], x.shape[2], overlapping)
    # The best column of each row of the image, then the best row: the first in reading order.
    at_column = np.stack([a + x[:, :, a:b].argmax(axis=2) for a, b in columns], 2)
    best = np.stack([x[:, :, a:b].max(axis=2) for a, b in columns], 2)
    at_row = np.stack([a + best[:, a:b].argmax(axis=1) for a, b in rows], 1)
    at_column = np.take_along_axis(at_column, at_row, 1)
    image, channel = np.arange(len(x)).reshape(-1, 1, 1, 1), np.arange(x.shape[3])
    dx = np.zeros_like(x)
    np.add.at(dx, (image, at_row, at_column, channel), dy)
    return dx


# -- FractionalAvgPool --------------------------------------------------------------------------
@op(
    "FractionalAvgPool",
    f"value: T -> output: T, {SEQUENCES}",
    shape=fractional_shape,
    attrs=ATTRS,
    traits={DIFFERENT_EACH_TIME},
)
def fractional_avg_pool(value, *, pooling_ratio, pseudo_random, overlapping, deterministic, seed, seed2):
    """The mean of every window, and where the windows begin."""
    check_value(value, pooling_ratio)
    sizes = pooled_sizes(value.shape, pooling_ratio)
    found = sequences(value.shape[1:3], sizes[1:3], pseudo_random, deterministic, seed, seed2)
    windows = [ranges(s, n, overlapping) for s, n in zip(found, value.shape[1:3])]
    total = reduced(value, *windows, lambda x, axis: x.sum(axis=axis, dtype=x.dtype))
    count = window_areas(*windows)
    if value.dtype.kind == "i":
        return (np.sign(total) * (np.abs(total) // count)).astype(value.dtype), *found
    return total / count.astype(value.dtype), *found


def window_areas(rows, columns):
    heights, widths = (np.array([b - a for a, b in w]) for w in (rows, columns))
    return (heights[:, None] * widths)[..., None]


@fractional_avg_pool.gradient
def _(node, dy, *rest):
    x = node.inputs[0]
    sizes = list(x.shape.sizes) if x.shape.is_full else None
    if sizes is None:
        sizes = cast.cast(reshape.shape_of(x), DstT=int64)
    rows, columns = node.outputs[1:]
    given = {"overlapping": node.attrs["overlapping"]}
    return fractional_avg_pool_grad(sizes, dy, rows, columns, **given)


def avg_grad_shape(sizes, *rest):
    with_rank(sizes, 1)
    found = sizes.as_shape
    return found if found.rank == 4 else make_shape((None,) * 4)


@op(
    "FractionalAvgPoolGrad",
    f"orig_input_tensor_shape: int64, out_backprop: T, {SEQUENCES} -> output: T",
    shape=avg_grad_shape,
    overlapping=False,
    T=POOLED,
)
def fractional_avg_pool_grad(
    orig_input_tensor_shape, out_backprop, row_pooling_sequence, col_pooling_sequence, *, overlapping
):
    """The gradient of FractionalAvgPool: every element of a window gets an equal share."""
    require(
        orig_input_tensor_shape.shape == (4,),
        "original input tensor shape must be1-dimensional and 4 elements",
    )
    sizes, dy = [int(n) for n in orig_input_tensor_shape], out_backprop
    for name, n in zip(("Batch", "Rows", "Columns", "Depth"), sizes):
        require(n > 0, f"{name} dimension of input must not be 0")
    check_sequences(dy, sizes, row_pooling_sequence, col_pooling_sequence)
    require(
        [*dy.shape[::3]] == sizes[::3],
        f"out_backprop {list(dy.shape)} does not belong to an input of shape {sizes}",
    )
    rows = ranges(row_pooling_sequence[: dy.shape[1] + 1], sizes[1], overlapping)
    columns = ranges(col_pooling_sequence[: dy.shape[2] + 1], sizes[2], overlapping)
    share = dy.astype(np.float64) / window_areas(rows, columns)
    tall = np.zeros((sizes[0], sizes[1], *share.shape[2:]))
    for i, (a, b) in enumerate(rows):
        tall[:, a:b] += share[:, i : i + 1]
    dx = np.zeros((*tall.shape[:2], *sizes[2:]))
    for i, (a, b) in enumerate(columns):
        dx[:, :, a:b] += tall[:, :, i : i + 1]
    return dx.astype(dy.dtype)


# -- samples ------------------------------------------------------------------------------------
def forward_samples(rng):
    x = rng.permutation(2 * 11 * 13 * 2).reshape(2, 11, 13, 2) / 4.0
    for pseudo in (False, True):
        for overlapping in (False, True):
            yield Sample(
                x,
                pooling_ratio=[1.0, 1.44, 1.73, 1.0],
                pseudo_random=pseudo,
                overlapping=overlapping,
                deterministic=True,
                seed=3,
                seed2=5,
                grad=False,
            )
    yield Sample(x.astype(np.int64), pooling_ratio=[1.0, 2.0, 1.5, 1.0], grad=False)
    yield ErrorSample(x, pooling_ratio=[1.0, 0.5, 1.5, 1.0], raises="cannot be smaller than 1")
    yield ErrorSample(x, pooling_ratio=[1.0, 99.0, 1.5, 1.0], raises="ratio is higher than input")


fractional_max_pool.samples(forward_samples)
fractional_avg_pool.samples(forward_samples)
ROWS, COLUMNS = np.array([0, 2, 3, 5]), np.array([0, 1, 3, 4, 6])


@fractional_max_pool_grad.samples
def _(rng):
    x = rng.permutation(120).reshape(2, 5, 6, 2) / 4.0
    for overlapping in (False, True):
        windows = ranges(ROWS, 5, overlapping), ranges(COLUMNS, 6, overlapping)
        y = reduced(x, *windows, lambda a, axis: a.max(axis=axis))
        dy = rng.normal(size=y.shape)
        yield Sample(x, y, dy, ROWS, COLUMNS, overlapping=overlapping, grad=False)


@fractional_avg_pool_grad.samples
def _(rng):
    for overlapping in (False, True):
        dy = rng.normal(size=(2, 3, 4, 2))
        yield Sample(np.array([2, 5, 6, 2]), dy, ROWS, COLUMNS, overlapping=overlapping, grad=False)
    yield ErrorSample(np.array([2, 5, 6, 2]), dy, ROWS - 1, COLUMNS, raises="must not be negative")
    yield ErrorSample(np.array([2, 5, 6, 2]), dy[..., :1], ROWS, COLUMNS, raises="does not belong to")
