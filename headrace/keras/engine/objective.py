"""What a model minimises and what it reports, from outputs, labels and weights: in a graph, tensors of the
step; in eager mode, values."""

from __future__ import annotations

from typing import Any

from headrace.keras.engine.endpoints import Endpoint
from headrace.keras.losses.reduction import Reduction, compute_weighted_loss, fitted, reduced
from headrace.layers import ops


def masked(weights: Any, mask: Any, output: Any) -> Any:
    """Weights of examples, 0 where the mask is."""
    if mask is None:
        return weights
    mask = ops.cast(mask, output.dtype)
    if weights is None:
        return mask
    mask, _, weights = fitted(mask, sample_weight=weights)
    return ops.cast(weights, mask.dtype) * mask


def total_loss(model: Any, endpoints: list[Endpoint], batch: Any) -> tuple[Any, list[Any]]:
    """The loss, and the mean loss of each output so far where there are several outputs.

    `batch` gives (output, label, weight, mask) of each endpoint.
    """
    total: Any = None
    means = []
    with ops.name_scope("loss"):
        for endpoint, (output, label, weight, mask) in zip(endpoints, batch):
            if not endpoint.is_trained:
                continue
            with ops.name_scope(endpoint.loss_name):
                loss = _loss(endpoint.loss_fn, label, output, masked(weight, mask, output))
            if len(endpoints) > 1:
                means.append(endpoint.loss_metric(loss))
            own = endpoint.loss_weight * loss if endpoint.loss_weight != 1.0 else loss
            total = own if total is None else total + own
        if ops.executing_eagerly():
            others = model.losses
        else:
            others = [*model.get_losses_for(None), *model.get_losses_for(model.inputs)]
        if total is None and not others:
            raise ValueError("The model cannot be compiled because it has no loss to optimize.")
        if others:
            added = ops.add_n(others)
            total = added if total is None else total + added
    return total, means


def _loss(loss_fn: Any, label: Any, output: Any, weights: Any) -> Any:
    if not hasattr(loss_fn, "reduction"):
        return loss_fn(label, output, sample_weight=weights)
    losses = loss_fn.call(label, output)
    losses = compute_weighted_loss(losses, weights, Reduction.NONE)
    return reduced(losses, loss_fn._reduction() if loss_fn.reduction == Reduction.AUTO else loss_fn.reduction)


def metric_results(endpoints: list[Endpoint], batch: Any, weighted: bool | None = None) -> list[Any]:
    """The results of the metrics of `compile`; `weighted` chooses those with weights or those without."""
    found = []
    with ops.name_scope("metrics"):
        for endpoint, (output, label, weight, mask) in zip(endpoints, batch):
            if not endpoint.is_trained:
                continue
            if weighted is not True:
                for name, metric in endpoint.metrics.items():
                    found.append(_result(name, metric, label, output, None, mask))
            if weighted is not False:
                for name, metric in endpoint.weighted_metrics.items():
                    found.append(_result(name, metric, label, output, weight, mask))
    return found


def _result(name: str, metric: Any, label: Any, output: Any, weight: Any, mask: Any) -> Any:
    with ops.name_scope(name):
        return metric(label, output, sample_weight=masked(weight, mask, output))
