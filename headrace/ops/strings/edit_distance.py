"""EditDistance: how many insertions, deletions and replacements turn one sequence into another."""

from __future__ import annotations

import math

import numpy as np

from headrace.core.errors import InternalError, require
from headrace.core.shapes import UNKNOWN, make_shape, show
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import merge_sizes, with_rank
from headrace.ops.declaration.signature import Type


def distance(a, b):
    """The Levenshtein distance of two lists."""
    if len(a) < len(b):
        a, b = b, a
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        diagonal, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (x != y))
    return row[-1]


def distance_shape(h_indices, h_values, h_shape, t_indices, t_values, t_shape):
    for indices, values, sizes in ((h_indices, h_values, h_shape), (t_indices, t_values, t_shape)):
        places, count = with_rank(indices, 2), with_rank(values, 1)
        merge_sizes(places.sizes[0], count.sizes[0])
        merge_sizes(places.sizes[1], with_rank(sizes, 1).sizes[0])
    known = h_shape.value, t_shape.value
    if any(k is None for k in known):
        return UNKNOWN
    require(
        known[0].size == known[1].size,
        f"Num elements of hypothesis_shape does not match truth_shape: {known[0].size} vs. {known[1].size}",
    )
    return make_shape(int(max(a, b)) for a, b in zip(known[0][:-1], known[1][:-1]))


def _check(name, indices, values, shape):
    text = [show(make_shape(a.shape)) for a in (indices, values, shape)]
    require(indices.ndim == 2, f"{name}_indices should be a matrix, but got shape: {text[0]}")
    require(values.ndim == 1, f"{name}_values should be a vector, but got shape: {text[1]}")
    require(shape.ndim == 1, f"{name}_shape should be a vector, but got shape: {text[2]}")
    require(
        values.size == indices.shape[0],
        f"Expected {name}_values.NumElements == #rows({name}_indices), their shapes are: "
        f"{text[1]} and {text[0]}",
    )
    require(
        shape.size == indices.shape[1],
        f"Expected {name}_shape.NumElements == #cols({name}_indices), their shapes are: "
        f"{text[2]} and {text[0]}",
    )


def _check_place(place, sizes):
    if not all(0 <= p < n for p, n in zip(place, sizes)):
        steps = [math.prod(sizes[i + 1 :]) for i in range(len(sizes))]
        at = sum(p * step for p, step in zip(place, steps))
        raise InternalError(
            None,
            None,
            f"Got an inner product {at} which would require writing to outside of the buffer for "
            f"the output tensor (max elements {math.prod(sizes)})",
        )


def _sequences(indices, values):
    """Values by all indices but the last, in their order."""
    out: dict = {}
    for place, value in zip(indices[:, :-1].tolist(), values.tolist()):
        out.setdefault(tuple(place), []).append(value)
    return out


_ARGUMENTS = (
    "hypothesis_indices: int64, hypothesis_values: T, hypothesis_shape: int64, "
    "truth_indices: int64, truth_values: T, truth_shape: int64"
)


@op("EditDistance", f"{_ARGUMENTS} -> output: float32", normalize=True, T=Type(), shape=distance_shape)
def edit_distance(
    hypothesis_indices,
    hypothesis_values,
    hypothesis_shape,
    truth_indices,
    truth_values,
    truth_shape,
    *,
    normalize,
):
    """The Levenshtein distance of sequences in two sparse tensors; divided by the length of the
    truth if `normalize` (infinite where the truth is empty and the hypothesis is not)."""
    _check("hypothesis", hypothesis_indices, hypothesis_values, hypothesis_shape)
    require(
        truth_shape.size >= 2,
        f"Input SparseTensors must have rank at least 2, but truth_shape rank is: {truth_shape.size}",
    )
    _check("truth", truth_indices, truth_values, truth_shape)
    require(
        truth_shape.size == hypothesis_shape.size,
        "Expected truth and hypothesis to have matching ranks, but their shapes are: "
        f"{show(make_shape(truth_shape.shape))} and {show(make_shape(hypothesis_shape.shape))}",
    )
    sizes = np.maximum(hypothesis_shape, truth_shape)[:-1]
    require(sizes.all(), f"Got output shape {show(make_shape(sizes.tolist()))} which has 0 elements")
    guesses = _sequences(hypothesis_indices, hypothesis_values)
    truths = _sequences(truth_indices, truth_values)
    places = {**guesses, **truths}
    for place in places:
        _check_place(place, sizes.tolist())
    out = np.zeros(sizes.tolist(), np.float32)
    for place in places:
        guess, truth = guesses.get(place, []), truths.get(place, [])
        steps = float(distance(guess, truth))
        if normalize and steps:
            steps = steps / len(truth) if truth else np.inf
        out[place] = steps
    return out


edit_distance.no_gradient()


@edit_distance.samples
def _(rng):
    places = np.array([[0, 0], [0, 1], [1, 0]])
    words = np.array([b"a", b"b", b"c"], object)
    sizes = np.array([2, 2])
    for normalize in (True, False):
        yield Sample(places, words, sizes, places, words[::-1].copy(), sizes, normalize=normalize)
    yield Sample(places[:1], np.array([1]), sizes, places[2:], np.array([1]), sizes, note="one missing")
    yield ErrorSample(places, words[:2], sizes, places, words, sizes, raises="must be equal|NumElements")
