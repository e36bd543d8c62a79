"""Losses and metrics that are added to a model from outside: layers that hand their input on."""

from __future__ import annotations

from typing import Any

from headrace.layers.engine.layer import Layer


class AddLoss(Layer):
    """Its input is a loss.

    Args:
      unconditional: does it depend on no input of the model?
      **kwargs: as of Layer.
    """

    def __init__(self, unconditional: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.unconditional = unconditional

    def call(self, inputs: Any) -> Any:  # type: ignore[override]
        self.add_loss(inputs, inputs=None if self.unconditional else True)
        return inputs

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {"unconditional": self.unconditional}


class AddMetric(Layer):
    """Its input is reported.

    Args:
      aggregation: mean, or None for the result of a metric.
      metric_name: what it is called.
      **kwargs: as of Layer.
    """

    def __init__(self, aggregation: str | None = None, metric_name: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.aggregation, self.metric_name = aggregation, metric_name

    def call(self, inputs: Any) -> Any:  # type: ignore[override]
        self.add_metric(inputs, self.aggregation, self.metric_name)
        return inputs

    def get_config(self) -> dict[str, Any]:
        own = {"aggregation": self.aggregation, "metric_name": self.metric_name}
        return super().get_config() | own
