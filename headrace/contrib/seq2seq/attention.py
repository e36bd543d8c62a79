"""Where to look in a memory: Luong's and Bahdanau's attention, and what mechanisms share.

A mechanism is called with a query [batch, depth] and a state, and returns alignments
[batch, memory time] that are one in sum, and its next state.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.dtypes import DTypeLike, as_dtype
from headrace.core.families import takes
from headrace.core.fields import reads
from headrace.functions.array.array import expand_dims, fill, ones_like, rank, reshape, shape, squeeze
from headrace.functions.array.checks import assert_positive
from headrace.functions.array.indexing import one_hot, sequence_mask, where
from headrace.functions.array.stacking import concat
from headrace.functions.linalg.linalg import matmul
from headrace.functions.math.elementwise import square, tanh
from headrace.functions.math.reduce import argmax, reduce_sum
from headrace.functions.nn.softmax import softmax
from headrace.functions.platform.scopes import control_dependencies
from headrace.functions.values import nest
from headrace.functions.values.structure import name_scope
from headrace.graph.tensor import Tensor
from headrace.layers.core import Dense
from headrace.layers.engine.base import Layer
from headrace.nn.rnn_parts import zero_states
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.math.exponential import rsqrt
from headrace.variables.initializers.initializers import Constant, Ones, Zeros
from headrace.variables.scope import get_variable, variable_scope


class AttentionMechanism:
    """The base of mechanisms."""

    @property
    def alignments_size(self) -> Any:
        """How many places the memory has."""
        raise NotImplementedError

    @property
    def state_size(self) -> Any:
        """The size of the mechanism's state."""
        raise NotImplementedError


class BaseAttentionMechanism(AttentionMechanism):
    """A memory, made ready: masked values, and keys to compare queries with.

    Args:
      query_layer: applied to queries; None for queries as they are.
      memory: [batch, time, ...], such as the outputs of an encoder.
      probability_fn: (scores, state) -> alignments.
      memory_sequence_length: how much of the memory each member has; the rest is zero, and its
        score is masked.
      memory_layer: from values to keys.
      check_inner_dims_defined: refuse a memory whose inner sizes are not known.
      score_mask_value: the score of what is not there; minus infinity if not given.
      custom_key_value_fn: (keys, values) -> (keys, values).
      name: of the scope.
    """

    def __init__(
        self,
        query_layer: Any,
        memory: Any,
        probability_fn: Callable[[Any, Any], Any],
        memory_sequence_length: Any = None,
        memory_layer: Any = None,
        check_inner_dims_defined: bool = True,
        score_mask_value: Any = None,
        custom_key_value_fn: Callable[[Any, Any], Any] | None = None,
        name: str | None = None,
    ) -> None:
        for word, layer in (("query_layer", query_layer), ("memory_layer", memory_layer)):
            if layer is not None and not isinstance(layer, Layer):
                raise TypeError(f"{word} is not a Layer: {type(layer).__name__}")
        if not callable(probability_fn):
            raise TypeError(f"probability_fn must be callable, saw type: {type(probability_fn).__name__}")
        self._query_layer, self._memory_layer = query_layer, memory_layer
        self.dtype = memory_layer.dtype
        if score_mask_value is None:
            score_mask_value = as_dtype(self.dtype).as_numpy_dtype(-np.inf)

        def masked(score: Any, state: Any) -> Any:
            return probability_fn(_masked_score(score, memory_sequence_length, score_mask_value), state)

        self._probability_fn = masked
        with name_scope(name, "BaseAttentionMechanismInit", nest.flatten(memory)):
            self._values = prepared_memory(memory, memory_sequence_length, check_inner_dims_defined)
            self._keys = memory_layer(self._values) if memory_layer else self._values
            if custom_key_value_fn is not None:
                self._keys, self._values = custom_key_value_fn(self._keys, self._values)
            self._batch_size = size_of(self._keys, 0)
            self._alignments_size = size_of(self._keys, 1)

    memory_layer: Any = reads("_memory_layer", "The layer from values to keys.")
    query_layer: Any = reads("_query_layer", "The layer on queries.")
    values: Any = reads("_values", "The memory, zero where a member has none.")
    keys: Any = reads("_keys", "What queries are compared with.")
    batch_size: Any = reads("_batch_size", "The batch of the memory.")
    alignments_size: Any = reads("_alignments_size")
    state_size: Any = reads("_alignments_size")

    def initial_alignments(self, batch_size: Any, dtype: Any) -> Any:
        """The alignments before the first step: zeros."""
        return zero_states(self._alignments_size, batch_size, dtype)

    def initial_state(self, batch_size: Any, dtype: Any) -> Any:
        """The state before the first step: as the alignments."""
        return self.initial_alignments(batch_size, dtype)


def luong_arguments(
    self: Any, num_units: int, memory: Any, memory_sequence_length: Any = None, scale: bool = False
) -> None:
    """What mechanisms with Luong's score take first."""


def bahdanau_arguments(
    self: Any, num_units: int, memory: Any, memory_sequence_length: Any = None, normalize: bool = False
) -> None:
    """What mechanisms with Bahdanau's score take first."""


def _normalized(
    probability_fn: Callable[[Any], Any] | None = None,
    score_mask_value: Any = None,
    dtype: DTypeLike | None = None,
    custom_key_value_fn: Callable[[Any, Any], Any] | None = None,
) -> None:
    """What those take then whose alignments depend on the scores alone."""


def _stateless(probability_fn: Callable[[Any], Any] | None) -> Callable[[Any, Any], Any]:
    normal = probability_fn or softmax
    return lambda score, _: normal(score)


class LuongAttention(BaseAttentionMechanism):
    """Multiplicative attention: the score is the product of query and key.

    Args:
      num_units: depth of the keys, and of queries.
      memory: [batch, time, ...].
      memory_sequence_length: how much of the memory each member has.
      scale: multiply scores by a variable, "attention_g".
      probability_fn: scores -> alignments; softmax if not given.
      score_mask_value: the score of what is not there; minus infinity if not given.
      dtype: of the memory layer; float32 if not given.
      custom_key_value_fn: (keys, values) -> (keys, values).
      name: of the scope.
    """

    @takes(_normalized, first=luong_arguments, name="LuongAttention")
    def __init__(self, num_units: int, scale: bool, probability_fn: Any, dtype: Any, **options: Any) -> None:
        keys = projection(num_units, "memory_layer", dtype)
        super().__init__(None, probability_fn=_stateless(probability_fn), memory_layer=keys, **options)
        self._num_units, self._scale, self._name = num_units, scale, options["name"]

    def __call__(self, query: Any, state: Any) -> Any:
        """(alignments, next state), which are the same."""
        with variable_scope(None, "luong_attention", [query]):
            score = luong_score(query, self._keys, self._scale)
        alignments = self._probability_fn(score, state)
        return alignments, alignments


class BahdanauAttention(BaseAttentionMechanism):
    """Additive attention: the score is v · tanh(key + projected query).

    Args:
      num_units: depth of keys and projected queries.
      memory: [batch, time, ...].
      memory_sequence_length: how much of the memory each member has.
      normalize: give v a length of its own, "attention_g", and add a bias, "attention_b".
      probability_fn: scores -> alignments; softmax if not given.
      score_mask_value: the score of what is not there; minus infinity if not given.
      dtype: of both layers; float32 if not given.
      custom_key_value_fn: (keys, values) -> (keys, values).
      name: of the scope.
    """

    @takes(_normalized, first=bahdanau_arguments, name="BahdanauAttention")
    def __init__(
        self, num_units: int, normalize: bool, probability_fn: Any, dtype: Any, **options: Any
    ) -> None:
        query, keys = (projection(num_units, word, dtype) for word in ("query_layer", "memory_layer"))
        super().__init__(query, probability_fn=_stateless(probability_fn), memory_layer=keys, **options)
        self._num_units, self._normalize, self._name = num_units, normalize, options["name"]

    def __call__(self, query: Any, state: Any) -> Any:
        """(alignments, next state), which are the same."""
        with variable_scope(None, "bahdanau_attention", [query]):
            score = bahdanau_score(self._query_layer(query), self._keys, self._normalize)
        alignments = self._probability_fn(score, state)
        return alignments, alignments


def hardmax(logits: Any, name: str | None = None) -> Tensor:
    """One at the largest of each row (along the last axis), else zero."""
    with name_scope(name, "Hardmax", [logits]):
        logits = convert_to_tensor(logits, name="logits")
        return one_hot(argmax(logits, -1), size_of(logits, -1), dtype=logits.dtype)


# -- scores ---------------------------------------------------------------------------------------
def projection(num_units: int, name: str, dtype: Any) -> Dense:
    return Dense(num_units, name=name, use_bias=False, dtype=dtype or dtypes.float32)


def luong_score(query: Tensor, keys: Tensor, scale: bool) -> Tensor:
    """[batch, time], of a query [batch, depth] and keys [batch, time, depth]."""
    depth, units = query.shape.dim(-1), keys.shape.dim(-1)
    if depth != units or depth is None:
        raise ValueError(
            f"A query of {depth} units can not be multiplied with keys of {units} (the query is {query}, "
            f"the keys are {keys}): num_units must be the keys' size."
        )
    score = squeeze(matmul(expand_dims(query, 1), keys, transpose_b=True), [1])
    if not scale:
        return score
    factor = get_variable("attention_g", dtype=query.dtype, initializer=Ones(), shape=())
    scaled: Tensor = factor * score
    return scaled


def bahdanau_score(query: Tensor, keys: Tensor, normalize: bool) -> Tensor:
    """[batch, time], of a projected query [batch, units] and keys [batch, time, units]."""
    units: Any = keys.shape.dim(-1)
    dtype = query.dtype
    v = get_variable("attention_v", [units], dtype=dtype)
    joined = keys + expand_dims(query, 1)
    if normalize:
        length = Constant(math.sqrt(1.0 / units))
        g = get_variable("attention_g", dtype=dtype, initializer=length, shape=())
        b = get_variable("attention_b", [units], dtype=dtype, initializer=Zeros())
        v = g * v * rsqrt(reduce_sum(square(v)))
        joined = joined + b
    return reduce_sum(v * tanh(joined), [2])


# -- the memory -----------------------------------------------------------------------------------
def size_of(x: Tensor, axis: int) -> Any:
    """A number if known, else a tensor."""
    return x.shape.dim(axis) or shape(x)[axis]


def prepared_memory(memory: Any, lengths: Any, check_inner_dims: bool) -> Any:
    """The memory as tensors, zero beyond the length of each member."""
    memory = nest.map_structure(lambda m: convert_to_tensor(m, name="memory"), memory)
    parts = nest.flatten(memory)
    for part in parts:
        if check_inner_dims and not part.shape[2:].is_fully_defined():
            raise ValueError(
                f"Expected memory {part.name} to have fully defined inner dims, but saw shape: {part.shape}"
            )
    if lengths is None:
        return memory
    lengths = convert_to_tensor(lengths, name="memory_sequence_length")
    mask = sequence_mask(lengths, maxlen=shape(parts[0])[1], dtype=parts[0].dtype)

    def masked(part: Tensor) -> Any:
        dims = part.shape.rank if part.shape.rank is not None else rank(part)
        sizes = concat((shape(mask), fill([dims - 2], 1)), 0)
        return part * reshape(mask, sizes)

    return nest.map_structure(masked, memory)


def _masked_score(score: Tensor, lengths: Any, value: Any) -> Tensor:
    if lengths is None:
        return score
    message = "All values in memory_sequence_length must be greater than zero."
    with control_dependencies([assert_positive(lengths, message=message)]):
        mask = sequence_mask(lengths, maxlen=shape(score)[1])
    return where(mask, score, value * ones_like(score))
