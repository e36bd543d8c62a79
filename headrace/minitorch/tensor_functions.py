"""Functions of tensors: forward in values, backward in derivatives; and how tensors are made."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from headrace.core.modules import late
from headrace.minitorch.autodiff import Context, wrap_tuple
from headrace.minitorch.tensor_data import TensorData, UserShape
from headrace.minitorch.tensor_ops import SimpleBackend, TensorBackend

tensors = late("headrace.minitorch.tensor")
Tensor = Any


class Function:
    """`forward(ctx, *tensors)` is the value; `backward(ctx, d)` what d of it is in derivatives of the
    tensors."""

    @classmethod
    def _backward(cls, ctx: Context, grad_out: Tensor) -> tuple[Tensor, ...]:
        return wrap_tuple(cls.backward(ctx, grad_out))  # type: ignore[attr-defined]

    @classmethod
    def _forward(cls, ctx: Context, *inps: Tensor) -> Tensor:
        return cls.forward(ctx, *inps)  # type: ignore[attr-defined]

    @classmethod
    def apply(cls, *vals: Tensor) -> Tensor:
        need_grad = any(v.requires_grad() for v in vals)
        ctx = Context(not need_grad)
        c = cls._forward(ctx, *(v.detach() for v in vals))
        back = tensors.History(cls, ctx, vals) if need_grad else None
        return tensors.Tensor(c._tensor, back, backend=c.backend)


class Neg(Function):
    @staticmethod
    def forward(ctx: Context, t1: Tensor) -> Tensor:
        return t1.f.neg_map(t1)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> Tensor:
        return grad_output.f.neg_map(grad_output)


class Inv(Function):
    @staticmethod
    def forward(ctx: Context, t1: Tensor) -> Tensor:
        ctx.save_for_backward(t1)
        return t1.f.inv_map(t1)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> Tensor:
        (t1,) = ctx.saved_values
        return grad_output.f.inv_back_zip(t1, grad_output)


class Add(Function):
    @staticmethod
    def forward(ctx: Context, t1: Tensor, t2: Tensor) -> Tensor:
        return t1.f.add_zip(t1, t2)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> tuple[Tensor, Tensor]:
        return grad_output, grad_output


class Mul(Function):
    @staticmethod
    def forward(ctx: Context, a: Tensor, b: Tensor) -> Tensor:
        ctx.save_for_backward(a, b)
        return a.f.mul_zip(a, b)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> tuple[Tensor, Tensor]:
        a, b = ctx.saved_values
        return grad_output.f.mul_zip(b, grad_output), grad_output.f.mul_zip(a, grad_output)


class Sigmoid(Function):
    @staticmethod
    def forward(ctx: Context, t1: Tensor) -> Tensor:
        found = t1.f.sigmoid_map(t1)
        ctx.save_for_backward(found)
        return found

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> Tensor:
        (found,) = ctx.saved_values
        return grad_output * found * (-found + 1.0)


class ReLU(Function):
    @staticmethod
    def forward(ctx: Context, t1: Tensor) -> Tensor:
        ctx.save_for_backward(t1)
        return t1.f.relu_map(t1)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> Tensor:
        (t1,) = ctx.saved_values
        return grad_output.f.relu_back_zip(t1, grad_output)


class Log(Function):
    @staticmethod
    def forward(ctx: Context, t1: Tensor) -> Tensor:
        ctx.save_for_backward(t1)
        return t1.f.log_map(t1)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> Tensor:
        (t1,) = ctx.saved_values
        return grad_output.f.log_back_zip(t1, grad_output)


class Exp(Function):
    @staticmethod
    def forward(ctx: Context, t1: Tensor) -> Tensor:
        found = t1.f.exp_map(t1)
        ctx.save_for_backward(found)
        return found

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> Tensor:
        (found,) = ctx.saved_values
        return grad_output.f.mul_zip(found, grad_output)


class Sum(Function):
    @staticmethod
    def forward(ctx: Context, a: Tensor, dim: Tensor) -> Tensor:
        return a.f.add_reduce(a, int(dim.item()))

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> tuple[Tensor, float]:
        return grad_output, 0.0  # `expand` repeats it along the axis


class All(Function):
    """1.0 where all are; without a derivative."""

    @staticmethod
    def forward(ctx: Context, a: Tensor, dim: Tensor) -> Tensor:
        return a.f.mul_reduce(a, int(dim.item()))


class LT(Function):
    @staticmethod
    def forward(ctx: Context, a: Tensor, b: Tensor) -> Tensor:
        ctx.save_for_backward(a.shape, b.shape)
        return a.f.lt_zip(a, b)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> tuple[Tensor, Tensor]:
        a_shape, b_shape = ctx.saved_values
        return grad_output.zeros(a_shape), grad_output.zeros(b_shape)


class EQ(Function):
    @staticmethod
    def forward(ctx: Context, a: Tensor, b: Tensor) -> Tensor:
        ctx.save_for_backward(a.shape, b.shape)
        return a.f.eq_zip(a, b)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> tuple[Tensor, Tensor]:
        a_shape, b_shape = ctx.saved_values
        return grad_output.zeros(a_shape), grad_output.zeros(b_shape)


class IsClose(Function):
    """1.0 where both are close; without a derivative."""

    @staticmethod
    def forward(ctx: Context, a: Tensor, b: Tensor) -> Tensor:
        return a.f.is_close_zip(a, b)


class Permute(Function):
    """Axes in another order, over the same storage."""

    @staticmethod
    def forward(ctx: Context, a: Tensor, order: Tensor) -> Tensor:
        axes = [int(i) for i in order.to_numpy()]
        ctx.save_for_backward(axes)
        return a._new(a._tensor.permute(*axes))

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> tuple[Tensor, float]:
        (axes,) = ctx.saved_values
        back = [axes.index(i) for i in range(len(axes))]
        return grad_output._new(grad_output._tensor.permute(*back)), 0.0


class View(Function):
    """Another shape over the same storage."""

    @staticmethod
    def forward(ctx: Context, a: Tensor, shape: Tensor) -> Tensor:
        if not a._tensor.is_contiguous():
            raise ValueError("Must be contiguous to view")
        ctx.save_for_backward(a.shape)
        sizes = tuple(int(n) for n in shape.to_numpy())
        return tensors.Tensor.make(a._tensor._storage, sizes, backend=a.backend)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> tuple[Tensor, float]:
        (sizes,) = ctx.saved_values
        whole = grad_output.contiguous()
        return tensors.Tensor.make(whole._tensor._storage, sizes, backend=grad_output.backend), 0.0


class Copy(Function):
    """The same numbers in the order of a row."""

    @staticmethod
    def forward(ctx: Context, a: Tensor) -> Tensor:
        return a.f.id_map(a)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> Tensor:
        return grad_output


class MatMul(Function):
    @staticmethod
    def forward(ctx: Context, t1: Tensor, t2: Tensor) -> Tensor:
        ctx.save_for_backward(t1, t2)
        return t1.f.matrix_multiply(t1, t2)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> tuple[Tensor, Tensor]:
        t1, t2 = ctx.saved_values

        def transposed(a: Tensor) -> Tensor:
            axes = list(range(a.dims))
            axes[-2], axes[-1] = axes[-1], axes[-2]
            return a._new(a._tensor.permute(*axes))

        multiply = grad_output.f.matrix_multiply
        return multiply(grad_output, transposed(t2)), multiply(transposed(t1), grad_output)


# -- making tensors --------------------------------------------------------------------------------------


def zeros(shape: UserShape, backend: TensorBackend = SimpleBackend) -> Tensor:
    return tensors.Tensor.make(np.zeros(int(np.prod(shape))), tuple(shape), backend=backend)


def ones(shape: UserShape, backend: TensorBackend = SimpleBackend) -> Tensor:
    return tensors.Tensor.make(np.ones(int(np.prod(shape))), tuple(shape), backend=backend)


def rand(shape: UserShape, backend: TensorBackend = SimpleBackend, requires_grad: bool = False) -> Tensor:
    """Numbers from 0 to 1."""
    found = _tensor([random.random() for _ in range(int(np.prod(shape)))], tuple(shape), backend)
    found.requires_grad_(requires_grad)
    return found


def _tensor(
    ls: Any, shape: UserShape, backend: TensorBackend = SimpleBackend, requires_grad: bool = False
) -> Tensor:
    """Numbers in the order of a row, in a shape."""
    found = tensors.Tensor(TensorData(ls, tuple(shape)), backend=backend)
    found.requires_grad_(requires_grad)
    return found


def tensor(ls: Any, backend: TensorBackend = SimpleBackend, requires_grad: bool = False) -> Tensor:
    """Nested lists of numbers as a tensor."""
    found = np.array(ls, dtype=np.float64)
    shape = found.shape if found.ndim else (1,)
    return _tensor(found.reshape(-1), shape, backend, requires_grad)


# -- checks ------------------------------------------------------------------------------------------------


def grad_central_difference(
    f: Any, *vals: Tensor, arg: int = 0, epsilon: float = 1e-6, ind: Any = None
) -> float:
    """An estimate of the derivative of the sum of f by one element of an argument."""
    x = vals[arg]
    up = zeros(x.shape, x.backend)
    up[ind] = epsilon
    above, below = ([*vals[:arg], y, *vals[arg + 1 :]] for y in (x + up, x - up))
    delta = f(*above).sum() - f(*below).sum()
    return float(delta[0] / (2.0 * epsilon))


def grad_check(f: Any, *vals: Tensor) -> None:
    """The derivatives of f agree with differences, at some element of each argument."""
    for x in vals:
        x.requires_grad_(True)
        x.zero_grad_()
    random.seed(10)
    f(*vals).sum().backward()
    for i, x in enumerate(vals):
        index = x._tensor.sample()
        expected = grad_central_difference(f, *vals, arg=i, ind=index)
        assert x.grad is not None
        np.testing.assert_allclose(
            x.grad[index], expected, 1e-2, 1e-2, err_msg=f"the derivative of {f} by argument {i} at {index}"
        )
