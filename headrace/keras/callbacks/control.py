"""Callbacks that steer a run: stop it, change the learning rate, keep the best model."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from headrace.core import log
from headrace.keras.callbacks.callback import Callback
from headrace.layers.engine.weight_values import load_weights, read_weights


class TerminateOnNaN(Callback):
    """Ends training where the loss is no number."""

    def on_batch_end(self, batch: int, logs: Any = None) -> None:
        loss = (logs or {}).get("loss")
        if loss is not None and (np.isnan(loss) or np.isinf(loss)):
            print(f"Batch {batch}: Invalid loss, terminating training")
            self.model.stop_training = True


def _better(mode: str, monitor: str, who: str) -> tuple[Any, float]:
    """(comparison, worst value) for what is monitored."""
    if mode not in ("auto", "min", "max"):
        log.warning(f"{who} mode {mode} is unknown, fallback to auto mode.")
        mode = "auto"
    if mode == "auto":
        mode = "max" if "acc" in monitor or monitor.startswith("fmeasure") else "min"
    return (np.greater, -np.inf) if mode == "max" else (np.less, np.inf)


class EarlyStopping(Callback):
    """Ends training where a value does not get better any more.

    Args:
      monitor: name of the value.
      min_delta: what counts as better.
      patience: epochs without it, before training ends.
      verbose: say so?
      mode: min, max or auto (by the name).
      baseline: the value to be better than at first.
      restore_best_weights: go back to the weights of the best epoch?
    """

    def __init__(
        self,
        monitor: str = "val_loss",
        min_delta: float = 0,
        patience: int = 0,
        verbose: int = 0,
        mode: str = "auto",
        baseline: float | None = None,
        restore_best_weights: bool = False,
    ) -> None:
        super().__init__()
        self.monitor, self.patience, self.verbose, self.baseline = monitor, patience, verbose, baseline
        self.restore_best_weights = restore_best_weights
        self.wait = self.stopped_epoch = 0
        self.best_weights: Any = None
        self.monitor_op, self._worst = _better(mode, monitor, "EarlyStopping")
        self.min_delta = abs(min_delta) * (1 if self.monitor_op is np.greater else -1)

    def on_train_begin(self, logs: Any = None) -> None:
        self.wait = self.stopped_epoch = 0
        self.best = self._worst if self.baseline is None else self.baseline

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        current = self.get_monitor_value(logs)
        if current is None:
            return
        if self.monitor_op(current - self.min_delta, self.best):
            self.best, self.wait = current, 0
            if self.restore_best_weights:
                self.best_weights = self.model.get_weights()
            return
        self.wait += 1
        if self.wait >= self.patience:
            self.stopped_epoch = epoch
            self.model.stop_training = True
            if self.restore_best_weights:
                if self.verbose > 0:
                    print("Restoring model weights from the end of the best epoch.")
                self.model.set_weights(self.best_weights)

    def on_train_end(self, logs: Any = None) -> None:
        if self.stopped_epoch > 0 and self.verbose > 0:
            print(f"Epoch {self.stopped_epoch + 1:05d}: early stopping")

    def get_monitor_value(self, logs: Any) -> Any:
        """The value that is monitored, or None (and a warning)."""
        logs = logs or {}
        value = logs.get(self.monitor)
        if value is None:
            log.warning(
                f"Early stopping conditioned on metric `{self.monitor}` which is not available. Available "
                "metrics "
                f"are: {','.join(logs)}"
            )
        return value


def _rate(model: Any) -> float:
    return float(np.asarray(read_weights([model.optimizer.lr])[0]))


def _set_rate(model: Any, rate: float) -> None:
    load_weights([model.optimizer.lr], [np.asarray(rate)])


class LearningRateScheduler(Callback):
    """Sets the learning rate before each epoch.

    Args:
      schedule: function of the epoch (and the rate so far) to the rate.
      verbose: say so?
    """

    def __init__(self, schedule: Callable[..., float], verbose: int = 0) -> None:
        super().__init__()
        self.schedule, self.verbose = schedule, verbose

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        if not hasattr(self.model.optimizer, "lr"):
            raise ValueError('Optimizer must have a "lr" attribute.')
        try:
            rate = self.schedule(epoch, _rate(self.model))
        except TypeError:  # functions of the epoch alone
            rate = self.schedule(epoch)
        if not isinstance(rate, float | np.float32 | np.float64):
            raise ValueError('The output of the "schedule" function should be float.')
        _set_rate(self.model, rate)
        if self.verbose > 0:
            print(f"\nEpoch {epoch + 1:05d}: LearningRateScheduler reducing learning rate to {rate}.")

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        if logs is not None:
            logs["lr"] = _rate(self.model)


class ReduceLROnPlateau(Callback):
    """Lowers the learning rate where a value does not get better any more.

    Args:
      monitor: name of the value.
      factor: what the rate is multiplied with, below 1.
      patience: epochs without anything better, before it is.
      verbose: say so?
      mode: min, max or auto (by the name).
      min_delta: what counts as better.
      cooldown: epochs to wait after it was lowered.
      min_lr: the lowest rate.
      **kwargs: `epsilon`, the old name of `min_delta`.
    """

    def __init__(
        self,
        monitor: str = "val_loss",
        factor: float = 0.1,
        patience: int = 10,
        verbose: int = 0,
        mode: str = "auto",
        min_delta: float = 1e-4,
        cooldown: int = 0,
        min_lr: float = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        if factor >= 1.0:
            raise ValueError("ReduceLROnPlateau does not support a factor >= 1.0.")
        if "epsilon" in kwargs:
            min_delta = kwargs.pop("epsilon")
            log.warning("`epsilon` argument is deprecated and will be removed, use `min_delta` instead.")
        self.monitor, self.factor, self.min_lr, self.min_delta = monitor, factor, min_lr, min_delta
        self.patience, self.verbose, self.cooldown, self.mode = patience, verbose, cooldown, mode
        self._reset()

    def _reset(self) -> None:
        compare, self.best = _better(self.mode, self.monitor, "Learning Rate Plateau Reducing")
        sign = 1 if compare is np.greater else -1
        self._compare, self._sign = compare, sign
        self.cooldown_counter = self.wait = 0

    def monitor_op(self, value: Any, best: Any) -> bool:
        """Is a value better than the best so far?"""
        return bool(self._compare(value, best + self._sign * self.min_delta))

    def on_train_begin(self, logs: Any = None) -> None:
        self._reset()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        logs = logs if logs is not None else {}
        logs["lr"] = _rate(self.model)
        current = logs.get(self.monitor)
        if current is None:
            log.warning(
                f"Reduce LR on plateau conditioned on metric `{self.monitor}` which is not available. "
                "Available "
                f"metrics are: {','.join(logs)}"
            )
            return
        if self.in_cooldown():
            self.cooldown_counter -= 1
            self.wait = 0
        if self.monitor_op(current, self.best):
            self.best, self.wait = current, 0
        elif not self.in_cooldown():
            self.wait += 1
            if self.wait >= self.patience:
                self._lower(epoch)

    def _lower(self, epoch: int) -> None:
        old = _rate(self.model)
        if old <= self.min_lr:
            return
        new = max(old * self.factor, self.min_lr)
        _set_rate(self.model, new)
        if self.verbose > 0:
            print(f"\nEpoch {epoch + 1:05d}: ReduceLROnPlateau reducing learning rate to {new}.")
        self.cooldown_counter, self.wait = self.cooldown, 0

    def in_cooldown(self) -> bool:
        """Has the rate just been lowered?"""
        return self.cooldown_counter > 0


class ModelCheckpoint(Callback):
    """Saves the model now and then.

    Args:
      filepath: the file, with places for `epoch` and the epoch's values: weights.{epoch:02d}.hdf5.
      monitor: name of the value that says which is best.
      verbose: say so?
      save_best_only: only where the value got better.
      save_weights_only: the weights alone.
      mode: min, max or auto (by the name).
      save_freq: "epoch", or after so many samples.
      load_weights_on_restart: begin with the weights of the file, if it is there.
      **kwargs: `period`, epochs between two files.
    """

    def __init__(
        self,
        filepath: str,
        monitor: str = "val_loss",
        verbose: int = 0,
        save_best_only: bool = False,
        save_weights_only: bool = False,
        mode: str = "auto",
        save_freq: Any = "epoch",
        load_weights_on_restart: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        self.filepath, self.monitor, self.verbose = filepath, monitor, verbose
        self.save_best_only, self.save_weights_only = save_best_only, save_weights_only
        self.save_freq, self.load_weights_on_restart = save_freq, load_weights_on_restart
        self.period = kwargs.pop("period", 1)
        if "period" in kwargs:
            log.warning("`period` argument is deprecated. Please use `save_freq`.")
        self.epochs_since_last_save = self._samples_seen_since_last_saving = 0
        self.monitor_op, self.best = _better(mode, monitor, "ModelCheckpoint")
        if save_freq != "epoch" and not isinstance(save_freq, int):
            raise ValueError(f"Unrecognized save_freq: {save_freq}")
        self._current_epoch = 0

    def on_train_begin(self, logs: Any = None) -> None:
        if self.load_weights_on_restart:
            found = self._get_most_recently_modified_file_matching_pattern(self.filepath)
            if found is not None:
                try:
                    self.model.load_weights(found)
                except (OSError, ValueError) as error:
                    raise ValueError(f"Error loading file from {found}. Reason: {error}") from error

    def _get_most_recently_modified_file_matching_pattern(self, path: str) -> str | None:
        folder, pattern = os.path.split(path)
        prefix, suffix = pattern.split("{")[0], pattern.rsplit("}", 1)[-1]
        if "{" not in pattern:
            known = [path] if os.path.exists(path) else []
        else:
            names = os.listdir(folder or ".") if os.path.isdir(folder or ".") else []
            known = [os.path.join(folder, n) for n in names if n.startswith(prefix) and n.endswith(suffix)]
        return max(known, key=os.path.getmtime, default=None)

    def on_batch_end(self, batch: int, logs: Any = None) -> None:
        logs = logs or {}
        if isinstance(self.save_freq, int):
            self._samples_seen_since_last_saving += logs.get("size", 1)
            if self._samples_seen_since_last_saving >= self.save_freq:
                self._save(self._current_epoch, logs)
                self._samples_seen_since_last_saving = 0

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self._current_epoch = epoch

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self.epochs_since_last_save += 1
        if self.save_freq == "epoch":
            self._save(epoch, logs or {})

    def _save(self, epoch: int, logs: dict[str, Any]) -> None:
        if not isinstance(self.save_freq, int) and self.epochs_since_last_save < self.period:
            return
        self.epochs_since_last_save = 0
        path = self.filepath.format(epoch=epoch + 1, **logs)
        if self.save_best_only:
            current = logs.get(self.monitor)
            if current is None:
                log.warning(f"Can save best model only with {self.monitor} available, skipping.")
                return
            if not self.monitor_op(current, self.best):
                if self.verbose > 0:
                    print(f"\nEpoch {epoch + 1:05d}: {self.monitor} did not improve from {self.best:0.5f}")
                return
            if self.verbose > 0:
                print(
                    f"\nEpoch {epoch + 1:05d}: {self.monitor} improved from {self.best:0.5f} to "
                    f"{current:0.5f}, "
                    f"saving model to {path}"
                )
            self.best = current
        elif self.verbose > 0:
            print(f"\nEpoch {epoch + 1:05d}: saving model to {path}")
        (self.model.save_weights if self.save_weights_only else self.model.save)(path, overwrite=True)
