"""Candidate samplers: classes to train against, with how often each was to be expected.

The classes are TF's for the same seeds.  A sampler turns words of a Philox stream into classes;
those that learn keep their counts with the session and node.
"""

from __future__ import annotations

import numpy as np

from headrace.core.errors import require
from headrace.core.shapes import make_shape
from headrace.formats import files
from headrace.ops.declaration.declare import Op, op
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import with_rank, with_size
from headrace.ops.declaration.signature import Bool, Floats, Int
from headrace.ops.declaration.traits import DIFFERENT_EACH_TIME, FILES, STATEFUL
from headrace.ops.random import sampling
from headrace.ops.random.philox import reserve

_RANDOM = {STATEFUL, DIFFERENT_EACH_TIME}
_OUTPUTS = (
    "true_classes: int64 -> sampled_candidates: int64, true_expected_count: float32, "
    "sampled_expected_count: float32"
)


class Words:
    """A Philox stream, word by word."""

    def __init__(self, generator):
        self._generator, self._used, self._left = generator, 0, np.empty(0, np.uint32)

    def take(self, count):
        if count > self._left.size:
            blocks = max(64, -(-(count - self._left.size) // 4))
            new = self._generator.skipped(self._used).blocks(blocks).ravel()
            self._used += blocks
            self._left = np.concatenate([self._left, new])
        taken, self._left = self._left[:count], self._left[count:]
        return taken

    def give_back(self, words):
        self._left = np.concatenate([words, self._left])


def _exact(words, n, bits):
    """Numbers below n without bias, from whole words: those that would skew it are dropped."""
    if n & (n - 1) == 0:
        return words & words.dtype.type(n - 1)
    rest = words.dtype.type(((1 << bits) - 1) % n + 1)
    return words[words >= rest] % words.dtype.type(n)


# -- samplers -----------------------------------------------------------------------------------
class Uniform:
    """All classes alike."""

    def __init__(self, size):
        self.size = size

    def draw(self, words, count):
        pairs = words.take(2 * count).reshape(-1, 2).astype(np.uint64)
        return _exact(pairs[:, 0] | (pairs[:, 1] << np.uint64(32)), self.size, 64).astype(np.int64)

    def probability(self, classes):
        return np.full(np.shape(classes), np.float32(1.0 / self.size))


class LogUniform:
    """Class k with a probability of log((k + 2) / (k + 1)) / log(size + 1): Zipf's law."""

    def __init__(self, size):
        self.size, self._log_size = size, np.log1p(np.float64(size))

    def draw(self, words, count):
        u = sampling.floats64(words.take(2 * count).reshape(-1, 2))
        return (np.exp(u * self._log_size).astype(np.int64) - 1) % self.size

    def probability(self, classes):
        return (np.log((classes + 2.0) / (classes + 1.0)) / self._log_size).astype(np.float32)


class Unigram:
    """As often as seen so far among the true classes, plus one."""

    def __init__(self, size):
        self.size, self._counts, self._total = size, np.ones(size, np.int64), size
        self._ends = None

    def draw(self, words, count):
        if self._ends is None:
            self._ends = np.cumsum(self._counts)
        at = _exact(words.take(count), self._total, 32)
        return np.searchsorted(self._ends, at.astype(np.int64), side="right")

    def probability(self, classes):
        inside = (classes >= 0) & (classes < self.size)
        require(inside.all(), f"true_classes must be in [0, {self.size})")
        return self._counts[classes].astype(np.float32) / np.float32(self._total)

    def learn(self, classes):
        classes = classes[: max(0, 2**31 - 1 - self._total)]
        np.add.at(self._counts, classes, 1)
        self._total += classes.size
        self._ends = None


class FixedUnigram:
    """By given weights, raised to the power `distortion` (Walker's alias method)."""

    def __init__(self, weights, size):
        require(
            len(weights) == size, f"range_max is {size}, but there are {len(weights)} weights in this shard"
        )
        self.size, self._weights = size, np.array(weights, np.float32)
        self._total = np.float32(0)
        for weight in self._weights:  # in single precision one by one, as TF sums them
            self._total += weight
        self._build()

    def _build(self):
        n, total = self.size, float(np.sum(self._weights, dtype=np.float64))
        share = self._weights.astype(np.float64) * n / total
        other = np.full(n, -1, np.int64)
        low = [i for i in range(n) if share[i] < 1.0]
        high = [i for i in range(n) if not share[i] < 1.0]
        while high and low:
            little, much = low.pop(), high.pop()
            other[little] = much
            share[much] -= 1.0 - share[little]
            (low if share[much] < 1.0 else high).append(much)
        for i in (*high, *low):  # what rounding left over
            share[i], other[i] = 1.0, i
        self._share, self._other = share.astype(np.float32), other

    def draw(self, words, count):
        """A float and an index each; an index that is drawn again shifts all that follows."""
        pairs = words.take(2 * count).reshape(-1, 2)
        bad = np.flatnonzero(pairs[:, 1] < self._rest())
        kept = pairs if not bad.size else pairs[: bad[0]]
        drawn = [self._choose(kept[:, 0], kept[:, 1] % np.uint32(self.size))]
        if bad.size:
            words.give_back(pairs[bad[0] + 1 :].ravel())
            index = np.empty(0, np.uint32)
            while not index.size:
                index = _exact(words.take(1), self.size, 32)
            drawn.append(self._choose(pairs[bad[0], :1], index))
        return np.concatenate(drawn)

    def _rest(self):
        n = self.size
        return 0 if n & (n - 1) == 0 else (2**32 - 1) % n + 1

    def _choose(self, bits, index):
        keep = sampling.floats32(bits) < self._share[index]
        return np.where(keep, index, self._other[index]).astype(np.int64)

    def probability(self, classes):
        known = (classes >= 0) & (classes < self.size)
        weights = self._weights[np.where(known, classes, 0)] / self._total
        return np.where(known, weights, np.float32(0))


# -- batches ------------------------------------------------------------------------------------
def _batch(sampler, words, count, unique):
    """`count` classes and how many were drawn for that."""
    drawn = np.empty(0, np.int64)
    while drawn.size < count:
        drawn = np.concatenate([drawn, sampler.draw(words, count - drawn.size)])
    if not unique:
        return drawn, count
    while True:
        first = np.sort(np.unique(drawn, return_index=True)[1])
        if first.size >= count:
            return drawn[first[:count]], int(first[count - 1]) + 1
        drawn = np.concatenate([drawn, sampler.draw(words, max(count, drawn.size))])


def _expected(probability, count, tries):
    """How often a class was to be expected among `count` of `tries`."""
    if tries == count:
        return probability * np.float32(count)
    p = probability.astype(np.float32)
    return -np.expm1(np.float32(tries) * np.log1p(-p))


def _sample(ctx, true_classes, make, num_true, num_sampled, unique, seed, seed2):
    require(true_classes.ndim == 2, "true_classes must be a matrix")
    require(
        true_classes.shape[1] == num_true,
        f"true_classes must have num_true columns, expected: {true_classes.shape[1]} was: {num_true}",
    )
    generator = reserve(ctx, seed, seed2, 2048 * num_sampled // 4)
    with ctx.lock:
        sampler = ctx.state.get("sampler")
        if sampler is None:
            sampler = ctx.state["sampler"] = make()
        require(not unique or num_sampled <= sampler.size, "Sampler's range is too small.")
        sampled, tries = _batch(sampler, Words(generator), num_sampled, unique)
        result = (
            sampled,
            _expected(sampler.probability(true_classes), num_sampled, tries),
            _expected(sampler.probability(sampled), num_sampled, tries),
        )
        if isinstance(sampler, Unigram):
            sampler.learn(true_classes.ravel())
    return result


def sampler_shape(true_classes, *, num_true, num_sampled):
    rows = with_rank(true_classes, 2).dim(0)
    return [make_shape((num_sampled,)), make_shape((rows, num_true)), make_shape((num_sampled,))]


def _declare(name, kind, doc) -> Op:
    def body(ctx, true_classes, *, num_true, num_sampled, unique, range_max, seed, seed2):
        return _sample(ctx, true_classes, lambda: kind(range_max), num_true, num_sampled, unique, seed, seed2)

    body.__doc__ = doc
    declared = op(
        name,
        _OUTPUTS,
        num_true=Int(min=1),
        num_sampled=Int(min=1),
        unique=Bool(),
        range_max=Int(min=1),
        seed=0,
        seed2=0,
        traits=_RANDOM,
        shape=sampler_shape,
    )(body)
    declared.samples(_sampler_samples)
    return declared


def _sampler_samples(rng):
    true = np.array([[1, 2], [0, 4], [3, 3]])
    for unique in (False, True):
        yield Sample(true, num_true=2, num_sampled=3, unique=unique, range_max=5, seed=7, seed2=11)
    yield ErrorSample(true, num_true=2, num_sampled=9, unique=True, range_max=5, raises="range is too small")


uniform_candidate_sampler = _declare("UniformCandidateSampler", Uniform, "Classes, all alike likely.")
log_uniform_candidate_sampler = _declare(
    "LogUniformCandidateSampler", LogUniform, "Classes by Zipf's law: sort them by frequency."
)
learned_unigram_candidate_sampler = _declare(
    "LearnedUnigramCandidateSampler", Unigram, "Classes as often as they were true so far."
)
thread_unsafe_unigram_candidate_sampler = _declare(
    "ThreadUnsafeUnigramCandidateSampler", Unigram, "Classes as often as they were true so far."
)


@learned_unigram_candidate_sampler.samples
@thread_unsafe_unigram_candidate_sampler.samples
def _(rng):
    yield from _sampler_samples(rng)
    options = {"num_true": 2, "num_sampled": 3, "unique": False, "range_max": 5}
    for outside in (-1, 5):
        yield ErrorSample(np.array([[1, outside]]), **options, raises=r"must be in \[0, 5\)")


def _weights(vocab_file, unigrams, distortion, num_reserved_ids, num_shards, shard):
    """The weights of this shard; reserved ids have none."""
    require(vocab_file or unigrams, "Must provide either vocab_file or unigrams.")
    require(not (vocab_file and unigrams), "Must only provide one of vocab_file and unigrams.")
    weights = [0.0 for i in range(num_reserved_ids) if i % num_shards == shard]
    number = len(weights)
    for weight in _lines(vocab_file) if vocab_file else unigrams:
        if number % num_shards == shard:
            weights.append(float(np.float32(weight) ** np.float32(distortion)))
        number += 1
    return weights


def _lines(vocab_file):
    """The last column of a file of comma-separated values."""
    with open(files.local(vocab_file), encoding="utf-8") as lines:
        for line in lines:
            text = line.rstrip("\n").split(",")[-1]
            try:
                yield float(text)
            except ValueError:
                require(False, f"Wrong vocabulary format at line: {line}")


@op(
    "FixedUnigramCandidateSampler",
    _OUTPUTS,
    num_true=Int(min=1),
    num_sampled=Int(min=1),
    unique=Bool(),
    range_max=Int(min=1),
    vocab_file="",
    distortion=1.0,
    num_reserved_ids=0,
    num_shards=Int(default=1, min=1),
    shard=Int(default=0, min=0),
    unigrams=Floats(default=[]),
    seed=0,
    seed2=0,
    traits={*_RANDOM, FILES},
    shape=sampler_shape,
)
def fixed_unigram_candidate_sampler(
    ctx,
    true_classes,
    *,
    num_true,
    num_sampled,
    unique,
    range_max,
    vocab_file,
    distortion,
    num_reserved_ids,
    num_shards,
    shard,
    unigrams,
    seed,
    seed2,
):
    """Classes by given frequencies: a list, or the last column of a file."""

    def make():
        weights = _weights(vocab_file, unigrams, distortion, num_reserved_ids, num_shards, shard)
        return FixedUnigram(weights, range_max)

    return _sample(ctx, true_classes, make, num_true, num_sampled, unique, seed, seed2)


fixed_unigram_candidate_sampler.touches_files("vocab_file", bool)


@fixed_unigram_candidate_sampler.samples
def _(rng):
    yield Sample(
        np.array([[1], [2]]),
        num_true=1,
        num_sampled=3,
        unique=True,
        range_max=4,
        unigrams=[1.0, 2.0, 4.0, 8.0],
        distortion=0.75,
        seed=7,
        seed2=11,
    )


@op(
    "AllCandidateSampler",
    _OUTPUTS,
    num_true=Int(min=1),
    num_sampled=Int(min=1),
    unique=Bool(),
    seed=0,
    seed2=0,
    traits={STATEFUL},
    shape=sampler_shape,
)
def all_candidate_sampler(true_classes, *, num_true, num_sampled):
    """All classes, each once."""
    require(true_classes.ndim == 2, "true_classes must be a matrix")
    require(
        true_classes.shape[1] == num_true,
        f"true_classes must have num_true columns, expected: {true_classes.shape[1]} was: {num_true}",
    )
    return (np.arange(num_sampled), np.ones(true_classes.shape, np.float32), np.ones(num_sampled, np.float32))


@all_candidate_sampler.samples
def _(rng):
    yield Sample(np.array([[1], [2]]), num_true=1, num_sampled=3, unique=True)


def _hits_shape(true_classes, sampled_candidates, *, num_true):
    with_size(with_rank(true_classes, 2).dim(1), num_true)
    with_rank(sampled_candidates, 1)
    return [make_shape((None,))] * 3


@op(
    "ComputeAccidentalHits",
    "true_classes: int64, sampled_candidates: int64 -> indices: int32, ids: int64, weights: float32",
    num_true=Int(),
    seed=0,
    seed2=0,
    shape=_hits_shape,
)
def compute_accidental_hits(true_classes, sampled_candidates, *, num_true):
    """Where a sampled class is a true one: row, place among the samples, a very negative weight."""
    require(
        true_classes.ndim == 2 and true_classes.shape[1] == num_true,
        "true_candidates must be a batch_size * num_true matrix",
    )
    require(
        sampled_candidates.ndim == 1,
        "sampled_candidates must be a vector, which is typically an output from CandidateSampler",
    )
    places = {int(c): i for i, c in enumerate(sampled_candidates)}
    hits = [
        (row, places[int(c)]) for row, classes in enumerate(true_classes) for c in classes if int(c) in places
    ]
    rows, ids = np.array(hits, np.int64).reshape(-1, 2).T
    return rows.astype(np.int32), ids, np.full(len(hits), np.finfo(np.float32).min, np.float32)


@compute_accidental_hits.samples
def _(rng):
    yield Sample(np.array([[1, 2], [0, 4]]), np.array([4, 1, 3]), num_true=2)
    yield Sample(np.array([[1, 2]]), np.array([5]), num_true=2, note="none")
