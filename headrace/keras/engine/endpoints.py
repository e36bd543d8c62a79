"""What `compile` says of each output: loss, weight of the loss, target, weights of examples, metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from headrace.core import log
from headrace.keras.losses import classes as losses
from headrace.keras.losses import functions as loss_functions
from headrace.keras.losses.reduction import Reduction
from headrace.keras.metrics import functions as metric_functions
from headrace.keras.metrics import named as metrics
from headrace.keras.metrics.averages import Mean, MeanMetricWrapper
from headrace.keras.metrics.base import Metric, clone_metric
from headrace.layers import ops
from headrace.layers.engine.config import floatx, image_data_format
from headrace.layers.losses.losses import sparse_softmax_cross_entropy
from headrace.ops.array.source import placeholder

_WITH_CLASSES = (loss_functions.sparse_categorical_crossentropy, sparse_softmax_cross_entropy)


class Endpoint:
    """One output of a model with all that belongs to it in training."""

    def __init__(self, output: Any, name: str, loss_fn: Any) -> None:
        self.output, self.name, self.loss_fn = output, name, loss_fn
        self.loss_weight: Any = 1.0
        self.target: Any = None  # a placeholder or a given tensor
        self.is_fed = False  # is the target given with each batch?
        self.takes_weights = True
        self.sample_weight: Any = None
        self.sample_weight_mode: str | None = None
        self.metrics: dict[str, Any] = {}
        self.weighted_metrics: dict[str, Any] = {}
        self.loss_metric: Any = None  # of the loss of this output, where there are several

    @property
    def is_trained(self) -> bool:
        return self.loss_fn is not None

    @property
    def loss_name(self) -> str:
        return self.name + "_loss"

    @property
    def shape(self) -> Any:
        known = self.output.shape
        return None if known.ndims is None else tuple(known.as_list())

    def make_target(self, target: Any, eagerly: bool) -> None:
        """The place of the labels: a given tensor, else a placeholder; in eager mode they come as values."""
        if not self.is_trained:
            self.takes_weights = False
            return
        if target is not None and not is_placeholder(target):
            self.target, self.takes_weights = target, False
            return
        self.is_fed = True
        if eagerly or target is not None:
            self.target = target
            return
        kind = "int32" if self._function in _WITH_CLASSES else self.output.dtype.base_dtype
        name = self.name + "_target"
        if isinstance(self.output, ops.SparseTensor):
            self.target = ops.sparse_placeholder(kind, name=name)
        else:
            self.target = ops.placeholder(kind, [None] * len(self.shape), name=name)

    @property
    def _function(self) -> Any:
        """The function that a loss is of; losses that wrap one count as themselves, as in TF."""
        return self.loss_fn

    @property
    def wanted_shape(self) -> Any:
        """The shape that targets must have, as far as the loss is known."""
        function = getattr(self.loss_fn, "fn", None)
        if function is loss_functions.sparse_categorical_crossentropy:
            if image_data_format() == "channels_first":
                return (self.shape[0], 1, *self.shape[2:])
            return (*self.shape[:-1], 1)
        is_known = function is not None and getattr(loss_functions, function.__name__, None) is function
        return self.shape if is_known else None

    def set_sample_weight(self, given: Any, eagerly: bool) -> None:
        """The place of the weights of examples: a given tensor, or one that is fed, or none."""
        if given is None and (not self.takes_weights or self.sample_weight_mode is None or eagerly):
            self.sample_weight = None
            return
        rank = 2 if self.sample_weight_mode == "temporal" else 1
        if given is not None:
            if not given.shape.is_compatible_with([None] * rank):
                raise ValueError(
                    f"Received sample weight with shape {given.shape}. Expected shape {[None] * rank}."
                )
            self.sample_weight = given
            return
        default = ops.constant(np.ones([1] * rank), dtype=floatx())
        self.sample_weight = ops.placeholder_with_default(
            default, [None] * rank, name=self.name + "_sample_weights"
        )


def is_placeholder(x: Any) -> bool:
    return getattr(getattr(x, "op", None), "declaration", None) is placeholder


# -- what was said of all outputs, for each ---------------------------------------------------------
def check_keys(name: str, given: Mapping[str, Any], expected: Sequence[str]) -> None:
    """Refuse names of outputs that there are not."""
    unknown = [key for key in given if key not in expected]
    if unknown:
        raise ValueError(
            f"Unknown entries in {name} dictionary: {unknown}. Only expected following keys: {list(expected)}"
        )


def losses_of(loss: Any, names: list[str]) -> list[Any]:
    """The loss of each output."""
    if isinstance(loss, Mapping):
        check_keys("loss", loss, names)
        for name in names:
            if name not in loss:
                log.warning(
                    f"Output {name} missing from loss dictionary. We assume this was done on purpose. The "
                    "fit "
                    f"and evaluate APIs will not be expecting any data to be passed to {name}."
                )
        return [_loss_object(loss.get(name)) for name in names]
    if isinstance(loss, Sequence) and not isinstance(loss, str):
        if len(loss) != len(names):
            raise ValueError(
                "When passing a list as loss, it should have one entry per model outputs. The model has "
                f"{len(names)} outputs, but you passed loss={loss}"
            )
        return [_loss_object(x) for x in loss]
    return [_loss_object(loss) for _ in names]


def _loss_object(loss: Any) -> Any:
    if loss is None or isinstance(loss, losses.Loss):
        return loss
    function = losses.get(loss)
    if isinstance(function, losses.Loss) or not hasattr(function, "__name__"):
        return function
    reduction = Reduction.SUM_OVER_BATCH_SIZE
    return losses.LossFunctionWrapper(function, name=function.__name__, reduction=reduction)


def set_loss_weights(endpoints: list[Endpoint], weights: Any) -> None:
    """What the loss of each output counts."""
    if weights is None:
        return
    if isinstance(weights, Mapping):
        check_keys("loss_weights", weights, [e.name for e in endpoints])
        for endpoint in endpoints:
            endpoint.loss_weight = weights.get(endpoint.name, 1.0)
    elif isinstance(weights, list):
        if len(weights) != len(endpoints):
            raise ValueError(
                "When passing a list as loss_weights, it should have one entry per model output. The model "
                "has "
                f"{len(endpoints)} outputs, but you passed loss_weights={weights}"
            )
        for endpoint, weight in zip(endpoints, weights):
            endpoint.loss_weight = weight
    else:
        raise TypeError(f"Could not interpret loss_weights argument: {weights} - expected a list of dicts.")


def set_sample_weight_modes(endpoints: list[Endpoint], mode: Any) -> None:
    """How examples of each output are weighted: by themselves, or by time step ("temporal")."""
    weighted = [e for e in endpoints if e.takes_weights]
    if isinstance(mode, Mapping):
        check_keys("sample_weight_mode", mode, [e.name for e in endpoints])
        for endpoint in weighted:
            if endpoint.name not in mode:
                raise ValueError(f"Output {endpoint.name}missing from `_sample_weight_modes` dictionary")
            endpoint.sample_weight_mode = mode[endpoint.name]
    elif isinstance(mode, list | tuple):
        if len(mode) != len(endpoints):
            raise ValueError(
                "When passing a list as sample_weight_mode, it should have one entry per model output. The "
                "model "
                f"has {len(endpoints)} outputs, but you passed {len(mode)}_sample_weight_modes."
            )
        for endpoint, own in zip(endpoints, mode):
            if endpoint.takes_weights:
                endpoint.sample_weight_mode = own
    else:
        for endpoint in weighted:
            endpoint.sample_weight_mode = mode


def targets_of(targets: Any, names: list[str]) -> list[Any]:
    """The tensor given as target of each output, or None."""
    if targets is None or (isinstance(targets, list) and not targets):
        return [None] * len(names)
    if isinstance(targets, list):
        if len(targets) != len(names):
            raise ValueError(
                "When passing a list as `target_tensors`, it should have one entry per model output. The "
                "model "
                f"has {len(names)} outputs, but you passed target_tensors={targets}"
            )
        return targets
    if isinstance(targets, Mapping):
        unknown = set(targets) - set(names)
        if unknown:
            raise ValueError(
                f'Unknown entry in `target_tensors` dictionary: "{unknown}". Only expected the following '
                "keys: "
                f"{names}"
            )
        return [targets.get(name) for name in names]
    if isinstance(targets, ops.Tensor | ops.SparseTensor | ops.Variable):
        return [targets]
    raise TypeError(
        "Expected `target_tensors` to be a list or tuple or dict or a single tensor, but got:", targets
    )


# -- metrics ----------------------------------------------------------------------------------------
def set_metrics(endpoints: list[Endpoint], given: Any, weighted: Any) -> list[Any]:
    """The metrics of each output; returns them all, in order, those with weights behind the others of their
    output."""
    names = [e.name for e in endpoints]
    for endpoint, own in zip(endpoints, _per_output(given, names)):
        endpoint.metrics = _objects(endpoint, own, False)
    for endpoint, own in zip(endpoints, _per_output(weighted, names)):
        endpoint.weighted_metrics = _objects(endpoint, own, True)
    found: list[Any] = []
    several = len(endpoints) > 1
    for endpoint in endpoints:
        if not endpoint.is_trained:
            endpoint.metrics, endpoint.weighted_metrics = {}, {}
            continue
        for group in (endpoint.metrics, endpoint.weighted_metrics):
            for name, metric in list(group.items()):
                if several:
                    metric._name = name = f"{endpoint.name}_{name}"
                name = _distinct(name, [m.name for m in found])
                metric._name = name
                found.append(metric)
        if several:
            endpoint.loss_metric = Mean(name=endpoint.loss_name)
    return found


def _distinct(name: str, taken: list[str]) -> str:
    number, base = 1, name
    while name in taken:
        name, number = f"{base}_{number}", number + 1
    return name


def _per_output(given: Any, names: list[str]) -> list[list[Any]]:
    if not given:
        return [[] for _ in names]
    if isinstance(given, Mapping):
        check_keys("metrics", given, names)
        return [_listed(given.get(name, [])) for name in names]
    if not isinstance(given, list):
        raise TypeError(
            f"Type of `metrics` argument not understood. Expected a list or dictionary, found: {given}"
        )
    if any(isinstance(m, list) for m in given):
        if len(given) != len(names):
            raise ValueError(
                "When passing a list of lists as `metrics`, it should have one entry per model output. The "
                "model "
                f"has {len(names)} outputs, but you passed metrics={given}"
            )
        return [_listed(m) for m in given]
    if len(names) == 1:
        return [given]
    return [[clone_metric(m) for m in given] for _ in names]


def _listed(x: Any) -> list[Any]:
    return list(x) if isinstance(x, list | tuple) else [x]


def _objects(endpoint: Endpoint, given: list[Any], weighted: bool) -> dict[str, Any]:
    found = {}
    for metric in given:
        function = _metric_function(metric, endpoint)
        name = ("weighted_" if weighted else "") + _metric_name(metric)
        if not isinstance(function, Metric):
            function = MeanMetricWrapper(function, name=name)
        found[name] = function
    return found


_SHORT = {"accuracy": "acc", "acc": "acc", "crossentropy": "ce", "ce": "ce"}
_KINDS = {
    "acc": (
        metric_functions.binary_accuracy,
        metric_functions.sparse_categorical_accuracy,
        metric_functions.categorical_accuracy,
    ),
    "ce": (
        loss_functions.binary_crossentropy,
        loss_functions.sparse_categorical_crossentropy,
        loss_functions.categorical_crossentropy,
    ),
}


def _metric_name(metric: Any) -> str:
    if isinstance(metric, str) and metric in _SHORT:
        return _SHORT[metric]
    found = metrics.get(metric)
    name: str = found.name if hasattr(found, "name") else found.__name__
    return name


def _metric_function(metric: Any, endpoint: Endpoint) -> Any:
    """The metric; accuracy and cross entropy are those of the kind of labels that the loss takes."""
    if not (isinstance(metric, str) and metric in _SHORT):
        return metrics.get(metric)
    binary, sparse, categorical = _KINDS[_SHORT[metric]]
    function = getattr(endpoint.loss_fn, "fn", None)
    if endpoint.shape[-1] == 1 or function is loss_functions.binary_crossentropy:
        return binary
    return sparse if function is loss_functions.sparse_categorical_crossentropy else categorical
