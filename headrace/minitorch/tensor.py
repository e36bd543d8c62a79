"""A tensor that remembers what it was made of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np

from headrace.minitorch import operators as operators
from headrace.minitorch.autodiff import Context, Variable, backpropagate
from headrace.minitorch.tensor_data import (
    Shape,
    Storage,
    Strides,
    TensorData,
    UserIndex,
    UserShape,
    UserStrides,
    shape_broadcast,
)
from headrace.minitorch.tensor_functions import (
    EQ,
    LT,
    Add,
    All,
    Copy,
    Exp,
    Function,
    Inv,
    IsClose,
    Log,
    MatMul,
    Mul,
    Neg,
    Permute,
    ReLU,
    Sigmoid,
    Sum,
    View,
    tensor,
)
from headrace.minitorch.tensor_ops import SimpleBackend, TensorBackend

TensorLike = Any  # a number or a tensor
_numbers = count(1)


@dataclass
class History:
    """The function that made a tensor, and of what; nothing of one that the user made."""

    last_fn: type[Function] | None = None
    ctx: Context | None = None
    inputs: Sequence[Any] = ()


class Tensor:
    """Numbers in a shape, with a backend that computes."""

    grad: Tensor | None

    def __init__(
        self,
        v: TensorData,
        back: History | None = None,
        name: str | None = None,
        backend: TensorBackend | None = None,
    ) -> None:
        if not isinstance(v, TensorData):
            raise TypeError(f"a Tensor is made of TensorData, not {type(v).__name__}; see minitorch.tensor")
        self.unique_id = next(_numbers)
        self._tensor, self.history = v, back
        self.backend = self.f = SimpleBackend if backend is None else backend
        self.grad = None
        self.name = str(self.unique_id) if name is None else name

    def requires_grad_(self, x: bool) -> None:
        """Keep derivatives of this from now on."""
        self.history = History() if x else None

    def requires_grad(self) -> bool:
        return self.history is not None

    def to_numpy(self) -> Storage:
        return self.contiguous()._tensor._storage.reshape(self.shape)

    @property
    def shape(self) -> Any:
        return self._tensor.shape

    @property
    def size(self) -> int:
        return self._tensor.size

    @property
    def dims(self) -> int:
        return self._tensor.dims

    def _ensure_tensor(self, b: TensorLike) -> Tensor:
        """A number as a tensor of the same backend."""
        if isinstance(b, Tensor):
            b._type_(self.backend)
            return b
        return Tensor.make([b], (1,), backend=self.backend)

    # -- operators --------------------------------------------------------------------------------
    def __add__(self, b: TensorLike) -> Tensor:
        return Add.apply(self, self._ensure_tensor(b))  # type: ignore[no-any-return]

    __radd__ = __add__

    def __sub__(self, b: TensorLike) -> Tensor:
        return Add.apply(self, -self._ensure_tensor(b))  # type: ignore[no-any-return]

    def __rsub__(self, b: TensorLike) -> Tensor:
        return Add.apply(self._ensure_tensor(b), -self)  # type: ignore[no-any-return]

    def __mul__(self, b: TensorLike) -> Tensor:
        return Mul.apply(self, self._ensure_tensor(b))  # type: ignore[no-any-return]

    __rmul__ = __mul__

    def __truediv__(self, b: TensorLike) -> Tensor:
        return Mul.apply(self, Inv.apply(self._ensure_tensor(b)))  # type: ignore[no-any-return]

    def __rtruediv__(self, b: TensorLike) -> Tensor:
        return Mul.apply(self._ensure_tensor(b), Inv.apply(self))  # type: ignore[no-any-return]

    def __matmul__(self, b: Tensor) -> Tensor:
        return MatMul.apply(self, b)  # type: ignore[no-any-return]

    def __lt__(self, b: TensorLike) -> Tensor:
        return LT.apply(self, self._ensure_tensor(b))  # type: ignore[no-any-return]

    def __gt__(self, b: TensorLike) -> Tensor:
        return LT.apply(self._ensure_tensor(b), self)  # type: ignore[no-any-return]

    def __eq__(self, b: TensorLike) -> Tensor:  # type: ignore[override]
        return EQ.apply(self, self._ensure_tensor(b))  # type: ignore[no-any-return]

    def __neg__(self) -> Tensor:
        return Neg.apply(self)  # type: ignore[no-any-return]

    def __hash__(self) -> int:
        return self.unique_id

    # -- functions ----------------------------------------------------------------------------------
    def all(self, dim: int | None = None) -> Tensor:
        return self._reduced(All, dim)

    def sum(self, dim: int | None = None) -> Tensor:
        """Along an axis, which has size 1 afterwards; of all elements if there is none."""
        return self._reduced(Sum, dim)

    def _reduced(self, function: type[Function], dim: int | None) -> Tensor:
        if dim is None:
            return function.apply(  # type: ignore[no-any-return]
                self.contiguous().view(self.size), self._ensure_tensor(0)
            )
        return function.apply(self, self._ensure_tensor(dim))  # type: ignore[no-any-return]

    def mean(self, dim: int | None = None) -> Tensor:
        return self.sum(dim) / (self.size if dim is None else self.shape[dim])

    def is_close(self, y: Tensor) -> Tensor:
        return IsClose.apply(self, y)  # type: ignore[no-any-return]

    def sigmoid(self) -> Tensor:
        return Sigmoid.apply(self)  # type: ignore[no-any-return]

    def relu(self) -> Tensor:
        return ReLU.apply(self)  # type: ignore[no-any-return]

    def log(self) -> Tensor:
        return Log.apply(self)  # type: ignore[no-any-return]

    def exp(self) -> Tensor:
        return Exp.apply(self)  # type: ignore[no-any-return]

    def item(self) -> float:
        """The only number."""
        if self.size != 1:
            raise ValueError(f"a tensor of shape {self.shape} is not one number")
        return float(self._tensor.array().reshape(-1)[0])

    def permute(self, *order: int) -> Tensor:
        return Permute.apply(self, tensor(list(order), backend=self.backend))  # type: ignore[no-any-return]

    def view(self, *shape: int) -> Tensor:
        return View.apply(self, tensor(list(shape), backend=self.backend))  # type: ignore[no-any-return]

    def contiguous(self) -> Tensor:
        return Copy.apply(self)  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return self._tensor.to_string()

    def __getitem__(self, key: int | UserIndex) -> float:
        return self._tensor.get((key,) if isinstance(key, (int, np.integer)) else key)

    def __setitem__(self, key: int | UserIndex, val: float) -> None:
        self._tensor.set((key,) if isinstance(key, (int, np.integer)) else key, val)

    # -- inside ---------------------------------------------------------------------------------------
    def _type_(self, backend: TensorBackend) -> None:
        self.backend = self.f = backend

    def _new(self, tensor_data: TensorData) -> Tensor:
        return Tensor(tensor_data, backend=self.backend)

    @staticmethod
    def make(
        storage: Any,
        shape: UserShape,
        strides: UserStrides | None = None,
        backend: TensorBackend | None = None,
    ) -> Tensor:
        return Tensor(TensorData(storage, shape, strides), backend=backend)

    def expand(self, other: Tensor) -> Tensor:
        """The derivative `other` of what this was broadcast to, as one of this: repeated or summed."""
        if self.shape == other.shape:
            return other
        whole = tuple(shape_broadcast(self.shape, other.shape))
        if whole != other.shape:
            repeated = self.zeros(whole)
            self.f.id_map(other, repeated)
            other = repeated
        own = (1,) * (len(whole) - len(self.shape)) + tuple(self.shape)
        for dim, size in enumerate(own):
            if size == 1 and whole[dim] != 1:
                other = other.f.add_reduce(other, dim)
        if other.shape == self.shape:
            return other
        return Tensor.make(other.contiguous()._tensor._storage, self.shape, backend=self.backend)

    def zeros(self, shape: UserShape | None = None) -> Tensor:
        """Zeros of the same backend."""
        sizes = tuple(self.shape if shape is None else shape)
        return Tensor.make(np.zeros(int(np.prod(sizes))), sizes, backend=self.backend)

    def tuple(self) -> tuple[Storage, Shape, Strides]:
        return self._tensor.tuple()

    def detach(self) -> Tensor:
        """The same numbers, without a history."""
        return Tensor(self._tensor, backend=self.backend)

    # -- a variable of the chain rule -------------------------------------------------------------------
    def accumulate_derivative(self, x: Any) -> None:
        """Add to the derivative of a leaf."""
        if not self.is_leaf():
            raise ValueError("only the derivatives of leaves are kept")
        if self.grad is None:
            self.grad = self.zeros()
        self.grad = self.grad + x

    def is_leaf(self) -> bool:
        return self.history is not None and self.history.last_fn is None

    def is_constant(self) -> bool:
        return self.history is None

    @property
    def parents(self) -> Iterable[Variable]:
        return self._made_by().inputs

    def chain_rule(self, d_output: Any) -> Iterable[tuple[Variable, Any]]:  # type: ignore[valid-type]
        """What it was made of, each with its derivative."""
        history = self._made_by()
        assert history.last_fn is not None and history.ctx is not None
        found = history.last_fn._backward(history.ctx, d_output)
        if len(found) != len(history.inputs):
            raise ValueError(
                f"{history.last_fn.__name__}.backward gave {len(found)} derivatives, not "
                f"{len(history.inputs)}"
            )
        return [(x, x.expand(self._ensure_tensor(d))) for x, d in zip(history.inputs, found)]

    def _made_by(self) -> History:
        if self.history is None or self.history.last_fn is None:
            raise ValueError("nothing made this tensor")
        return self.history

    def backward(self, grad_output: Tensor | None = None) -> None:
        """Derivatives of this, into the leaves."""
        if grad_output is None:
            if self.shape != (1,):
                raise ValueError("Must provide grad_output if non-scalar")
            grad_output = Tensor.make([1.0], (1,), backend=self.backend)
        backpropagate(self, grad_output)

    def zero_grad_(self) -> None:
        """Forget the derivative."""
        self.grad = None
