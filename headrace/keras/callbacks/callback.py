"""Callback: what a run calls at its beginnings and ends; and the list of them that a run has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

TRAIN, TEST, PREDICT = "train", "test", "predict"


class Callback:
    """Methods that a run calls.  Subclasses override some.

    Attributes:
      params: what the run was asked to do.
      model: the model that is run.
    """

    def __init__(self) -> None:
        self.validation_data: Any = None
        self.model: Any = None
        self.params: dict[str, Any] = {}
        self._chief_worker_only: bool | None = None

    def set_params(self, params: dict[str, Any]) -> None:
        self.params = params

    def set_model(self, model: Any) -> None:
        self.model = model

    def on_batch_begin(self, batch: int, logs: Any = None) -> None:
        """The old name of `on_train_batch_begin`."""

    def on_batch_end(self, batch: int, logs: Any = None) -> None:
        """The old name of `on_train_batch_end`."""

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """An epoch of training begins."""

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """An epoch of training has ended; `logs` has its results."""

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        """A batch of training begins; `logs` has its number and size."""
        self.on_batch_begin(batch, logs=logs)

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """A batch of training has ended; `logs` has its results."""
        self.on_batch_end(batch, logs=logs)

    def on_test_batch_begin(self, batch: int, logs: Any = None) -> None:
        """A batch of evaluation begins, also within training."""

    def on_test_batch_end(self, batch: int, logs: Any = None) -> None:
        """A batch of evaluation has ended."""

    def on_predict_batch_begin(self, batch: int, logs: Any = None) -> None:
        """A batch of prediction begins."""

    def on_predict_batch_end(self, batch: int, logs: Any = None) -> None:
        """A batch of prediction has ended."""

    def on_train_begin(self, logs: Any = None) -> None:
        """Training begins."""

    def on_train_end(self, logs: Any = None) -> None:
        """Training has ended."""

    def on_test_begin(self, logs: Any = None) -> None:
        """Evaluation begins."""

    def on_test_end(self, logs: Any = None) -> None:
        """Evaluation has ended."""

    def on_predict_begin(self, logs: Any = None) -> None:
        """Prediction begins."""

    def on_predict_end(self, logs: Any = None) -> None:
        """Prediction has ended."""


class CallbackList:
    """The callbacks of a run.

    Args:
      callbacks: the callbacks.
      queue_length: accepted.
    """

    def __init__(self, callbacks: Any = None, queue_length: int = 10) -> None:
        self.callbacks: list[Any] = list(callbacks or ())
        self.params: dict[str, Any] = {}
        self.model: Any = None

    def append(self, callback: Any) -> None:
        self.callbacks.append(callback)

    def set_params(self, params: dict[str, Any]) -> None:
        self.params = params
        for callback in self.callbacks:
            callback.set_params(params)

    def set_model(self, model: Any) -> None:
        self.model = model
        for callback in self.callbacks:
            callback.set_model(model)

    def call(self, hook: str, *args: Any) -> None:
        """Call a method of all."""
        for callback in self.callbacks:
            getattr(callback, hook)(*args)

    def batch(self, mode: str, end: str, number: int, logs: Any) -> None:
        """A batch of a mode has come to its `begin` or `end`."""
        self.call(f"on_{mode}_batch_{end}", number, logs)

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self.call("on_epoch_begin", epoch, logs or {})

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self.call("on_epoch_end", epoch, logs or {})

    def on_train_begin(self, logs: Any = None) -> None:
        self.call("on_train_begin", logs)

    def on_train_end(self, logs: Any = None) -> None:
        self.call("on_train_end", logs)

    def on_batch_begin(self, batch: int, logs: Any = None) -> None:
        self.batch(TRAIN, "begin", batch, logs or {})

    def on_batch_end(self, batch: int, logs: Any = None) -> None:
        self.batch(TRAIN, "end", batch, logs or {})

    def __iter__(self) -> Iterator[Any]:
        return iter(self.callbacks)
