"""What kernels on batches of matrices share: the gate that checks their shapes, and the twins of an
op whose names start with "Batch": older spellings that do the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from headrace.core.dtypes import DType, complex64, complex128, float16, float32, float64
from headrace.core.errors import InvalidArgumentError, require
from headrace.core.shapes import UNKNOWN
from headrace.ops.declaration.declare import Op, register
from headrace.ops.declaration.precision import widen
from headrace.ops.declaration.signature import Type

SOLVER_TYPES = (float64, float32, float16, complex64, complex128)


def matrices(*arrays: Any) -> list[Any]:
    """Arrays of matrices with one batch shape; half types widened."""
    first = arrays[0]
    require(first.ndim >= 2, f"Input tensor 0 must have rank >= 2, got {first.ndim}")
    for other in arrays[1:]:
        require(other.ndim == first.ndim, "All input tensors must have the same rank.")
        require(
            other.shape[:-2] == first.shape[:-2], "All input tensors must have the same outer dimensions."
        )
    return [widen(a) for a in arrays]


def squares(x: Any) -> Any:
    """An array of square matrices."""
    (x,) = matrices(x)
    require(x.shape[-1] == x.shape[-2], "Input matrix must be square.")
    return x


def system(matrix: Any, rhs: Any, is_square: bool = True) -> tuple[Any, Any]:
    """Matrices and right hand sides of linear equations."""
    matrix, rhs = matrices(matrix, rhs)
    require(
        not is_square or matrix.shape[-1] == matrix.shape[-2], "First input (lhs) must be a square matrix."
    )
    require(matrix.shape[-2] == rhs.shape[-2], "Input matrix and rhs are incompatible.")
    return matrix, rhs


@contextmanager
def refusing(message: str) -> Iterator[None]:
    """A failed factorisation becomes InvalidArgumentError(message)."""
    try:
        with np.errstate(all="ignore"):
            yield
    except np.linalg.LinAlgError:
        raise InvalidArgumentError(None, None, message) from None


def twin(base: Op, name: str, T: tuple[DType, ...], since: int, use: str | None = None) -> Op:
    """Declare the deprecated op `name` that means the same as `base`, for fewer types."""
    attrs = base.signature.attrs | {"T": Type(T)}
    outputs = len(base.signature.outputs)

    def shape(*inputs: Any) -> Any:
        return [UNKNOWN] * outputs

    old = Op(
        name,
        replace(base.signature, attrs=attrs),
        base.reference,
        shape,
        base.traits,
        (since, f"Use {use or base.name} instead."),
    )
    old.samples(lambda rng: _allowed(base.sample_rule, rng, T))
    return register(old)


def _allowed(rule: Callable[..., Any] | None, rng: Any, T: tuple[DType, ...]) -> Iterable[Any]:
    """The samples of the newer op whose types the old one has too; it has no gradient."""
    for sample in rule(rng) if rule is not None else ():
        if np.asarray(sample.inputs[0]).dtype in [t.numpy for t in T]:
            sample.grad = False
            yield sample
