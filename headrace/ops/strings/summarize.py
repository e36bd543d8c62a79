"""Values as short text: what Print, Assert and tf.print show of a tensor."""

from __future__ import annotations

from typing import Any

import numpy as np


def summarize(array: Any, limit: int) -> str:
    """The first `limit` elements (all for a negative number), rows in brackets."""
    count = array.size
    limit = count if limit < 0 else min(limit, count)
    if _is_opaque(array):
        return _opaque(array, limit)
    flat = array.reshape(-1)[:limit]
    shown = [_element(x, "") for x in flat]
    if array.ndim == 0:
        return "".join(shown) + ("..." if count > limit else "")
    out: list[str] = []
    _rows(array.shape, 0, limit, shown, 0, out)
    return "".join(out) + ("..." if count > limit else "")


def _rows(shape: tuple[int, ...], dim: int, limit: int, shown: list[str], at: int, out: list[str]) -> int:
    """Print from dimension `dim` on, element `at` first; the number of the next element."""
    if at >= limit:
        return at
    if dim == len(shape) - 1:
        for i in range(shape[dim]):
            if at >= limit:
                if dim:
                    out.append("...")
                return at
            out.append((" " if i else "") + shown[at])
            at += 1
        return at
    for _ in range(shape[dim]):
        opened = at < limit
        if opened:
            out.append("[")
        at = _rows(shape, dim + 1, limit, shown, at, out)
        if opened:
            out.append("]")
    return at


def summarize_ends(array: Any, limit: int) -> str:
    """The first and last `limit` elements of every dimension, as NumPy prints arrays."""
    limit = array.size if limit < 0 else min(limit, array.size)
    if _is_opaque(array):
        return f"[{_opaque(array, limit)}]"
    return _ends(array, limit, 0, array.ndim)


def _ends(array: Any, limit: int, dim: int, rank: int) -> str:
    if dim == rank:
        return _element(array[()] if isinstance(array, np.ndarray) else array, '"')
    gap = " " if dim == rank - 1 else "\n" * (rank - dim - 1) + " " * (dim + 1)
    count = len(array)
    parts = [_ends(array[i], limit, dim + 1, rank) for i in range(min(limit, count))]
    if count > 2 * limit:
        parts.append("...")
    parts += [_ends(array[i], limit, dim + 1, rank) for i in range(max(limit, count - limit), count)]
    if parts and not limit:
        parts[0] = gap + parts[0]  # with no elements in front TF still leaves their space
    return "[" + gap.join(parts) + "]"


def _is_opaque(array: Any) -> bool:
    if array.dtype.kind == "c":
        return True
    return bool(array.dtype.kind == "O" and array.size and not isinstance(array.reshape(-1)[0], bytes))


def _opaque(array: Any, limit: int) -> str:
    """Complex numbers and handles are not shown."""
    flat = array.reshape(-1)[:limit]
    shown = ["?" if array.dtype.kind == "c" else repr(x) for x in flat]
    return " ".join(shown) + ("..." if limit < array.size else "")


def _element(value: Any, quote: str) -> str:
    if isinstance(value, bytes):
        return quote + escape(value) + quote
    if isinstance(value, (bool, np.bool_)):
        return str(int(value))
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, (float, np.float64)):
        return _shortest(float(value), 15, 17, float)
    return _shortest(float(value), 6, 9, np.float32)


def _shortest(value: float, digits: int, more: int, kind: Any) -> str:
    """`digits` digits if they give the number back, else `more`."""
    text = f"{value:.{digits}g}"
    with np.errstate(all="ignore"):
        exact = kind(float(text)) == kind(value) or value != value
    return text if exact else f"{value:.{more}g}"


_ESCAPES = {10: "\\n", 13: "\\r", 9: "\\t", 34: '\\"', 39: "\\'", 92: "\\\\"}


def escape(text: bytes) -> str:
    """Bytes as in a C string literal: what is not printable ASCII in octal."""
    return "".join(_ESCAPES.get(b) or (chr(b) if 32 <= b < 127 else f"\\{b:03o}") for b in text)
