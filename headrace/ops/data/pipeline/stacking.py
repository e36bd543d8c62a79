"""Elements put together to a batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.core.errors import InvalidArgumentError
from headrace.core.shapes import make_shape
from headrace.ops.data.pipeline.dataset import Element


def stacked(elements: Sequence[Element]) -> Element:
    """Component by component, along a new first dimension."""
    return [stack(i, [e[i] for e in elements]) for i in range(len(elements[0]))]


def stack(component: int, values: Sequence[Any]) -> Any:
    first = np.asarray(values[0])
    shape, dtype = first.shape, first.dtype
    for i, value in enumerate(values):
        if value.shape != shape:
            raise InvalidArgumentError(
                None,
                None,
                "Cannot batch tensors with different shapes in component "
                f"{component}. First element had shape {_shown(shape)} and element {i} had shape "
                f"{_shown(value.shape)}.",
            )
    out = np.empty((len(values), *shape), dtype)
    if dtype.kind == "O":
        for i, value in enumerate(values):
            out[i, ...] = value
    elif values:
        np.stack(values, out=out)
    return out


def _shown(shape: tuple[int, ...]) -> str:
    return str(make_shape(shape)).replace("(", "[").replace(",)", ")").replace(")", "]").replace(" ", "")
