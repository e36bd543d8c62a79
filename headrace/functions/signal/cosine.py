"""Discrete cosine transforms, by the Fourier transform of a longer real signal."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.families import takes
from headrace.functions.signal.fourier import irfft, rfft
from headrace.functions.values.structure import name_scope
from headrace.graph.tensor import Tensor
from headrace.ops.array.constant import constant, pack
from headrace.ops.declaration import array
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.math import arithmetic, cast, exponential
from headrace.ops.math import complex as complex_ops
from headrace.ops.math.sequence import range_


def dct(
    input: Any,
    type: int = 2,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The discrete cosine transform of type I, II or III, over the last dimension.

    Args:
      input: float32 [..., samples].
      type: 1, 2 or 3.
      n: how many samples count; signals are cut or filled with zeros.
      axis: must be -1.
      norm: "ortho" for the orthogonal form (types 2 and 3), None for the plain one.
      name: name of the scope.

    Returns:
      float32 [..., samples].

    Raises:
      ValueError: `type`, `n` or `norm` is not one of these, or type I gets fewer than two samples.
      NotImplementedError: another axis.
    """
    with name_scope(name, "dct", [input]):
        x = convert_to_tensor(input, dtype=dtypes.float32)
        _check(x, type, n, axis, norm)
        if n is not None:
            x = _resized(x, n)
        return {1: _first, 2: _second, 3: _third}[type](x, norm == "ortho")


@takes(dct)
def idct(input: Any, type: int, n: Any, axis: int, norm: Any, name: Any) -> Tensor:
    """The inverse of dct up to a scale factor, exactly with norm="ortho".

    Args:
      input: float32 [..., samples].
      type: the type of the transform that it undoes: 1, 2 or 3.
      n: how many samples count.
      axis: must be -1.
      norm: "ortho" or None.
      name: name of the scope.

    Returns:
      float32 [..., samples].
    """
    _check(convert_to_tensor(input, dtype=dtypes.float32), type, n, axis, norm)
    return dct(input, {1: 1, 2: 3, 3: 2}[type], n, axis, norm, name)


def _check(x: Tensor, type: int, n: int | None, axis: int, norm: str | None) -> None:
    if axis != -1:
        raise NotImplementedError(f"axis must be -1. Got: {axis}")
    if n is not None and n < 1:
        raise ValueError("n should be a positive integer or None")
    if type not in (1, 2, 3):
        raise ValueError("Only Types I, II and III (I)DCT are supported.")
    if type == 1:
        if norm == "ortho":
            raise ValueError("Normalization is not supported for the Type-I DCT.")
        if x.shape.rank and x.shape.dim(-1) in (0, 1):
            raise ValueError("Type-I DCT requires the dimension to be greater than one.")
    if norm not in (None, "ortho"):
        raise ValueError(f"Unknown normalization. Expected None or 'ortho', got: {norm}")


def _resized(x: Tensor, n: int) -> Tensor:
    """The last dimension cut, or filled with zeros, to n."""
    given = x.shape.dim(-1)
    if given is None or given < n:
        missing: Any = arithmetic.maximum(0, n - array.shape(x)[-1]) if given is None else n - given
        lead: list[Any] = [[0, 0]] * (len(x.shape) - 1)
        x = array.pad(x, convert_to_tensor([*lead, [0, missing]], dtype=dtypes.int32))
    return x[..., :n]


def _count(x: Tensor) -> Any:
    size = x.shape.dim(-1)
    return array.shape(x)[-1] if size is None else size


def _first(x: Tensor, is_ortho: bool) -> Tensor:
    """The spectrum of the signal followed by its mirror image is real."""
    return complex_ops.real(rfft(array.concat_v2([x, x[..., -2:0:-1]], -1)))


def _second(x: Tensor, is_ortho: bool) -> Tensor:
    count = _count(x)
    spectrum = rfft(x, fft_length=pack([2 * count]))[..., :count]
    out = complex_ops.real(spectrum * _turns(count, -1))
    return out * _weights(count, 0.25, 0.5) if is_ortho else out


def _third(x: Tensor, is_ortho: bool) -> Tensor:
    count = _count(x)
    points = cast.cast(count, dtypes.float32) if isinstance(count, Tensor) else float(count)
    x = x * points
    if is_ortho:
        x = x * _weights(count, 1.0, 0.5)
    spectrum = complex_ops.complex_(x, constant(0.0)) * _turns(count, 1)
    return irfft(spectrum, fft_length=pack([2 * count]))[..., :count]


def _turns(count: Any, sign: int) -> Tensor:
    """2 exp(sign i pi k / (2 count)) for every k below count."""
    if isinstance(count, int):
        known = sign * np.pi * np.arange(count) / (2 * max(count, 1))
        return constant(2 * np.exp(1j * known), dtypes.complex64)
    k = cast.cast(range_(0, count, 1), dtypes.float32)
    angle = k * (sign * np.pi / 2) / cast.cast(count, dtypes.float32)
    whole = exponential.exp(complex_ops.complex_(constant(0.0), angle))
    return whole * constant(2, dtypes.complex64)


def _weights(count: Any, first: float, rest: float) -> Tensor:
    """sqrt(first / count) for the constant term, sqrt(rest / count) for the others."""
    if isinstance(count, int):
        known = np.where(np.arange(count) == 0, first, rest)
        return constant(np.sqrt(known / max(count, 1)), dtypes.float32)
    is_first = cast.cast(arithmetic.maximum(0, 1 - range_(0, count, 1)), dtypes.float32)
    parts = is_first * (first - rest) + rest
    return arithmetic.sqrt(parts / cast.cast(count, dtypes.float32))
