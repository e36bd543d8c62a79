"""Beams from their steps: GatherTree, of tf.contrib.seq2seq."""

from __future__ import annotations

import numpy as np

from headrace.core.dtypes import int32
from headrace.core.errors import require
from headrace.core.shapes import show
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import merge, merge_sizes, replaced, with_rank


def gather_tree_shape(step_ids, parent_ids, max_sequence_lengths, end_token):
    steps, parents = with_rank(step_ids, 3), with_rank(parent_ids, 3)
    lengths = with_rank(max_sequence_lengths, 1)
    with_rank(end_token, 0)
    beams = merge(steps, parents)
    return replaced(beams, 1, merge_sizes(beams.sizes[1], lengths.sizes[0]))


@op(
    "GatherTree",
    "step_ids: T, parent_ids: T, max_sequence_lengths: int32, end_token: T -> beams: T",
    T=(int32,),
    shape=gather_tree_shape,
)
def gather_tree(step_ids, parent_ids, max_sequence_lengths, end_token):
    """Whole beams, from the id that each beam chose at each step and the beam it came from.

    The ids and parents are [time, batch, beam].  From its last step (at most the maximum of its
    batch member) each beam is followed back to the first; after a first end token only end tokens
    follow.
    """
    _check(step_ids, parent_ids, max_sequence_lengths, end_token)
    time, batch, width = step_ids.shape
    beams = np.full_like(step_ids, end_token)
    rows = np.arange(batch)[:, None]
    here = np.broadcast_to(np.arange(width), (batch, width))
    last = np.minimum(time, max_sequence_lengths)[:, None] - 1
    for level in range(time - 1, -1, -1):
        if level < time - 1:
            _check_parents(here, level < last, level, width)
        inside = level <= last
        at = np.where(inside, here, 0)
        beams[level] = np.where(inside, step_ids[level, rows, at], end_token)
        here = np.where(inside, parent_ids[level, rows, at], here)
    ended = np.logical_or.accumulate(beams == end_token, axis=0)
    beams[ended] = end_token
    return beams


def _check(step_ids, parent_ids, lengths, end_token):
    steps, parents = show(step_ids.shape), show(parent_ids.shape)
    require(step_ids.ndim == 3, f"step_ids must be a 3-tensor, saw shape: {steps}")
    require(lengths.ndim == 1, f"max_sequence_lengths must be a vector, saw shape: {show(lengths.shape)}")
    require(np.ndim(end_token) == 0, f"end_token must be a scalar, saw shape: {show(np.shape(end_token))}")
    require(
        step_ids.shape == parent_ids.shape,
        f"step_ids.shape must match parent_ids.shape.  but shapes are: {steps} and {parents}",
    )
    require(
        step_ids.shape[1] == lengths.shape[0],
        "batch size dimensions step_ids.shape[1] and max_sequence_lengths.shape[0] must match.  "
        f"but shapes are: {steps} and {show(lengths.shape)}",
    )


def _check_parents(parents, used, level, width):
    wrong = np.argwhere(used & ((parents < 0) | (parents >= width)))
    if wrong.size:
        batch, beam = wrong[0]
        require(
            False,
            f"Saw invalid parent id {parents[batch, beam]} at (batch, time, beam) == "
            f"({batch}, {level}, {beam})",
        )


@gather_tree.gradient
def _(node, dy):
    return None, None, None, None


@gather_tree.samples
def _(rng):
    steps = rng.integers(0, 5, size=(4, 2, 3)).astype(np.int32)
    parents = rng.integers(0, 3, size=(4, 2, 3)).astype(np.int32)
    end = np.int32(7)
    yield Sample(steps, parents, np.array([4, 2], np.int32), end)
    yield Sample(steps, parents, np.array([0, 9], np.int32), np.int32(3), note="ends early")
    none = np.zeros((0, 2, 3), np.int32)
    yield Sample(none, none, np.array([0, 1], np.int32), end, note="no steps")
    yield ErrorSample(steps, parents - 3, np.array([4, 4], np.int32), end, raises="parent id")
    yield ErrorSample(steps, parents, np.array([4], np.int32), end, raises="must match|equal")
