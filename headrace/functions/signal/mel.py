"""The mel scale, on which equal steps sound equally far apart."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.dtypes import DTypeLike
from headrace.functions.signal.cosine import dct
from headrace.functions.values.structure import name_scope
from headrace.graph.tensor import Tensor
from headrace.ops.array.constant import constant
from headrace.ops.declaration import array
from headrace.ops.declaration.constants import constant as constant_value
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.math import arithmetic, cast, exponential
from headrace.ops.math.sequence import lin_space

BREAK_HERTZ, Q = 700.0, 1127.0  # mel = Q log(1 + hertz / BREAK_HERTZ)


def linear_to_mel_weight_matrix(
    num_mel_bins: int = 20,
    num_spectrogram_bins: Any = 129,
    sample_rate: Any = 8000,
    lower_edge_hertz: float = 125.0,
    upper_edge_hertz: float = 3800.0,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """A matrix that turns spectra with linear frequencies into spectra with mel bands.

    Each band is a triangle between the centers of its neighbours; the constant term is left out.

    Args:
      num_mel_bins: how many bands.
      num_spectrogram_bins: how many frequencies a spectrum has.
      sample_rate: samples per second of the signal; a number, or a tensor with a known value.
      lower_edge_hertz: where the lowest band starts.
      upper_edge_hertz: where the highest band ends.
      dtype: a float type.
      name: name of the node.

    Returns:
      [num_spectrogram_bins, num_mel_bins].

    Raises:
      ValueError: a size or a frequency is out of range.

    Example:
      >>> mel = tf.tensordot(spectrograms, tf.signal.linear_to_mel_weight_matrix(), 1)
    """
    with name_scope(name, "linear_to_mel_weight_matrix") as scope:
        if isinstance(sample_rate, Tensor):
            sample_rate = constant_value(sample_rate)
            if sample_rate is None:
                raise ValueError(
                    "`sample_rate` was a non-constant Tensor. Must be a Python float or a constant Tensor."
                )
        dtype = dtypes.as_dtype(dtype)
        _check(num_mel_bins, sample_rate, lower_edge_hertz, upper_edge_hertz, dtype)
        edges = np.linspace(_mel(lower_edge_hertz), _mel(upper_edge_hertz), num_mel_bins + 2)
        lower, center, upper = (constant(edges[i : i + num_mel_bins], dtype) for i in range(3))
        highest = constant(float(sample_rate) / 2, dtype)
        hertz = lin_space(constant(0.0, dtype), highest, num_spectrogram_bins)[1:]
        log = exponential.log1p(hertz / constant(BREAK_HERTZ, dtype))
        mel = array.expand_dims(log * constant(Q, dtype), 1)
        slopes = (mel - lower) / (center - lower), (upper - mel) / (upper - center)
        weights = arithmetic.maximum(constant(0.0, dtype), arithmetic.minimum(*slopes))
        return array.pad(weights, [[1, 0], [0, 0]], name=scope)


def _mel(hertz: Any) -> Any:
    return Q * np.log1p(np.float64(hertz) / BREAK_HERTZ)


def _check(bins: int, rate: Any, lower: float, upper: float, dtype: dtypes.DType) -> None:
    if bins <= 0:
        raise ValueError(f"num_mel_bins must be positive. Got: {bins}")
    if rate <= 0.0:
        raise ValueError(f"sample_rate must be positive. Got: {rate}")
    if lower < 0.0:
        raise ValueError(f"lower_edge_hertz must be non-negative. Got: {lower}")
    if lower >= upper:
        raise ValueError(f"lower_edge_hertz {lower:.1f} >= upper_edge_hertz {upper:.1f}")
    if upper > rate / 2:
        raise ValueError(
            "upper_edge_hertz must not be larger than the Nyquist frequency (sample_rate / 2). "
            f"Got: {upper} for sample_rate: {rate}"
        )
    if not dtype.is_floating:
        raise ValueError(f"dtype must be a floating point type. Got: {dtype}")


def mfccs_from_log_mel_spectrograms(log_mel_spectrograms: Any, name: str | None = None) -> Tensor:
    """The cosine transform of log-mel spectra, scaled as speech recognition has it.

    Args:
      log_mel_spectrograms: float32 [..., num_mel_bins], logarithms of magnitudes.
      name: name of the scope.

    Returns:
      float32 [..., num_mel_bins]; most uses keep the first 13 or so.

    Raises:
      ValueError: there are no bins.
    """
    with name_scope(name, "mfccs_from_log_mel_spectrograms", [log_mel_spectrograms]):
        x = convert_to_tensor(log_mel_spectrograms, dtype=dtypes.float32)
        bins = x.shape.dim(-1) if x.shape.rank else None
        if bins == 0:
            raise ValueError(f"num_mel_bins must be positive. Got: {x}")
        count: Any = array.shape(x)[-1] if bins is None else bins
        size = cast.cast(convert_to_tensor(count), dtypes.float32)
        return dct(x, type=2) * arithmetic.rsqrt(size * 2.0)
