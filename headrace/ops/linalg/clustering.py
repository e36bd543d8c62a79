"""Centres of clusters: how to choose the first ones, and which are nearest."""

from __future__ import annotations

import math

import numpy as np

from headrace.core.errors import require
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_rules import scalar, unknown
from headrace.ops.declaration.traits import HOST
from headrace.ops.random.philox import Philox
from headrace.ops.random.word_stream import WordStream

_HALF = np.float32(0.5)
_DRAWS = 1000  # for one point


def _check_scalars(**values):
    for name, value in values.items():
        require(value.ndim == 0, f"Input {name} should be a scalar.")


# -- k-means++ -----------------------------------------------------------------------------------
@op(
    "KmeansPlusPlusInitialization",
    "points: float32, num_to_sample: int64, seed: int64, num_retries_per_sample: int64 -> samples: float32",
    traits={HOST},
    shape=lambda points, num_to_sample, seed, num_retries_per_sample: unknown(),
)
def kmeans_plus_plus_initialization(points, num_to_sample, seed, num_retries_per_sample):
    """Points that are far from each other: each is drawn with a chance that grows with the squared distance
    from those that were drawn before.  The best of several draws is taken."""
    require(points.ndim == 2, "Input points should be a matrix.")
    _check_scalars(num_to_sample=num_to_sample, seed=seed, num_retries_per_sample=num_retries_per_sample)
    count, wanted, retries = len(points), int(num_to_sample), int(num_retries_per_sample)
    require(count > 0, "Expected points.rows() > 0.")
    require(wanted > 0, "Expected num_to_sample > 0.")
    require(wanted <= count, f"Expected num_to_sample <= points.rows(). {wanted} vs {count}.")
    if retries < 0:
        retries = 2 + int(math.log(wanted))
    words = WordStream(Philox(int(seed), 0))
    norms = _half_squares(points)
    nearest = np.full(count, np.inf, np.float32)
    chosen = [_uniform64(words, count)]
    nearest = np.minimum(nearest, _half_distances(points, norms, chosen[0]))
    for _ in range(retries):  # the first draw is tried again too
        other = _uniform64(words, count)
        distances = _half_distances(points, norms, other)
        if distances.sum() < nearest.sum():
            chosen, nearest = [other], distances
    while len(chosen) < wanted:
        sums = np.cumsum(nearest, dtype=np.float32)
        best, least = None, None
        for _ in range(1 + retries):
            drawn = _draw(words, nearest, sums, chosen)
            distances = np.minimum(nearest, _half_distances(points, norms, drawn))
            if least is None or distances.sum() < least.sum():
                best, least = drawn, distances
        chosen.append(best)
        nearest = least
    return points[chosen]


def _half_squares(rows):
    return _HALF * np.square(rows).sum(axis=1, dtype=np.float32)


def _half_distances(points, norms, at):
    """Half of the squared distance of each point from one of them."""
    return (norms - points @ points[at]) + norms[at]


def _draw(words, nearest, sums, chosen):
    """A point that is not chosen yet, by its distance.

    Of points that are close together and far from the origin, rounding leaves distances of zero, or below:
    then no draw may ever find one, and the farthest is taken.
    """
    for _ in range(_DRAWS):
        drawn = int(np.searchsorted(sums, words.float32() * sums[-1], side="right"))
        if drawn not in chosen:
            return min(drawn, len(sums) - 1)
    left = np.setdiff1d(np.arange(len(nearest)), chosen)
    return int(left[np.argmax(nearest[left])])


def _uniform64(words, n):
    """An integer in [0, n), of two words: the low one first."""

    def word():
        low = words.word()
        return low | words.word() << 32

    if n & (n - 1) == 0:
        return word() & (n - 1)
    while (drawn := word()) < 0xFFFFFFFFFFFFFFFF % n + 1:
        pass
    return drawn % n


kmeans_plus_plus_initialization.no_gradient()


@kmeans_plus_plus_initialization.samples
def _(rng):
    points = rng.normal(size=(20, 3)).astype(np.float32)
    number = np.int64
    yield Sample(points, number(4), number(7), number(-1), dtypes=False)
    yield Sample(points, number(20), number(1), number(0), dtypes=False)
    yield Sample(np.ones((5, 2), np.float32), number(3), number(0), number(2), dtypes=False, note="equal")
    yield ErrorSample(points, number(21), number(0), number(0), raises="21 vs 20", dtypes=False)
    yield ErrorSample(points, number(0), number(0), number(0), raises="num_to_sample > 0", dtypes=False)


# -- a Markov chain --------------------------------------------------------------------------------
@op("KMC2ChainInitialization", "distances: float32, seed: int64 -> index: int64", traits={HOST}, shape=scalar)
def kmc2_chain_initialization(distances, seed):
    """Where a Markov chain over candidates ends, which prefers those with large distances."""
    require(distances.ndim == 1, "Input distances should be a vector.")
    _check_scalars(seed=seed)
    require(distances.size > 0, "Expected distances_tensor.size() > 0.")
    words = WordStream(Philox(int(seed), 0))
    state = 0
    for i in range(1, len(distances)):
        if distances[i] > words.float32() * distances[state]:
            state = i
    return np.array(state, np.int64)


kmc2_chain_initialization.no_gradient()


@kmc2_chain_initialization.samples
def _(rng):
    yield Sample(rng.uniform(0, 2, 30).astype(np.float32), np.int64(3), dtypes=False)
    yield Sample(np.zeros(4, np.float32), np.int64(3), dtypes=False)
    yield ErrorSample(np.zeros(0, np.float32), np.int64(3), raises="size", dtypes=False)


# -- nearest centres -------------------------------------------------------------------------------
_ROWS = 1 << 20  # elements of the table of distances that is computed at once


@op(
    "NearestNeighbors",
    "points: float32, centers: float32, k: int64 -> nearest_center_indices: int64, "
    "nearest_center_distances: float32",
    traits={HOST},
    shape=lambda points, centers, k: [unknown(), unknown()],
)
def nearest_neighbors(points, centers, k):
    """The k nearest centres of each point, and their squared distances, nearest first."""
    require(points.ndim == 2, "Input points should be a matrix.")
    require(centers.ndim == 2, "Input centers should be a matrix.")
    _check_scalars(k=k)
    require(len(points) > 0, "Expected points.rows() > 0.")
    require(
        points.shape[1] == centers.shape[1],
        f"Expected point_dimensions == center_dimensions: {points.shape[1]} vs {centers.shape[1]}.",
    )
    wanted = min(len(centers), max(int(k), 0))
    indices = np.empty((len(points), wanted), np.int64)
    distances = np.empty((len(points), wanted), np.float32)
    norms = _half_squares(centers)
    step = max(_ROWS // max(len(centers), 1), 1)
    for start in range(0, len(points) if wanted else 0, step):
        rows = points[start : start + step]
        partial = norms - rows @ centers.T
        if wanted == 1:
            chosen = partial.argmin(axis=1)[:, None]
        else:
            chosen = np.argsort(partial, axis=1, kind="stable")[:, :wanted]
        near = np.take_along_axis(partial, chosen, axis=1)
        indices[start : start + step] = chosen
        distances[start : start + step] = 2 * (_half_squares(rows)[:, None] + near)
    return indices, distances


nearest_neighbors.no_gradient()


@nearest_neighbors.samples
def _(rng):
    points, centers = rng.normal(size=(9, 4)).astype(np.float32), rng.normal(size=(6, 4)).astype(np.float32)
    for k in (1, 3, 10, 0):
        yield Sample(points, centers, np.int64(k), dtypes=False)
    yield ErrorSample(points, centers[:, :2], np.int64(1), raises="4 vs 2", dtypes=False)
