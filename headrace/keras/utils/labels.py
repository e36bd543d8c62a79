"""Labels and vectors as arrays."""

from __future__ import annotations

from typing import Any

import numpy as np


def to_categorical(y: Any, num_classes: int | None = None, dtype: Any = "float32") -> Any:
    """Numbers of classes as rows with a 1 at the class.

    Args:
      y: numbers of classes.
      num_classes: how many there are; default the largest and 1.
      dtype: element type.
    """
    y = np.array(y, dtype="int")
    shape = y.shape[:-1] if y.shape and y.shape[-1] == 1 and y.ndim > 1 else y.shape
    y = y.ravel()
    classes = num_classes or int(np.max(y)) + 1
    found = np.zeros((len(y), classes), dtype=dtype)
    found[np.arange(len(y)), y] = 1
    return found.reshape((*shape, classes))


def normalize(x: Any, axis: int = -1, order: int = 2) -> Any:
    """Vectors of length 1.

    Args:
      x: an array.
      axis: along which they are vectors.
      order: of the norm.
    """
    lengths = np.atleast_1d(np.linalg.norm(x, order, axis))
    lengths[lengths == 0] = 1
    return x / np.expand_dims(lengths, axis)
