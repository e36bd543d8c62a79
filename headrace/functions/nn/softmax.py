"""tf.nn.softmax, log_softmax, and the cross entropies of softmax with labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.errors import InvalidArgumentError
from headrace.core.families import named
from headrace.core.shapes import make_shape
from headrace.functions.array.array import rank, shape
from headrace.functions.array.checks import assert_equal
from headrace.functions.array.slice import slice_
from headrace.functions.array.stacking import concat
from headrace.functions.math.cast import cast
from headrace.functions.math.math import range_
from headrace.functions.values.old_names import renamed
from headrace.functions.values.structure import name_scope
from headrace.graph.defaults import get_default_graph
from headrace.graph.tensor import Tensor
from headrace.ops.array import source
from headrace.ops.declaration import array
from headrace.ops.declaration.constants import constant_value
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.nn import softmax as ops


def _along(build: Any, logits: Any, axis: Any, name: str | None) -> Tensor:
    """An op on the last axis, applied to another one by exchanging the two."""
    x = convert_to_tensor(logits)
    count = x.shape.rank
    if not isinstance(axis, Tensor) and (axis == -1 or (count is not None and axis == count - 1)):
        found: Tensor = build(x, name=name)
        return found
    known = constant_value(axis) if isinstance(axis, Tensor) else axis
    if known is not None and count is not None and not -count <= known < count:
        raise InvalidArgumentError(
            None,
            None,
            f"Dimension ({known}) must be in the range [{-count}, {count}) where {count} is the "
            "number of dimensions in the input.",
        )
    place: Any = axis if known is None else int(known)
    total: Any = rank(x)
    last = total - 1
    place = place % total if known is None or place < 0 else place
    swapped = build(_swap(x, place, last))
    result = _swap(swapped, place, last, name)
    result.set_shape(x.shape)
    return result


def _swap(x: Tensor, place: Any, last: Any, name: str | None = None) -> Tensor:
    order = concat([range_(place), [last], range_(place + 1, last), [place]], 0)
    return array.transpose(x, order, name=name)


def _softmax(build: Any, name: str, formula: str, example: str = "") -> Callable[..., Tensor]:
    @named(
        name,
        f"""{formula} along an axis.

    Args:
      logits: floats.
      axis: the axis, the last one if not given.
      name: name of the node.
      dim: old name of `axis`.

    Raises:
      InvalidArgumentError: there is no such axis.{example}
    """,
    )
    def function(logits: Any, axis: Any = None, name: str | None = None, dim: Any = None) -> Tensor:
        axis = renamed("axis", axis, "dim", dim)
        return _along(build, logits, -1 if axis is None else axis, name)

    return function


softmax = _softmax(
    ops.softmax,
    "softmax",
    "exp(logits) / sum(exp(logits))",
    """

    Example:
      >>> tf.nn.softmax([0.0, np.log(3.0)])      # 0.25 0.75""",
)
log_softmax = _softmax(ops.log_softmax, "log_softmax", "logits - log(sum(exp(logits)))")


# -- cross entropy --------------------------------------------------------------------------------
def check_named(function: str, sentinel: Any, labels: Any, logits: Any) -> None:
    """Labels and logits are easily confused: they must be given by name."""
    if sentinel is not None:
        raise ValueError(f"Only call `{function}` with named arguments (labels=..., logits=..., ...)")
    if labels is None or logits is None:
        raise ValueError("Both labels and logits must be provided.")


def softmax_cross_entropy_with_logits_v2(
    labels: Any, logits: Any, axis: Any = None, name: str | None = None, dim: Any = None
) -> Tensor:
    """The cross entropy of softmax(logits) with a distribution over classes.

    Args:
      labels: probabilities of the classes, in the shape of `logits`.
      logits: scores of the classes, floats.
      axis: where the classes are; the last axis if not given.
      name: name of the scope.
      dim: old name of `axis`.

    Returns:
      The loss, without the axis of the classes, in the type of `logits`.  Gradients flow into both.
    """
    axis = renamed("axis", axis, "dim", dim)
    axis = -1 if axis is None else axis
    with name_scope(name, "softmax_cross_entropy_with_logits", [logits, labels]) as scope:
        scores: Any = convert_to_tensor(logits, name="logits")
        kind, known = scores.dtype.base, scores.shape
        labels = convert_to_tensor(labels, name="labels")
        is_half = kind in (dtypes.float16, dtypes.bfloat16)
        scores = cast(scores, dtypes.float32) if is_half else scores
        labels = cast(labels, scores.dtype)
        count: Any = rank(scores)
        if axis != -1:
            scores, labels = (_to_end(t, axis, count) for t in (scores, labels))
        sizes = shape(scores)
        scores, labels = _rows(scores), _rows(labels)
        loss = ops.softmax_cross_entropy_with_logits(scores, labels, name=scope)[0]
        loss = array.reshape(loss, slice_(sizes, [0], [count - 1]))
        if known.rank is not None:
            left = list(known.sizes)
            del left[axis]
            loss.set_shape(make_shape(left))
        return cast(loss, kind) if is_half else loss


def _to_end(x: Tensor, axis: Any, count: Any) -> Tensor:
    axis = axis if axis >= 0 else axis + count
    order = concat([range_(axis), range_(axis + 1, count), [axis]], 0)
    return array.transpose(x, order)


def _rows(x: Tensor) -> Tensor:
    """A matrix: all dimensions but the last made one."""
    last = slice_(shape(x), [rank(x) - 1], [1])
    rows: Tensor = array.reshape(x, concat([[-1], last], 0))
    if x.shape.rank is not None and None not in x.shape.sizes[:-1]:
        rows.set_shape((int(np.prod(x.shape.sizes[:-1])), x.shape.sizes[-1]))  # type: ignore[arg-type]
    return rows


def softmax_cross_entropy_with_logits(
    _sentinel: Any = None,
    labels: Any = None,
    logits: Any = None,
    dim: Any = -1,
    name: str | None = None,
    axis: Any = None,
) -> Tensor:
    """`softmax_cross_entropy_with_logits_v2` whose gradient does not flow into the labels.

    Args:
      _sentinel: takes no value: labels and logits are given by name.
      labels: probabilities of the classes, in the shape of `logits`.
      logits: scores of the classes, floats.
      dim: where the classes are.
      name: name of the scope.
      axis: another name of `dim`.

    Returns:
      The loss, without the axis of the classes.
    """
    dim = renamed("axis", axis, "dim", dim)
    check_named("softmax_cross_entropy_with_logits", _sentinel, labels, logits)
    with name_scope(name, "softmax_cross_entropy_with_logits_sg", [logits, labels]) as scope:
        labels = source.stop_gradient(labels, name="labels_stop_gradient")
    return softmax_cross_entropy_with_logits_v2(labels, logits, axis=dim, name=scope)


def sparse_softmax_cross_entropy_with_logits(
    _sentinel: Any = None, labels: Any = None, logits: Any = None, name: str | None = None
) -> Tensor:
    """The cross entropy of softmax(logits) with one class each.

    Args:
      _sentinel: takes no value: labels and logits are given by name.
      labels: the classes, int32 or int64 [...].
      logits: scores of the classes, floats [..., classes].
      name: name of the scope.

    Returns:
      The loss [...], in the type of `logits`.

    Raises:
      ValueError: the shapes do not match.
    """
    check_named("sparse_softmax_cross_entropy_with_logits", _sentinel, labels, logits)
    with name_scope(name, "SparseSoftmaxCrossEntropyWithLogits", [labels, logits]):
        labels, logits = convert_to_tensor(labels), convert_to_tensor(logits)
        is_half = logits.dtype.base is dtypes.float16
        scores = cast(logits, dtypes.float32) if is_half else logits
        sizes: Any = shape(labels)
        certain = _check_sparse(labels, logits)
        if logits.shape.rank == 2:
            loss = ops.sparse_softmax_cross_entropy_with_logits(scores, labels, name=name)[0]
            return cast(loss, dtypes.float16) if is_half else loss
        checks = [] if certain else [assert_equal(sizes, shape(logits)[:-1])]
        with get_default_graph().control_dependencies(checks):
            classes = shape(logits)[rank(logits) - 1]
            rows, flat = array.reshape(scores, [-1, classes]), array.reshape(labels, [-1])
            loss = ops.sparse_softmax_cross_entropy_with_logits(rows, flat, name=name)[0]
            loss = array.reshape(loss, sizes)
            loss.set_shape(labels.shape)
            return cast(loss, dtypes.float16) if is_half else loss


def _check_sparse(labels: Tensor, logits: Tensor) -> bool:
    """Do the shapes match?  False where that will only be known later."""
    if logits.shape.rank == 0:
        raise ValueError(f"Logits cannot be scalars - received shape {logits.shape}.")
    if None not in (logits.shape.rank, labels.shape.rank):
        if labels.shape.rank != logits.shape.rank - 1:  # type: ignore[operator]
            raise ValueError(
                f"Rank mismatch: Rank of labels (received {labels.shape.rank}) should equal rank "
                f"of logits minus 1 (received {logits.shape.rank}): the shapes are {labels.shape} "
                f"and {logits.shape}."
            )
    known = logits.shape[:-1] if logits.shape.rank is not None else logits.shape
    certain = labels.shape.is_full and known.is_full
    if certain and labels.shape.sizes != known.sizes:
        raise ValueError(
            f"Shape mismatch: labels of shape {labels.shape} do not index the last dimension of logits "
            f"of shape {logits.shape}."
        )
    return bool(certain)
