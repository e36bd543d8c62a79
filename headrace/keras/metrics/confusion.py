"""True and false positives and negatives at thresholds, and what is made of them."""

from __future__ import annotations

from typing import Any

from headrace.functions.array.checks import assert_greater_equal, assert_less_equal
from headrace.keras.losses.reduction import fitted
from headrace.keras.metrics.averages import flat
from headrace.keras.metrics.base import Metric
from headrace.layers import ops
from headrace.layers.losses.weights_broadcast import broadcast_weights

LEAST = -1e10  # below every prediction
POSITIVES = {"true_positives": (True, True), "false_positives": (False, True)}
NEGATIVES = {"true_negatives": (False, False), "false_negatives": (True, False)}
CELLS = POSITIVES | NEGATIVES  # name: (label, prediction)


def checked_thresholds(thresholds: Any, default: float = 0.5) -> list[Any]:
    """Thresholds as a list of numbers from 0 to 1."""
    if thresholds is None:
        return [default]
    found = list(thresholds) if isinstance(thresholds, list | tuple) else [thresholds]
    wrong = [t for t in found if t is None or t < 0 or t > 1]
    if wrong:
        raise ValueError(f"Threshold values must be in [0, 1]. Invalid values: {wrong}")
    return found


def count(
    variables: dict[str, Any],
    y_true: Any,
    y_pred: Any,
    thresholds: list[Any],
    top_k: int | None = None,
    class_id: int | None = None,
    sample_weight: Any = None,
) -> Any:
    """Add to each of the variables, one per cell of the confusion matrix, how many examples are in it.

    Returns:
      A node that has done it.
    """
    y_true, y_pred = (ops.cast(flat(x), ops.dtypes.float32) for x in (y_true, y_pred))
    y_pred.shape.assert_is_compatible_with(y_true.shape)
    checks = [
        assert_greater_equal(y_pred, 0.0, message="predictions must be >= 0"),
        assert_less_equal(y_pred, 1.0, message="predictions must be <= 1"),
    ]
    with ops.control_dependencies([check for check in checks if check is not None]):
        y_pred, y_true, weights = fitted(ops.identity(y_pred), y_true, sample_weight)
    if top_k is not None:
        y_pred = _only_top(y_pred, top_k)
    if class_id is not None:
        y_true, y_pred = y_true[..., class_id], y_pred[..., class_id]
    number = len(thresholds)
    if weights is not None:
        weights = broadcast_weights(ops.cast(weights, ops.dtypes.float32), y_pred)
        weights = ops.tile(ops.reshape(weights, [1, -1]), [number, 1])
    limits = ops.expand_dims(ops.constant(thresholds, ops.dtypes.float32), 1)
    predicted = ops.greater(ops.tile(ops.reshape(y_pred, [1, -1]), [number, 1]), limits)
    labels = ops.tile(ops.reshape(ops.cast(y_true, ops.dtypes.bool_), [1, -1]), [number, 1])
    updates = []
    for name, variable in variables.items():
        cell = zip(CELLS[name], (labels, predicted))
        inside = ops.logical_and(*(x if wanted else ops.logical_not(x) for wanted, x in cell))
        found = ops.cast(inside, ops.dtypes.float32)
        if weights is not None:
            found = found * weights
        updates.append(variable.assign_add(ops.reduce_sum(found, 1)))
    return ops.group(*updates) if not ops.executing_eagerly() else None


def _only_top(x: Any, k: int) -> Any:
    """The `k` largest of the last dimension; the others are below every threshold."""
    _, places = ops.top_k(x, k, sorted=False)
    kept = ops.reduce_sum(ops.one_hot(places, x.shape.as_list()[-1], axis=-1), axis=-2)
    return x * kept + LEAST * (1 - kept)


class _Cell(Metric):
    """What the counts of one cell share."""

    _cell = ""

    def __init__(self, thresholds: Any = None, name: str | None = None, dtype: Any = None) -> None:
        super().__init__(name=name, dtype=dtype)
        self.init_thresholds = thresholds
        self.thresholds = checked_thresholds(thresholds)
        self._add_states((len(self.thresholds),), "accumulator")

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        """Take in labels and predictions."""
        return count(
            {self._cell: self.accumulator}, y_true, y_pred, self.thresholds, sample_weight=sample_weight
        )

    def result(self) -> Any:
        return ops.convert_to_tensor(self.accumulator[0] if len(self.thresholds) == 1 else self.accumulator)

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {"thresholds": self.init_thresholds}


class FalsePositives(_Cell):
    """How many examples were wrongly said to be positive.

    Args:
      thresholds: above it, a prediction is positive; default 0.5.  A list gives a count for each.
      name: its name.
      dtype: type of the result.
    """

    _cell = "false_positives"


class FalseNegatives(_Cell):
    """How many examples were wrongly said to be negative.  Arguments as of FalsePositives."""

    _cell = "false_negatives"


class TrueNegatives(_Cell):
    """How many examples were rightly said to be negative.  Arguments as of FalsePositives."""

    _cell = "true_negatives"


class TruePositives(_Cell):
    """How many examples were rightly said to be positive.  Arguments as of FalsePositives."""

    _cell = "true_positives"


class _Ratio(Metric):
    """True positives over these and one other cell."""

    _other = ""

    def __init__(
        self,
        thresholds: Any = None,
        top_k: int | None = None,
        class_id: int | None = None,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(name=name, dtype=dtype)
        self.init_thresholds, self.top_k, self.class_id = thresholds, top_k, class_id
        self.thresholds = checked_thresholds(thresholds, 0.5 if top_k is None else LEAST)
        self._add_states((len(self.thresholds),), "true_positives", self._other)

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        """Take in labels and predictions."""
        cells = {name: getattr(self, name) for name in ("true_positives", self._other)}
        return count(cells, y_true, y_pred, self.thresholds, self.top_k, self.class_id, sample_weight)

    def result(self) -> Any:
        found = ops.div_no_nan(self.true_positives, self.true_positives + getattr(self, self._other))
        return found[0] if len(self.thresholds) == 1 else found

    def get_config(self) -> dict[str, Any]:
        own = {"thresholds": self.init_thresholds, "top_k": self.top_k, "class_id": self.class_id}
        return super().get_config() | own


class Precision(_Ratio):
    """How many of those that were said to be positive are.

    Args:
      thresholds: above it, a prediction is positive; default 0.5.  A list gives a value for each.
      top_k: only the `k` most likely classes of an example are positive.
      class_id: look at this class alone.
      name: its name.
      dtype: type of the result.
    """

    _other = "false_positives"


class Recall(_Ratio):
    """How many of those that are positive were said to be.  Arguments as of Precision."""

    _other = "false_negatives"
