"""CTCLoss: the loss of all ways to read a label sequence off a longer sequence of outputs.

Graves et al. 2006.  A path visits the labels with blanks between, before and behind them (`states`);
it may stay, go on by one, or skip the blank between two different labels.  alpha and beta are the
log probabilities of all that leads to a state and away from it.  The blank is the last class.
"""

from __future__ import annotations

import numpy as np

from headrace.core.dtypes import float32, float64
from headrace.core.errors import require
from headrace.core.shapes import make_shape
from headrace.ops.array import reshape, source
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import merge_sizes, with_rank
from headrace.ops.declaration.signature import Type
from headrace.ops.sparse.layout import check_order

NEVER = -np.inf


def ctc_loss_shape(inputs, labels_indices, labels_values, sequence_length):
    inputs = with_rank(inputs, 3)
    rows, values = with_rank(labels_indices, 2), with_rank(labels_values, 1)
    merge_sizes(rows.dim(0), values.dim(0))
    batch = merge_sizes(inputs.dim(1), with_rank(sequence_length, 1).dim(0))
    return [make_shape((batch,)), make_shape((inputs.dim(0), batch, inputs.dim(2)))]


# -- labels -------------------------------------------------------------------------------------
def label_lists(indices, values, batch):
    """The labels of each sequence, from a sparse matrix."""
    labels = [[] for _ in range(batch)]
    for row, value in zip(indices[:, 0].tolist(), values.tolist()):
        require(0 <= row < batch, f"labels batch index must be between 0 and {batch} but saw: {row}")
        labels[row].append(value)
    return labels


def cleaned(labels, number, classes, collapse):
    """Labels without what follows the first blank; with `collapse`, without repetitions."""
    require(labels, f"Labels length is zero in batch {number}")
    found: list[int] = []
    ended = False
    for i, label in enumerate(labels):
        if collapse and i and label == labels[i - 1]:
            continue
        if label >= classes - 1:
            ended = True
            continue
        text = ",".join(map(str, labels))
        require(
            not ended,
            "Saw a non-null label (index >= num_classes - 1) following a null label, "
            f"batch: {number} num_classes: {classes} labels: {text} "
            f"labels seen so far: {','.join(map(str, found))}",
        )
        require(label >= 0, f"All labels must be nonnegative integers, batch: {number} labels: {text}")
        found.append(label)
    return found


# -- the recursions -------------------------------------------------------------------------------
def _logaddexp(*terms):
    with np.errstate(invalid="ignore"):
        return np.logaddexp.reduce(terms)


def _shift(x, by):
    """x moved by `by` states; what comes in is impossible."""
    out = np.full_like(x, NEVER)
    if by > 0:
        out[:, by:] = x[:, :-by]
    else:
        out[:, :by] = x[:, -by:]
    return out


class Lattice:
    """The states of a batch of sequences, and the moves between them.  Arrays are [batch, states]."""

    def __init__(self, labels, blank, merge_repeated):
        width = 2 * max(map(len, labels)) + 1
        self.state = np.full((len(labels), width), blank)
        for row, sequence in enumerate(labels):
            self.state[row, 1 : 2 * len(sequence) : 2] = sequence
        self.count = np.array([2 * len(sequence) + 1 for sequence in labels])
        is_label = self.state != blank
        self.may_stay = ~is_label | merge_repeated
        self.may_skip = is_label.copy()  # into this state, from two before
        self.may_skip[:, :2] = False
        if merge_repeated:
            self.may_skip[:, 2:] &= self.state[:, 2:] != self.state[:, :-2]
        at = np.arange(width)
        self.exists = at < self.count[:, None]
        self.is_end = self.exists & (at >= self.count[:, None] - 2)

    def forward(self, log_y, lengths):
        """alpha: [time, batch, states], with the output at that time."""
        alpha = np.full(log_y.shape, NEVER)
        alpha[0, :, :2] = log_y[0, :, :2]
        for t in range(1, len(log_y)):
            before = alpha[t - 1]
            alpha[t] = log_y[t] + _logaddexp(
                np.where(self.may_stay, before, NEVER),
                _shift(before, 1),
                np.where(self.may_skip, _shift(before, 2), NEVER),
            )
        return np.where(self.exists, alpha, NEVER)

    def backward(self, log_y, lengths):
        """beta: [time, batch, states], without the output at that time."""
        beta = np.full(log_y.shape, NEVER)
        for t in reversed(range(len(log_y))):
            last = (lengths - 1 == t)[:, None]
            if t + 1 < len(log_y):
                ahead = beta[t + 1] + log_y[t + 1]
                beta[t] = _logaddexp(
                    np.where(self.may_stay, ahead, NEVER),
                    _shift(ahead, -1),
                    _shift(np.where(self.may_skip, ahead, NEVER), -2),
                )
            beta[t] = np.where(last, np.where(self.is_end, 0.0, NEVER), beta[t])
        return np.where(self.exists, beta, NEVER)


def loss_and_gradient(logits, labels, lengths, merge_repeated):
    """Loss per sequence and its gradient with respect to logits [time, batch, classes]."""
    shifted = logits - logits.max(axis=2, keepdims=True)
    log_y = shifted - np.log(np.exp(shifted).sum(axis=2, keepdims=True))
    lattice = Lattice(labels, logits.shape[2] - 1, merge_repeated)
    times, batch, width = len(logits), len(labels), lattice.state.shape[1]
    states = np.broadcast_to(lattice.state, (times, batch, width))
    log_state = np.take_along_axis(log_y, states, 2)
    joint = lattice.forward(log_state, lengths) + lattice.backward(log_state, lengths)
    total = np.logaddexp.reduce(joint[0], axis=1)
    possible = total > NEVER
    share = np.exp(joint - np.where(possible, total, 0)[None, :, None])
    expected = np.zeros_like(logits)
    row, column = np.arange(times)[:, None, None], np.arange(batch)[:, None]
    np.add.at(expected, (row, column, states), share)
    # Without any path there is nothing to move towards; TF leaves the probabilities.
    gradient = np.exp(log_y) - np.where(possible[:, None], expected, 0)
    within = np.arange(times)[:, None] < lengths
    return -total, np.where(within[..., None], gradient, 0)


@op(
    "CTCLoss",
    "inputs: T, labels_indices: int64, labels_values: int32, sequence_length: int32 -> loss: T, gradient: T",
    preprocess_collapse_repeated=False,
    ctc_merge_repeated=True,
    ignore_longer_outputs_than_inputs=False,
    T=Type((float32, float64), default=float32),
    shape=ctc_loss_shape,
)
def ctc_loss(
    inputs,
    labels_indices,
    labels_values,
    sequence_length,
    *,
    preprocess_collapse_repeated,
    ctc_merge_repeated,
    ignore_longer_outputs_than_inputs,
):
    """The negative log probability of labels (a sparse matrix) given logits [time, batch, classes],
    and its gradient."""
    _check(inputs, labels_indices, labels_values, sequence_length)
    _, batch, classes = inputs.shape
    check_order(labels_indices, (batch, int(labels_indices[:, 1].max(initial=-1)) + 1))
    given = label_lists(labels_indices, labels_values, batch)
    labels = [cleaned(l, b, classes, preprocess_collapse_repeated) for b, l in enumerate(given)]
    used = sequence_length > 0
    for b, (sequence, length) in enumerate(zip(given, sequence_length.tolist())):
        if len(sequence) > length:
            require(
                ignore_longer_outputs_than_inputs,
                "Not enough time for target transition sequence (required: "
                f"{len(sequence)}, available: {length}){b}You can turn this error into a warning "
                "by using the flag ignore_longer_outputs_than_inputs",
            )
            used[b] = False
    loss, gradient = np.zeros(batch), np.zeros(inputs.shape)
    if used.any():
        chosen = [l for l, yes in zip(labels, used) if yes]
        logits = inputs[:, used].astype(np.float64)
        loss[used], gradient[:, used] = loss_and_gradient(
            logits, chosen, sequence_length[used], ctc_merge_repeated
        )
    return loss, gradient


def _check(inputs, indices, values, lengths):
    require(inputs.ndim == 3, "inputs is not a 3-Tensor")
    require(lengths.ndim == 1, "sequence_length is not a vector")
    require(indices.ndim == 2, "labels_indices is not a matrix")
    require(
        indices.shape[1] > 1, f"labels_indices second dimension must be >= 1. Received {indices.shape[1]}"
    )
    require(indices.shape[1] == 2, "Order length must be SparseTensor rank.")
    require(values.ndim == 1, "labels_values is not a vector")
    times, batch = inputs.shape[:2]
    require(times != 0, "Max time or first dimension of input cannot be 0.")
    require(
        batch == len(lengths),
        f"len(sequence_length) != batch_size.  len(sequence_length):  {len(lengths)} batch_size: {batch}",
    )
    require(
        len(indices) == len(values),
        "labels_indices and labels_values must contain the same number of rows, but saw shapes: "
        f"{list(indices.shape)} vs. {list(values.shape)}",
    )
    require(batch != 0, "batch_size must not be 0")
    for b, length in enumerate(lengths.tolist()):
        require(length <= times, f"sequence_length({b}) <= {times}")
        require(length >= 0, f"seq_len({b}) < 0")


@ctc_loss.gradient
def _(node, dloss, _):
    gradient = source.prevent_gradient(
        node.outputs[1],
        message="ctc_loss computes its gradient along with its value, so it has no second derivative",
    )
    row = reshape.expand_dims(reshape.expand_dims(dloss, 0), -1)
    return row * gradient, None, None, None


@ctc_loss.samples
def _(rng):
    x = rng.normal(size=(6, 3, 5))
    indices = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [1, 2], [2, 0]])
    values = np.array([1, 1, 0, 3, 2, 2], np.int32)
    lengths = np.array([6, 5, 4], np.int32)
    # The rule knows the loss alone: the second output can not be differentiated.
    yield Sample(x, indices, values, lengths, grad=False)
    for merge in (True, False):
        for collapse in (True, False):
            yield Sample(
                x,
                indices,
                values,
                lengths,
                ctc_merge_repeated=merge,
                preprocess_collapse_repeated=collapse,
                grad=False,
            )
    short = np.array([6, 2, 0], np.int32)
    yield Sample(x, indices, values, short, ignore_longer_outputs_than_inputs=True, grad=False)
    yield ErrorSample(x, indices, values, short, raises="Not enough time for target transition")
    yield ErrorSample(x, indices[:5], values[:5], lengths, raises="Labels length is zero in batch 2")
    yield ErrorSample(x, indices, values - 1, lengths, raises="nonnegative integers")
    cube = np.concatenate([indices, indices[:, :1]], 1)
    yield ErrorSample(x, cube, values, lengths, raises="must be SparseTensor rank")
    twice = indices[[0, 1, 2, 2, 4, 5]]
    yield ErrorSample(x, twice, values, lengths, raises=r"indices\[3\] = \[1,0\] is repeated")
