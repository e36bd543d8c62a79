"""Initial values and batches: the same numbers in every framework, whoever asks first.

A parameter's values depend on its name alone, so the losses of the first steps must agree everywhere."""

from __future__ import annotations

import itertools
import math
import zlib
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from bench.workloads.sizes import Images, Sequences, Sizes, Transformer, Word2Vec

Array = Any


def generator(name: str) -> np.random.Generator:
    return np.random.default_rng([1915, zlib.crc32(name.encode())])


def uniform(name: str, shape: Iterable[int], scale: float) -> Array:
    """float32 in [-scale, scale)."""
    numbers = generator(name).random(tuple(shape), dtype=np.float32)
    numbers -= np.float32(0.5)
    numbers *= np.float32(2 * scale)
    return numbers


def for_relu(name: str, shape: tuple[int, ...]) -> Array:
    """Weights [..., in, out] that keep the variance through a ReLU."""
    return uniform(name, shape, math.sqrt(6 / math.prod(shape[:-1])))


def forever(batches: Iterable[Any]) -> Callable[[], Any]:
    """A function that gives the batches in turn, again and again."""
    return itertools.cycle(list(batches)).__next__


# ---- batches


def digits(batch: int, count: int = 10) -> list[tuple[Array, Array]]:
    """Images like MNIST's with labels that a linear model can learn."""
    random = generator("digits")
    truth = random.standard_normal((784, 10), dtype=np.float32)
    images = [random.random((batch, 784), dtype=np.float32) for _ in range(count)]
    # Not by `@`: BLAS would start its threads, and a first step is timed in this process.
    scores = [np.einsum("bi,ik->bk", x, truth) for x in images]
    return [(x, score.argmax(1).astype(np.int32)) for x, score in zip(images, scores)]


def one_hot(labels: Array, classes: int = 10) -> Array:
    return np.eye(classes, dtype=np.float32)[labels]


def pictures(size: Images) -> tuple[Array, Array]:
    """One batch [n, side, side, 3] and its classes."""
    labels = generator("classes").integers(0, size.classes, size.batch).astype(np.int32)
    return uniform("pictures", (size.batch, size.side, size.side, 3), 0.5), labels


def words(size: Sequences, count: int = 4) -> list[tuple[Array, Array]]:
    """Inputs and targets [batch, steps].  No word comes twice in a batch of inputs: a sparse gradient
    and a dense one have the same norm only then, and the step clips by that norm."""
    random, shape = generator("words"), (size.batch, size.steps)
    count_of_words = size.batch * size.steps
    return [
        (
            random.permutation(size.vocabulary)[:count_of_words].reshape(shape).astype(np.int32),
            random.integers(0, size.vocabulary, shape).astype(np.int32),
        )
        for _ in range(count)
    ]


def skip_grams(size: Word2Vec, count: int = 20) -> list[tuple[Array, ...]]:
    """Inputs, labels, negatives, and the logarithms of how often labels and negatives are expected."""
    random, top = generator("skip grams"), math.log(size.vocabulary + 1)

    def draw(number: int) -> Array:  # log-uniform, as frequencies of words are
        drawn = np.exp(random.random(number) * top).astype(np.int64) - 1
        return np.minimum(drawn, size.vocabulary - 1).astype(np.int32)

    def log_expected(ids: Array) -> Array:
        chance = np.log1p(1 / (ids + 1.0)) / top
        return np.log(chance * size.negatives).astype(np.float32)

    batches = []
    for _ in range(count):
        distinct = dict.fromkeys(draw(100 * size.negatives).tolist())
        negatives = np.array(list(distinct)[: size.negatives], np.int32)
        inputs, labels = draw(size.batch), draw(size.batch)
        batches.append((inputs, labels, negatives, log_expected(labels), log_expected(negatives)))
    return batches


def table_ids(size: Sizes, count: int = 20) -> list[Array]:
    random = generator("table ids")
    return [random.integers(0, size.table_rows, size.table_ids).astype(np.int32) for _ in range(count)]


def text(size: Transformer, count: int = 4) -> list[tuple[Array, Array]]:
    """Tokens, and the tokens that follow them."""
    random = generator("text")
    drawn = [
        random.integers(0, size.vocabulary, (size.batch, size.length + 1)).astype(np.int32)
        for _ in range(count)
    ]
    return [(np.ascontiguousarray(t[:, :-1]), np.ascontiguousarray(t[:, 1:])) for t in drawn]


def grid(size: Sizes, columns: int | None = None) -> Array:
    return uniform("grid", (size.grid_rows, columns or size.grid_columns), 2.0)


def thinned(result: Array) -> float:
    """One number out of a large result, for comparison between frameworks."""
    return float(np.ravel(result)[::97].astype(np.float64).sum())
