"""Sequences of batches, and queues that make them ahead."""

from __future__ import annotations

import queue
import random
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any


class Sequence:
    """Batches by number: subclasses say in `__getitem__` what a batch is, and in `__len__` how many there
    are."""

    def __getitem__(self, index: int) -> Any:
        raise NotImplementedError

    def __len__(self) -> int:
        raise NotImplementedError

    def on_epoch_end(self) -> None:
        """All batches of an epoch have been taken."""

    def __iter__(self) -> Iterator[Any]:
        for i in range(len(self)):
            yield self[i]


def iter_sequence_infinite(sequence: Sequence) -> Iterator[Any]:
    """The batches, again and again."""
    while True:
        yield from sequence


class SequenceEnqueuer:
    """A queue that workers fill and the caller empties.

    Args:
      sequence: where the batches come from.
      use_multiprocessing: processes in place of threads?
    """

    def __init__(self, sequence: Any, use_multiprocessing: bool = False) -> None:
        self.sequence, self.use_multiprocessing = sequence, use_multiprocessing
        self.queue: Any = None
        self.workers = 0
        self.stop_signal: threading.Event | None = None
        self.run_thread: threading.Thread | None = None

    def is_running(self) -> bool:
        return self.stop_signal is not None and not self.stop_signal.is_set()

    def start(self, workers: int = 1, max_queue_size: int = 10) -> None:
        """Begin to make batches.

        Args:
          workers: how many at once.
          max_queue_size: how many wait at most.
        """
        self.workers, self.queue = workers, queue.Queue(max_queue_size)
        self.stop_signal = threading.Event()
        self.run_thread = threading.Thread(target=self._run, daemon=True)
        self.run_thread.start()

    def stop(self, timeout: float | None = None) -> None:
        """Make no more."""
        if self.stop_signal is None:
            return
        self.stop_signal.set()
        while not self.queue.empty():
            self.queue.get_nowait()
        if self.run_thread is not None:
            self.run_thread.join(5.0 if timeout is None else timeout)

    def _put(self, item: Any) -> None:
        """Wait for a place in the queue, unless the run ends."""
        while self.is_running():
            try:
                self.queue.put(item, timeout=0.1)
                return
            except queue.Full:
                continue

    def _run(self) -> None:
        raise NotImplementedError

    def get(self) -> Iterator[Any]:
        """The batches, as they are ready."""
        while self.is_running():
            try:
                kind, item = self.queue.get(timeout=0.1)
            except queue.Empty:
                continue
            if kind == "end":
                return
            if kind == "error":
                self.stop()
                raise item
            value = item.result() if kind == "future" else item
            if value is not None:
                yield value


class OrderedEnqueuer(SequenceEnqueuer):
    """Makes the batches of a Sequence, in its order or shuffled.

    Args:
      sequence: the Sequence.
      use_multiprocessing: processes in place of threads?
      shuffle: another order in each epoch?
    """

    def __init__(self, sequence: Sequence, use_multiprocessing: bool = False, shuffle: bool = False) -> None:
        super().__init__(sequence, use_multiprocessing)
        self.shuffle = shuffle

    def _pool(self) -> Executor:
        if self.use_multiprocessing:
            return ProcessPoolExecutor(self.workers)
        return ThreadPoolExecutor(self.workers)

    def _run(self) -> None:
        with self._pool() as pool:
            while self.is_running():
                order = list(range(len(self.sequence)))
                if self.shuffle:
                    random.shuffle(order)
                pending = []
                for i in order:
                    if not self.is_running():
                        return
                    pending.append(pool.submit(_item, self.sequence, i))
                    self._put(("future", pending[-1]))
                while self.is_running() and not all(f.done() for f in pending):
                    time.sleep(0.001)
                self.sequence.on_epoch_end()


def _item(sequence: Sequence, index: int) -> Any:
    return sequence[index]


class GeneratorEnqueuer(SequenceEnqueuer):
    """Takes batches from a generator ahead.

    Args:
      sequence: the generator.
      use_multiprocessing: accepted: a generator lives in one process.
      random_seed: accepted.
    """

    def __init__(self, sequence: Any, use_multiprocessing: bool = False, random_seed: Any = None) -> None:
        super().__init__(sequence, False)

    def _run(self) -> None:
        try:
            for item in self.sequence:
                self._put(("value", item))
                if not self.is_running():
                    return
        except Exception as error:  # whatever the user's generator raises reaches the caller of `get`
            self._put(("error", error))
            return
        self._put(("end", None))
