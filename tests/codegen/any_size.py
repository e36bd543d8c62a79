"""Random graphs that are valid for any sizes: what is fed decides them, as `tf.shape` sees it.

A tensor has some of the dimensions A, B, C (letters), each of which has any size; ops keep track of letters,
so that a graph that was built once can be fed arrays of other sizes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import headrace as tf

LETTERS = "ABC"
Grown = tuple[Any, str]  # a tensor, and its letters ("1" for a dimension of one, "?" for any other)


class AnySize:
    """`tensors` can be fetched; `feeds(sizes)` gives arrays."""

    KINDS = (
        "unary binary reduce transpose matmul softmax slice stride concat pad merge gather tile cumulative "
        "norm reverse mask range one_hot fill segment loop split_stack mean"
    ).split()

    def __init__(self, seed: int, steps: int = 10) -> None:
        self.rng = np.random.default_rng(seed)
        self.graph = tf.Graph()
        self.fed: list[Grown] = []
        with self.graph.as_default():
            for letters in ("AB", "BC", "AC", "A", "ABC")[: int(self.rng.integers(2, 6))]:
                placeholder = tf.placeholder(tf.float32, [None] * len(letters))
                self.fed.append((placeholder, letters))
            self.pool = list(self.fed)
            for _ in range(steps):
                self.grow()
        self.tensors = [t for t, _ in self.pool[len(self.fed) :]]

    def feeds(self, sizes: dict[str, int]) -> dict[Any, Any]:
        rng = np.random.default_rng(sum(sizes.values()))
        return {t: rng.normal(size=[sizes[n] for n in letters]).astype("f") for t, letters in self.fed}

    def grow(self) -> None:
        found = getattr(self, str(self.rng.choice(self.KINDS)))()
        if found is not None and len(found[1]) <= 4:
            self.pool.append(found)

    def pick(self, test: Any = lambda letters: True) -> Grown | None:
        found = [g for g in self.pool if test(g[1])]
        return found[self.rng.integers(len(found))] if found else None

    def axis(self, letters: str) -> int:
        return int(self.rng.integers(len(letters)))

    def size_of(self, letter: str) -> Any:
        """The size of a letter, from something that was fed."""
        t, letters = next(g for g in self.fed if letter in g[1])
        return tf.shape(t)[letters.index(letter)]

    # -- ops ---------------------------------------------------------------------------------------
    def unary(self):
        x, letters = self.pick()
        return self.rng.choice([tf.tanh, tf.abs, tf.sigmoid, lambda v: v * 0.5 + 1.0])(x), letters

    def binary(self):
        x, letters = self.pick()
        other = self.pick(lambda own: own == letters or letters.endswith(own))
        return (x + other[0], letters) if other else None

    def reduce(self):
        x, letters = self.pick(lambda own: own)
        axis = self.axis(letters)
        how = self.rng.choice([tf.reduce_sum, tf.reduce_max, tf.reduce_min])
        if self.rng.random() < 0.3:
            return how(x, axis, keep_dims=True), letters[:axis] + "1" + letters[axis + 1 :]
        return how(x, axis), letters[:axis] + letters[axis + 1 :]

    def mean(self):
        x, letters = self.pick(lambda own: own)
        return tf.reduce_mean(x), ""

    def transpose(self):
        x, letters = self.pick()
        order = self.rng.permutation(len(letters))
        return tf.transpose(x, order), "".join(letters[i] for i in order)

    def matmul(self):
        x = self.pick(lambda own: len(own) == 2 and own[1] in LETTERS)
        if x is None:
            return None
        y = self.pick(lambda own: len(own) == 2 and own[0] == x[1][1])
        return (tf.matmul(x[0], y[0]), x[1][0] + y[1][1]) if y else None

    def softmax(self):
        x, letters = self.pick(lambda own: own)
        return tf.nn.softmax(x), letters

    def slice(self):
        x, letters = self.pick(lambda own: own and own[0] in LETTERS)
        if self.rng.random() < 0.5:
            return x[1:], "?" + letters[1:]
        return x[-1], letters[1:]

    def stride(self):
        x, letters = self.pick(lambda own: own and own[-1] in LETTERS)
        step = int(self.rng.choice([2, 3, -1]))
        return x[..., ::step], letters[:-1] + ("?" if step > 0 else letters[-1])

    def concat(self):
        x, letters = self.pick(lambda own: own)
        axis = self.axis(letters)
        return tf.concat([x, x * 2.0], axis), letters[:axis] + "?" + letters[axis + 1 :]

    def pad(self):
        x, letters = self.pick(lambda own: own)
        return tf.pad(x, [[1, 2]] + [[0, 0]] * (len(letters) - 1)), "?" + letters[1:]

    def merge(self):
        x, letters = self.pick(lambda own: len(own) > 1)
        return tf.reshape(x, [-1, tf.shape(x)[-1]]), "?" + letters[-1]

    def gather(self):
        x, letters = self.pick(lambda own: own and own[0] in LETTERS)
        n = tf.shape(x)[0]
        return tf.gather(x, (tf.range(n) * 3 + 1) % n), letters

    def tile(self):
        x, letters = self.pick(lambda own: own)
        return tf.tile(x, [2] + [1] * (len(letters) - 1)), "?" + letters[1:]

    def cumulative(self):
        x, letters = self.pick(lambda own: own)
        return tf.cumsum(x, self.axis(letters)), letters

    def norm(self):
        x, letters = self.pick(lambda own: own)
        mean, variance = tf.nn.moments(x, [0], keep_dims=True)
        return (x - mean) * tf.rsqrt(variance + 1.0), letters

    def reverse(self):
        x, letters = self.pick(lambda own: own)
        return tf.reverse(x, [self.axis(letters)]), letters

    def mask(self):
        x, letters = self.pick(lambda own: own and own[-1] in LETTERS)
        n = tf.shape(x)[-1]
        return tf.where(tf.broadcast_to(tf.range(n) < n // 2, tf.shape(x)), x, -x), letters

    def range(self):
        letter = str(self.rng.choice(sorted({n for _, letters in self.fed for n in letters})))
        return tf.cast(tf.range(self.size_of(letter)), tf.float32) / 10.0, letter

    def one_hot(self):
        letter = str(self.rng.choice(sorted({n for _, letters in self.fed for n in letters})))
        n = self.size_of(letter)
        return tf.one_hot(tf.range(n) // 2, n), letter + letter

    def fill(self):
        x, letters = self.pick()
        return tf.fill(tf.shape(x), tf.cast(tf.size(x), tf.float32)), letters

    def segment(self):
        x, letters = self.pick(lambda own: own and own[0] in LETTERS)
        n = tf.shape(x)[0]
        return tf.unsorted_segment_sum(x, tf.range(n) // 2, n), letters

    def loop(self):
        x, letters = self.pick(lambda own: own and own[0] in LETTERS)
        found = tf.scan(lambda total, row: total * 0.5 + row, x)
        return found, letters

    def split_stack(self):
        x, letters = self.pick(lambda own: own)
        return tf.stack([x, -x], 0), "?" + letters
