"""When values came from other tasks, for steps that are watched: spans beside those of kernels, as TF's.

A step is watched while its master records it, or all are while somebody asked for it (TF's Logging).  A step
that nobody watches costs one look.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from concurrent.futures import Future
from typing import Any, NamedTuple

import numpy as np

from headrace.formats import proto

MOST_STEPS = 100  # that are kept for somebody who may ask


class Transfer(NamedTuple):
    key: str  # of the rendezvous: both devices and the edge
    start: float  # seconds since 1970
    end: float
    size: int  # bytes


class TransferLog:
    def __init__(self) -> None:
        self.watches_all = False
        self._steps: OrderedDict[int, list[Transfer]] = OrderedDict()
        self._lock = threading.Lock()

    def watch(self, step_id: int) -> None:
        with self._lock:
            self._steps.setdefault(step_id, [])

    def saw(self, step_id: int, key: str, coming: Future[Any]) -> None:
        """A value was asked for; note when it comes, if the step is watched."""
        if not self.watches_all and step_id not in self._steps:
            return
        start = time.time()
        coming.add_done_callback(lambda done: self._note(step_id, key, start, done))

    def _note(self, step_id: int, key: str, start: float, done: Future[Any]) -> None:
        if done.exception() is not None:
            return
        value = done.result()
        size = value.nbytes if isinstance(value, (np.ndarray, np.generic)) else 0
        with self._lock:
            if self.watches_all or step_id in self._steps:
                self._steps.setdefault(step_id, []).append(Transfer(key, start, time.time(), size))
                while len(self._steps) > MOST_STEPS:
                    self._steps.popitem(last=False)

    def taken(self, step_id: int) -> Any:
        """StepStats of a step, which is watched no more."""
        with self._lock:
            found = self._steps.pop(step_id, [])
        return to_step_stats(found)

    def clear(self) -> None:
        with self._lock:
            self._steps.clear()


def add_spans(stats: Any, more: Any) -> None:
    """The spans of some StepStats among those of others: a device has one list of them."""
    devices = {d.device: d for d in stats.dev_stats}
    for device in more.dev_stats:
        if device.device in devices:
            devices[device.device].node_stats.MergeFrom(device.node_stats)
        else:
            stats.dev_stats.add().CopyFrom(device)


def to_step_stats(transfers: list[Transfer]) -> Any:
    """Spans of the devices that received."""
    made = proto.StepStats()
    devices: dict[str, Any] = {}
    for transfer in transfers:
        source, _, target, edge, _ = transfer.key.split(";")
        if target not in devices:
            devices[target] = made.dev_stats.add(device=target)
        took = max(1, int((transfer.end - transfer.start) * 1e6))
        devices[target].node_stats.add(
            node_name="RecvTensor",
            all_start_micros=int(transfer.start * 1e6),
            op_end_rel_micros=took,
            all_end_rel_micros=took,
            all_start_nanos=int(transfer.start * 1e9),
            op_end_rel_nanos=took * 1000,
            all_end_rel_nanos=took * 1000,
            timeline_label=f"[{transfer.size}B] {edge} from {source} to {target}",
        )
    return made
