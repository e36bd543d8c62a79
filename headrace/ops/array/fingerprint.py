"""Fingerprint: a short digest of every row."""

from __future__ import annotations

import numpy as np

from headrace.core.errors import require
from headrace.core.shapes import Shape, show
from headrace.ops.array.hashing import fingerprint64, of_strings
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_rules import require_rank
from headrace.ops.declaration.signature import Type

_SIZE = 8  # bytes


def fingerprint_shape(data, method):
    require(data.rank != 0, f"Shape must be at least rank 1 but is rank 0: {show(data)}")
    require_rank(method, 0)
    name = method.value
    if name is None:
        return Shape.of(data.dim(0), None)
    require(name.item() == b"farmhash64", f"Unsupported method: {name.item().decode()}")
    return Shape.of(data.dim(0), _SIZE)


def _as_bytes(words):
    return words.astype("<u8").reshape(-1, 1).view(np.uint8)


@op("Fingerprint", "data: T, method: string -> fingerprint: uint8", T=Type(), shape=fingerprint_shape)
def fingerprint(data, method):
    """FarmHash's 64-bit fingerprint of every row of data, as 8 bytes, lowest first.  A row of
    several strings has the fingerprint of their fingerprints."""
    require(method.ndim == 0, f"`method` should be a scalar string: {list(method.shape)}")
    name = method.item()
    require(name == b"farmhash64", f"Unsupported fingerprint method: {name.decode()}")
    require(data.ndim, f"`data` should have at least one dimension: {list(data.shape)}")
    rows = data.shape[0]
    if not rows:
        return np.zeros((0, _SIZE), np.uint8)
    if data.dtype == object:
        codes = _as_bytes(of_strings(fingerprint64, data.reshape(-1)))
        if data.size == rows:
            return codes
        raw = codes.reshape(rows, -1)
    else:
        raw = np.ascontiguousarray(data).view(np.uint8).reshape(rows, -1)
    texts = np.empty(rows, object)
    texts[:] = [row.tobytes() for row in raw]
    return _as_bytes(of_strings(fingerprint64, texts))


fingerprint.no_gradient()


@fingerprint.samples
def _(rng):
    method = np.array(b"farmhash64", dtype=object)
    yield Sample(np.arange(6, dtype=np.int32).reshape(2, 3), method)
    yield Sample(np.array([b"a", b"bc"], dtype=object), method, note="text")
    yield Sample(np.array([[b"a", b"b"], [b"", b"c"]], dtype=object), method, note="texts")
    yield ErrorSample(np.arange(3), np.array(b"md5", dtype=object), raises="Unsupported")
