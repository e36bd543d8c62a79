"""Attention that only moves forward: Bahdanau's and Luong's scores as chances to stop at a place."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from headrace.contrib.seq2seq.attention import (
    BaseAttentionMechanism,
    bahdanau_arguments,
    bahdanau_score,
    luong_arguments,
    luong_score,
    projection,
    size_of,
)
from headrace.core import dtypes
from headrace.core.dtypes import DTypeLike
from headrace.core.families import takes
from headrace.functions.array.array import ones, reshape, shape, transpose, zeros
from headrace.functions.array.indexing import one_hot
from headrace.functions.array.stacking import concat
from headrace.functions.control.functional import scan
from headrace.functions.math.cast import cast
from headrace.functions.math.clip import clip_by_value
from headrace.functions.math.math import sigmoid
from headrace.functions.math.sums import cumprod, cumsum
from headrace.functions.random.random import random_normal
from headrace.functions.values.structure import name_scope
from headrace.graph.tensor import Tensor
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.math.exponential import exp, log
from headrace.variables.scope import get_variable, variable_scope


def safe_cumprod(x: Any, *args: Any, **kwargs: Any) -> Tensor:
    """The cumulative product of numbers in [0, 1] by their logarithms, so that gradients are finite.

    Args:
      x: clipped to [smallest normal number, 1].
      *args: as of tf.cumsum.
      **kwargs: as of tf.cumsum.
    """
    with name_scope(None, "SafeCumprod", [x]):
        x = convert_to_tensor(x, name="x")
        tiny = np.finfo(x.dtype.as_numpy_dtype).tiny
        product: Tensor = exp(cumsum(log(clip_by_value(x, tiny, 1)), *args, **kwargs))
        return product


def monotonic_attention(p_choose_i: Any, previous_attention: Any, mode: str) -> Tensor:
    """The chance of each place to be where a scan stops that starts at the place of the step before.

    Args:
      p_choose_i: [batch, time], the chance to stop at a place that the scan reaches.
      previous_attention: [batch, time], where the step before stopped.
      mode: "recursive" goes through the places one by one; "parallel" is faster, and less exact
        where chances are close to one; "hard" takes chances of zero and one only.

    Raises:
      ValueError: there is no such mode.
    """
    p = convert_to_tensor(p_choose_i, name="p_choose_i")
    previous = convert_to_tensor(previous_attention, name="previous_attention")
    if mode == "recursive":
        batch = size_of(p, 0)
        passed = concat([ones((batch, 1), dtype=p.dtype), 1 - p[:, :-1]], 1)

        def reach(before: Any, here: Any) -> Any:
            return reshape(here[0] * before + here[1], (batch,))

        reached = scan(reach, [transpose(passed), transpose(previous)], zeros((batch,), dtype=p.dtype))
        result: Tensor = p * transpose(reached)
    elif mode == "parallel":
        passed = safe_cumprod(1 - p, axis=1, exclusive=True)
        result = p * passed * cumsum(previous / clip_by_value(passed, 1e-10, 1.0), axis=1)
    elif mode == "hard":
        p = p * cumsum(previous, axis=1)  # nothing before the place of the step before
        result = p * cumprod(1 - p, axis=1, exclusive=True)
    else:
        raise ValueError("mode must be 'recursive', 'parallel', or 'hard'.")
    return result


def _probability(
    score: Any, previous: Any, sigmoid_noise: float, mode: str, seed: int | None = None
) -> Tensor:
    if sigmoid_noise > 0:
        score = score + sigmoid_noise * random_normal(shape(score), dtype=score.dtype, seed=seed)
    chance = cast(score > 0, score.dtype) if mode == "hard" else sigmoid(score)
    return monotonic_attention(chance, previous, mode)


def _scanning(
    score_mask_value: Any = None,
    sigmoid_noise: float = 0.0,
    sigmoid_noise_seed: int | None = None,
    score_bias_init: float = 0.0,
    mode: str = "parallel",
    dtype: DTypeLike | None = None,
) -> None:
    """What both take after the arguments of their scores."""


class _MonotonicAttention(BaseAttentionMechanism):
    """Starts at the first place of the memory."""

    def __init__(
        self,
        query_layer: Any,
        sigmoid_noise: float,
        sigmoid_noise_seed: int | None,
        score_bias_init: float,
        mode: str,
        **options: Any,
    ) -> None:
        chance = functools.partial(
            _probability, sigmoid_noise=sigmoid_noise, mode=mode, seed=sigmoid_noise_seed
        )
        super().__init__(query_layer, probability_fn=chance, **options)
        self._score_bias_init, self._name = score_bias_init, options["name"]

    def initial_alignments(self, batch_size: Any, dtype: Any) -> Any:
        first = zeros((batch_size,), dtype=dtypes.int32)
        return one_hot(first, self._alignments_size, dtype=dtype)


def _biased(score: Tensor, dtype: Any, start: float) -> Tensor:
    bias = get_variable("attention_score_bias", dtype=dtype, initializer=start)
    biased: Tensor = score + bias
    return biased


class BahdanauMonotonicAttention(_MonotonicAttention):
    """Monotonic attention with Bahdanau's score.

    Args:
      num_units: depth of keys and projected queries.
      memory: [batch, time, ...].
      memory_sequence_length: how much of the memory each member has.
      normalize: as of BahdanauAttention.
      score_mask_value: the score of what is not there; minus infinity if not given.
      sigmoid_noise: deviation of noise on scores, which teaches chances of zero and one.
      sigmoid_noise_seed: of the noise.
      score_bias_init: start of a variable added to scores; below zero for memories that are long.
      mode: as of monotonic_attention.
      dtype: of both layers; float32 if not given.
      name: of the scope.
    """

    @takes(_scanning, first=bahdanau_arguments, name="BahdanauMonotonicAttention")
    def __init__(self, num_units: int, normalize: bool, dtype: Any, **options: Any) -> None:
        query, keys = (projection(num_units, word, dtype) for word in ("query_layer", "memory_layer"))
        super().__init__(query, memory_layer=keys, **options)
        self._num_units, self._normalize = num_units, normalize

    def __call__(self, query: Any, state: Any) -> Any:
        """(alignments, next state), which are the same."""
        with variable_scope(None, "bahdanau_monotonic_attention", [query]):
            query = self._query_layer(query)
            score = bahdanau_score(query, self._keys, self._normalize)
            score = _biased(score, query.dtype, self._score_bias_init)
        alignments = self._probability_fn(score, state)
        return alignments, alignments


class LuongMonotonicAttention(_MonotonicAttention):
    """Monotonic attention with Luong's score.

    Args:
      num_units: depth of keys, and of queries.
      memory: [batch, time, ...].
      memory_sequence_length: how much of the memory each member has.
      scale: as of LuongAttention.
      score_mask_value: the score of what is not there; minus infinity if not given.
      sigmoid_noise: deviation of noise on scores, which teaches chances of zero and one.
      sigmoid_noise_seed: of the noise.
      score_bias_init: start of a variable added to scores; below zero for memories that are long.
      mode: as of monotonic_attention.
      dtype: of the memory layer; float32 if not given.
      name: of the scope.
    """

    @takes(_scanning, first=luong_arguments, name="LuongMonotonicAttention")
    def __init__(self, num_units: int, scale: bool, dtype: Any, **options: Any) -> None:
        super().__init__(None, memory_layer=projection(num_units, "memory_layer", dtype), **options)
        self._num_units, self._scale = num_units, scale

    def __call__(self, query: Any, state: Any) -> Any:
        """(alignments, next state), which are the same."""
        with variable_scope(None, "luong_monotonic_attention", [query]):
            score = luong_score(query, self._keys, self._scale)
            score = _biased(score, query.dtype, self._score_bias_init)
        alignments = self._probability_fn(score, state)
        return alignments, alignments
