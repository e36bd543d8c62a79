"""Metrics over many thresholds: areas under curves, sensitivity and specificity."""

from __future__ import annotations

from typing import Any

from headrace.keras.metrics.base import Metric
from headrace.keras.metrics.confusion import CELLS, count
from headrace.layers import ops
from headrace.layers.engine.config import epsilon


def _even(number: int) -> list[float]:
    """Thresholds between 0 and 1, without the ends."""
    return [(i + 1) * 1.0 / (number - 1) for i in range(number - 2)]


class _Curve(Metric):
    """What keeps the whole confusion matrix for many thresholds."""

    thresholds: list[float]

    def _set_thresholds(self, thresholds: list[float]) -> None:
        self.thresholds = thresholds
        names = ("true_positives", "true_negatives", "false_positives", "false_negatives")
        self._add_states((len(thresholds),), *names)

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        """Take in labels and predictions."""
        cells = {name: getattr(self, name) for name in CELLS}
        return count(cells, y_true, y_pred, self.thresholds, sample_weight=sample_weight)

    def _share(self, cell: str, other: str) -> Any:
        first, second = getattr(self, cell), getattr(self, other)
        return ops.div_no_nan(first, first + second)


class _AtOther(_Curve):
    """One share where the other is nearest to a value."""

    _given, _wanted = ("", ""), ("", "")
    _argument = ""

    def __init__(
        self, value: float, num_thresholds: int = 200, name: str | None = None, dtype: Any = None
    ) -> None:
        if value < 0 or value > 1:
            raise ValueError(f"`{self._argument}` must be in the range [0, 1].")
        super().__init__(name=name, dtype=dtype)
        if num_thresholds <= 0:
            raise ValueError("`num_thresholds` must be > 0.")
        self.value, self.num_thresholds = value, num_thresholds
        setattr(self, self._argument, value)
        self._set_thresholds([0.5] if num_thresholds == 1 else [0.0, *_even(num_thresholds), 1.0])

    def result(self) -> Any:
        place = ops.cast(ops.argmin(ops.abs(self._share(*self._given) - self.value), axis=0), "int32")
        return self._share(*self._wanted)[place]

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {"num_thresholds": self.num_thresholds, self._argument: self.value}


class SensitivityAtSpecificity(_AtOther):
    """Sensitivity where the specificity is as given.

    Args:
      specificity: from 0 to 1.
      num_thresholds: how many thresholds are tried.
      name: its name.
      dtype: type of the result.
    """

    _given = ("true_negatives", "false_positives")
    _wanted = ("true_positives", "false_negatives")
    _argument = "specificity"

    def __init__(
        self, specificity: float, num_thresholds: int = 200, name: str | None = None, dtype: Any = None
    ) -> None:
        super().__init__(specificity, num_thresholds, name, dtype)


class SpecificityAtSensitivity(_AtOther):
    """Specificity where the sensitivity is as given.

    Args:
      sensitivity: from 0 to 1.
      num_thresholds: how many thresholds are tried.
      name: its name.
      dtype: type of the result.
    """

    _given = ("true_positives", "false_negatives")
    _wanted = ("true_negatives", "false_positives")
    _argument = "sensitivity"

    def __init__(
        self, sensitivity: float, num_thresholds: int = 200, name: str | None = None, dtype: Any = None
    ) -> None:
        super().__init__(sensitivity, num_thresholds, name, dtype)


class AUC(_Curve):
    """The area under a curve, by a sum over thresholds.

    Args:
      num_thresholds: how many thresholds.
      curve: ROC or PR (precision over recall).
      summation_method: interpolation, minoring or majoring.
      name: its name.
      dtype: type of the result.
      thresholds: these, in place of even ones.
    """

    def __init__(
        self,
        num_thresholds: int = 200,
        curve: Any = "ROC",
        summation_method: Any = "interpolation",
        name: str | None = None,
        dtype: Any = None,
        thresholds: Any = None,
    ) -> None:
        self.curve = _chosen(curve, ("ROC", "PR"), "AUC curve")
        self.summation_method = _chosen(
            summation_method, ("interpolation", "minoring", "majoring"), "AUC summation method"
        )
        super().__init__(name=name, dtype=dtype)
        if thresholds is None:
            if num_thresholds <= 1:
                raise ValueError("`num_thresholds` must be > 1.")
            inner = _even(num_thresholds)
        else:
            inner = sorted(thresholds)
            if any(t < 0 or t > 1 for t in inner):
                raise ValueError(f"Threshold values must be in [0, 1]. Invalid values: {inner}")
        self.num_thresholds = len(inner) + 2
        self._set_thresholds([0.0 - epsilon(), *inner, 1.0 + epsilon()])

    def result(self) -> Any:
        if (self.curve, self.summation_method) == ("PR", "interpolation"):
            return self.interpolate_pr_auc()
        recall = self._share("true_positives", "false_negatives")
        if self.curve == "ROC":
            x, y = self._share("false_positives", "true_negatives"), recall
        else:
            x, y = recall, self._share("true_positives", "false_positives")
        ways: dict[str, Any] = {
            "interpolation": lambda a, b: (a + b) / 2.0,
            "minoring": ops.minimum,
            "majoring": ops.maximum,
        }
        heights = ways[self.summation_method](y[:-1], y[1:])
        return ops.reduce_sum((x[:-1] - x[1:]) * heights, name=self.name)

    def interpolate_pr_auc(self) -> Any:
        """The area under precision over recall, where true and false positives are linear between
        thresholds (Davis and Goadrich 2006)."""
        hits = ops.convert_to_tensor(self.true_positives)
        chosen = hits + self.false_positives
        d_hits, d_chosen = hits[:-1] - hits[1:], chosen[:-1] - chosen[1:]
        slope = ops.div_no_nan(d_hits, ops.maximum(d_chosen, 0), name="prec_slope")
        intercept = hits[1:] - slope * chosen[1:]
        known = ops.logical_and(chosen[:-1] > 0, chosen[1:] > 0)
        ratio = ops.div_no_nan(chosen[:-1], ops.maximum(chosen[1:], 0), name="recall_relative_ratio")
        ratio = ops.where(known, ratio, ops.ones_like(chosen[1:]))
        areas = ops.div_no_nan(
            slope * (d_hits + intercept * ops.log(ratio)),
            ops.maximum(hits[1:] + self.false_negatives[1:], 0),
            name="pr_auc_increment",
        )
        return ops.reduce_sum(areas, name="interpolate_pr_auc")

    def get_config(self) -> dict[str, Any]:
        own = {
            "num_thresholds": self.num_thresholds,
            "curve": self.curve,
            "summation_method": self.summation_method,
            "thresholds": self.thresholds[1:-1],
        }
        return super().get_config() | own


def _chosen(given: Any, known: tuple[str, ...], what: str) -> str:
    text = getattr(given, "value", given)
    for name in known:
        if str(text).lower() == name.lower():
            return name
    raise ValueError(f'Invalid {what} value "{given}".')
