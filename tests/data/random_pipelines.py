"""Random pipelines: nested transformations, each with what its elements are in plain Python.

A pipeline is a list of words, so that the same text builds it here, in TensorFlow, and as a model.  Elements
are integers; batches are lists of them.
"""

from __future__ import annotations

import random
from typing import Any

Words = list[Any]


def pipeline(rng: random.Random, depth: int = 0) -> Words:
    """A source and some transformations of it."""
    start = rng.randrange(5)
    words: Words = [["range", start, start + rng.randrange(12)]]
    for _ in range(rng.randrange(1, 6)):
        words.append(step(rng, depth))
    return words


def step(rng: random.Random, depth: int) -> Any:
    kinds = (
        "map pmap filter take skip shard repeat concat prefetch cache batch window scan shuffle zip".split()
    )
    if depth < 2:
        kinds += ["flat_map", "interleave", "pinterleave"]
    kind = rng.choice(kinds)
    match kind:
        case "map" | "pmap":
            return [kind, rng.randrange(1, 4), rng.randrange(5), rng.randrange(1, 4)]
        case "filter" | "take" | "skip" | "repeat" | "prefetch":
            return [kind, rng.randrange(1, 5)]
        case "shard":
            count = rng.randrange(1, 4)
            return [kind, count, rng.randrange(count)]
        case "concat" | "zip":
            return [kind, pipeline(rng, 2)[:2]]
        case "batch":
            return [kind, rng.randrange(1, 5), rng.random() < 0.5]
        case "window":
            return [kind, rng.randrange(1, 5), rng.randrange(1, 5), rng.randrange(1, 3), rng.random() < 0.5]
        case "shuffle":
            return [kind, rng.randrange(1, 8), rng.randrange(100)]
        case "flat_map":
            return [kind, rng.randrange(1, 4)]
        case "interleave" | "pinterleave":
            return [kind, rng.randrange(1, 4), rng.randrange(1, 4), rng.randrange(1, 4)]
    return [kind]


def build(tf: Any, words: Words) -> Any:
    """The pipeline with `tf`; flat after every step: batches and windows are summed up with their length."""
    data, int64 = tf.data.Dataset, tf.int64

    def summed(batch: Any) -> Any:
        return tf.reduce_sum(batch) * 10 + tf.cast(tf.shape(batch)[0], int64)

    dataset = None
    for word in words:
        match word:
            case ["range", start, stop]:
                dataset = data.range(start, stop)
            case ["map", factor, offset, _]:
                dataset = dataset.map(lambda x, a=factor, b=offset: x * a + b)
            case ["pmap", factor, offset, calls]:
                dataset = dataset.map(lambda x, a=factor, b=offset: x * a + b, num_parallel_calls=calls)
            case ["filter", n]:
                dataset = dataset.filter(lambda x, n=n: tf.not_equal(x % (n + 1), 0))
            case ["shard", count, index]:
                dataset = dataset.shard(count, index)
            case ["concat", other]:
                dataset = dataset.concatenate(build(tf, other))
            case ["zip", other]:
                dataset = data.zip((dataset, build(tf, other))).map(lambda x, y: x * 3 + y)
            case ["batch", size, drops]:
                dataset = dataset.batch(size, drops).map(summed)
            case ["window", size, shift, stride, drops]:
                windows = dataset.window(size, shift, stride, drops)
                dataset = windows.flat_map(lambda w, n=size: w.batch(n)).map(summed)
            case ["scan"]:
                scan = tf.data.experimental.scan
                dataset = dataset.apply(scan(tf.constant(1, int64), lambda s, x: (s + x, s * 2 + x)))
            case ["shuffle", size, seed]:
                dataset = dataset.shuffle(size, seed=seed, reshuffle_each_iteration=False)
            case ["flat_map", n]:
                dataset = dataset.flat_map(lambda x, n=n: data.range(x % n + 1))
            case ["interleave", n, cycle, block]:
                dataset = dataset.interleave(lambda x, n=n: data.range(x % n, n + 2), cycle, block)
            case ["pinterleave", n, cycle, block]:
                dataset = dataset.interleave(lambda x, n=n: data.range(x % n, n + 2), cycle, block, cycle)
            case ["cache"]:
                dataset = dataset.cache()
            case [name, n]:
                dataset = getattr(dataset, name)(n)
    return dataset


def model(words: Words) -> list[int] | None:
    """What the elements are; None where only TensorFlow knows (shuffles)."""
    found: list[int] = []
    for word in words:
        match word:
            case ["range", start, stop]:
                found = list(range(start, stop))
            case ["map" | "pmap", factor, offset, _]:
                found = [x * factor + offset for x in found]
            case ["filter", n]:
                found = [x for x in found if x % (n + 1)]
            case ["shard", count, index]:
                found = found[index::count]
            case ["concat" | "zip", other]:
                second = model(other)
                if second is None:
                    return None
                joined = [x * 3 + y for x, y in zip(found, second)]
                found = found + second if word[0] == "concat" else joined
            case ["batch", size, drops]:
                found = _summed([found[i : i + size] for i in range(0, len(found), size)], size, drops)
            case ["window", size, shift, stride, drops]:
                reach = (size - 1) * stride + 1
                spans = [found[i : i + reach] for i in range(0, len(found), shift)]
                found = _summed([s[::stride] for s in spans if not drops or len(s) == reach], size, False)
            case ["scan"]:
                state, given = 1, []
                for x in found:
                    given.append(state * 2 + x)
                    state += x
                found = given
            case ["shuffle", *_]:
                return None
            case ["flat_map", n]:
                found = [y for x in found for y in range(x % n + 1)]
            case ["interleave" | "pinterleave", n, cycle, block]:
                found = _interleaved([list(range(x % n, n + 2)) for x in found], cycle, block)
            case ["take", n]:
                found = found[:n]
            case ["skip", n]:
                found = found[n:]
            case ["repeat", n]:
                found = found * n
    return found


def _summed(batches: list[list[int]], size: int, drops: bool) -> list[int]:
    return [sum(b) * 10 + len(b) for b in batches if not drops or len(b) == size]


def _interleaved(lists: list[list[int]], cycle: int, block: int) -> list[int]:
    slots: list[list[int] | None] = [None] * cycle
    found: list[int] = []
    at = 0
    while lists or any(s is not None for s in slots):
        if slots[at] is None and lists:
            slots[at] = list(lists.pop(0))
        slot = slots[at]
        if slot is not None:
            taken = slot[:block]
            found += taken
            slots[at] = slot[block:] if len(taken) == block else None
        at = (at + 1) % cycle
    return found


def elements(tf: Any, words: Words) -> list[int]:
    """The elements that a session gives."""
    with tf.Graph().as_default():
        following = tf.data.make_one_shot_iterator(build(tf, words)).get_next()
        found: list[int] = []
        with tf.Session() as session:
            while True:
                try:
                    found.append(int(session.run(following)))
                except tf.errors.OutOfRangeError:
                    return found
