"""Helpers of the tests of tf.data: the elements of a dataset as plain Python values."""

from __future__ import annotations

from typing import Any

import headrace as tf


def plain(value: Any) -> Any:
    """Arrays as lists, in tuples and dicts."""
    if isinstance(value, dict):
        return {key: plain(v) for key, v in value.items()}
    if isinstance(value, tuple):
        return tuple(plain(v) for v in value)
    return value.tolist() if hasattr(value, "tolist") else value


def elements(make: Any, most: int = 1000) -> list[Any]:
    """All elements of the dataset that `make` builds, by a one-shot iterator in a graph of its own."""
    with tf.Graph().as_default():
        following = make().make_one_shot_iterator().get_next()
        found = []
        with tf.Session() as session:
            try:
                while len(found) < most:
                    found.append(plain(session.run(following)))
            except tf.errors.OutOfRangeError:
                pass
        return found
