"""Discrete Fourier transforms of the last one, two or three dimensions.

FFT and IFFT take and give complex tensors of one shape.  RFFT takes real ones and gives the half of
the spectrum that is not redundant; IRFFT inverts it.  `fft_length` says how many entries count.
"""

from __future__ import annotations

import numpy as np

from headrace.core.dtypes import COMPLEX, complex64, float32
from headrace.core.errors import require
from headrace.core.shapes import UNKNOWN, make_shape, show
from headrace.ops.array.constant import constant, pack
from headrace.ops.declaration import array
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.signature import Type
from headrace.ops.linalg.matrix_shape import at_least, exactly
from headrace.ops.math import arithmetic, cast, comparison, reduce
from headrace.ops.math import complex as complex_ops
from headrace.ops.math.sequence import range_

SAMPLE_SIZES = (4, 3, 5)


def _check_rank(x, rank):
    shape = show(x.shape)
    require(x.ndim >= rank, f"Input must have rank of at least {rank} but got: {shape}")


def _point_count(x, rank, dtype):
    """How many points a transform of tensor `x` has."""
    return cast.cast(reduce.prod(array.shape(x)[-rank:], 0), dtype)


# -- complex to complex -------------------------------------------------------------------------
def _complex_transform(name, rank, transform, doc):
    axes = tuple(range(-rank, 0))

    def shape(input):
        at_least(input, rank)
        return input.plain()

    def reference(input):
        _check_rank(input, rank)
        return transform(input, axes=axes) if input.size else input

    reference.__doc__ = doc
    declared = op(
        name, "input: Tcomplex -> output: Tcomplex", Tcomplex=Type(COMPLEX, default=complex64), shape=shape
    )(reference)

    @declared.samples
    def _(rng):
        sizes = SAMPLE_SIZES[:rank]
        yield Sample(rng.normal(size=(*sizes, 2)) @ [1, 1j])
        yield Sample(rng.normal(size=(2, *sizes, 2)) @ [1, 1j])
        yield Sample(np.zeros((2, *[0] * rank), np.complex64), note="empty")
        yield ErrorSample(np.ones([2] * (rank - 1), np.complex64), raises="rank")

    old = op(
        "Batch" + name,
        "input: complex64 -> output: complex64",
        shape=lambda input: UNKNOWN,
        deprecated=(15, f"Use {name}"),
    )(reference)
    old.samples(lambda rng: [Sample(np.ones([2] * rank, np.complex64), dtypes=False, grad=False)])
    return declared, old


def _pair(suffix, rank, axes):
    """The two directions of one rank, each the other's gradient up to the number of points."""
    forward, old_forward = _complex_transform(
        "FFT" + suffix, rank, np.fft.fftn, f"The Fourier transform over the {axes}."
    )
    inverse, old_inverse = _complex_transform(
        "IFFT" + suffix, rank, np.fft.ifftn, f"The inverse of FFT{suffix}, over the {axes}."
    )

    @forward.gradient
    def _(node, dy):
        return inverse(dy) * _point_count(dy, rank, dy.dtype)

    @inverse.gradient
    def _(node, dy):
        return forward(dy) * arithmetic.reciprocal(_point_count(dy, rank, dy.dtype))

    return forward, inverse, old_forward, old_inverse


fft, ifft, batch_fft, batch_ifft = _pair("", 1, "last dimension")
fft2d, ifft2d, batch_fft2d, batch_ifft2d = _pair("2D", 2, "last two dimensions")
fft3d, ifft3d, batch_fft3d, batch_ifft3d = _pair("3D", 3, "last three dimensions")
COMPLEX_INVERSE = {1: ifft, 2: ifft2d, 3: ifft3d}


# -- real to half of a spectrum, and back -------------------------------------------------------
def _real_shape(rank, is_forward):
    def rule(input, fft_length):
        at_least(input, rank)
        exactly(fft_length, 1)
        require(fft_length.dim(0) in (None, rank), f"Dimension must be {rank} but is {fft_length.dim(0)}")
        if input.rank is None:
            return UNKNOWN
        found = fft_length.value
        inner = [None] * rank if found is None else [int(n) for n in found]
        if is_forward and inner[-1]:
            inner[-1] = inner[-1] // 2 + 1
        return make_shape((*input.sizes[:-rank], *inner))

    return rule


def _cut(x, fft_length, rank, is_forward):
    """The entries of `x` that count, and the inner sizes of the result."""
    _check_rank(x, rank)
    require(fft_length.shape == (rank,), f"fft_length must have shape [{rank}]")
    lengths = [int(n) for n in fft_length]
    require(min(lengths) >= 0, f"fft_length must not be negative, got {lengths}")
    half = [*lengths[:-1], lengths[-1] // 2 + 1]
    given, needed = x.shape[-rank:], lengths if is_forward else half
    for i, (size, least) in enumerate(zip(given, needed)):
        require(
            size == 0 or size >= least,
            f"Input dimension {x.ndim - rank + i} must have length of at least {least} but got: {size}",
        )
    inside = (..., *(slice(n) for n in needed))
    return x[inside], half if is_forward and lengths[-1] else lengths


def _real_transform(rank, suffix, axes_text):
    axes = tuple(range(-rank, 0))

    def forward_reference(input, fft_length):
        inside, sizes = _cut(input, fft_length, rank, is_forward=True)
        if not inside.size:
            return np.zeros((*input.shape[:-rank], *sizes), np.complex64)
        return np.fft.rfftn(inside, axes=axes)

    def inverse_reference(input, fft_length):
        inside, sizes = _cut(input, fft_length, rank, is_forward=False)
        if not inside.size or 0 in sizes:
            return np.zeros((*input.shape[:-rank], *sizes), np.float32)
        return np.fft.irfftn(inside, s=sizes, axes=axes)

    forward_reference.__doc__ = (
        f"The Fourier transform of a real signal over the {axes_text}, up to the middle frequency."
    )
    inverse_reference.__doc__ = f"The real signal over the {axes_text} that has this half spectrum."
    forward = op(
        "RFFT" + suffix,
        "input: float32, fft_length: int32 -> output: complex64",
        shape=_real_shape(rank, True),
    )(forward_reference)
    inverse = op(
        "IRFFT" + suffix,
        "input: complex64, fft_length: int32 -> output: float32",
        shape=_real_shape(rank, False),
    )(inverse_reference)

    @forward.gradient
    def _(node, dy):
        # dx[n] = Re sum_k dy[k] exp(2 pi i k n / N), over the frequencies that the output has.
        x, fft_length = node.inputs
        whole = _padded(dy, rank, fft_length)
        dx = complex_ops.real(COMPLEX_INVERSE[rank](whole)) * _point_count(whole, rank, float32)
        return _padded(dx, rank, array.shape(x)[-rank:]), None

    @inverse.gradient
    def _(node, dy):
        # Frequencies between the ends stand for themselves and for their mirror image.
        x, fft_length = node.inputs
        spectrum = forward(dy, fft_length)
        k = range_(0, array.shape(spectrum)[-1], 1)
        ends = _is(k, 0) + _is(k * 2, fft_length[-1])
        scale = (constant(2.0) - ends) * arithmetic.reciprocal(_point_count(dy, rank, float32))
        dx = spectrum * cast.cast(scale, complex64)
        return _padded(dx, rank, array.shape(x)[-rank:]), None

    @forward.samples
    def _(rng):
        sizes = SAMPLE_SIZES[:rank]
        for lengths in (sizes, [n - 1 for n in sizes]):
            x = np.float32(rng.normal(size=(2, *sizes)))
            yield Sample(x, np.int32(lengths), dtypes=False, tolerance=1e-3)
        empty = np.zeros((0, *sizes), np.float32)
        yield Sample(empty, np.int32(sizes), dtypes=False, note="empty", grad=False)
        yield ErrorSample(x, np.int32([9] * rank), raises="must have length of at least")
        yield ErrorSample(x, np.int32([1] * (rank + 1)), raises="must be|must have shape")

    @inverse.samples
    def _(rng):
        sizes = SAMPLE_SIZES[:rank]
        for last in (2 * sizes[-1] - 2, 2 * sizes[-1] - 1, 3):
            z = np.complex64(rng.normal(size=(2, *sizes, 2)) @ [1, 1j])
            yield Sample(z, np.int32([*sizes[:-1], last]), dtypes=False, tolerance=1e-3)
        yield ErrorSample(z, np.int32([*sizes[:-1], 99]), raises="must have length of at least")

    return forward, inverse


def _is(x, value):
    return cast.cast(comparison.equal(x, value), float32)


def _padded(x, rank, sizes):
    """The last `rank` dimensions of `x`, with zeros behind up to these sizes."""
    missing = sizes - array.shape(x)[-rank:]
    if x.shape.rank is not None:
        outer = constant([0] * (x.shape.rank - rank), dtype="int32")
    else:
        outer = array.fill(array.reshape(array.rank(x) - rank, [1]), constant(0))
    after = array.concat_v2([outer, missing], 0)
    return array.pad(x, pack([array.zeros_like(after), after], axis=1))


rfft, irfft = _real_transform(1, "", "last dimension")
rfft2d, irfft2d = _real_transform(2, "2D", "last two dimensions")
rfft3d, irfft3d = _real_transform(3, "3D", "last three dimensions")
