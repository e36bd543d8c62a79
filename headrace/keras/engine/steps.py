"""One batch: train, test or predict on it.  In a graph each of the three is a function from arrays to arrays,
one call of the session; in eager mode Python does the same, op by op."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from headrace.autodiff.tape import GradientTape
from headrace.core import log
from headrace.keras.backend.run import Function
from headrace.keras.callbacks.callback import PREDICT, TEST, TRAIN
from headrace.keras.engine.objective import metric_results, total_loss
from headrace.layers import ops
from headrace.layers.engine.config import floatx
from headrace.layers.engine.learning_phase import choose_phase, learning_phase
from headrace.layers.ops import nest

Step = Callable[[list[Any], list[Any], Any], list[Any]]


def step_of(model: Any, mode: str) -> Step:
    """The function of a mode."""
    if model.is_eager:
        return {TRAIN: _eager_train, TEST: _eager_test, PREDICT: _eager_predict}[mode](model)
    return _fed(model, mode)


def _fed(model: Any, mode: str) -> Step:
    phase = [True] if mode == TRAIN and model.has_phase else []
    functions: dict[bool, Any] = {}  # with weights of examples, and without

    def step(x: list[Any], y: list[Any], weights: Any) -> list[Any]:
        weighted = weights is not None
        function = functions.get(weighted)
        if function is None:
            function = functions[weighted] = model.make_function(mode, weighted)
        found: list[Any] = function([*x, *y, *(weights or ()), *phase])
        return found

    return step


# -- in a graph -------------------------------------------------------------------------------------
def build_loss(model: Any) -> None:
    """The nodes of the loss and the metrics of a compiled model."""
    state = model._training
    for endpoint in state.endpoints:
        endpoint.set_sample_weight(None, False)
    batch = [
        (e.output, e.target, e.sample_weight, getattr(e.output, "_keras_mask", None)) for e in state.endpoints
    ]
    if not state.metrics_built:
        metric_results(state.endpoints, batch, weighted=False)
        state.metrics_built = True
    metric_results(state.endpoints, batch, weighted=True)
    state.total_loss, _ = total_loss(model, state.endpoints, batch)
    state.functions.clear()


def make_function(model: Any, mode: str, weighted: bool = False) -> Function:
    """The function of a mode, made when it is first needed."""
    state = model._training
    if mode == PREDICT:
        with ops.name_scope("predict"):
            return Function(model._feed_inputs, model.outputs, model.state_updates)
    fed = [*model._feed_inputs, *model._feed_targets]
    if weighted:
        fed += model._feed_sample_weights
    if mode == TRAIN:
        return _train_function(model, fed)
    with ops.name_scope("evaluation"):
        return Function(fed, [state.total_loss, *_results(model)], model.state_updates)


def _train_function(model: Any, fed: list[Any]) -> Function:
    state = model._training
    if model.has_phase:
        fed = [*fed, learning_phase()]
    with ops.name_scope("training"):
        params = state.trainable_weights
        if not params:
            log.warning(
                "The list of trainable weights is empty. Make sure that you are not setting model.trainable "
                "to "
                "False before compiling the model."
            )
        updates = list(model.optimizer.get_updates(params=params, loss=state.total_loss))
        with state.as_compiled():
            updates += model.get_updates_for(None)
            updates += model.get_updates_for(model.inputs)
        return Function(fed, [state.total_loss, *_results(model)], updates)


def _results(model: Any) -> list[Any]:
    metrics = [*model._loss_metrics, *model.metrics]
    return [m._call_result for m in metrics if getattr(m, "_call_result", None) is not None]


# -- in eager mode ----------------------------------------------------------------------------------
def _forward(model: Any, x: list[Any], training: bool) -> list[Any]:
    inputs = [_as_input(value, place) for value, place in zip(x, [*(model.inputs or ()), *[None] * len(x)])]
    structure = model.pack_inputs(inputs)
    kwargs = {"training": training} if model._takes("training") else {}
    return nest.flatten(model(structure, **kwargs))


def _as_input(value: Any, place: Any) -> Any:
    if not isinstance(value, np.ndarray):
        return value
    kind = ops.as_dtype(value.dtype)
    if place is not None and place.dtype.is_floating and kind.is_floating:
        kind = place.dtype.base_dtype
    elif kind.is_floating:
        kind = ops.as_dtype(floatx())
    return ops.convert_to_tensor(value.astype(kind.as_numpy_dtype, copy=False))


def _batch(model: Any, outputs: list[Any], y: list[Any], weights: Any) -> list[Any]:
    labels = iter(y)
    given = iter(weights or [])
    found = []
    for endpoint, output in zip(model._training.endpoints, outputs):
        label = weight = None
        if endpoint.is_trained:
            label = next(labels, None)
            weight = next(given, None)
        if isinstance(label, np.ndarray) and label.dtype.kind == "f" and output.dtype.is_floating:
            label = label.astype(output.dtype.as_numpy_dtype, copy=False)
        if label is not None:
            label = ops.convert_to_tensor(label)
        if weight is not None:
            weight = ops.convert_to_tensor(np.asarray(weight, floatx()))
        found.append((output, label, weight, getattr(output, "_keras_mask", None)))
    return found


def _eager_train(model: Any) -> Step:
    def step(x: list[Any], y: list[Any], weights: Any) -> list[Any]:
        state = model._training
        before = choose_phase(1)
        try:
            with GradientTape() as tape:
                batch = _batch(model, _forward(model, x, True), y, weights)
                loss, means = total_loss(model, state.endpoints, batch)
                scaled = getattr(model.optimizer, "get_scaled_loss", lambda value: value)(loss)
            params = state.trainable_weights
            if params:
                gradients = tape.gradient(scaled, params)
                unscale = getattr(model.optimizer, "get_unscaled_gradients", lambda found: found)
                model.optimizer.apply_gradients(list(zip(unscale(gradients), params)))
            return _reported(model, batch, loss, means)
        finally:
            choose_phase(before)

    return step


def _eager_test(model: Any) -> Step:
    def step(x: list[Any], y: list[Any], weights: Any) -> list[Any]:
        before = choose_phase(0)
        try:
            batch = _batch(model, _forward(model, x, False), y, weights)
            loss, means = total_loss(model, model._training.endpoints, batch)
            return _reported(model, batch, loss, means)
        finally:
            choose_phase(before)

    return step


def _reported(model: Any, batch: list[Any], loss: Any, means: list[Any]) -> list[Any]:
    results = metric_results(model._training.endpoints, batch)
    own = {id(m) for m in model._training.metrics}
    added = [m.result() for m in model.metrics if id(m) not in own]
    return [x.numpy() for x in (loss, *means, *results, *added)]


def _eager_predict(model: Any) -> Step:
    def step(x: list[Any], y: list[Any], weights: Any) -> list[Any]:
        before = choose_phase(0)
        try:
            return [output.numpy() for output in _forward(model, x, False)]
        finally:
            choose_phase(before)

    return step
