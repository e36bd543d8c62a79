"""Fourier transforms of real signals, and shifts of a spectrum.  (FFT and IFFT of complex tensors
are ops that need nothing around them.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.core import dtypes
from headrace.functions.values.structure import name_scope
from headrace.graph.tensor import Tensor
from headrace.ops.array.constant import constant, pack, unpack
from headrace.ops.array.reverse import roll
from headrace.ops.declaration import array
from headrace.ops.declaration.constants import partial_vector
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.linalg import fft
from headrace.ops.math import arithmetic


def _real_lengths(x: Tensor, rank: int) -> Tensor:
    """fft_length that takes all of a real signal."""
    inner = x.shape[-rank:]
    if inner.is_full:
        return constant(inner.as_list(), dtypes.int32)
    return array.shape(x)[-rank:]


def _spectrum_lengths(x: Tensor, rank: int) -> Tensor:
    """fft_length of the (even) signal that a half spectrum belongs to."""
    inner = x.shape[-rank:]
    if inner.is_full:
        *outer, last = inner.as_list()
        return constant([*outer, max(0, 2 * (last - 1))], dtypes.int32)
    *outer, last = unpack(array.shape(x)[-rank:], num=rank)
    return pack([*outer, arithmetic.maximum(0, 2 * (last - 1))])


def _padded(x: Tensor, rank: int, fft_length: Tensor, is_spectrum: bool) -> Tensor:
    """`x` with zeros behind, where fft_length asks for more than there is."""
    if x.shape.rank is not None and 0 in x.shape.sizes:
        return x
    lengths: Any = partial_vector(fft_length)
    inner = x.shape[-rank:]
    if lengths is not None and None not in lengths and x.shape.rank is not None and inner.is_full:
        needed = [*lengths[:-1], lengths[-1] // 2 + 1] if is_spectrum else lengths
        known = [max(0, n - size) for n, size in zip(needed, inner.sizes)]
        if not any(known):
            return x
        return array.pad(x, [[0, 0]] * (x.shape.rank - rank) + [[0, n] for n in known])
    if is_spectrum:
        fft_length = array.concat_v2([fft_length[:-1], fft_length[-1:] // 2 + 1], 0)
    missing = arithmetic.maximum(0, fft_length - array.shape(x)[-rank:])
    outer = array.fill(array.reshape(array.rank(x) - rank, [1]), constant(0))
    after = array.concat_v2([outer, missing], 0)
    return array.pad(x, pack([array.zeros_like(after), after], axis=1))


def _transform(build: Any, rank: int, name: str, doc: str, is_spectrum: bool) -> Callable[..., Tensor]:
    dtype = dtypes.complex64 if is_spectrum else dtypes.float32
    default = _spectrum_lengths if is_spectrum else _real_lengths
    default_name = name

    def transform(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Tensor:
        with name_scope(name, default_name, [input_tensor, fft_length]) as scope:
            x = convert_to_tensor(input_tensor, dtype)
            x.shape.with_rank_at_least(rank)
            if fft_length is None:
                fft_length = default(x, rank)
            else:
                fft_length = convert_to_tensor(fft_length, dtypes.int32)
                fft_length.shape.assert_has_rank(1)
            result: Tensor = build(_padded(x, rank, fft_length, is_spectrum), fft_length, name=scope)
            return result

    transform.__name__ = transform.__qualname__ = default_name
    transform.__doc__ = doc
    return transform


def _forward(build: Any, rank: int, name: str, axes: str) -> Callable[..., Tensor]:
    doc = f"""The Fourier transform of real signals over the {axes}.

    Args:
      input_tensor: float32 signals.
      fft_length: int32 [{rank}], how many entries count; signals are cut or filled with zeros.
        All of them if not given.
      name: name of the node.

    Returns:
      complex64; the last dimension has fft_length[-1] // 2 + 1 frequencies, the rest follows from
      symmetry.
    """
    return _transform(build, rank, name, doc, is_spectrum=False)


def _inverse(build: Any, rank: int, name: str, axes: str) -> Callable[..., Tensor]:
    doc = f"""The real signals over the {axes} that have these half spectra.

    Args:
      input_tensor: complex64 spectra, as r{name[2:]} gives them.
      fft_length: int32 [{rank}], the size of the signals; 2 (n - 1) for n frequencies in the last
        dimension if not given.
      name: name of the node.

    Returns:
      float32 signals.
    """
    return _transform(build, rank, name, doc, is_spectrum=True)


rfft = _forward(fft.rfft, 1, "rfft", "last dimension")
rfft2d = _forward(fft.rfft2d, 2, "rfft2d", "last two dimensions")
rfft3d = _forward(fft.rfft3d, 3, "rfft3d", "last three dimensions")
irfft = _inverse(fft.irfft, 1, "irfft", "last dimension")
irfft2d = _inverse(fft.irfft2d, 2, "irfft2d", "last two dimensions")
irfft3d = _inverse(fft.irfft3d, 3, "irfft3d", "last three dimensions")


def _rolled(x: Any, axes: Any, sign: int, scope: str) -> Tensor:
    x = convert_to_tensor(x)
    if axes is None:
        axes = tuple(range(len(x.shape)))
    one = isinstance(axes, int)
    shifts = [sign * (x.shape.dim(axis) // 2) for axis in ([axes] if one else axes)]
    return roll(x, shifts[0] if one else shifts, axes, name=scope)


def fftshift(x: Any, axes: Any = None, name: str | None = None) -> Tensor:
    """Moves the frequency zero to the middle of a spectrum.

    Args:
      x: a spectrum.
      axes: an axis or several; all if not given.
      name: name of the node.

    Returns:
      A tensor like `x`.
    """
    with name_scope(name, "fftshift") as scope:
        return _rolled(x, axes, 1, scope)


def ifftshift(x: Any, axes: Any = None, name: str | None = None) -> Tensor:
    """Undoes fftshift.

    Args:
      x: a shifted spectrum.
      axes: an axis or several; all if not given.
      name: name of the node.

    Returns:
      A tensor like `x`.
    """
    with name_scope(name, "ifftshift") as scope:
        return _rolled(x, axes, -1, scope)
