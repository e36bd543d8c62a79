"""What the golden files hold: made by make_golden.py with TensorFlow, checked by tests without it."""

from __future__ import annotations

import numpy as np

NUMBERS = (
    "float32 float64 float16 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool complex64 "
    "complex128 bfloat16"
).split()


def number(name):
    """Six values of a type, ends of its range among them."""
    if name == "bool":
        return np.array([[True, False, True], [False, False, True]])
    if name == "bfloat16":
        import ml_dtypes

        return np.array([[0, 1, -2], [0.5, 256, -3]], ml_dtypes.bfloat16)
    dtype = np.dtype(name)
    if dtype.kind in "iu":
        ends = np.iinfo(dtype)
        return np.array([[ends.min, ends.max, 0], [1, 2, 3]], dtype)
    values = np.array([[0, 1.5, -2.25], [1e-3, 6e4, np.inf]])
    return (values + 1j if dtype.kind == "c" else values).astype(dtype)


def tensors():
    """Name and value of every whole tensor of the V2 checkpoint."""
    found = {f"number/{name}": number(name) for name in NUMBERS}
    found["scalar"] = np.array(7.5, np.float32)
    found["empty"] = np.zeros((0, 3), np.float32)
    found["text"] = np.array([[b"", b"a"], [b"\0\xff", b"long " * 100]], object)
    found["no text"] = np.zeros((0,), object)
    found["large"] = np.arange(9_000, dtype=np.int32) % 10
    found |= {f"many/{i:03d}/weights": np.array([i, i + 1], np.int16) for i in range(40)}
    return found


PARTITIONED = np.arange(30, dtype=np.float32).reshape(10, 3)  # in slices of 4, 3 and 3 rows
PARTS = ((0, 4), (4, 3), (7, 3))

COMPRESSIBLE = b"abcabcabcabc" * 50 + bytes(range(256)) * 3 + b"z" * 1000  # as snappy bytes in a variant

RECORDS = [b"", b"one", b"\0" * 1000, bytes(range(256)) * 40, b"last"]
EVENT_STEPS = [(0, 0.5), (1, 0.25), (100, -1.0)]


def old_tensors():
    """What the V1 checkpoint holds: fewer types can be saved in it."""
    names = "float32 float64 int8 int16 int32 int64 uint8 bool complex64".split()
    found = {f"number/{name}": number(name) for name in names}
    found["text"] = np.array([b"", b"a", b"repeat " * 300], object)
    found["compressible"] = np.zeros((50, 100), np.float32)
    found["pattern"] = np.arange(4000, dtype=np.int32) % 17
    found["scalar"] = np.array(3, np.int64)
    return found
