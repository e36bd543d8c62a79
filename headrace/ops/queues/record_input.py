"""RecordInput: records of many TFRecord files, shuffled, epoch after epoch."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from itertools import chain, islice, zip_longest

import numpy as np

from headrace.core.errors import NotFoundError, require
from headrace.core.shapes import make_shape
from headrace.formats import files
from headrace.formats.records import records
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.signature import String
from headrace.ops.declaration.text import strings
from headrace.ops.declaration.traits import FILES, HOST, STATEFUL


def shuffled_records(pattern, seed, shift_ratio, buffer_size, shards, compression) -> Iterator[bytes]:
    """Records without end.  A buffer mixes them; no epoch begins before the last has ended."""
    generator = np.random.default_rng(seed & 0xFFFFFFFF)
    epoch, size = 0, max(buffer_size, 1)
    while True:
        epoch += 1
        buffer: list[bytes] = []
        added = 0
        for record in _epoch(pattern, seed, epoch, shift_ratio, shards, compression):
            place = int(generator.integers(len(buffer) + 1))
            buffer.append(record)
            buffer[place], buffer[-1] = buffer[-1], buffer[place]
            added += 1
            if len(buffer) >= size:
                yield buffer.pop()
        while buffer:
            yield buffer.pop()
        require(added, f"Found no records in {pattern}")
        size = min(size, added)


def _epoch(pattern, seed, epoch, shift_ratio, shards, compression):
    """All records once: the files in a new order, `shards` of them side by side."""
    names = [name for part in pattern.split(",") for name in files.glob(part)]
    if not names:
        raise NotFoundError(None, None, f"Found no files at {pattern}")
    np.random.default_rng([seed & 0xFFFFFFFF, epoch]).shuffle(names)
    if 0 <= shift_ratio < 1:
        shift = int(shift_ratio * len(names))
        names = names[shift:] + names[:shift]
    readers = [
        (
            r[1]
            for name in islice(names, i, None, shards)
            for r in records.tfrecords(name.encode(), compression)
        )
        for i in range(min(shards, len(names)))
    ]
    return (r for r in chain.from_iterable(zip_longest(*readers)) if r is not None)


@op(
    "RecordInput",
    "-> records: string",
    file_pattern=String(),
    file_random_seed=301,
    file_shuffle_shift_ratio=0.0,
    file_buffer_size=10000,
    file_parallelism=16,
    batch_size=32,
    compression_type="",
    traits={STATEFUL, HOST, FILES},
    shape=lambda *, batch_size: make_shape([batch_size]),
)
def record_input(
    ctx,
    *,
    file_pattern,
    file_random_seed,
    file_shuffle_shift_ratio,
    file_buffer_size,
    file_parallelism,
    batch_size,
    compression_type,
):
    """A batch of records, in random order, from the files that match a pattern."""
    require(file_parallelism > 0, f"file_parallelism must be positive, but is {file_parallelism}")
    with ctx.lock:
        found = ctx.state.get("records")
        if found is None:
            made = shuffled_records(
                file_pattern,
                file_random_seed,
                file_shuffle_shift_ratio,
                file_buffer_size,
                file_parallelism,
                compression_type,
            )
            found = ctx.state["records"] = made, threading.Lock()
    source, lock = found
    with lock:
        return strings(next(source) for _ in range(batch_size))
