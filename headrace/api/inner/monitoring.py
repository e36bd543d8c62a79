"""tensorflow.python.eager.monitoring: numbers and texts that a process counts about itself, by labels."""

from __future__ import annotations

import threading
from typing import Any


class _Cell:
    """One value of a metric."""

    def __init__(self, value: Any) -> None:
        self._value, self._lock = value, threading.Lock()

    def set(self, value: Any) -> None:
        self._value = value

    def increase_by(self, value: int) -> None:
        with self._lock:
            self._value += value

    def value(self) -> Any:
        return self._value


class _Metric:
    """Cells by the values of the labels."""

    _first: Any = None

    def __init__(self, name: str, description: str, *labels: str) -> None:
        self._name, self._description, self._labels = name, description, labels
        self._cells: dict[tuple[str, ...], _Cell] = {}

    def get_cell(self, *labels: str) -> _Cell:
        if len(labels) != len(self._labels):
            raise ValueError(f"The {self._name} expects taking {len(self._labels)} labels")
        return self._cells.setdefault(labels, _Cell(self._first))


class Counter(_Metric):
    _first = 0


class IntGauge(_Metric):
    _first = 0


class StringGauge(_Metric):
    _first = ""


class BoolGauge(_Metric):
    _first = False
