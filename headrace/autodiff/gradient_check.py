"""tf.test.compute_gradient: the gradient that the graph computes beside the one that differences give."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.autodiff.gradients import gradients
from headrace.core import dtypes
from headrace.core.families import takes
from headrace.graph.defaults import get_default_session
from headrace.graph.tensor import Tensor
from headrace.ops.array.constant import constant
from headrace.ops.array.source import identity
from headrace.ops.declaration.indexed_slices import IndexedSlices
from headrace.ops.math.cast import cast


def compute_gradient(
    x: Any,
    x_shape: Any,
    y: Tensor,
    y_shape: Any,
    x_init_value: Any = None,
    delta: float = 1e-3,
    init_targets: Any = None,
    extra_feed_dict: Any = None,
) -> Any:
    """The Jacobian of `y` by `x`, computed by the graph and by differences.

    Complex tensors count as pairs of real ones.

    Args:
      x: a tensor, or a list of them.
      x_shape: its shape, or a list of shapes.
      y: a tensor.
      y_shape: its shape.
      x_init_value: where to compute it; random if None.
      delta: how far to go for the differences.
      init_targets: nodes to run before.
      extra_feed_dict: what else to feed.

    Returns: two matrices with a row per element of x and a column per element of y; a list of such
      pairs for a list.
    """
    is_list = isinstance(x, list)
    xs, shapes = (x, x_shape) if is_list else ([x], [x_shape])
    values = x_init_value if is_list and x_init_value is not None else [x_init_value] * len(xs)
    rules = [_gradient_nodes(one, y, y_shape) for one in xs]
    for target in init_targets or ():
        target.run()
    feeds = extra_feed_dict or {}
    found = []
    for one, shape, (dx, dy), value in zip(xs, shapes, rules, values):
        point = _point(one, shape, value)
        computed = _computed(one, point, y_shape, dx, dy, feeds)
        found.append((computed, _measured(one, point, y, y_shape, delta, feeds)))
    return found if is_list else found[0]


@takes(compute_gradient)
def compute_gradient_error(**given: Any) -> float:
    """The largest difference between the two Jacobians of `compute_gradient`."""
    found = compute_gradient(**given)
    pairs = found if isinstance(found, list) else [found]
    return float(max((np.fabs(a - b).max() for a, b in pairs if a.size or b.size), default=0.0))


def _gradient_nodes(x: Tensor, y: Tensor, y_shape: Any) -> tuple[Any, Tensor]:
    with x.graph.as_default():
        dy = constant(1.0, y.dtype.base, shape=y_shape)
        (dx,) = gradients(y, x, [identity(dy)])
    return dx, dy


def _point(x: Tensor, shape: Any, value: Any) -> Any:
    kind = x.dtype.base
    if not (kind.is_floating or kind.is_complex):
        raise AssertionError(f"Don't support type {kind.name} for x")
    if value is not None:
        if list(shape) != list(value.shape):
            raise AssertionError(f"x_shape = {shape}, init_data shape = {list(value.shape)}")
        return np.asarray(value)
    drawn = np.random.random_sample(shape).astype(kind.as_numpy_dtype)
    if kind.is_complex:
        drawn.imag = np.random.random_sample(shape)
    return drawn


def _size(shape: Any, dtype: Any) -> int:
    return int(np.prod(shape, dtype=np.int64)) * (2 if dtype.is_complex else 1)


def _computed(
    x: Tensor, point: Any, y_shape: Sequence[int], dx: Any, dy: Tensor, feeds: dict[Any, Any]
) -> Any:
    """One run per element of y."""
    real = x.dtype.base.real_dtype.as_numpy_dtype
    session = get_default_session()
    weights = np.zeros(y_shape, dy.dtype.as_numpy_dtype)
    flat = weights.reshape(-1).view(dy.dtype.base.real_dtype.as_numpy_dtype)
    jacobian = np.zeros((_size(point.shape, x.dtype.base), flat.size), real)
    row = _size(point.shape[1:], x.dtype.base)
    for column in range(flat.size):
        flat[column] = 1
        feed = {**feeds, x: point, dy: weights}
        if isinstance(dx, IndexedSlices):
            indices, values = session.run([dx.indices, dx.values], feed)
            for i, v in zip(indices, values):
                jacobian[i * row : (i + 1) * row, column] += np.ravel(v).view(real)
        else:
            jacobian[:, column] = np.ravel(session.run(dx, feed)).view(real)
        flat[column] = 0
    if not flat.size:
        value = session.run(dx, {**feeds, x: point, dy: weights})
        if value.shape != point.shape:
            raise ValueError(f"Empty gradient has wrong shape: expected {point.shape}, got {value.shape}")
        if np.any(value):
            raise ValueError("Empty tensor with nonzero gradients")
    return jacobian


def _measured(x: Tensor, point: Any, y: Tensor, y_shape: Any, delta: float, feeds: dict[Any, Any]) -> Any:
    """Two runs per element of x."""
    if y.dtype.base is dtypes.bfloat16:  # too coarse to subtract
        y = cast(y, DstT=dtypes.float32)
    session = get_default_session()
    x_real, y_real = x.dtype.base.real_dtype.as_numpy_dtype, y.dtype.base.real_dtype.as_numpy_dtype
    size = _size(point.shape, x.dtype.base)
    jacobian = np.zeros((size, _size(y_shape, y.dtype.base)), x_real)
    scale = np.asarray(2 * delta, dtype=y_real)[()]
    for row in range(size):
        values = []
        for step in (delta, -delta):
            moved = np.array(point, dtype=x.dtype.base.as_numpy_dtype)
            moved.reshape(-1).view(x_real)[row] += step
            values.append(session.run(y, {**feeds, x: moved}))
        difference = np.asarray((values[0] - values[1]) / scale, y.dtype.base.as_numpy_dtype)
        jacobian[row, :] = difference.ravel().view(y_real)
    return jacobian
