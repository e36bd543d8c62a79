"""Losses over many classes that look at a few of them: noise-contrastive and sampled softmax."""

from __future__ import annotations

from typing import Any

from headrace.core import dtypes
from headrace.core.families import documented, takes
from headrace.functions.array import array
from headrace.functions.array.stacking import concat, stack
from headrace.functions.math.cast import cast
from headrace.functions.nn.candidates import compute_accidental_hits, log_uniform_candidate_sampler
from headrace.functions.nn.loss import sigmoid_cross_entropy_with_logits
from headrace.functions.nn.softmax import softmax_cross_entropy_with_logits_v2
from headrace.functions.values.structure import name_scope
from headrace.graph.tensor import Tensor
from headrace.nn.embedding import embedding_lookup
from headrace.ops.array.slices.slice import slice_
from headrace.ops.array.source import stop_gradient
from headrace.ops.linalg.matrix import matmul
from headrace.ops.math.arithmetic import log, mul
from headrace.ops.sparse.dense import sparse_to_dense
from headrace.variables.partitioned import PartitionedVariable


def _sum_rows(x: Any) -> Any:
    """The sums of the rows of a matrix, by a product with ones (a fast op with a fast gradient)."""
    columns: Any = array.shape(x)
    ones = array.ones(stack([columns[1], 1]), x.dtype)
    return array.reshape(matmul(x, ones), [-1])


def sampling(
    weights: Any,
    biases: Any,
    labels: Any,
    inputs: Any,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: tuple[Any, Any, Any] | None = None,
    remove_accidental_hits: bool = False,
    partition_strategy: str = "mod",
    name: str | None = None,
) -> None:
    """The arguments of the losses."""


_ARGUMENTS = """
    Args:
      weights: [num_classes, dim], a tensor, its parts, or a PartitionedVariable.
      biases: [num_classes].
      labels: [batch, num_true], int64.
      inputs: [batch, dim].
      num_sampled: how many classes to sample per batch.
      num_classes: how many classes there are.
      num_true: how many true classes per example.
      sampled_values: what a candidate sampler returned; default the log-uniform one's.
      remove_accidental_hits: leave out sampled classes that are true ones.
      partition_strategy: as for `embedding_lookup`.
      name: name of the scope."""
_RETURNS = """
    Returns:
      [batch], the loss of each example.
"""


@takes(sampling, subtract_log_q=True, seed=None)
def _sampled_logits(
    weights: Any,
    biases: Any,
    labels: Any,
    inputs: Any,
    num_sampled: int,
    num_classes: int,
    num_true: int,
    sampled_values: Any,
    subtract_log_q: bool,
    remove_accidental_hits: bool,
    partition_strategy: str,
    name: str | None,
    seed: int | None,
) -> tuple[Any, Any]:
    """(logits, labels), [batch, num_true + num_sampled] each: true classes first."""
    if isinstance(weights, PartitionedVariable):
        weights = list(weights)
    weights = weights if isinstance(weights, list) else [weights]
    with name_scope(name, "compute_sampled_logits", [*weights, biases, inputs, labels]):
        labels = cast(labels, dtypes.int64)
        flat = array.reshape(labels, [-1])
        if sampled_values is None:
            sampled_values = log_uniform_candidate_sampler(
                labels, num_true, num_sampled, True, num_classes, seed=seed
            )
        sampled, true_count, sampled_count = (stop_gradient(s) for s in sampled_values)
        sampled = cast(sampled, dtypes.int64)
        all_ids = concat([flat, sampled], 0)
        rows = _rows(weights, all_ids, inputs, partition_strategy)
        offsets = _rows(biases, all_ids, inputs, partition_strategy)
        count: Any = array.shape(flat)
        true_rows = slice_(rows, [0, 0], stack([count[0], -1]))
        sampled_rows = slice_(rows, stack([count[0], 0]), [-1, -1])
        true_logits = _true_logits(inputs, true_rows, num_true) + array.reshape(
            slice_(offsets, [0], count), [-1, num_true]
        )
        sampled_logits: Tensor = matmul(inputs, sampled_rows, transpose_b=True)
        sampled_logits = sampled_logits + slice_(offsets, count, [-1])
        if remove_accidental_hits:
            sampled_logits = sampled_logits + _hits(
                labels, sampled, num_true, num_sampled, sampled_logits.dtype
            )
        if subtract_log_q:
            true_logits = true_logits - log(true_count)
            sampled_logits = sampled_logits - log(sampled_count)
        targets = [array.ones_like(true_logits) / num_true, array.zeros_like(sampled_logits)]
        return concat([true_logits, sampled_logits], 1), concat(targets, 1)


def _rows(table: Any, ids: Any, inputs: Any, strategy: str) -> Any:
    return cast(embedding_lookup(table, ids, partition_strategy=strategy), inputs.dtype)


def _true_logits(inputs: Any, rows: Any, num_true: int) -> Any:
    """inputs[i] . rows[i, j] for the true classes j of example i."""
    width: Any = array.shape(rows)[1:2]
    grouped = array.reshape(rows, concat([[-1, num_true], width], 0))
    products = mul(array.expand_dims(inputs, 1), grouped)
    matrix = array.reshape(products, concat([[-1], width], 0))
    return array.reshape(_sum_rows(matrix), [-1, num_true])


def _hits(labels: Any, sampled: Any, num_true: int, num_sampled: int, dtype: Any) -> Any:
    """Very negative where a sampled class is a true one of the example."""
    rows, ids, weights = compute_accidental_hits(labels, sampled, num_true=num_true)
    places = concat(
        [array.reshape(rows, [-1, 1]), array.reshape(cast(ids, dtypes.int32), [-1, 1])], 1, "sparse_indices"
    )
    batch: Any = array.shape(labels)
    shape = concat([batch[:1], array.expand_dims(num_sampled, 0)], 0)
    return sparse_to_dense(places, shape, cast(weights, dtype), default_value=0.0, validate_indices=False)


@documented(_RETURNS)
@documented(_ARGUMENTS)
@takes(sampling, name="nce_loss")
def nce_loss(**given: Any) -> Any:
    """The noise-contrastive estimation loss, for training alone."""
    logits, targets = _sampled_logits(**given)
    losses = sigmoid_cross_entropy_with_logits(labels=targets, logits=logits, name="sampled_losses")
    return _sum_rows(losses)


@documented(_RETURNS)
@documented(f"{_ARGUMENTS}\n      seed: seed of the sampler.")
@takes(sampling, remove_accidental_hits=True, name="sampled_softmax_loss", seed=None)
def sampled_softmax_loss(**given: Any) -> Any:
    """The softmax loss over the true classes and a sample of the others, for training alone."""
    logits, targets = _sampled_logits(**given)
    targets = stop_gradient(targets, name="labels_stop_gradient")
    return softmax_cross_entropy_with_logits_v2(labels=targets, logits=logits)
