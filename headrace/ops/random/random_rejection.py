"""Random ops that draw until a number is accepted: gamma, Poisson, bounded normals.

Where TF gives every output a region of the stream, the outputs are worked on side by side; where it
takes accepted numbers in the order of the stream, whole runs of the stream are judged at once.
"""

from __future__ import annotations

import math

import numpy as np

from headrace.core import dtypes
from headrace.core.dtypes import FLOATS, INDEX
from headrace.core.errors import InternalError, require
from headrace.ops.array import reshape
from headrace.ops.array.concat import concat_v2
from headrace.ops.array.fill import fill
from headrace.ops.array.slices.strided_slice import getitem
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import concatenate, described_by, with_rank_at_most
from headrace.ops.declaration.shape_rules import broadcast
from headrace.ops.declaration.signature import Type
from headrace.ops.declaration.traits import DIFFERENT_EACH_TIME, ELEMENTWISE, STATEFUL
from headrace.ops.math import arithmetic, reduce, sequence
from headrace.ops.math.gamma_function import log_gamma
from headrace.ops.math.incomplete_gamma import gamma_sample_slope
from headrace.ops.random import sampling
from headrace.ops.random.philox import reserve
from headrace.ops.random.random import sizes_of
from headrace.ops.random.sampling import RESERVED, floats64, normal_pairs64

_RANDOM = {STATEFUL, DIFFERENT_EACH_TIME}
_HALF_TO_DOUBLE = (dtypes.float16, dtypes.float32, dtypes.float64)


class Streams:
    """One stream of doubles per output.  Each kind comes in pairs from a block; the second of a
    pair is handed out first, as in TF."""

    def __init__(self, generator, count):
        self._generator = generator
        self._cursor = np.arange(count, dtype=np.uint64) * np.uint64(RESERVED)
        self._held = {kind: np.empty((count, 2)) for kind in ("uniform", "normal")}
        self._left = {kind: np.zeros(count, np.int64) for kind in ("uniform", "normal")}

    def draw(self, kind, rows):
        """The next number of each of these outputs."""
        held, left = self._held[kind], self._left[kind]
        empty = rows[left[rows] == 0]
        if empty.size:
            blocks = self._generator.blocks_at(self._cursor[empty])
            self._cursor[empty] += np.uint64(1)
            uniform = kind == "uniform"
            held[empty] = floats64(blocks.reshape(-1, 2, 2)) if uniform else normal_pairs64(blocks)
            left[empty] = 2
        left[rows] -= 1
        return held[rows, left[rows]]


def _in_order(drawn, sizes, parameter):
    """Outputs are numbered parameter by parameter; the result has the samples first."""
    columns = drawn.reshape(parameter.size, -1).T
    return columns.reshape(sizes + parameter.shape)


def _sampled_shape(shape, parameter):
    return concatenate(described_by(shape), parameter.plain())


# -- gamma ---------------------------------------------------------------------------------------
@op(
    "RandomGamma",
    "shape: S, alpha: T -> output: T",
    seed=0,
    seed2=0,
    S=INDEX,
    T=_HALF_TO_DOUBLE,
    traits=_RANDOM,
    shape=_sampled_shape,
)
def random_gamma(ctx, shape, alpha, *, seed, seed2):
    """Numbers from gamma distributions of scale 1 (Marsaglia and Tsang): shape + alpha.shape."""
    sizes = sizes_of(shape)
    samples = math.prod(sizes)
    if not samples * alpha.size:
        return np.empty(sizes + alpha.shape, alpha.dtype)
    generator = reserve(ctx, seed, seed2, samples * alpha.size * RESERVED)
    drawn = _gammas(generator, np.repeat(alpha.ravel(), samples))
    return _in_order(drawn, sizes, alpha).astype(alpha.dtype)


def _gammas(generator, alpha):
    alpha = alpha.astype(np.float64)
    streams = Streams(generator, alpha.size)
    out = np.empty(alpha.size)
    plain = np.flatnonzero(alpha == 1)
    out[plain] = -sampling.log64(1.0 - streams.draw("uniform", plain))
    with np.errstate(all="ignore"):
        d = alpha + np.where(alpha < 1, 2.0 / 3, -1.0 / 3)
        c = 1.0 / 3 / np.sqrt(d)
    rows = np.flatnonzero(alpha != 1)
    out[rows[~(alpha[rows] > 0)]] = np.nan
    rows = rows[alpha[rows] > 0]
    while rows.size:
        x = streams.draw("normal", rows)
        v = 1 + c[rows] * x
        tried, x, v = rows[v > 0], x[v > 0], v[v > 0]
        v = v * v * v
        u = streams.draw("uniform", tried)
        with np.errstate(divide="ignore"):
            exact = np.log(u) < 0.5 * x * x + d[tried] * (1 - v + np.log(v))
        taken = (u < 1 - 0.0331 * (x * x) * (x * x)) | exact
        out[tried[taken]] = d[tried[taken]] * v[taken]
        rows = np.setdiff1d(rows, tried[taken], assume_unique=True)
    small = np.flatnonzero(alpha < 1)
    small = small[alpha[small] > 0]
    out[small] *= sampling.power64(streams.draw("uniform", small), 1 / alpha[small])
    return out


@random_gamma.gradient
def _(node, dy):
    shape, alpha = node.inputs
    with node.graph.control_dependencies([dy]):
        extra = getitem(reshape.shape_of(shape), 0)
        ones = fill(reshape.expand_dims(extra, 0), 1)
        wide = reshape.reshape(alpha, concat_v2([ones, reshape.shape_of(alpha)], 0))
        partial = random_gamma_grad(wide, node.outputs[0])
        axes = sequence.range_(0, extra, 1)
        return None, reduce.sum_(arithmetic.mul(dy, partial), axes)


@random_gamma.samples
def _(rng):
    alpha = np.array([[0.3, 1.0], [2.5, 40.0]])
    yield Sample(np.array([5]), alpha, seed=7, seed2=11, grad=False)
    yield Sample(np.array([0]), alpha, grad=False, note="empty")


@op(
    "RandomGammaGrad",
    "alpha: T, sample: T -> output: T",
    T=(dtypes.float32, dtypes.float64),
    traits={ELEMENTWISE},
    shape=broadcast,
)
def random_gamma_grad(alpha, sample):
    """How a gamma sample moves with its alpha (implicit reparameterisation)."""
    with np.errstate(all="ignore"):
        return gamma_sample_slope(alpha.astype(np.float64), sample.astype(np.float64))


@random_gamma_grad.samples
def _(rng):
    yield Sample(np.array([0.5, 2.0, 30.0]), np.array([0.2, 3.0, 25.0]), grad=False)
    yield Sample(np.array([0.01, 2.0, -1.0]), np.zeros(3), grad=False, note="underflown")
    yield Sample(np.array(0.5), np.array(0.2), grad=False, note="scalars")


# -- Poisson -------------------------------------------------------------------------------------
def _poissons(generator, rate, highest):
    rate = rate.astype(np.float64)
    streams = Streams(generator, rate.size)
    out = np.full(rate.size, np.nan)
    _small_rates(streams, rate, out)
    _large_rates(streams, rate, highest, out)
    return out


def _small_rates(streams, rate, out):
    """Knuth: how many uniform numbers until their product falls below exp(-rate)."""
    rows = np.flatnonzero((rate >= 0) & (rate < 10))
    product, limit = np.ones(rate.size), np.exp(-rate)
    out[rows] = 0
    while rows.size:
        product[rows] *= streams.draw("uniform", rows)
        rows = rows[product[rows] > limit[rows]]
        out[rows] += 1


def _large_rates(streams, rate, highest, out):
    """Hörmann's transformed rejection (PTRS)."""
    rows = np.flatnonzero((rate >= 10) & np.isfinite(rate))
    with np.errstate(all="ignore"):
        b = 0.931 + 2.53 * np.sqrt(rate)
        a = -0.059 + 0.02483 * b
        inverse = 1.1239 + 1.1328 / (b - 3.4)
        log_rate = np.log(rate)
    while rows.size:
        u = streams.draw("uniform", rows) - 0.5
        v = streams.draw("uniform", rows)
        ar, br, r = a[rows], b[rows], rate[rows]
        with np.errstate(all="ignore"):
            shifted = 0.5 - np.abs(u)
            k = np.floor((2 * ar / shifted + br) * u + r + 0.43)
            quick = (shifted >= 0.07) & (v <= 0.9277 - 3.6224 / (br - 2))
            s = np.log(v * inverse[rows] / (ar / (shifted * shifted) + br))
            t = -r + k * log_rate[rows] - log_gamma(k + 1)
        out_of_question = (k < 0) | ((shifted < 0.013) & (v > shifted))
        taken = (k <= highest) & (quick | (~out_of_question & (s <= t)))
        out[rows[taken]] = k[taken]
        rows = rows[~taken]


def _poisson(ctx, shape, rate, seed, seed2, dtype):
    sizes = sizes_of(shape)
    samples = math.prod(sizes)
    if not samples * rate.size:
        return np.empty(sizes + rate.shape, dtype.numpy)
    generator = reserve(ctx, seed, seed2, samples * rate.size * RESERVED)
    drawn = _poissons(generator, np.repeat(rate.ravel(), samples), float(dtype.max))
    with np.errstate(invalid="ignore"):
        return _in_order(drawn, sizes, rate).astype(dtype.numpy)


@op(
    "RandomPoisson",
    "shape: S, rate: dtype -> output: dtype",
    seed=0,
    seed2=0,
    S=INDEX,
    dtype=_HALF_TO_DOUBLE,
    traits=_RANDOM,
    deprecated=(25, "Replaced by RandomPoissonV2"),
    shape=_sampled_shape,
)
def random_poisson(ctx, shape, rate, *, seed, seed2, dtype):
    """Numbers from Poisson distributions: shape + rate.shape."""
    return _poisson(ctx, shape, rate, seed, seed2, dtype)


_RATES = (*_HALF_TO_DOUBLE, dtypes.int32, dtypes.int64)


@op(
    "RandomPoissonV2",
    "shape: S, rate: R -> output: dtype",
    seed=0,
    seed2=0,
    S=INDEX,
    R=Type(_RATES, default=dtypes.float64),
    dtype=Type(_RATES, default=dtypes.int64),
    traits=_RANDOM,
    shape=_sampled_shape,
)
def random_poisson_v2(ctx, shape, rate, *, seed, seed2, dtype):
    """Numbers from Poisson distributions: shape + rate.shape."""
    return _poisson(ctx, shape, rate, seed, seed2, dtype)


@random_poisson.samples
def _(rng):
    yield Sample(np.array([5]), np.array([0.5, 9.0, 80.0]), seed=7, seed2=11, grad=False)


@random_poisson_v2.samples
def _(rng):
    for dtype in _RATES:
        rate = np.array([[0.5], [9.0], [80.0]])
        yield Sample(np.array([5]), rate, seed=7, seed2=11, dtype=dtype, grad=False)


# -- normal numbers between bounds ---------------------------------------------------------------
_MOST_TRIES = 1000


class Run:
    """Numbers that pass, in the order of the stream."""

    def __init__(self, generator):
        self.generator, self.used = generator, 0

    def take(self, count, unit, judge):
        """`count` accepted numbers.  `judge` turns [n, unit] blocks into candidates [n, k] and
        whether they pass; a unit that was begun counts as used."""
        taken, tries = [], 0
        while count:
            units = max(8, count)
            blocks = self.generator.skipped(self.used).blocks(units * unit)
            values, passes = judge(blocks.reshape(units, unit, 4))
            width = values.shape[1]
            at = np.flatnonzero(passes)[:count]
            gaps = np.diff(at, prepend=-1 - tries)
            if (gaps > _MOST_TRIES).any() or (not at.size and units * width > _MOST_TRIES):
                raise InternalError(
                    None, None, "TruncatedNormal rejection sampler failed to accept a sample."
                )
            taken.append(values.ravel()[at])
            count -= at.size
            self.used += unit * (units if count else int(at[-1]) // width + 1)
            tries = values.size - 1 - (at[-1] if at.size else -1 - tries)
        return np.concatenate(taken) if taken else np.empty(0)


def _bounded_normals(run, count, mean, stddev, low, high, dtype):
    """`count` numbers: from normals, uniforms or exponentials, whichever is accepted most often."""
    T = dtype.numpy.type
    require(stddev > 0 and low < high and (np.isfinite(low) or np.isfinite(high)), "Invalid parameters")
    if (np.isinf(low) and low < 0) or high < mean:
        low, high, stddev = high, low, -stddev
    with np.errstate(all="ignore"):
        bottom, top = (low - mean) / stddev, (high - mean) / stddev
        root = np.sqrt(bottom * bottom + T(4))
        cutoff = T(2) * np.exp(T(0.5) + bottom * (bottom - root) / T(4)) / (bottom + root)
        if (bottom < T(-1.3) and top >= 0) or (top > T(1.3) and bottom <= 0):
            unit, judge = 1, _judge_normals(bottom, top, dtype)
        elif top - bottom < cutoff:
            unit, judge = 2, _judge_uniforms(bottom, top - bottom, dtype)
        else:
            unit, judge = 1, _judge_exponentials(bottom, top, (bottom + root) / T(2), dtype)
        return run.take(count, unit, judge) * stddev + mean


def _uniform_of(blocks, dtype):
    """The uniform numbers of blocks [n, 4]: four, or two doubles."""
    if dtype is dtypes.float64:
        return floats64(blocks.reshape(-1, 2, 2))
    words = blocks.reshape(-1)
    return sampling.narrow_floats(words, dtype).reshape(-1, 4)


def _judge_normals(bottom, top, dtype):
    def judge(blocks):
        blocks = blocks[:, 0]
        if dtype is dtypes.float64:
            values = normal_pairs64(blocks)
        else:
            values = sampling.normal_pairs32(blocks.reshape(-1, 2, 2)).reshape(-1, 4)
            values = values.astype(dtype.numpy)
        return values, (values >= bottom) & (values <= top)

    return judge


def _exp(x):
    """Rounded once: the C library's result, nearly always."""
    return np.exp(x.astype(np.float64)).astype(x.dtype)


def _judge_uniforms(bottom, width, dtype):
    T = dtype.numpy.type
    plus = T(0) if bottom < 0 else bottom * bottom

    def judge(blocks):
        values = _uniform_of(blocks[:, 0], dtype) * width + bottom
        limit = _exp((plus - values * values) / T(2))
        return values, _uniform_of(blocks[:, 1], dtype) <= limit

    return judge


def _judge_exponentials(bottom, top, alpha, dtype):
    T = dtype.numpy.type

    def judge(blocks):
        pairs = _uniform_of(blocks[:, 0], dtype)
        values = -_log(pairs[:, 0::2]) / alpha + bottom
        x = alpha - values if bottom < alpha else np.full_like(values, bottom - alpha)
        passes = (pairs[:, 1::2] <= _exp(-x * x / T(2))) & (values < top)
        return values, passes

    return judge


def _log(x):
    if x.dtype == np.float64:
        safe = np.where(x > 0, x, 1.0)
        return np.where(x > 0, sampling.log64(safe), -np.inf)
    wide = np.ascontiguousarray(x, np.float32)
    safe = np.where(wide > 0, wide, np.float32(1))
    return np.where(wide > 0, sampling.log32(safe), np.float32(-np.inf)).astype(x.dtype)


def _bounded_shape(shape, *parameters):
    for parameter in parameters:
        with_rank_at_most(parameter, 1)
    return described_by(shape)


def parameter_batches(sizes, parameters, one_size):
    """(number of batches, outputs per batch).  TF regroups outputs that share their parameters."""
    total = math.prod(sizes)
    if one_size:
        return -(-total // 100), 100
    batches = sizes[0] if sizes else 1
    for name, value in parameters:
        require(
            value.ndim == 0 or value.shape[0] in (1, batches),
            f"Input {name} should have length 1 or shape[0], got shape: {list(value.shape)}",
        )
    return batches, total // batches if batches else 0


@op(
    "ParameterizedTruncatedNormal",
    "shape: T, means: dtype, stdevs: dtype, minvals: dtype, maxvals: dtype -> output: dtype",
    seed=0,
    seed2=0,
    dtype=FLOATS,
    T=INDEX,
    traits=_RANDOM,
    shape=_bounded_shape,
)
def parameterized_truncated_normal(ctx, shape, means, stdevs, minvals, maxvals, *, seed, seed2, dtype):
    """Normal numbers between bounds, with parameters per row of the output or for all."""
    sizes = sizes_of(shape)
    total = math.prod(sizes)
    named = (("means", means), ("stddevs", stdevs), ("minvals", minvals), ("maxvals", maxvals))
    for name, value in named:
        require(value.ndim <= 1, f"Input {name} should be a scalar or vector, got shape: {list(value.shape)}")
    shared = means.size == stdevs.size == 1 and minvals.ndim == maxvals.ndim == 0
    batches, per_batch = parameter_batches(sizes, named, shared)
    blocks = batches * 2 * _MOST_TRIES * (per_batch + 3) // 4
    run = Run(reserve(ctx, seed, seed2, blocks))
    out = np.empty(total, dtype.numpy)
    for batch in range(batches):
        start, stop = batch * per_batch, min((batch + 1) * per_batch, total)
        row = [value.ravel()[0 if value.size == 1 else batch] for _, value in named]
        out[start:stop] = _bounded_normals(run, stop - start, *row, dtype)
    return out.reshape(sizes)


parameterized_truncated_normal.no_gradient()


@parameterized_truncated_normal.samples
def _(rng):
    row = (np.array([0.0, 5.0]), np.array([1.0, 2.0]), np.array([-1.0, 9.0]), np.array([1.0, 10.0]))
    yield Sample(np.array([2, 9]), *row, seed=7, seed2=11, grad=False)
    one = (np.array(0.0), np.array(1.0), np.array(-2.0), np.array(2.0))
    yield Sample(np.array([5]), *one, seed=7, seed2=11, grad=False)
    bad = (np.array(0.0), np.array(-1.0), np.array(-2.0), np.array(2.0))
    yield ErrorSample(np.array([5]), *bad, seed=7, seed2=11, raises="Invalid parameters")
