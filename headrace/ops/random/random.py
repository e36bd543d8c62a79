"""Random ops with fixed work per output: uniform, integers, normals, shuffling, categories.

The numbers are TF's, bit for bit, for the same seeds (normals of compiled steps: but for the last
bit).  An op with seeds keeps a generator per session and node (`philox.reserve`); a stateless one
derives it from its input `seed`.
"""

from __future__ import annotations

import math

import numpy as np

from headrace.core import dtypes
from headrace.core.dtypes import FLOATS, INDEX, REALS
from headrace.core.errors import require
from headrace.core.shapes import UNKNOWN, make_shape
from headrace.ops.array.fill import counted
from headrace.ops.declaration.declare import Op, op
from headrace.ops.declaration.emit import Decline
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import described_by, scalar_value, scalars, with_rank, with_size
from headrace.ops.declaration.shape_rules import same
from headrace.ops.declaration.signature import INDEX32, INDEX64, Type
from headrace.ops.declaration.traits import DIFFERENT_EACH_TIME, STATEFUL
from headrace.ops.math.cumulative import lower_cumsum
from headrace.ops.random import draw_rules, sampling
from headrace.ops.random.draw_rules import draw
from headrace.ops.random.philox import Philox, reserve
from headrace.ops.random.sampling import RESERVED

_RANDOM = {STATEFUL, DIFFERENT_EACH_TIME}


# -- shapes -----------------------------------------------------------------------------------
def sizes_of(shape):
    """The sizes in a `shape` input, checked."""
    require(shape.ndim == 1, f"shape must be a vector of {{int32,int64}}, got shape {shape.shape}")
    sizes = tuple(int(s) for s in shape)
    for size in sizes:
        require(size >= 0, f"Dimension {size} must be >= 0")
    return counted(sizes)


def drawn_shape(shape, *parameters):
    """The output has the shape that the first input describes."""
    return described_by(shape)


def drawn_between_shape(shape, minval, maxval):
    scalars(minval, maxval)
    return described_by(shape)


def _count(sizes):
    return math.prod(sizes)


# -- one number per output ----------------------------------------------------------------------
def _declare_drawn(name, draw, doc) -> Op:
    def body(ctx, shape, *, dtype, seed, seed2):
        sizes = sizes_of(shape)
        count = _count(sizes)
        generator = reserve(ctx, seed, seed2, count * RESERVED)
        return draw(generator, count, dtype).reshape(sizes)

    body.__doc__ = doc
    declared = op(
        name,
        "shape: T -> output: dtype",
        seed=0,
        seed2=0,
        dtype=FLOATS,
        T=INDEX,
        traits=_RANDOM,
        shape=drawn_shape,
    )(body)
    declared.no_gradient()
    declared.samples(_drawn_samples)
    return declared


def _drawn_samples(rng):
    for dtype in FLOATS:
        yield Sample(np.array([3, 5]), dtype=dtype, seed=7, seed2=11, grad=False)
    yield Sample(np.array([0, 3]), dtype=dtypes.float32, grad=False, note="empty")
    yield Sample(np.array([], np.int32), dtype=dtypes.float32, seed=3, seed2=5, grad=False, note="scalar")


random_uniform = _declare_drawn("RandomUniform", sampling.uniform, "Numbers in [0, 1).")


@random_uniform.lower
def _(e, generator, shape, *, dtype):
    return draw(e, generator, shape, draw_rules.uniform(e, dtype), width=16 // dtype.size)


random_standard_normal = _declare_drawn(
    "RandomStandardNormal", sampling.normal, "Numbers of mean 0 and variance 1, normal."
)


@random_standard_normal.lower
def _(e, generator, shape, *, dtype):
    return draw(e, generator, shape, draw_rules.normal(e, dtype))


truncated_normal = _declare_drawn(
    "TruncatedNormal",
    sampling.truncated_normal,
    "Normal numbers; those further than two standard deviations from 0 are drawn again.",
)


def _check_range(minval, maxval):
    for name, value in (("minval", minval), ("maxval", maxval)):
        require(value.ndim == 0, f"{name} must be 0-D, got shape {list(value.shape)}")
    require(minval < maxval, f"Need minval < maxval, got {minval} >= {maxval}")


@op(
    "RandomUniformInt",
    "shape: T, minval: Tout, maxval: Tout -> output: Tout",
    seed=0,
    seed2=0,
    Tout=INDEX,
    T=INDEX,
    traits=_RANDOM,
    shape=drawn_between_shape,
)
def random_uniform_int(ctx, shape, minval, maxval, *, seed, seed2, Tout):
    """Integers in [minval, maxval)."""
    sizes = sizes_of(shape)
    count = _count(sizes)
    if not count:
        return np.empty(sizes, Tout.numpy)
    _check_range(minval, maxval)
    generator = reserve(ctx, seed, seed2, count * RESERVED)
    drawn = sampling.integers_between(generator, count, int(minval), int(maxval), Tout)
    return drawn.reshape(sizes)


random_uniform_int.no_gradient()


@random_uniform_int.lower
def _(e, generator, shape, minval, maxval, *, Tout):
    return draw(e, generator, shape, draw_rules.integers(e, minval, maxval, Tout))


@random_uniform_int.samples
def _(rng):
    yield Sample(np.array([3, 5]), np.array(-3), np.array(10), seed=7, seed2=11)
    yield Sample(np.array([4]), np.array(-(2**63)), np.array(2**63 - 1), seed=7, seed2=11)
    yield Sample(np.array([0]), np.array(2), np.array(1), note="empty")
    yield ErrorSample(np.array([1]), np.array(2), np.array(1), raises="Need minval < maxval")


# -- orders and categories -----------------------------------------------------------------------
@op("RandomShuffle", "value: T -> output: T", seed=0, seed2=0, T=Type(), traits=_RANDOM, shape=same)
def random_shuffle(ctx, value, *, seed, seed2):
    """The input, its rows in a random order."""
    if value.size <= 1 or value.shape[0] <= 1:
        return value
    size = value.shape[0]
    generator = reserve(ctx, seed, seed2, -(-(size - 1) // 4))
    left = np.arange(size, 1, -1, dtype=np.uint32)
    jumps = generator.words(size - 1) % left
    order = list(range(size))
    for i, jump in enumerate(jumps.tolist()):
        order[i], order[i + jump] = order[i + jump], order[i]
    return value[order]


@random_shuffle.samples
def _(rng):
    yield Sample(rng.normal(size=(7, 2)), seed=7, seed2=11, grad=False)
    yield Sample(np.arange(5), seed=7, seed2=11)
    yield Sample(np.array(3.0), grad=False, note="scalar")


def _categories_shape(logits, num_samples, *seed):
    rows = with_rank(logits, 2).dim(0)
    return make_shape((rows, scalar_value(num_samples)))


def _blocks(rows, count):
    """How many blocks of the generator so many samples of each row reserve."""
    return rows * 2 * (-(-count // 4) * 4) * RESERVED


def _categories(logits, num_samples, reserved, output_dtype):
    """Draw from the rows' distributions; `reserved` gives a generator for a number of blocks."""
    require(logits.ndim == 2, f"logits should be a matrix, got shape {list(logits.shape)}")
    require(num_samples.ndim == 0, f"num_samples should be a scalar, got shape {list(num_samples.shape)}")
    require(num_samples >= 0, f"num_samples should be nonnegative, got {num_samples}")
    rows, classes = logits.shape
    require(classes > 0, f"num_classes should be positive, got {classes}")
    count = int(num_samples)
    out = np.empty((rows, count), output_dtype.numpy)
    if not out.size:
        return out
    generator = reserved(_blocks(rows, count))
    drawn = sampling.floats64(generator.words(2 * rows * count).reshape(rows, count, 2))
    finite = np.isfinite(logits)
    top = np.max(logits, axis=1, initial=-np.inf, where=finite, keepdims=True)
    with np.errstate(invalid="ignore"):
        weights = np.exp(logits.astype(np.float64) - top.astype(np.float64))
    totals = np.cumsum(np.where(finite, weights, 0), axis=1)
    for row in range(rows):
        found = np.searchsorted(totals[row], drawn[row] * totals[row, -1], side="right")
        out[row] = found
    return out


@op(
    "Multinomial",
    "logits: T, num_samples: int32 -> output: output_dtype",
    seed=0,
    seed2=0,
    T=REALS,
    output_dtype=INDEX64,
    traits=_RANDOM,
    shape=_categories_shape,
)
def multinomial(ctx, logits, num_samples, *, seed, seed2, output_dtype):
    """Categories by the distribution that each row of unnormalised log-probabilities gives."""
    return _categories(logits, num_samples, lambda blocks: reserve(ctx, seed, seed2, blocks), output_dtype)


multinomial.no_gradient()


@multinomial.lower
def _(e, generator, logits, num_samples, *, output_dtype):
    (rows, classes), count = logits.shape, num_samples.value
    if count is None or count <= 0 or not rows or not classes:
        raise Decline("no samples, or an unknown number")
    count = int(count)
    drawn = draw(
        e,
        generator,
        e.known([rows, count]),
        draw_rules.uniform(e, dtypes.float64),
        width=2,
        reserved=_blocks(rows, count),
    )
    x = e.compute((rows, classes), lambda r, c: e.cast(logits[r, c], dtypes.float64))

    def finite(r, c, otherwise, value):
        return e.select(x[r, c] - x[r, c] == 0, value, e.const(otherwise, dtypes.float64))

    top = e.compute((rows,), lambda r: e.reduce("max", classes, lambda c: finite(r, c, -np.inf, x[r, c])))
    weights = e.compute((rows, classes), lambda r, c: finite(r, c, 0.0, e.exp(x[r, c] - top[r])))
    totals = lower_cumsum(e, weights, e.known(1), exclusive=False, reverse=False)

    def category(r, s):
        place = drawn[r, s] * totals[r, classes - 1]
        return e.reduce("sum", classes, lambda c: e.cast(totals[r, c] <= place, output_dtype))

    return e.compute((rows, count), category)


@multinomial.samples
def _(rng):
    logits = np.array([[0.0, 1.0, -np.inf, 2.0], [3.0, 0.0, 0.0, 0.0]])
    yield Sample(logits, np.array(5, np.int32), seed=7, seed2=11, grad=False)
    yield Sample(logits, np.array(0, np.int32), grad=False, note="empty")
    yield ErrorSample(logits, np.array(-1, np.int32), raises="should be nonnegative")


# -- stateless -----------------------------------------------------------------------------------
def stateless_generator(seed):
    """A generator whose key and counter are a scrambled form of two seeds."""
    require(seed.shape == (2,), f"seed must have shape [2], not {list(seed.shape)}")
    first, second = (int(s) & ((1 << 64) - 1) for s in seed)
    mixed = Philox.at(first | (second << 64), 0x02461E293EC8F720).blocks(1)[0].astype(object)
    return Philox.at((mixed[2] | (mixed[3] << 32)) << 64, mixed[0] | (mixed[1] << 32))


def _check_seed(seed):
    vector = with_rank(seed, 1)
    with_size(vector.dim(0), 2)


def _stateless_shape(shape, seed, *range_):
    _check_seed(seed)
    for bound in range_:
        with_rank(bound, 0)
    return described_by(shape)


def _declare_stateless(name, draw, doc) -> Op:
    def body(shape, seed, *, dtype):
        sizes = sizes_of(shape)
        return draw(stateless_generator(seed), _count(sizes), dtype).reshape(sizes)

    body.__doc__ = f"{doc}  The same seed gives the same numbers."
    declared = op(
        name,
        "shape: T, seed: Tseed -> output: dtype",
        dtype=Type((dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64), default=dtypes.float32),
        T=INDEX32,
        Tseed=INDEX64,
        shape=_stateless_shape,
    )(body)
    declared.no_gradient()
    declared.samples(_stateless_samples)
    return declared


def _stateless_samples(rng):
    for dtype in FLOATS:
        yield Sample(np.array([3, 5]), np.array([7, -11]), dtype=dtype, grad=False)
    yield ErrorSample(np.array([3]), np.array([7]), raises="Dimension must be 2|seed must have")


stateless_random_uniform = _declare_stateless(
    "StatelessRandomUniform", sampling.uniform, "Numbers in [0, 1)."
)
stateless_random_normal = _declare_stateless("StatelessRandomNormal", sampling.normal, "Normal numbers.")
stateless_truncated_normal = _declare_stateless(
    "StatelessTruncatedNormal", sampling.truncated_normal, "Normal numbers within (-2, 2)."
)


@op(
    "StatelessRandomUniformInt",
    "shape: T, seed: Tseed, minval: dtype, maxval: dtype -> output: dtype",
    dtype=INDEX,
    T=INDEX,
    Tseed=INDEX64,
    shape=_stateless_shape,
)
def stateless_random_uniform_int(shape, seed, minval, maxval, *, dtype):
    """Integers in [minval, maxval).  The same seed gives the same numbers."""
    sizes = sizes_of(shape)
    count = _count(sizes)
    generator = stateless_generator(seed)
    if not count:
        return np.empty(sizes, dtype.numpy)
    _check_range(minval, maxval)
    drawn = sampling.integers_between(generator, count, int(minval), int(maxval), dtype)
    return drawn.reshape(sizes)


stateless_random_uniform_int.no_gradient()


@stateless_random_uniform_int.samples
def _(rng):
    yield Sample(np.array([3, 5]), np.array([7, 11]), np.array(-3), np.array(10))


def _stateless_categories_shape(logits, num_samples, seed):
    _check_seed(seed)
    return _categories_shape(logits, num_samples)


@op(
    "StatelessMultinomial",
    "logits: T, num_samples: int32, seed: Tseed -> output: output_dtype",
    T=REALS,
    Tseed=INDEX64,
    output_dtype=INDEX64,
    shape=_stateless_categories_shape,
)
def stateless_multinomial(logits, num_samples, seed, *, output_dtype):
    """As Multinomial; the same seed gives the same categories."""
    generator = stateless_generator(seed)
    return _categories(logits, num_samples, lambda blocks: generator, output_dtype)


stateless_multinomial.no_gradient()


@stateless_multinomial.samples
def _(rng):
    logits = np.array([[0.0, 1.0, 2.0]])
    yield Sample(logits, np.array(5, np.int32), np.array([7, 11]), grad=False)


# -- integers from the system --------------------------------------------------------------------
@op(
    "NonDeterministicInts",
    "shape: shape_dtype -> output: dtype",
    dtype=dtypes.int64,
    shape_dtype=dtypes.int64,
    traits=_RANDOM,
    shape=lambda shape: described_by(shape) if shape.rank is not None else UNKNOWN,
)
def non_deterministic_ints(shape, *, dtype):
    """Integers over the whole range of the type, different at every run."""
    import secrets

    sizes = sizes_of(shape)
    data = secrets.token_bytes(_count(sizes) * dtype.size)
    return np.frombuffer(data, dtype.numpy).reshape(sizes)


@non_deterministic_ints.samples
def _(rng):
    yield Sample(np.array([2, 3]), dtype=dtypes.int64)
