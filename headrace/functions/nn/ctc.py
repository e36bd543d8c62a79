"""Connectionist temporal classification: tf.nn.ctc_loss and its decoders, labels without repetitions."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.functions.array.array import ones_like, reshape, shape, transpose
from headrace.functions.array.indexing import sequence_mask, where
from headrace.functions.array.stacking import concat, stack
from headrace.functions.control.map_fn import map_fn
from headrace.functions.math.cast import cast
from headrace.functions.math.math import not_equal, range_
from headrace.functions.math.reduce import reduce_max, reduce_sum
from headrace.functions.sparse.tensor import SparseTensor
from headrace.functions.values.old_names import renamed
from headrace.functions.values.structure import name_scope
from headrace.graph.tensor import Tensor
from headrace.ops.array import unique
from headrace.ops.array.constant import constant
from headrace.ops.array.indexing import scatter
from headrace.ops.array.indexing.mask import boolean_mask
from headrace.ops.array.indexing.where import where as places
from headrace.ops.declaration import array
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.math import arithmetic, logical
from headrace.ops.nn.sequences import ctc, ctc_decode


# -- the loss -------------------------------------------------------------------------------------
def ctc_loss(
    labels: Any,
    inputs: Any = None,
    sequence_length: Any = None,
    preprocess_collapse_repeated: bool = False,
    ctc_merge_repeated: bool = True,
    ignore_longer_outputs_than_inputs: bool = False,
    time_major: bool = True,
    logits: Any = None,
) -> Tensor:
    """The negative log probability of label sequences, over all ways to align them with outputs.

    Args:
      labels: int32 `SparseTensor` [batch, labels]; the blank is the last class.
      inputs: logits [time, batch, classes], or [batch, time, classes].
      sequence_length: int32 [batch], how long each output sequence is.
      preprocess_collapse_repeated: drop repeated labels first.
      ctc_merge_repeated: equal outputs in a row are one label, as usual.
      ignore_longer_outputs_than_inputs: loss 0, not an error, where there are more labels than
        outputs.
      time_major: the first dimension of the logits is time.
      logits: another name of `inputs`.

    Returns:
      float [batch].

    Raises:
      TypeError: the labels are not sparse.
    """
    if not isinstance(labels, SparseTensor):
        raise TypeError("Expected labels (first argument) to be a SparseTensor")
    inputs = renamed("logits", logits, "inputs", inputs)
    if not time_major:
        inputs = array.transpose(inputs, [1, 0, 2])
    loss = ctc.ctc_loss(
        inputs,
        labels.indices,
        labels.values,
        sequence_length,
        preprocess_collapse_repeated=preprocess_collapse_repeated,
        ctc_merge_repeated=ctc_merge_repeated,
        ignore_longer_outputs_than_inputs=ignore_longer_outputs_than_inputs,
    )[0]
    return loss


def ctc_loss_v2(
    labels: Any,
    logits: Any,
    label_length: Any,
    logit_length: Any,
    logits_time_major: bool = True,
    unique: tuple[Any, Any] | None = None,
    blank_index: int | None = None,
    name: str | None = None,
) -> Tensor:
    """`ctc_loss` of dense or sparse labels, with any class as the blank.

    Args:
      labels: int32 [batch, labels], or a `SparseTensor` of them.
      logits: [time, batch, classes], or [batch, time, classes].
      label_length: int32 [batch], how many labels there are; not used for sparse labels.
      logit_length: int32 [batch], how long each output sequence is.
      logits_time_major: the first dimension of the logits is time.
      unique: what `ctc_unique_labels` gives; it changes nothing here.
      blank_index: the class that is the blank, negative from the end; 0 if not given, must be given
        for sparse labels.
      name: name of the scope.

    Returns:
      float [batch].  Infinite where there is no way to read the labels.

    Raises:
      ValueError: sparse labels without `blank_index`.
    """
    if isinstance(labels, SparseTensor):
        if blank_index is None:
            raise ValueError("blank_index must be given when using SparseTensor labels.")
        logits = convert_to_tensor(logits, name="logits")
        logits, values = _blank_last(logits, labels.values, blank_index)
        labels = SparseTensor(labels.indices, values, labels.dense_shape)
        return ctc_loss(labels, logits, logit_length, time_major=logits_time_major)
    values = [logits, labels, label_length, logit_length]
    with name_scope(name, "ctc_loss_dense", values):
        logits = convert_to_tensor(logits, name="logits")
        labels = convert_to_tensor(labels, name="labels")
        label_length = convert_to_tensor(label_length, name="label_length")
        logit_length = convert_to_tensor(logit_length, name="logit_length")
        if not logits_time_major:
            logits = transpose(logits, perm=[1, 0, 2])
        logits, labels = _blank_last(logits, labels, blank_index or 0)
        return _dense_loss(logits, labels, label_length, logit_length)


def _blank_last(logits: Any, labels: Any, blank: Any) -> tuple[Any, Any]:
    """Logits and labels renumbered so that the blank is the last class."""
    if blank < 0:
        blank += _size(logits, 2)
    parts = [logits[:, :, :blank], logits[:, :, blank + 1 :], logits[:, :, blank : blank + 1]]
    return concat(parts, axis=2), where(labels < blank, labels, labels - 1)


def _dense_loss(logits: Any, labels: Any, label_length: Any, logit_length: Any) -> Tensor:
    blank: Any = cast(_size(logits, 2), labels.dtype) - 1
    longest = _size(labels, 1)
    used = sequence_mask(label_length, longest)
    # A sequence without labels still has an entry: a blank.
    present = sequence_mask(arithmetic.maximum(label_length, 1), longest)
    blanks = ones_like(labels) * blank
    sparse = dense_labels_to_sparse(where(used, labels, blanks), present)
    loss: Any = ctc_loss(sparse, logits, logit_length, ignore_longer_outputs_than_inputs=True)
    too_long = cast(label_length, dtypes.int32) > cast(logit_length, dtypes.int32)
    endless = ones_like(loss) * constant(np.inf, loss.dtype)
    return where(too_long, endless, loss)


def dense_labels_to_sparse(labels: Any, present: Any) -> SparseTensor:
    """A matrix of labels as a `SparseTensor` of those that are present."""
    indices = places(present)
    values = cast(boolean_mask(labels, present), dtypes.int32)
    return SparseTensor(indices, values, shape(labels, out_type=dtypes.int64))


def _size(tensor: Any, axis: int) -> Any:
    known = tensor.shape.dim(axis)
    return known if known is not None else shape(tensor)[axis]


# -- decoders -------------------------------------------------------------------------------------
def ctc_greedy_decoder(
    inputs: Any, sequence_length: Any, merge_repeated: bool = True
) -> tuple[list[SparseTensor], Tensor]:
    """The labels on the best path: the best class at every time.

    Args:
      inputs: logits [time, batch, classes]; the blank is the last class.
      sequence_length: int32 [batch].
      merge_repeated: equal classes in a row are one label.

    Returns:
      ([labels], minus the sum of the best logits [batch, 1]).
    """
    indices, values, sizes, score = ctc_decode.ctc_greedy_decoder(
        inputs, sequence_length, merge_repeated=merge_repeated
    )
    return [SparseTensor(indices, values, sizes)], score


def ctc_beam_search_decoder(
    inputs: Any, sequence_length: Any, beam_width: int = 100, top_paths: int = 1, merge_repeated: bool = True
) -> tuple[list[SparseTensor], Tensor]:
    """The most probable label sequences.

    Args:
      inputs: logits [time, batch, classes]; the blank is the last class.
      sequence_length: int32 [batch].
      beam_width: how many label sequences are kept at a time.
      top_paths: how many to return.
      merge_repeated: drop repeated labels in what is returned.

    Returns:
      (labels: one `SparseTensor` per path, log probabilities [batch, top_paths]).
    """
    indices, values, sizes, scores = ctc_decode.ctc_beam_search_decoder(
        inputs, sequence_length, beam_width=beam_width, top_paths=top_paths, merge_repeated=merge_repeated
    )
    return [SparseTensor(*part) for part in zip(indices, values, sizes)], scores


def ctc_beam_search_decoder_v2(
    inputs: Any, sequence_length: Any, beam_width: int = 100, top_paths: int = 1
) -> tuple[list[SparseTensor], Tensor]:
    """`ctc_beam_search_decoder` that keeps repeated labels; else arguments and results are the same."""
    return ctc_beam_search_decoder(inputs, sequence_length, beam_width, top_paths, False)


# -- labels ---------------------------------------------------------------------------------------
def collapse_repeated(labels: Any, seq_length: Any, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Label sequences without immediate repetitions.

    Args:
      labels: [batch, labels].
      seq_length: how many labels each row has.
      name: name of the scope.

    Returns:
      (labels, padded with 0 to the longest row; their lengths).
    """
    with name_scope(name, "collapse_repeated_labels", [labels, seq_length]):
        labels = convert_to_tensor(labels, name="labels")
        seq_length = convert_to_tensor(seq_length, name="seq_length")
        first = ones_like(labels[:, :1], dtypes.bool_)
        differs = concat([first, not_equal(labels[:, 1:], labels[:, :-1])], axis=1)
        kept = logical.logical_and(differs, sequence_mask(seq_length, maxlen=_size(labels, 1)))
        lengths = reduce_sum(cast(kept, dtypes.int32), axis=1)
        longest = reduce_max(lengths)
        places = reshape(sequence_mask(lengths, maxlen=longest), [-1])
        at = boolean_mask(range_(_size(places, 0)), places)
        chosen = boolean_mask(reshape(labels, [-1]), reshape(kept, [-1]))
        flat = scatter.scatter_nd(array.expand_dims(at, 1), chosen, shape(places))
        rows = stack([_size(labels, 0), longest])
        return reshape(flat, rows), cast(lengths, seq_length.dtype)


def ctc_unique_labels(labels: Any, name: str | None = None) -> tuple[Tensor, Tensor]:
    """The different labels of each row, and where each label is among them.

    Args:
      labels: int32 [batch, labels].
      name: name of the scope.

    Returns:
      (labels int64 [batch, labels], in order of first occurrence, filled up with 0; indices into
      them, int32 [batch, labels]).
    """
    with name_scope(name, "ctc_unique_labels", [labels]):
        labels = convert_to_tensor(labels, name="labels")

        def one(row: Any) -> list[Tensor]:
            found = unique.unique(row)
            missing = _size(found.idx, 0) - _size(found.y, 0)
            return [cast(array.pad(found.y, [[0, missing]]), dtypes.int64), found.idx]

        values, places = map_fn(one, labels, dtype=[dtypes.int64, dtypes.int32])
        return values, places
