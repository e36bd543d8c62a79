"""Convolution: a window begins at each place, and what it sees beyond the end is zero."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.minitorch.autodiff import Context
from headrace.minitorch.fast_ops import tensor_of
from headrace.minitorch.tensor_functions import Function

Tensor = Any


def _windows(x: Any, sizes: tuple[int, ...], is_reversed: bool = False) -> Any:
    """(batch, channel, places..., window...); windows that end at their place if reversed."""
    around = [(n - 1, 0) if is_reversed else (0, n - 1) for n in sizes]
    padded = np.pad(x, [(0, 0), (0, 0), *around])
    axes = tuple(range(2, 2 + len(sizes)))
    return np.lib.stride_tricks.sliding_window_view(padded, sizes, axes)


_PLACES, _INSIDE = "xyz", "uvw"


def _spelled(dims: int) -> tuple[str, str]:
    return _PLACES[:dims], _INSIDE[:dims]


def convolved(x: Any, weight: Any, is_reversed: bool = False) -> Any:
    """out[b, o, i] = sum over c, k of x[b, c, i + k] * weight[o, c, k]; i - k if reversed."""
    places, inside = _spelled(x.ndim - 2)
    if is_reversed:
        weight = np.flip(weight, tuple(range(2, weight.ndim)))
    seen = _windows(x, weight.shape[2:], is_reversed)
    return np.einsum(f"bc{places}{inside},oc{inside}->bo{places}", seen, weight)


class _Convolution(Function):
    dims: int

    @classmethod
    def _forward(cls, ctx: Context, *inps: Tensor) -> Tensor:
        input, weight = inps
        if input.dims != cls.dims + 2 or weight.dims != cls.dims + 2 or input.shape[1] != weight.shape[1]:
            raise ValueError(f"{cls.__name__}: input {input.shape} and weight {weight.shape} do not fit")
        ctx.save_for_backward(input, weight)
        return tensor_of(convolved(input._tensor.array(), weight._tensor.array()), input)

    @classmethod
    def _backward(cls, ctx: Context, grad_out: Tensor) -> tuple[Tensor, ...]:
        input, weight = ctx.saved_values
        x, w, g = (t._tensor.array() for t in (input, weight, grad_out))
        places, inside = _spelled(cls.dims)
        by_input = convolved(g, np.swapaxes(w, 0, 1), is_reversed=True)
        by_weight = np.einsum(f"bc{places}{inside},bo{places}->oc{inside}", _windows(x, w.shape[2:]), g)
        return tensor_of(by_input, input), tensor_of(by_weight, weight)


class Conv1dFun(_Convolution):
    """Input (batch, in, width), weight (out, in, k)."""

    dims = 1


class Conv2dFun(_Convolution):
    """Input (batch, in, height, width), weight (out, in, kh, kw)."""

    dims = 2


conv1d = Conv1dFun.apply
conv2d = Conv2dFun.apply
