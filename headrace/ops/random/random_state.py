"""Random ops whose generator lives in a variable: the state of `tf.random.experimental.Generator`.

The state is int64: two words of counter, one of key.  An op takes the generator as it stands and
moves it on before it draws.
"""

from __future__ import annotations

import math
from bisect import bisect_right

import numpy as np

from headrace.core import dtypes
from headrace.core.dtypes import INDEX
from headrace.core.errors import require
from headrace.ops.declaration.declare import Op, op
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import described_by, scalars, with_rank, with_rank_at_most
from headrace.ops.declaration.signature import Type
from headrace.ops.declaration.traits import DIFFERENT_EACH_TIME, STATEFUL, WRITES
from headrace.ops.random import sampling
from headrace.ops.random.philox import Philox
from headrace.ops.random.random import sizes_of
from headrace.ops.random.random_rejection import Run, parameter_batches
from headrace.ops.random.sampling import RESERVED, floats64

_PHILOX = 1
_MASK64 = (1 << 64) - 1
_TRAITS = {STATEFUL, WRITES, DIFFERENT_EACH_TIME}


# -- the state ----------------------------------------------------------------------------------
def _advance(resource, algorithm, outputs, tag=0):
    """The generator as it stands; the variable then holds it `outputs` further."""
    slot = resource.variable()
    with slot.lock:
        held = slot.value
        require(
            slot.dtype is dtypes.int64, f"dtype of RNG state variable must be int64, not {slot.dtype.name}"
        )
        require(held.ndim == 1, f"RNG state must have one and only one dimension, not {held.ndim}")
        if tag:
            require(held.size >= 1, "Size of tensor must be at least 1")
            algorithm = held[0]
        require(int(algorithm) == _PHILOX, f"Unsupported algorithm id: {int(algorithm)}")
        require(
            held.size >= tag + 3,
            f"For the Philox algorithm, the size of state must be at least {tag + 3}; got {held.size}",
        )
        low, high, key = (int(word) & _MASK64 for word in held[tag : tag + 3])
        generator = Philox.at(low | (high << 64), key)
        slot.assign(_moved(held, generator.skipped(outputs * RESERVED), tag))
    return generator


def _moved(held, generator, tag):
    words = (generator.counter & _MASK64, generator.counter >> 64, generator.key)
    new = np.array(held)
    new[tag : tag + 3] = np.array(words, np.uint64).view(np.int64)
    return new


def _scalar(value, place):
    require(value.ndim == 0, f"input {place} (0-based) must have shape [], not {list(value.shape)}")
    return int(value)


# -- numbers ------------------------------------------------------------------------------------
def _drawn_shape(resource, algorithm, shape, *parameters):
    with_rank(algorithm, 0)
    for parameter in parameters:
        with_rank(parameter, 0)
    return described_by(shape)


def _declare(name, draw, default, doc) -> Op:
    def body(resource, algorithm, shape, *, dtype):
        sizes = sizes_of(shape)
        count = math.prod(sizes)
        generator = _advance(resource, _scalar(algorithm, 1), count)
        return draw(generator, count, dtype).reshape(sizes)

    body.__doc__ = doc
    declared = op(
        name,
        "resource: resource, algorithm: int64, shape: shape_dtype -> output: dtype",
        dtype=default,
        shape_dtype=dtypes.int64,
        traits=_TRAITS,
        shape=_drawn_shape,
    )(body)
    declared.samples(_drawn_samples)
    return declared


def _drawn_samples(rng):
    yield Sample(np.array([1, 2, 3]), np.array(1), np.array([2, 3]), grad=False)
    yield ErrorSample(np.array([1, 2, 3]), np.array(2), np.array([2]), raises="Unsupported algorithm id: 2")


stateful_uniform = _declare("StatefulUniform", sampling.uniform, dtypes.float32, "Numbers in [0, 1).")
stateful_standard_normal_v2 = _declare(
    "StatefulStandardNormalV2", sampling.normal, dtypes.float32, "Normal numbers."
)
stateful_truncated_normal = _declare(
    "StatefulTruncatedNormal", sampling.truncated_normal, dtypes.float32, "Normal numbers within (-2, 2)."
)
stateful_uniform_full_int = _declare(
    "StatefulUniformFullInt", sampling.integers, dtypes.uint64, "Integers over the whole range of the type."
)


@op(
    "StatefulStandardNormal",
    "resource: resource, shape: shape_dtype -> output: dtype",
    dtype=dtypes.float32,
    shape_dtype=dtypes.int64,
    traits=_TRAITS,
    deprecated=(29, "Use StatefulStandardNormalV2 instead"),
    shape=lambda resource, shape: described_by(shape),
)
def stateful_standard_normal(resource, shape, *, dtype):
    """Normal numbers; the state begins with the number of its algorithm."""
    sizes = sizes_of(shape)
    count = math.prod(sizes)
    generator = _advance(resource, None, count, tag=1)
    return sampling.normal(generator, count, dtype).reshape(sizes)


@op(
    "StatefulUniformInt",
    "resource: resource, algorithm: int64, shape: shape_dtype, minval: dtype, maxval: dtype -> output: dtype",
    dtype=dtypes.int64,
    shape_dtype=dtypes.int64,
    traits=_TRAITS,
    shape=_drawn_shape,
)
def stateful_uniform_int(resource, algorithm, shape, minval, maxval, *, dtype):
    """Integers in [minval, maxval)."""
    sizes = sizes_of(shape)
    count = math.prod(sizes)
    low, high = int(minval), int(maxval)
    require(low < high, f"Need minval < maxval, got {low} >= {high}")
    generator = _advance(resource, _scalar(algorithm, 1), count)
    return sampling.integers_between(generator, count, low, high, dtype).reshape(sizes)


def _skip_shape(resource, algorithm, delta):
    scalars(algorithm, delta)
    return []


@op(
    "RngSkip",
    "resource: resource, algorithm: int64, delta: int64 ->",
    traits={STATEFUL, WRITES},
    shape=_skip_shape,
)
def rng_skip(resource, algorithm, delta):
    """Move a generator on, as if it had given `delta` outputs."""
    _advance(resource, _scalar(algorithm, 1), _scalar(delta, 2))
    return ()


# -- binomial -----------------------------------------------------------------------------------
def _inversion(run, count, n, p):
    """Geometric numbers summed until they exceed n: how many fit is binomial.  Each output begins
    a new block; its second uniform number comes first."""
    out = np.empty(count)
    done, rate = 0, np.log1p(-p)
    while done < count:
        blocks = max(64, int((count - done) * (n * p + 4) / 2))
        u = floats64(run.generator.skipped(run.used).blocks(blocks).reshape(-1, 2, 2))
        with np.errstate(divide="ignore"):
            steps = np.ceil(np.log(u[:, ::-1].ravel()) / rate)
        # An infinite step ends an output in any case; a finite one keeps the sums exact.
        sums = np.cumsum(np.minimum(steps, n + 1)).tolist()
        at, last = 0, len(sums)
        while done < count:
            before = sums[at - 1] if at else 0.0
            end = bisect_right(sums, before + n, at)
            if end >= last:
                break
            out[done] = end - at
            done, at = done + 1, end + 2 - end % 2
        run.used += at // 2 if done < count else -(-at // 2)
    return out


def _stirling_tail(k):
    """log k! minus Stirling's approximation."""
    table = np.array(
        [
            0.0810614667953272,
            0.0413406959554092,
            0.0276779256849983,
            0.02079067210376509,
            0.0166446911898211,
            0.0138761288230707,
            0.0118967099458917,
            0.0104112652619720,
            0.00925546218271273,
            0.00833056343336287,
        ]
    )
    square = (k + 1) ** 2
    far = (1.0 / 12 - (1.0 / 360 + 1.0 / 1260 / square) / square) / (k + 1)
    return np.where(k <= 9, table[np.clip(k, 0, 9).astype(np.int64)], far)


def _transformed_rejection(n, p):
    """Hörmann's BTRS: a judge of blocks, each with two uniform numbers, for `Run.take`."""
    deviation = np.sqrt(n * p * (1 - p))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * p
    c, v_r, r = n * p + 0.5, 0.92 - 4.2 / b, p / (1 - p)
    alpha, m = (2.83 + 5.1 / b) * deviation, np.floor((n + 1) * p)

    def judge(blocks):
        pairs = floats64(blocks[:, 0].reshape(-1, 2, 2))
        u, v = pairs[:, 1] - 0.5, pairs[:, 0]
        with np.errstate(all="ignore"):
            us = 0.5 - np.abs(u)
            k = np.floor((2 * a / us + b) * u + c)
            bound = (
                (m + 0.5) * np.log((m + 1) / (r * (n - m + 1)))
                + (n + 1) * np.log((n - m + 1) / (n - k + 1))
                + (k + 0.5) * np.log(r * (n - k + 1) / (k + 1))
                + _stirling_tail(m)
                + _stirling_tail(n - m)
                - _stirling_tail(k)
                - _stirling_tail(n - k)
            )
            slow = np.log(v * alpha / (a / (us * us) + b)) <= bound
        passes = ((us >= 0.07) & (v <= v_r)) | ((k >= 0) & (k <= n) & slow)
        return k[:, None], passes[:, None]

    return judge


def _binomials(run, count, n, p):
    """`count` numbers of n tries with probability p; the rarer outcome is counted."""
    if n <= 0 or p <= 0:
        return np.zeros(count)
    if p >= 1:
        return np.full(count, float(n))
    if np.isnan(p) or np.isnan(n):
        return np.full(count, np.nan)
    rare = p if p <= 0.5 else type(p)(1) - p
    many, tries, chance = n * rare >= 10, float(n), float(rare)
    if many:
        drawn = run.take(count, 1, _transformed_rejection(tries, chance))
    else:
        drawn = _inversion(run, count, tries, chance)
    return drawn if p <= 0.5 else tries - drawn


_NUMBERS = (dtypes.float16, dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64)


def _binomial_shape(resource, algorithm, shape, counts, probs):
    with_rank_at_most(counts, 1)
    with_rank_at_most(probs, 1)
    return described_by(shape)


@op(
    "StatefulRandomBinomial",
    "resource: resource, algorithm: int64, shape: S, counts: T, probs: T -> output: dtype",
    S=INDEX,
    T=Type(_NUMBERS, default=dtypes.float64),
    dtype=Type(_NUMBERS, default=dtypes.int64),
    traits=_TRAITS,
    shape=_binomial_shape,
)
def stateful_random_binomial(resource, algorithm, shape, counts, probs, *, dtype):
    """Numbers from binomial distributions, with parameters per row of the output or for all."""
    sizes = sizes_of(shape)
    total = math.prod(sizes)
    named = (("counts", counts), ("probs", probs))
    for name, value in named:
        require(value.ndim <= 1, f"Input {name} should be a scalar or vector, got shape: {list(value.shape)}")
    shared = counts.size == probs.size == 1
    batches, per_batch = parameter_batches(sizes, named, shared)
    outputs = batches * 2 * 100 * (per_batch + 3) // 4
    run = Run(_advance(resource, _scalar(algorithm, 1), outputs))
    out = np.empty(total)
    for batch in range(batches):
        start, stop = batch * per_batch, min((batch + 1) * per_batch, total)
        n, p = (value.ravel()[0 if value.size == 1 else batch] for _, value in named)
        out[start:stop] = _binomials(run, stop - start, n, p)
    with np.errstate(invalid="ignore"):
        return out.reshape(sizes).astype(dtype.numpy)


@stateful_random_binomial.samples
def _(rng):
    held = np.array([1, 2, 3])
    for counts, probs in ((10.0, 0.3), (100.0, 0.4), (100.0, 0.9)):
        yield Sample(held, np.array(1), np.array([7, 3]), np.array(counts), np.array(probs), grad=False)
