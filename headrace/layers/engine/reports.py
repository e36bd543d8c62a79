"""What a layer reports: metrics, its own and its parts'."""

from __future__ import annotations

from typing import Any

from headrace.core import hooks
from headrace.ops.declaration.convert import convert_to_tensor


class Reports:
    """The part of Layer that keeps metrics."""

    _metrics: list[Any]
    _of_parts: Any

    @property
    def metrics(self) -> list[Any]:
        """The metrics that the layer keeps."""
        found = [*self._metrics, *self._of_parts("metrics")]
        return list({id(m): m for m in found}.values())

    def add_metric(self, value: Any, aggregation: str | None = None, name: str | None = None) -> None:
        """Report a value.

        Args:
          value: a tensor: to be averaged, or the result of a metric.
          aggregation: "mean" for values to be averaged.
          name: what it is called.
        """
        if aggregation not in (None, "mean"):
            raise ValueError(
                "We currently support only `mean` sample-wise metric aggregation. You provided "
                f"aggregation=`{aggregation}`"
            )
        if not hasattr(value, "dtype"):
            value = convert_to_tensor(value)
        metric = getattr(value, "_metric_obj", None)
        if name is None and metric is None:
            raise ValueError(
                "Please provide a name for your metric like `self.add_metric(tf.reduce_sum(inputs), "
                "name='mean_activation', aggregation='mean')`"
            )
        known = [m for m in self._metrics if m.name == (name if metric is None else metric.name)]
        if metric is not None:
            if not known:
                self._metrics.append(metric)
            return
        if aggregation is None:
            if known:
                return
            raise ValueError(
                "We do not support adding an aggregated metric result tensor that is not the output of a "
                "`tf.keras.metrics.Metric` metric instance. Without having access to the metric instance we "
                "cannot "
                "reset the state of a metric after every epoch during training. You can create a "
                "`tf.keras.metrics.Metric` instance and pass the result here or pass an un-aggregated "
                "result with "
                "`aggregation` parameter set as `mean`. For example: `self.add_metric(tf.reduce_sum(inputs), "
                "name='mean_activation', aggregation='mean')`"
            )
        if not known:
            make = hooks.mean_metric.value
            assert make is not None, "nobody makes metrics"
            known = [make(name=name, dtype=value.dtype)]
            self._metrics.append(known[0])
        known[0](value)
