"""What `compile` has made of a model: metrics and their names, losses, targets, weights of examples."""

from __future__ import annotations

from typing import Any


class Compiled:
    """The part of Model that tells what it was compiled to."""

    _training: Any = None
    _metrics: list[Any]
    _sublayers: Any

    @property
    def _is_compiled(self) -> bool:
        return self._training is not None and bool(self._training.is_complete)

    # -- metrics --------------------------------------------------------------------------------
    @property
    def metrics(self) -> list[Any]:
        """The metrics of `compile`, then those that were added."""
        found = list(self._training.metrics) if self._is_compiled else []
        found += self._metrics
        for layer in self._sublayers():
            found += layer._metrics_without_compile() if isinstance(layer, Compiled) else layer.metrics
        return list({id(m): m for m in found}.values())

    def _metrics_without_compile(self) -> list[Any]:
        found = list(self._metrics)
        for layer in self._sublayers():
            found += layer._metrics_without_compile() if isinstance(layer, Compiled) else layer.metrics
        return found

    @property
    def metrics_names(self) -> list[str]:
        """What the numbers are called that `evaluate` returns."""
        names = ["loss"]
        if self._is_compiled and len(self._training.endpoints) > 1:
            names += [e.loss_name for e in self._training.endpoints if e.is_trained]
        return names + [m.name for m in self.metrics]

    @property
    def _loss_metrics(self) -> list[Any]:
        return [e.loss_metric for e in self._training.endpoints if e.loss_metric is not None]

    def reset_metrics(self) -> None:
        """Metrics begin anew."""
        for metric in [*(self._loss_metrics if self._is_compiled else ()), *self.metrics]:
            metric.reset_states()

    # -- what compile has made ------------------------------------------------------------------
    @property
    def total_loss(self) -> Any:
        """The tensor that is minimised."""
        return None if self._training is None else self._training.total_loss

    @property
    def loss_functions(self) -> list[Any]:
        """The loss of each output."""
        return [e.loss_fn for e in self._training.endpoints]

    @property
    def targets(self) -> list[Any]:
        """The tensors of the targets."""
        return [e.target for e in self._training.endpoints]

    _targets = targets

    @property
    def sample_weights(self) -> list[Any]:
        """The tensors of the examples' weights."""
        return [e.sample_weight for e in self._training.endpoints]

    @property
    def _feed_targets(self) -> list[Any]:
        return [e.target for e in self._training.fed]

    @property
    def _feed_sample_weights(self) -> list[Any]:
        return [e.sample_weight for e in self._training.endpoints if e.sample_weight is not None]

    def total_loss_needs_no_targets(self) -> bool:
        return not self._training.fed
