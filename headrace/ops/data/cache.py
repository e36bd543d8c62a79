"""Elements kept when they are made for the first time: in memory, or in files (TF's tensor bundles)."""

from __future__ import annotations

import os
import threading
import time
from typing import Any

from headrace.core.errors import AlreadyExistsError, InvalidArgumentError
from headrace.formats import files
from headrace.formats.checkpoints import bundle
from headrace.formats.checkpoints.bundle_writer import BundleWriter
from headrace.ops.data.pipeline.dataset import Dataset, Element, Iterator, Place, Unary, UnaryIterator
from headrace.ops.data.pipeline.declaring import OF_ELEMENTS, dataset_in, dataset_op, scalar_of
from headrace.ops.declaration.traits import STATEFUL

_MOST = 10_000_000  # elements in files


# -- in memory -------------------------------------------------------------------------------------
class Memory:
    """What iterators over one dataset share.  The first one that comes to the end fills it."""

    def __init__(self) -> None:
        self.elements: list[Element] | None = None
        self.lock = threading.Lock()


class MemoryCache(Unary):
    kind = "MemoryCache"

    def __init__(self, source: Dataset, memory: Memory | None = None) -> None:
        super().__init__(source)
        self.memory = memory

    def make(self, running: Any, path: str) -> Iterator:
        memory = self.memory or running.once(("cache", path), Memory)
        return MemoryIterator(self, running, path, memory)


class MemoryIterator(Iterator):
    def __init__(self, dataset: Any, running: Any, path: str, memory: Memory) -> None:
        super().__init__(dataset, running, path)
        self.memory, self.at = memory, 0
        self.source: Iterator | None = None
        self.gathered: list[Element] = []

    def next(self) -> Element | None:
        if self.source is None and self.memory.elements is None:
            self.source = self.dataset.source.iterator(self.running, self.path)
        if self.source is None:
            elements = self.memory.elements
            assert elements is not None
            if self.at >= len(elements):
                return None
            self.at += 1
            return elements[self.at - 1]
        element = self.source.next()
        if element is not None:
            self.gathered.append(element)
            return element
        self.source.close()
        self.source = None
        with self.memory.lock:
            if self.memory.elements is None:
                self.memory.elements = self.gathered
        self.at = len(self.memory.elements)
        return None

    def save(self) -> Place:
        return {
            "at": self.at,
            "cached": self.memory.elements,
            "gathered": list(self.gathered) if self.source is not None else None,
            "source": None if self.source is None else self.source.save(),
        }

    def restore(self, place: Place) -> None:
        self.at = place["at"]
        self.memory.elements = place["cached"]
        if place["source"] is not None:
            self.source = self.dataset.source.iterator(self.running, self.path)
            self.source.restore(place["source"])
            self.gathered = list(place["gathered"])

    def close(self) -> None:
        if self.source is not None:
            self.source.close()


# -- in files --------------------------------------------------------------------------------------
class FileCache(Unary):
    kind = "FileCache"

    def __init__(self, source: Dataset, prefix: str) -> None:
        super().__init__(source)
        self.prefix = prefix

    def make(self, running: Any, path: str) -> Iterator:
        with files.fenced(running.background.folders):
            is_there = bundle.exists(self.prefix)
        return (FileReader if is_there else FileWriter)(self, running, path)

    def name(self, element: int, component: int) -> str:
        width = len(str(len(self.types) - 1))
        return f"{element:7d}_{component:{width}d}"


class FileReader(Iterator):
    def __init__(self, dataset: Any, running: Any, path: str) -> None:
        super().__init__(dataset, running, path)
        self.at = 0
        self.bundle: Any = None

    def next(self) -> Element | None:
        if self.bundle is None:
            with files.fenced(self.running.background.folders):
                self.bundle = bundle.BundleReader(self.dataset.prefix)
        name = self.dataset.name
        if name(self.at, 0) not in self.bundle:
            return None
        self.at += 1
        return [self.bundle.read(name(self.at - 1, i)) for i in range(len(self.dataset.types))]

    def save(self) -> Place:
        return {"mode": "read", "at": self.at}

    def restore(self, place: Place) -> None:
        self.at = place["at"]

    def close(self) -> None:
        found, self.bundle = self.bundle, None
        if found is not None:
            found.close()


class FileWriter(UnaryIterator):
    """A lock file says that somebody is at it."""

    def __init__(self, dataset: Any, running: Any, path: str) -> None:
        super().__init__(dataset, running, path)
        self.at = 0
        self.writer: BundleWriter | None = None
        self.is_done = False
        self.reader: FileReader | None = None

    @property
    def lock(self) -> str:
        return f"{self.dataset.prefix}_0.lockfile"

    def next(self) -> Element | None:
        if self.reader is not None:
            return self.reader.next()
        if self.is_done:
            return None
        with files.fenced(self.running.background.folders):
            return self._next()

    def _next(self) -> Element | None:
        if self.writer is None:
            self._begin()
        assert self.writer is not None
        if self.at >= _MOST:
            raise InvalidArgumentError(
                None,
                None,
                f"Upstream iterator is producing more than {_MOST} items, which is more than the cache "
                "limit.",
            )
        element = self.source.next()
        if element is None:
            self.is_done = True
            self.writer.finish()
            files.remove(self.lock)
            return None
        for i, value in enumerate(element):
            self.writer.add(self.dataset.name(self.at, i), value, self.dataset.types[i])
        self.at += 1
        return element

    def _begin(self) -> None:
        prefix = self.dataset.prefix
        if bundle.exists(prefix):
            raise AlreadyExistsError(
                None,
                None,
                f"Existing cache files found: \n{bundle.index_path(prefix)}\n"
                f"{bundle.data_path(prefix, 0, 1)}\n"
                "To continue delete the above files.",
            )
        if files.exists(self.lock):
            contents = files.read_bytes(self.lock).decode("utf-8", "replace")
            raise AlreadyExistsError(
                None,
                None,
                "There appears to be a concurrent caching iterator running - cache lockfile already "
                "exists "
                f"('{self.lock}'). If you are sure no other running TF computations are using this cache "
                "prefix, delete the lockfile and re-initialize the iterator. Lockfile contents: "
                f"{contents}",
            )
        files.write_whole(self.lock, f"Created at: {int(time.time())} by {os.getpid()}")
        self.writer = BundleWriter(prefix)

    def save(self) -> Place:
        """Half a cache is not kept: what goes on from this place begins a new one."""
        return {"mode": "write", "at": self.at, "done": self.is_done, **super().save()}

    def restore(self, place: Place) -> None:
        if place["mode"] == "read" or place["done"]:
            self.is_done = place.get("done", False)
            return
        super().restore(place)
        self.at = place["at"]

    def close(self) -> None:
        super().close()
        if self.writer is not None and not self.is_done:
            self.is_done = True
            self.writer.__exit__(ValueError, None, None)
            with files.fenced(self.running.background.folders):
                if files.exists(self.lock):
                    files.remove(self.lock)


def _cache(input_dataset: Any, filename: Any, memory: Memory | None = None) -> Dataset:
    source, prefix = dataset_in(input_dataset), scalar_of(filename, "filename")
    return FileCache(source, prefix.decode()) if prefix else MemoryCache(source, memory)


@dataset_op("CacheDataset", "input_dataset: variant, filename: string -> handle: variant")
def cache_dataset(ctx, input_dataset, filename, *, output_types, output_shapes):
    """The elements, kept when they are made for the first time."""
    return _cache(input_dataset, filename)


@dataset_op(
    "CacheDatasetV2",
    "input_dataset: variant, filename: string, cache: resource -> handle: variant",
    [STATEFUL],
    attrs=OF_ELEMENTS,
)
def cache_dataset_v2(ctx, input_dataset, filename, cache, *, output_types, output_shapes):
    """The elements, kept in a resource when they are made for the first time."""
    return _cache(input_dataset, filename, cache.get(Memory))
