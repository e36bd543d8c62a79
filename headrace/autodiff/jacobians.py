"""Jacobians out of gradients: one for each element of the target, stacked.

In: the target, and what gives derivatives for weights of its elements.  Out: tensors whose first axes are the
target's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from headrace.functions.array.array import reshape
from headrace.functions.array.stacking import stack
from headrace.graph.tensor import Tensor
from headrace.ops.array.constant import constant


def _unit(target: Tensor, index: Any) -> Any:
    """Weights that are one at an index and zero elsewhere."""
    weights = np.zeros(_sizes(target.shape), target.dtype.as_numpy_dtype)
    weights[index] = 1
    return constant(weights, target.dtype)


def _sizes(shape: Any) -> list[int]:
    if not shape.is_fully_defined():
        raise ValueError(f"a Jacobian needs a target of a known shape, not {shape}")
    return list(shape.as_list())


def rows(target: Tensor, along: Callable[[Any], list[Any]]) -> list[Any]:
    """For each source its derivatives by source element, under the target's axes; None where there are
    none."""
    sizes = _sizes(target.shape)
    found = [along(_unit(target, index)) for index in np.ndindex(*sizes)]
    return [_stacked(sizes, of_source) for of_source in zip(*found)]


def _stacked(sizes: list[int], parts: Any) -> Any:
    if any(p is None for p in parts):
        return None
    return reshape(stack(list(parts)), [*sizes, *_sizes(parts[0].shape)])


def check_batches(target: Tensor, source: Tensor) -> None:
    first, second = (t.shape.with_rank_at_least(2).dims or [] for t in (target, source))
    if not (first and second and first[0].is_compatible_with(second[0])):
        raise ValueError(
            f"Need first dimension of target shape ({target.shape}) and source shape ({source.shape}) to "
            "match."
        )


def of_batch(target: Tensor, source: Tensor, along: Callable[[Any], Any]) -> Any:
    """[batch, target..., source...]; None where the target does not depend on the source."""
    batch, *rest = _sizes(target.shape)
    found = [along(_unit(target, (slice(None), *index))) for index in np.ndindex(*rest)]
    if not found:
        return constant(np.zeros([batch, *rest, *_sizes(source.shape)[1:]], source.dtype.as_numpy_dtype))
    if any(g is None for g in found):
        return None
    return reshape(stack(found, axis=1), [batch, *rest, *_sizes(source.shape)[1:]])
