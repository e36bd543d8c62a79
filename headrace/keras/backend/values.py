"""Variables, placeholders and constants; what tensors are."""

from __future__ import annotations

import builtins
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from headrace.layers import ops
from headrace.layers.engine.config import floatx
from headrace.layers.engine.history import history_of
from headrace.layers.engine.layer_names import forget_names
from headrace.layers.engine.learning_phase import choose_phase
from headrace.layers.engine.model_graph import get_graph
from headrace.layers.engine.weight_values import track
from headrace.ops.array import source

_UIDS = "keras_uids"


def get_uid(prefix: str = "") -> int:
    """The next number under a prefix, from 1; per graph."""
    counts = ops.get_default_graph()._scoped.setdefault(_UIDS, Counter())
    counts[prefix] += 1
    return int(counts[prefix])


def reset_uids() -> None:
    """Numbers begin anew."""
    ops.get_default_graph()._scoped.pop(_UIDS, None)
    forget_names()


@contextmanager
def learning_phase_scope(value: Any) -> Iterator[None]:
    """Inside, the learning phase is fixed: 0 or 1."""
    if value not in (0, 1):
        raise ValueError("Expected learning phase to be 0 or 1.")
    before = choose_phase(value)
    try:
        yield
    finally:
        choose_phase(before)


name_scope = ops.name_scope


def variable(value: Any, dtype: Any = None, name: str | None = None, constraint: Any = None) -> Any:
    """A variable with an initial value."""
    if dtype is None:
        dtype = floatx()
    if hasattr(value, "tocoo"):
        sparse = value.tocoo()
        places = np.stack([sparse.row, sparse.col], 1)
        return ops.SparseTensor(places, sparse.data, sparse.shape)
    made: Any = ops.Variable(
        value, dtype=ops.as_dtype(dtype), name=name, constraint=constraint, use_resource=True
    )
    if isinstance(value, np.ndarray):
        made._keras_shape = value.shape
    elif hasattr(value, "shape"):
        made._keras_shape = int_shape(value)
    track(made)
    return made


def constant(value: Any, dtype: Any = None, shape: Any = None, name: str | None = None) -> Any:
    """A constant."""
    return ops.constant(value, dtype=dtype or floatx(), shape=shape, name=name or "Const")


def is_keras_tensor(x: Any) -> bool:
    """Does a tensor descend from a Keras input?"""
    if not isinstance(x, ops.Tensor | ops.Variable | ops.SparseTensor | ops.RaggedTensor):
        raise ValueError(
            f"Unexpectedly found an instance of type `{type(x)}`. Expected a symbolic tensor instance."
        )
    return history_of(x) is not None


def placeholder(
    shape: Any = None,
    ndim: int | None = None,
    dtype: Any = None,
    sparse: bool = False,
    name: str | None = None,
    ragged: bool = False,
) -> Any:
    """A tensor to be fed."""
    if sparse and ragged:
        raise ValueError("Cannot set both sparse and ragged to True when creating a placeholder.")
    if shape is None and ndim:
        shape = builtins.tuple([None] * ndim)
    with get_graph().as_default():
        if sparse:
            return ops.sparse_placeholder(dtype or floatx(), shape, name=name)
        if ragged:
            return ops.ragged_placeholder(dtype or floatx(), shape, name=name)
        return ops.placeholder(dtype or floatx(), shape, name=name)


def is_placeholder(x: Any) -> bool:
    """Is it a tensor to be fed?"""
    return getattr(getattr(x, "op", None), "declaration", None) is source.placeholder


def is_sparse(tensor: Any) -> bool:
    """Is it a sparse tensor?"""
    return isinstance(tensor, ops.SparseTensor)


def shape(x: Any) -> Any:
    """The shape as a tensor."""
    return ops.shape(x)


def int_shape(x: Any) -> Any:
    """The shape as a tuple, None where a size is not known; None for an unknown rank."""
    known = x.shape if isinstance(x.shape, ops.TensorShape) else ops.as_shape(x.shape)
    return None if known.ndims is None else builtins.tuple(known.as_list())


def ndim(x: Any) -> int | None:
    """How many dimensions it has."""
    rank: int | None = x.shape.ndims
    return rank


def dtype(x: Any) -> str:
    """The element type, by name."""
    return str(x.dtype.base_dtype.name)


def count_params(x: Any) -> int:
    """How many elements it has."""
    return int(np.prod(x.shape.as_list()))


def zeros(shape: Any, dtype: Any = None, name: str | None = None) -> Any:
    """A variable of zeros; a tensor where the shape is not known."""
    return _filled(ops.zeros(shape=shape, dtype=ops.as_dtype(dtype or floatx()), name=name), dtype, name)


def ones(shape: Any, dtype: Any = None, name: str | None = None) -> Any:
    """A variable of ones; a tensor where the shape is not known."""
    return _filled(ops.ones(shape=shape, dtype=ops.as_dtype(dtype or floatx()), name=name), dtype, name)


def eye(size: int, dtype: Any = None, name: str | None = None) -> Any:
    """A variable that is the identity matrix."""
    return variable(ops.eye(size, dtype=ops.as_dtype(dtype or floatx())), dtype, name)


def _filled(value: Any, dtype: Any, name: str | None) -> Any:
    return variable(value, dtype=dtype, name=name) if value.shape.is_fully_defined() else value


def zeros_like(x: Any, dtype: Any = None, name: str | None = None) -> Any:
    """Zeros of a tensor's shape."""
    return ops.zeros_like(x, dtype=dtype, name=name)


def ones_like(x: Any, dtype: Any = None, name: str | None = None) -> Any:
    """Ones of a tensor's shape."""
    return ops.ones_like(x, dtype=dtype, name=name)


def identity(x: Any, name: str | None = None) -> Any:
    """The same value."""
    return ops.identity(x, name=name)


def _seeded(seed: Any) -> Any:
    return np.random.randint(10_000_000) if seed is None else seed


def random_uniform_variable(
    shape: Any, low: float, high: float, dtype: Any = None, name: str | None = None, seed: Any = None
) -> Any:
    """A variable of uniform numbers."""
    kind = ops.as_dtype(dtype or floatx())
    return variable(ops.random_uniform(shape, low, high, kind, seed=_seeded(seed)), kind, name)


def random_normal_variable(
    shape: Any, mean: float, scale: float, dtype: Any = None, name: str | None = None, seed: Any = None
) -> Any:
    """A variable of normal numbers."""
    kind = ops.as_dtype(dtype or floatx())
    return variable(ops.random_normal(shape, mean, scale, kind, seed=_seeded(seed)), kind, name)


def random_normal(
    shape: Any, mean: float = 0.0, stddev: float = 1.0, dtype: Any = None, seed: Any = None
) -> Any:
    """Normal numbers."""
    return ops.random_normal(shape, mean, stddev, ops.as_dtype(dtype or floatx()), seed=_seeded(seed))


def random_uniform(
    shape: Any, minval: float = 0.0, maxval: float = 1.0, dtype: Any = None, seed: Any = None
) -> Any:
    """Uniform numbers."""
    return ops.random_uniform(shape, minval, maxval, ops.as_dtype(dtype or floatx()), seed=_seeded(seed))


def random_binomial(shape: Any, p: float = 0.0, dtype: Any = None, seed: Any = None) -> Any:
    """1 with probability `p`, else 0."""
    kind = ops.as_dtype(dtype or floatx())
    drawn = ops.random_uniform(shape, dtype=kind, seed=_seeded(seed))
    return ops.where(drawn <= p, ops.ones(shape, dtype=kind), ops.zeros(shape, dtype=kind))


def truncated_normal(
    shape: Any, mean: float = 0.0, stddev: float = 1.0, dtype: Any = None, seed: Any = None
) -> Any:
    """Normal numbers within two standard deviations."""
    return ops.truncated_normal(shape, mean, stddev, ops.as_dtype(dtype or floatx()), seed=_seeded(seed))


# -- updates ----------------------------------------------------------------------------------------
def update(x: Any, new_x: Any) -> Any:
    """`x` becomes `new_x`."""
    return ops.assign(x, new_x)


def update_add(x: Any, increment: Any) -> Any:
    """`x` becomes larger by `increment`."""
    return ops.assign_add(x, increment)


def update_sub(x: Any, decrement: Any) -> Any:
    """`x` becomes smaller by `decrement`."""
    return ops.assign_sub(x, decrement)


def moving_average_update(x: Any, value: Any, momentum: Any) -> Any:
    """`x` goes a part of the way to `value`."""
    return ops.assign_sub(x, (x - value) * (1 - momentum))


def gradients(loss: Any, variables: Any) -> Any:
    """The gradients of a loss by variables."""
    return ops.gradients(loss, variables)


def stop_gradient(variables: Any) -> Any:
    """The same values, which count as constant for gradients."""
    if isinstance(variables, list | builtins.tuple):
        return [ops.stop_gradient(x) for x in variables]
    return ops.stop_gradient(variables)
