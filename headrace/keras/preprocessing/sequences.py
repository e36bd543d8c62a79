"""Sequences of numbers: of one length, in pairs, as windows."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np

from headrace.keras.utils.data import Sequence


def pad_sequences(
    sequences: Any,
    maxlen: int | None = None,
    dtype: Any = "int32",
    padding: str = "pre",
    truncating: str = "pre",
    value: Any = 0.0,
) -> Any:
    """Sequences as rows of an array of one length.

    Args:
      sequences: lists of numbers, or of arrays of one shape.
      maxlen: the length; default that of the longest.
      dtype: element type.
      padding: where what is missing is filled: pre or post.
      truncating: where what is too much is cut: pre or post.
      value: what it is filled with.
    """
    if not hasattr(sequences, "__len__"):
        raise ValueError("`sequences` must be iterable.")
    for x in sequences:
        if not hasattr(x, "__len__"):
            raise ValueError(f"`sequences` must be a list of iterables. Found non-iterable: {x}")
    lengths = [len(x) for x in sequences]
    length = max(lengths, default=0) if maxlen is None else maxlen
    shape = next((np.asarray(x).shape[1:] for x in sequences if len(x)), ())
    is_text = np.issubdtype(dtype, np.str_)
    if isinstance(value, str) and dtype is not object and not is_text:
        raise ValueError(
            f"`dtype` {dtype} is not compatible with `value`'s type: {type(value)}\nYou should set "
            "`dtype=object` for "
            "variable length strings."
        )
    found = np.full((len(sequences), length, *shape), value, dtype=dtype)
    for row, x in zip(found, sequences):
        if not len(x):
            continue
        if truncating not in ("pre", "post"):
            raise ValueError(f'Truncating type "{truncating}" not understood')
        kept = np.asarray(x[-length:] if truncating == "pre" else x[:length], dtype=dtype)
        if kept.shape[1:] != shape:
            raise ValueError(
                f"Shape of sample {kept.shape[1:]} of sequence is different from expected shape {shape}"
            )
        if padding == "post":
            row[: len(kept)] = kept
        elif padding == "pre":
            row[-len(kept) :] = kept
        else:
            raise ValueError(f'Padding type "{padding}" not understood')
    return found


def make_sampling_table(size: int, sampling_factor: float = 1e-5) -> Any:
    """How likely the i-th most frequent word is taken, where frequent ones are taken less (word2vec)."""
    rank = np.arange(size)
    rank[0] = 1
    rate = rank * (np.log(rank) + 0.577) + 0.5 - 1.0 / (12.0 * rank)  # Zipf: 1 / frequency
    scaled = sampling_factor * rate
    return np.minimum(1.0, scaled / np.sqrt(scaled))


def skipgrams(
    sequence: Any,
    vocabulary_size: int,
    window_size: int = 4,
    negative_samples: float = 1.0,
    shuffle: bool = True,
    categorical: bool = False,
    sampling_table: Any = None,
    seed: Any = None,
) -> tuple[list[Any], list[Any]]:
    """Pairs of words near each other (label 1), and of a word and a random one (label 0).

    Args:
      sequence: numbers of words; 0 does not count.
      vocabulary_size: how many words there are.
      window_size: how far words may be apart.
      negative_samples: random pairs per pair.
      shuffle: in random order?
      categorical: labels as [0, 1] and [1, 0]?
      sampling_table: how likely each word is taken.
      seed: of the order.
    """
    couples: list[Any] = []
    labels: list[Any] = []
    for i, word in enumerate(sequence):
        if not word or (sampling_table is not None and sampling_table[word] < random.random()):
            continue
        for j in range(max(0, i - window_size), min(len(sequence), i + window_size + 1)):
            if j != i and sequence[j]:
                couples.append([word, sequence[j]])
                labels.append([0, 1] if categorical else 1)
    if negative_samples > 0:
        count = int(len(labels) * negative_samples)
        words = [couple[0] for couple in couples]
        random.shuffle(words)
        couples += [[words[i % len(words)], random.randint(1, vocabulary_size - 1)] for i in range(count)]
        labels += [[1, 0] if categorical else 0] * count
    if shuffle:
        order = random.randint(0, 10**6) if seed is None else seed
        random.Random(order).shuffle(couples)
        random.Random(order).shuffle(labels)
    return couples, labels


class TimeseriesGenerator(Sequence):
    """Windows of a time series, in batches.

    Args:
      data: the series; its first axis is time.
      targets: what follows each window.
      length: of a window.
      sampling_rate: every how many steps a window has one.
      stride: how far windows are apart.
      start_index, end_index: where in the series.
      shuffle: windows at random places?
      reverse: windows backwards?
      batch_size: windows per batch.
    """

    def __init__(
        self,
        data: Any,
        targets: Any,
        length: int,
        sampling_rate: int = 1,
        stride: int = 1,
        start_index: int = 0,
        end_index: int | None = None,
        shuffle: bool = False,
        reverse: bool = False,
        batch_size: int = 128,
    ) -> None:
        if len(data) != len(targets):
            raise ValueError(
                f"Data and targets have to be of same length. Data length is {len(data)} while target "
                "length is "
                f"{len(targets)}"
            )
        self.data, self.targets, self.length = data, targets, length
        self.sampling_rate, self.stride = sampling_rate, stride
        self.start_index = start_index + length
        self.end_index = len(data) - 1 if end_index is None else end_index
        self.shuffle, self.reverse, self.batch_size = shuffle, reverse, batch_size
        if self.start_index > self.end_index:
            raise ValueError(
                f"`start_index+length={self.start_index} > end_index={self.end_index}` is disallowed, as no "
                "part of "
                "the sequence would be left to be used as current step."
            )

    def __len__(self) -> int:
        span = self.batch_size * self.stride
        return (self.end_index - self.start_index + span) // span

    def __getitem__(self, index: int) -> Any:
        if self.shuffle:
            rows = np.random.randint(self.start_index, self.end_index + 1, size=self.batch_size)
        else:
            first = self.start_index + self.batch_size * self.stride * index
            last = min(first + self.batch_size * self.stride, self.end_index + 1)
            rows = np.arange(first, last, self.stride)
        windows = np.array([self.data[row - self.length : row : self.sampling_rate] for row in rows])
        targets = np.array([self.targets[row] for row in rows])
        return (windows[:, ::-1, ...], targets) if self.reverse else (windows, targets)

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal one, series as JSON."""
        names = (
            "length",
            "sampling_rate",
            "stride",
            "start_index",
            "end_index",
            "shuffle",
            "reverse",
            "batch_size",
        )
        listed = {k: np.asarray(v).tolist() for k, v in (("data", self.data), ("targets", self.targets))}
        return {k: json.dumps(v) for k, v in listed.items()} | {name: getattr(self, name) for name in names}

    def to_json(self, **kwargs: Any) -> str:
        """Class and configuration as JSON."""
        return json.dumps({"class_name": type(self).__name__, "config": self.get_config()}, **kwargs)
