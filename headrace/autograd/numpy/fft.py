"""np.fft: four transforms along an axis with rules, and those of many axes as one after the other."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.autograd.core import primitive, rules
from headrace.autograd.numpy import numpy_wrapper as anp
from headrace.autograd.numpy.numpy_vjps import match_complex, rearranges, shape_of
from headrace.autograd.numpy.numpy_wrapper import wrap_namespace
from headrace.autograd.tracer import trace_primitives_map

_raw = np.fft
wrap_namespace(vars(_raw), globals())
fft, ifft, rfft, irfft = (anp.wrapped(f) for f in (_raw.fft, _raw.ifft, _raw.rfft, _raw.irfft))


def __getattr__(name: str) -> Any:
    raise AttributeError(f"module 'autograd.numpy.fft' has no attribute {name!r}")


@primitive
def truncate_pad(x: Any, shape: Any) -> Any:
    """Cut, or filled with zeros, at the end of each axis."""
    kept = x[tuple(slice(0, n) for n in shape)]
    return np.pad(kept, [(0, n - m) for n, m in zip(shape, kept.shape)], "constant")


rules(truncate_pad, lambda g, ans, x, shape: match_complex(x, truncate_pad(g, shape_of(x))), jvps=["same"])


def _sized(shape: tuple[int, ...], axis: int, n: int) -> tuple[int, ...]:
    found = list(shape)
    found[axis] = n
    return tuple(found)


def _symmetric(transform: Any) -> Any:
    """fft and ifft: matrices that are their own transposes."""

    def vjp(g: Any, ans: Any, x: Any, n: Any = None, axis: int = -1, norm: Any = None, **kwargs: Any) -> Any:
        return match_complex(x, truncate_pad(transform(g, None, axis, norm), shape_of(x)))

    return vjp


def _rfft(g: Any, ans: Any, x: Any, n: Any = None, axis: int = -1, norm: Any = None, **kwargs: Any) -> Any:
    n = shape_of(x)[axis] if n is None else n
    if n % 2:
        raise NotImplementedError("the derivative of rfft is for an even number of points")
    whole = truncate_pad(g, _sized(shape_of(g), axis, n))
    return anp.real(truncate_pad(fft(whole, None, axis, norm), shape_of(x)))


def _irfft(g: Any, ans: Any, x: Any, n: Any = None, axis: int = -1, norm: Any = None, **kwargs: Any) -> Any:
    points = shape_of(ans)[axis]
    if points % 2:
        raise NotImplementedError("the derivative of irfft is for an even number of points")
    scale = {None: 1.0 / points, "backward": 1.0 / points, "ortho": 1.0, "forward": float(points)}[norm]
    twice = np.full(points // 2 + 1, 2.0)  # each frequency stands for its mirror image too, but for two
    twice[0] = twice[-1] = 1.0
    twice = twice.reshape(_sized((1,) * len(shape_of(x)), axis, -1))
    found = anp.conj(rfft(g, None, axis, norm)) * (twice * scale)
    return truncate_pad(found, shape_of(x))


rules(fft, _symmetric(fft), jvps=["same"])
rules(ifft, _symmetric(ifft), jvps=["same"])
rules(rfft, _rfft, jvps=["same"])
rules(irfft, _irfft, jvps=["same"])


# -- along many axes -------------------------------------------------------------------------------------


def _axes(x: Any, s: Any, axes: Any, default: Any) -> list[tuple[int | None, int]]:
    if axes is None:
        axes = default if default is not None else range(-(len(shape_of(x)) if s is None else len(s)), 0)
    axes = list(axes)
    return list(zip([None] * len(axes) if s is None else s, axes))


def _many(raw: Any, transform: Any, default: Any) -> Any:
    """One complex transform after another."""

    def many(a: Any, s: Any = None, axes: Any = default, norm: Any = None) -> Any:
        for n, axis in reversed(_axes(a, s, axes, None)):
            a = transform(a, n, axis, norm)
        return a

    return _named(many, raw)


def _many_real(raw: Any, default: Any) -> Any:
    def many(a: Any, s: Any = None, axes: Any = default, norm: Any = None) -> Any:
        *others, (n, axis) = _axes(a, s, axes, None)
        a = rfft(a, n, axis, norm)
        for n, axis in reversed(others):
            a = fft(a, n, axis, norm)
        return a

    return _named(many, raw)


def _many_inverse_real(raw: Any, default: Any) -> Any:
    def many(a: Any, s: Any = None, axes: Any = default, norm: Any = None) -> Any:
        *others, (n, axis) = _axes(a, s, axes, None)
        for m, other in others:
            a = ifft(a, m, other, norm)
        return irfft(a, n, axis, norm)

    return _named(many, raw)


def _named(function: Any, raw: Any) -> Any:
    function.__name__, function.__doc__ = raw.__name__, raw.__doc__
    trace_primitives_map[raw] = function
    return function


_last_two = (-2, -1)
fft2, fftn = _many(_raw.fft2, fft, _last_two), _many(_raw.fftn, fft, None)
ifft2, ifftn = _many(_raw.ifft2, ifft, _last_two), _many(_raw.ifftn, ifft, None)
rfft2, rfftn = _many_real(_raw.rfft2, _last_two), _many_real(_raw.rfftn, None)
irfft2, irfftn = _many_inverse_real(_raw.irfft2, _last_two), _many_inverse_real(_raw.irfftn, None)

fftshift, ifftshift = anp.wrapped(_raw.fftshift), anp.wrapped(_raw.ifftshift)
rearranges(fftshift)
rearranges(ifftshift)
