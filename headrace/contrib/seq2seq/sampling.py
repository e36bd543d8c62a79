"""Random choices of a decoder: coins and categories, one per member of a batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.core import dtypes
from headrace.core.dtypes import DTypeLike
from headrace.functions.array.array import reshape, shape, transpose
from headrace.functions.array.stacking import concat
from headrace.functions.math.cast import cast
from headrace.functions.math.math import sigmoid
from headrace.functions.math.reduce import reduce_prod
from headrace.functions.random.random import multinomial, random_uniform
from headrace.functions.values.structure import name_scope
from headrace.graph.tensor import Tensor
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.math import comparison


def bernoulli_sample(
    probs: Any = None,
    logits: Any = None,
    dtype: DTypeLike = dtypes.int32,
    sample_shape: Any = (),
    seed: int | None = None,
) -> Tensor:
    """Coins that fall on one with these probabilities: [*sample_shape, *shape of probs].

    Args:
      probs: probabilities of one.
      logits: their logits, if `probs` is not given.
      dtype: type of the result.
      sample_shape: how many of each; a number, or sizes.
      seed: of this draw.
    """
    if probs is None:
        probs = sigmoid(logits, name="probs")
    probs = convert_to_tensor(probs, name="probs")

    def draw(count: Tensor) -> Tensor:
        sizes = concat([[count], shape(probs)], 0)
        uniform = random_uniform(sizes, seed=seed, dtype=probs.dtype)
        drawn: Tensor = cast(comparison.less(uniform, probs), dtype)
        return drawn

    return _drawn(draw, sample_shape)


def categorical_sample(
    logits: Any, dtype: Any = dtypes.int32, sample_shape: Any = (), seed: int | None = None
) -> Tensor:
    """Categories with these logits (along the last axis): [*sample_shape, *the other axes].

    Args:
      logits: of the categories, unnormalised.
      dtype: type of the result.
      sample_shape: how many of each; a number, or sizes.
      seed: of this draw.
    """
    logits = convert_to_tensor(logits, name="logits")
    sizes = shape(logits)
    rows = logits if logits.shape.rank == 2 else reshape(logits, [-1, sizes[-1]])
    kind = dtypes.int64 if logits.dtype.size > 4 else dtypes.int32

    def draw(count: Tensor) -> Tensor:
        chosen = multinomial(rows, count, seed=seed, output_dtype=kind)
        drawn: Tensor = cast(reshape(transpose(chosen), concat([[count], sizes[:-1]], 0)), dtype)
        return drawn

    return _drawn(draw, sample_shape)


def _drawn(draw: Callable[[Tensor], Tensor], sample_shape: Any) -> Tensor:
    """As many draws as a shape has elements, in that shape."""
    with name_scope(None, "call_sampler", [sample_shape]):
        wanted = convert_to_tensor(sample_shape, dtype=dtypes.int32, name="sample_shape")
        if wanted.shape.rank != 1:
            wanted = reshape(wanted, [-1])
        samples = draw(reduce_prod(wanted))
        return reshape(samples, concat([wanted, shape(samples)[1:]], 0))
