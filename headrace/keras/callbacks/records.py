"""Callbacks that keep or show what a run reports: averages, history, progress, CSV, a server."""

from __future__ import annotations

import csv
import json
import urllib.request
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from headrace.core import log
from headrace.keras.callbacks.callback import Callback
from headrace.keras.utils.progress import Progbar


class BaseLogger(Callback):
    """Averages of an epoch: what each batch reports, by its size.

    Args:
      stateful_metrics: names of values that are taken as they are at the end.
    """

    def __init__(self, stateful_metrics: Iterable[str] | None = None) -> None:
        super().__init__()
        self.stateful_metrics = set(stateful_metrics or ())
        self.seen, self.totals = 0, {}  # type: int, dict[str, Any]

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self.seen, self.totals = 0, {}

    def on_batch_end(self, batch: int, logs: Any = None) -> None:
        logs = logs or {}
        size = logs.get("size", 0) * logs.get("num_steps", 1)
        self.seen += size
        for name, value in logs.items():
            if name in self.stateful_metrics:
                self.totals[name] = value
            else:
                self.totals[name] = self.totals.get(name, 0) + value * size

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        if logs is None:
            return
        for name in self.params["metrics"]:
            if name in self.totals:
                total = self.totals[name]
                logs[name] = total if name in self.stateful_metrics else total / self.seen


class History(Callback):
    """What the epochs reported: lists, by name, in `history`."""

    def on_train_begin(self, logs: Any = None) -> None:
        self.epoch: list[int] = []
        self.history: dict[str, list[Any]] = {}

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self.epoch.append(epoch)
        for name, value in (logs or {}).items():
            self.history.setdefault(name, []).append(value)


class ProgbarLogger(Callback):
    """Shows the progress bar.

    Args:
      count_mode: samples or steps.
      stateful_metrics: names of values that are shown as they are; others are averaged.
    """

    def __init__(self, count_mode: str = "samples", stateful_metrics: Iterable[str] | None = None) -> None:
        super().__init__()
        if count_mode not in ("samples", "steps"):
            raise ValueError(f"Unknown `count_mode`: {count_mode}")
        self.use_steps = count_mode == "steps"
        self.stateful_metrics = set(stateful_metrics or ())
        self.log_values: list[Any] = []

    def on_train_begin(self, logs: Any = None) -> None:
        self.verbose, self.epochs = self.params["verbose"], self.params["epochs"]

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self.seen = 0
        self.target = self.params["steps" if self.use_steps else "samples"]
        if self.verbose and self.epochs > 1:
            print(f"Epoch {epoch + 1}/{self.epochs}")
        self.progbar = Progbar(
            self.target,
            verbose=self.verbose,
            stateful_metrics=self.stateful_metrics,
            unit_name="step" if self.use_steps else "sample",
        )

    def on_batch_begin(self, batch: int, logs: Any = None) -> None:
        self.log_values = []

    def on_batch_end(self, batch: int, logs: Any = None) -> None:
        logs = logs or {}
        steps = logs.get("num_steps", 1)
        self.seen += steps if self.use_steps else logs.get("size", 0) * steps
        self.log_values += [(name, logs[name]) for name in self.params["metrics"] if name in logs]
        # The last batch is shown at the end of the epoch, with the validation's results.
        if self.verbose and (self.target is None or self.seen < self.target):
            self.progbar.update(self.seen, self.log_values)

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        logs = logs or {}
        self.log_values += [(name, logs[name]) for name in self.params["metrics"] if name in logs]
        if self.verbose:
            self.progbar.update(self.seen, self.log_values)


class CSVLogger(Callback):
    """Writes a line per epoch into a file.

    Args:
      filename: the file.
      separator: between columns.
      append: continue a file that is there?
    """

    def __init__(self, filename: str, separator: str = ",", append: bool = False) -> None:
        super().__init__()
        self.filename, self.sep, self.append = filename, separator, append
        self.writer: Any = None
        self.keys: list[str] = []
        self.append_header = True
        self.csv_file: Any = None

    def on_train_begin(self, logs: Any = None) -> None:
        if self.append:
            try:
                with open(self.filename, newline="") as known:
                    self.append_header = not known.readline()
            except FileNotFoundError:
                pass
        self.csv_file = open(self.filename, "a" if self.append else "w", newline="")

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        logs = logs or {}
        if self.model.stop_training:
            logs = {key: logs.get(key, "NA") for key in self.keys or sorted(logs)}
        if self.writer is None:
            self.keys = self.keys or sorted(logs)
            dialect = type("CustomDialect", (csv.excel,), {"delimiter": self.sep})
            self.writer = csv.DictWriter(self.csv_file, fieldnames=["epoch", *self.keys], dialect=dialect)
            if self.append_header:
                self.writer.writeheader()
        row = OrderedDict({"epoch": epoch})
        row.update((key, _cell(logs[key])) for key in self.keys)
        self.writer.writerow(row)
        self.csv_file.flush()

    def on_train_end(self, logs: Any = None) -> None:
        self.csv_file.close()
        self.writer = None


def _cell(value: Any) -> Any:
    is_array = isinstance(value, np.ndarray) and value.ndim == 0
    if isinstance(value, str) or is_array or not hasattr(value, "__iter__"):
        return value
    return f'"[{", ".join(map(str, value))}]"'


class RemoteMonitor(Callback):
    """Sends each epoch's results to a server, as JSON.

    Args:
      root: the server.
      path: where on it.
      field: name of the form's field.
      headers: of the request.
      send_as_json: the results themselves, not a form with them.
    """

    def __init__(
        self,
        root: str = "http://localhost:9000",
        path: str = "/publish/epoch/end/",
        field: str = "data",
        headers: Any = None,
        send_as_json: bool = False,
    ) -> None:
        super().__init__()
        self.root, self.path, self.field, self.headers = root, path, field, headers
        self.send_as_json = send_as_json

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        send = {"epoch": epoch} | {k: float(v) for k, v in (logs or {}).items()}
        body = send if self.send_as_json else {self.field: json.dumps(send)}
        headers = {"Content-Type": "application/json"} | dict(self.headers or {})
        request = urllib.request.Request(self.root + self.path, json.dumps(body).encode(), headers)
        try:
            urllib.request.urlopen(request).close()
        except OSError:
            log.warning(f"Warning: could not reach RemoteMonitor root server at {self.root}")


class LambdaCallback(Callback):
    """Functions as a callback.

    Args:
      on_epoch_begin, on_epoch_end, on_batch_begin, on_batch_end, on_train_begin, on_train_end: functions with
        the arguments of the methods of these names.
      **kwargs: other methods.
    """

    def __init__(
        self,
        on_epoch_begin: Callable[..., Any] | None = None,
        on_epoch_end: Callable[..., Any] | None = None,
        on_batch_begin: Callable[..., Any] | None = None,
        on_batch_end: Callable[..., Any] | None = None,
        on_train_begin: Callable[..., Any] | None = None,
        on_train_end: Callable[..., Any] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        given = {
            "on_epoch_begin": on_epoch_begin,
            "on_epoch_end": on_epoch_end,
            "on_batch_begin": on_batch_begin,
            "on_batch_end": on_batch_end,
            "on_train_begin": on_train_begin,
            "on_train_end": on_train_end,
        }
        for name, function in (given | kwargs).items():
            if function is not None:
                setattr(self, name, function)
