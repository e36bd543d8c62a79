"""Element-wise ops at NaN, infinities, signed zeros and the ends of their types: every pair of such values,
by the reference and compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import headrace as tf
from headrace.core import dtypes
from headrace.core.dtypes import DType
from headrace.ops.declaration.declare import Op
from headrace.ops.declaration.traits import ELEMENTWISE
from tests.ops.calls.answers import LOOSE, mode
from tests.ops.declared import ops

pytestmark = pytest.mark.native
TYPES = (
    dtypes.float32,
    dtypes.float64,
    dtypes.bfloat16,
    dtypes.complex64,
    dtypes.int32,
    dtypes.uint8,
    dtypes.bool_,
)
USUAL = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 1e-3, 88.7, -104.0, 1e4)
PARTS = (np.inf, -np.inf, np.nan, 0.0, -0.0, 1.0, -2.0, 0.5)


def is_tried(op: Op, dtype: DType) -> bool:
    """One or two inputs of the same type, which this may be."""
    if ELEMENTWISE not in op.traits or not (op.lower_rule or op.library_rules):
        return False
    names = {None if a.is_list or a.is_ref else a.type_attr for a in op.signature.inputs}
    if not 1 <= len(op.signature.inputs) <= 2 or len(names) != 1 or names == {None}:
        return False
    return dtype in (op.signature.attrs[names.pop()].allowed or TYPES)


def values(dtype: DType) -> np.ndarray:
    if dtype.kind == "c":
        return np.array([complex(re, im) for re in PARTS for im in PARTS], dtype.numpy)
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        ends = np.iinfo(dtype.numpy)
        below = [-1, -2, -7] if ends.min else []
        return np.array([ends.min, ends.max, ends.max // 2, 0, 1, 2, 3, 5, *below], dtype.numpy)
    most = float(dtype.max)
    return np.array([*USUAL, most, -most, 2 * most**0.5, most**-0.5], np.float64).astype(dtype.numpy)


def results(op: Op, arrays: list[np.ndarray], compile: str) -> list[np.ndarray] | str:
    with mode(compile), tf.Graph().as_default() as graph, tf.Session() as session:
        places = [tf.placeholder(a.dtype, a.shape) for a in arrays]
        try:
            op(*places)
            found: Any = session.run(list(graph.get_operations()[-1].outputs), dict(zip(places, arrays)))
        except (tf.errors.OpError, ValueError, TypeError) as error:
            return type(error).__name__
    return [np.asarray(x) for x in found]


def same(found: np.ndarray, wanted: np.ndarray, most: float, size: np.ndarray | None = None) -> np.ndarray:
    """Where two results agree, each number by itself; parts of complex numbers beside their `size`."""
    if found.dtype.kind == "c":
        parts = ((found.real, wanted.real), (found.imag, wanted.imag))
        return np.logical_and(*(same(x, y, most, np.abs(wanted)) for x, y in parts))
    if found.dtype.kind in "iub":
        return found == wanted
    x, y = found.astype(np.float64), wanted.astype(np.float64)
    size = np.abs(y) if size is None else size
    with np.errstate(invalid="ignore"):
        close = np.abs(x - y) <= most * np.maximum(size, float(np.finfo(np.float32).tiny))
    return close | (x == y) | (np.isnan(x) & np.isnan(y))


@pytest.mark.parametrize("dtype", TYPES, ids=lambda d: d.name)
def test_special_values(dtype):
    found = []
    for op in ops():
        if not is_tried(op, dtype):
            continue
        count = len(op.signature.inputs)
        arrays = [a.ravel() for a in np.meshgrid(*[values(dtype)] * count)]
        wanted, got = results(op, arrays, "0"), results(op, arrays, "always")
        if isinstance(wanted, str) or isinstance(got, str):
            if not (isinstance(wanted, str) and wanted == got):
                found.append(f"{op.name}: {str(got)[:80]} for {str(wanted)[:80]}")
            continue
        for x, y in zip(got, wanted):
            apart = np.flatnonzero(~same(x, y, LOOSE[dtype.real_dtype.name] if dtype.kind in "fc" else 0))
            found += [f"{op.name}{tuple(a[i] for a in arrays)}: {x[i]} for {y[i]}" for i in apart[:3]]
    assert not found, "\n".join(found)
