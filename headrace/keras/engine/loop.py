"""A run over batches and epochs, with callbacks and the progress bar."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

import numpy as np

from headrace.keras.callbacks.callback import PREDICT, TEST, TRAIN, CallbackList
from headrace.keras.callbacks.records import BaseLogger, History, ProgbarLogger
from headrace.keras.engine.batches import Source
from headrace.keras.engine.steps import step_of


def fit(
    model: Any,
    source: Source,
    validation: Source | None,
    epochs: int = 1,
    initial_epoch: int = 0,
    verbose: int = 1,
    callbacks: Any = None,
    shuffle: Any = True,
    validation_freq: Any = 1,
) -> History:
    """Train for some epochs."""
    if validation is not None:
        runs_validation(validation_freq, 0)  # refuse a wrong one before the work
    model.history = History()
    listed = _configured(
        model, source, TRAIN, [BaseLogger(), *(callbacks or ()), model.history], epochs, verbose
    )
    listed.params["do_validation"] = validation is not None
    if validation is not None:
        listed.params["metrics"] = [*model.metrics_names, *("val_" + n for n in model.metrics_names)]
    if verbose and source.count is not None:
        print(_announced(source, validation))
    bar = _bar(model, source, listed.params)
    step = step_of(model, TRAIN)
    model.stop_training = False
    listed.on_train_begin()
    bar.on_train_begin()
    for epoch in range(initial_epoch, epochs):
        if model.stop_training:
            break
        model.reset_metrics()
        logs: dict[str, Any] = {}
        listed.on_epoch_begin(epoch, logs)
        bar.on_epoch_begin(epoch, logs)
        results = _epoch(model, source, TRAIN, step, listed, bar, shuffle)
        logs = dict(zip(model.metrics_names, results))
        if validation is not None and runs_validation(validation_freq, epoch) and not model.stop_training:
            checked = evaluate(model, validation, callbacks=listed, in_fit=True)
            logs |= {"val_" + name: value for name, value in zip(model.metrics_names, checked)}
        listed.on_epoch_end(epoch, logs)
        bar.on_epoch_end(epoch, logs)
    listed.on_train_end()
    return model.history  # type: ignore[no-any-return]


def _announced(source: Source, validation: Source | None) -> str:
    unit = "samples" if source.mode == "samples" else "steps"
    text = f"Train on {source.count} {unit}"
    if validation is not None and validation.count:
        text += f", validate on {validation.count} {unit}"
    return text


def runs_validation(frequency: Any, epoch: int) -> bool:
    """Is there a validation after this epoch?"""
    if isinstance(frequency, int):
        if frequency < 1:
            raise ValueError("`validation_freq` can not be less than 1.")
        return (epoch + 1) % frequency == 0
    if not isinstance(frequency, Container):
        raise ValueError(
            "`validation_freq` must be an Integer or `collections_abc.Container` (e.g. list, tuple, etc.)"
        )
    return epoch + 1 in frequency


def evaluate(
    model: Any, source: Source, verbose: int = 0, callbacks: Any = None, in_fit: bool = False
) -> list[Any]:
    """The mean loss and the metrics over the batches."""
    listed = callbacks if in_fit else _configured(model, source, TEST, callbacks, 1, verbose)
    bar = _bar(model, source, listed.params | {"verbose": verbose, "epochs": 1})
    model.reset_metrics()
    step = step_of(model, TEST)
    listed.call("on_test_begin", {})
    bar.on_train_begin()
    bar.on_epoch_begin(0)
    results = _epoch(model, source, TEST, step, listed, bar)
    bar.on_epoch_end(0, dict(zip(model.metrics_names, results)))
    listed.call("on_test_end", {})
    return results


def predict(model: Any, source: Source, verbose: int = 0, callbacks: Any = None) -> list[Any]:
    """The outputs for all batches."""
    listed = _configured(model, source, PREDICT, callbacks, 1, verbose)
    bar = _bar(model, source, listed.params)
    step = step_of(model, PREDICT)
    listed.call("on_predict_begin", {})
    bar.on_train_begin()
    bar.on_epoch_begin(0)
    collected = _Outputs()
    for number, (size, x, y, weights) in enumerate(source.epoch()):
        logs: dict[str, Any] = {"batch": number, "size": size}
        listed.batch(PREDICT, "begin", number, logs)
        bar.on_batch_begin(number, logs)
        outputs = step(x, y, weights)
        collected.add(outputs)
        logs = logs | {"outputs": outputs}
        listed.batch(PREDICT, "end", number, logs)
        bar.on_batch_end(number, logs)
        if model.stop_training:
            break
    bar.on_epoch_end(0)
    listed.call("on_predict_end", {})
    return collected.result()


def _configured(
    model: Any, source: Source, mode: str, callbacks: Any, epochs: int, verbose: int
) -> CallbackList:
    listed = callbacks if isinstance(callbacks, CallbackList) else CallbackList(callbacks)
    listed.set_model(model)
    stateful = set(model.metrics_names[1:]) if mode != PREDICT else set()
    for callback in listed:
        if isinstance(callback, BaseLogger | ProgbarLogger):
            callback.stateful_metrics = stateful
    steps = source.mode == "steps"
    listed.set_params(
        {
            "batch_size": source.batch_size,
            "epochs": epochs,
            "steps": source.count if steps else None,
            "samples": source.count,
            "verbose": verbose,
            "do_validation": False,
            "metrics": [] if mode == PREDICT else list(model.metrics_names),
        }
    )
    model.stop_training = False
    return listed


def _bar(model: Any, source: Source, params: dict[str, Any]) -> ProgbarLogger:
    names = getattr(model, "metrics_names", ["loss"])
    bar = ProgbarLogger(source.mode, stateful_metrics=names[1:])
    bar.params = params
    return bar


def _epoch(
    model: Any, source: Source, mode: str, step: Any, listed: CallbackList, bar: Any, shuffle: Any = False
) -> list[Any]:
    """The results of an epoch: the loss averaged by size, metrics as they are at the end."""
    names = model.metrics_names
    total, seen, last = 0.0, 0, []  # type: float, int, list[Any]
    by_steps = source.mode == "steps"
    for number, (size, x, y, weights) in enumerate(source.epoch(shuffle)):
        logs = {"batch": number, "size": size}
        listed.batch(mode, "begin", number, logs)
        bar.on_batch_begin(number, logs)
        last = step(x, y, weights)
        weight = 1 if by_steps and source.is_dataset else size
        total, seen = total + last[0] * weight, seen + weight
        logs.update(zip(names, last))
        listed.batch(mode, "end", number, logs)
        bar.on_batch_end(number, logs)
        if model.stop_training:
            break
    if by_steps and mode == TRAIN:
        listed.params["steps"] = bar.params["steps"] = source.count
        if bar.progbar.target is None:
            bar.progbar.target = source.count
    if getattr(source, "ran_out", False):
        model.stop_training = True
    return [total / seen, *last[1:]] if seen else []


class _Outputs:
    """Outputs of batches, put together at the end."""

    def __init__(self) -> None:
        self._batches: list[list[Any]] = []

    def add(self, outputs: list[Any]) -> None:
        self._batches.append(outputs)

    def result(self) -> list[Any]:
        if len(self._batches) == 1:
            return self._batches[0]
        return [_joined(list(parts)) for parts in zip(*self._batches)]


def _joined(parts: list[Any]) -> Any:
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts, axis=0) if parts[0].ndim else np.asarray(parts)
    return _joined_composite(parts)


def _joined_composite(parts: list[Any]) -> Any:
    """Sparse values: rows one after the other."""
    first = parts[0]
    if not hasattr(first, "dense_shape"):
        return [row for part in parts for row in part.to_list()]
    indices, start = [], 0
    for part in parts:
        moved = part.indices.copy()
        moved[:, 0] += start
        indices.append(moved)
        start += int(part.dense_shape[0])
    shape = np.array([start, *np.max([p.dense_shape[1:] for p in parts], axis=0)])
    return type(first)(np.concatenate(indices), np.concatenate([p.values for p in parts]), shape)
