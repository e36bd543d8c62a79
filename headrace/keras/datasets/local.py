"""Small public datasets, read from files that are there: in `~/.keras/datasets`, or at a given path."""

from __future__ import annotations

import gzip
import json
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np


def find(name: str) -> Path:
    """A file by its path, or by its name below `~/.keras/datasets`."""
    places = [Path(name), Path(os.environ.get("KERAS_HOME", Path.home() / ".keras"), "datasets", name)]
    for place in places:
        if place.exists():
            return place
    raise FileNotFoundError(f"The dataset {name} is not there: put it at {places[1]}.")


def mnist(path: str = "mnist.npz") -> Any:
    """Handwritten digits: ((images, labels), (images, labels)) to train and to test."""
    with np.load(find(path), allow_pickle=False) as data:
        return (data["x_train"], data["y_train"]), (data["x_test"], data["y_test"])


def boston_housing(path: str = "boston_housing.npz", test_split: float = 0.2, seed: int = 113) -> Any:
    """Prices of houses: ((features, prices), (features, prices))."""
    assert 0 <= test_split < 1
    with np.load(find(path), allow_pickle=False) as data:
        x, y = data["x"], data["y"]
    order = np.arange(len(x))
    np.random.RandomState(seed).shuffle(order)
    x, y = x[order], y[order]
    at = int(len(x) * (1 - test_split))
    return (x[:at], y[:at]), (x[at:], y[at:])


def fashion_mnist() -> Any:
    """Pictures of clothes: ((images, labels), (images, labels))."""
    folder = find("fashion-mnist")

    def read(kind: str, offset: int) -> Any:
        with gzip.open(folder / f"{kind}.gz", "rb") as file:
            return np.frombuffer(file.read(), np.uint8, offset=offset)

    found = []
    for part in ("train", "t10k"):
        labels = read(f"{part}-labels-idx1-ubyte", 8)
        found.append((read(f"{part}-images-idx3-ubyte", 16).reshape(len(labels), 28, 28), labels))
    return found[0], found[1]


def _cifar(path: Path, labels: str) -> Any:
    with open(path, "rb") as file:
        data = pickle.load(file, encoding="bytes")
    return data[b"data"].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1), np.reshape(
        data[labels.encode()], (-1, 1)
    )


def cifar10() -> Any:
    """Small pictures of ten kinds: ((images, labels), (images, labels)).  The files are pickles: only read
    those that you trust."""
    folder = find("cifar-10-batches-py")
    parts = [_cifar(folder / f"data_batch_{i}", "labels") for i in range(1, 6)]
    train = np.concatenate([x for x, _ in parts]), np.concatenate([y for _, y in parts])
    return train, _cifar(folder / "test_batch", "labels")


def cifar100(label_mode: str = "fine") -> Any:
    """Small pictures of a hundred kinds (fine), or twenty (coarse).  As of `cifar10`."""
    if label_mode not in ("fine", "coarse"):
        raise ValueError('`label_mode` must be one of `"fine"`, `"coarse"`.')
    folder = find("cifar-100-python")
    return tuple(_cifar(folder / part, f"{label_mode}_labels") for part in ("train", "test"))


def _words(
    path: str, num_words: Any, skip_top: int, maxlen: Any, seed: int, start: Any, oov: Any, shift: int
) -> Any:
    """Texts as lists of numbers, shuffled: (texts, labels)."""
    with np.load(find(path), allow_pickle=True) as data:
        parts = [(data[f"x_{p}"], data[f"y_{p}"]) for p in ("train", "test")] if "x_train" in data else None
        parts = parts or [(data["x"], data["y"])]
    random = np.random.RandomState(seed)
    shuffled = []
    for x, y in parts:
        order = np.arange(len(x))
        random.shuffle(order)
        shuffled.append((x[order], y[order]))
    xs = [list(row) for x, _ in shuffled for row in x]
    ys = np.concatenate([y for _, y in shuffled])
    if start is not None:
        xs = [[start, *(w + shift for w in row)] for row in xs]
    elif shift:
        xs = [[w + shift for w in row] for row in xs]
    if maxlen:
        kept = [i for i, row in enumerate(xs) if len(row) < maxlen]
        xs, ys = [xs[i] for i in kept], ys[kept]
    limit = num_words or max(max(row) for row in xs) + 1
    if oov is None:
        xs = [[w for w in row if skip_top <= w < limit] for row in xs]
    else:
        xs = [[w if skip_top <= w < limit else oov for w in row] for row in xs]
    return xs, ys, len(shuffled[0][0]) if len(shuffled) > 1 else None


def _objects(rows: list[Any]) -> Any:
    found = np.empty(len(rows), object)
    found[:] = rows
    return found


def imdb(
    path: str = "imdb.npz",
    num_words: int | None = None,
    skip_top: int = 0,
    maxlen: int | None = None,
    seed: int = 113,
    start_char: int | None = 1,
    oov_char: int | None = 2,
    index_from: int = 3,
) -> Any:
    """Reviews of films as numbers of words, and whether they praise: ((texts, labels), (texts, labels)).  The
    file has pickled lists: only read one that you trust."""
    xs, ys, at = _words(path, num_words, skip_top, maxlen, seed, start_char, oov_char, index_from)
    return (_objects(xs[:at]), ys[:at]), (_objects(xs[at:]), ys[at:])


def reuters(
    path: str = "reuters.npz",
    num_words: int | None = None,
    skip_top: int = 0,
    maxlen: int | None = None,
    test_split: float = 0.2,
    seed: int = 113,
    start_char: int | None = 1,
    oov_char: int | None = 2,
    index_from: int = 3,
) -> Any:
    """News as numbers of words, and their topics: ((texts, topics), (texts, topics)).  As of `imdb`."""
    xs, ys, _ = _words(path, num_words, skip_top, maxlen, seed, start_char, oov_char, index_from)
    at = int(len(xs) * (1 - test_split))
    return (_objects(xs[:at]), ys[:at]), (_objects(xs[at:]), ys[at:])


def imdb_words(path: str = "imdb_word_index.json") -> dict[str, int]:
    """The number of each word of `imdb`."""
    found: dict[str, int] = json.loads(find(path).read_text())
    return found


def reuters_words(path: str = "reuters_word_index.json") -> dict[str, int]:
    """The number of each word of `reuters`."""
    return imdb_words(path)
