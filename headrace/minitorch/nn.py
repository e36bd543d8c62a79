"""Pools, softmax and dropout."""

from __future__ import annotations

from typing import Any

from headrace.minitorch.autodiff import Context
from headrace.minitorch.tensor_functions import Function, rand

Tensor = Any


def tile(input: Tensor, kernel: tuple[int, int]) -> tuple[Tensor, int, int]:
    """Windows side by side: (batch, channel, rows, columns, elements of a window), rows, columns."""
    batch, channel, height, width = input.shape
    kh, kw = kernel
    if height % kh or width % kw:
        raise ValueError(f"windows of {kernel} do not fill {(height, width)}")
    rows, columns = height // kh, width // kw
    found = input.contiguous().view(batch, channel, rows, kh, columns, kw).permute(0, 1, 2, 4, 3, 5)
    return found.contiguous().view(batch, channel, rows, columns, kh * kw), rows, columns


def avgpool2d(input: Tensor, kernel: tuple[int, int]) -> Tensor:
    """The mean of each window."""
    windows, rows, columns = tile(input, kernel)
    return windows.mean(4).view(*input.shape[:2], rows, columns)


def max_reduce(input: Tensor, dim: int) -> Tensor:
    """The greatest along an axis, without a derivative."""
    return input.f.max_reduce(input, dim)


def argmax(input: Tensor, dim: int) -> Tensor:
    """1.0 where the greatest along an axis is."""
    return input.f.eq_zip(input, max_reduce(input, dim))


class Max(Function):
    """The greatest along an axis; the derivative goes to it."""

    @staticmethod
    def forward(ctx: Context, input: Tensor, dim: Tensor) -> Tensor:
        axis = int(dim.item())
        ctx.save_for_backward(input, axis)
        return max_reduce(input, axis)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> tuple[Tensor, float]:
        input, axis = ctx.saved_values
        return argmax(input, axis) * grad_output, 0.0


def max(input: Tensor, dim: int) -> Tensor:
    return Max.apply(input, input._ensure_tensor(dim))


def _below_zero(input: Tensor, dim: int) -> Tensor:
    """Less the greatest, so that no exponential overflows; it cancels in the derivative."""
    return input - max_reduce(input.detach(), dim)


def softmax(input: Tensor, dim: int) -> Tensor:
    e = _below_zero(input, dim).exp()
    return e / e.sum(dim)


def logsoftmax(input: Tensor, dim: int) -> Tensor:
    below = _below_zero(input, dim)
    return below - below.exp().sum(dim).log()


def maxpool2d(input: Tensor, kernel: tuple[int, int]) -> Tensor:
    """The greatest of each window."""
    windows, rows, columns = tile(input, kernel)
    return max(windows, 4).view(*input.shape[:2], rows, columns)


def dropout(input: Tensor, rate: float, ignore: bool = False) -> Tensor:
    """Elements are dropped at a rate; none where it is ignored."""
    if ignore:
        return input
    dropped = rand(input.shape, backend=input.backend) < rate
    return input * (-dropped + 1.0)
