"""Clipping: by value, by the norm of one tensor, by the norm of many together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core import dtypes
from headrace.functions.math.cast import cast
from headrace.functions.math.math import range_
from headrace.functions.math.reduce import reduce_sum
from headrace.functions.values.structure import name_scope
from headrace.graph.defaults import get_default_graph
from headrace.graph.tensor import Tensor
from headrace.ops.array import source
from headrace.ops.array.constant import constant, pack
from headrace.ops.array.indexing import where
from headrace.ops.declaration import array
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.declaration.indexed_slices import IndexedSlices
from headrace.ops.math import arithmetic, comparison
from headrace.ops.nn.normalization import norm


def _values(t: Any, name: str) -> Tensor:
    return convert_to_tensor(t.values if isinstance(t, IndexedSlices) else t, name=name)


def _like(t: Any, values: Tensor) -> Any:
    if isinstance(t, IndexedSlices):
        return IndexedSlices(values, t.indices, t.dense_shape)
    return values


def clip_by_value(t: Any, clip_value_min: Any, clip_value_max: Any, name: str | None = None) -> Any:
    """`t` with what is below one bound or above the other replaced by that bound.

    Args:
      t: a `Tensor` or `IndexedSlices`.
      clip_value_min: the lower bound, a scalar or of the shape of `t`.
      clip_value_max: the upper bound.
      name: name of the node.

    Returns:
      What `t` was, clipped.

    Raises:
      ValueError: a bound would broadcast `t` to another shape.

    Example:
      >>> tf.clip_by_value([-1., 0.5, 3.], 0., 1.)       # 0. 0.5 1.
    """
    with name_scope(name, "clip_by_value", [t, clip_value_min, clip_value_max]) as scope:
        values = _values(t, "t")
        below = arithmetic.minimum(values, clip_value_max)
        values.shape.merge_with(below.shape)
        clipped = arithmetic.maximum(below, clip_value_min, name=scope)
        values.shape.merge_with(clipped.shape)
        return _like(t, clipped)


def clip_by_norm(t: Any, clip_norm: Any, axes: Any = None, name: str | None = None) -> Any:
    """`t` scaled down so that its Euclidean norm is at most `clip_norm`.

    Args:
      t: a `Tensor` or `IndexedSlices`.
      clip_norm: the largest norm, a scalar.
      axes: the axes along which the norm is taken; all by default.
      name: name of the node.

    Returns:
      What `t` was, clipped.

    Raises:
      ValueError: `clip_norm` would broadcast `t` to another shape.
    """
    with name_scope(name, "clip_by_norm", [t, clip_norm]) as scope:
        values = _values(t, "t")
        squares = reduce_sum(values * values, axes, keepdims=True)
        # The square root is taken where there is something: its slope at 0 is infinite.
        some = squares > 0
        safe = where.select(some, squares, array.ones_like(squares))
        length = where.select(some, arithmetic.sqrt(safe), squares)
        scaled = values * clip_norm
        values.shape.merge_with(scaled.shape)
        clipped = source.identity(scaled / arithmetic.maximum(length, clip_norm), name=scope)
        return _like(t, clipped)


def _as_list(t_list: Any) -> list[Any]:
    if not isinstance(t_list, Sequence) or isinstance(t_list, str):
        raise TypeError("t_list should be a sequence")
    return list(t_list)


def _all_values(t_list: list[Any]) -> list[Tensor | None]:
    return [None if t is None else _values(t, f"t_{i}") for i, t in enumerate(t_list)]


def global_norm(t_list: Any, name: str | None = None) -> Tensor:
    """The Euclidean norm of many tensors as if they were one vector.

    Args:
      t_list: a list of `Tensor`, `IndexedSlices` or None (which are left out).
      name: name of the scope.

    Returns:
      A scalar.

    Raises:
      TypeError: `t_list` is not a sequence.
    """
    t_list = _as_list(t_list)
    graph = get_default_graph()
    with name_scope(name, "global_norm", t_list):
        halves = []
        for value in _all_values(t_list):
            if value is not None:
                with graph.colocate_with(value):
                    halves.append(norm.l2_loss(value))
        total = reduce_sum(pack(halves, name="stack"))
        return arithmetic.sqrt(total * constant(2.0, total.dtype), name="global_norm")


def clip_by_global_norm(
    t_list: Any, clip_norm: Any, use_norm: Any = None, name: str | None = None
) -> tuple[list[Any], Tensor]:
    """Tensors scaled down together, so that their global norm is at most `clip_norm`.

    Args:
      t_list: a list of `Tensor`, `IndexedSlices` or None (which stay None).
      clip_norm: the largest norm, a scalar.
      use_norm: the global norm, if it is known already.
      name: name of the scope.

    Returns:
      The clipped tensors, NaN throughout if the norm is infinite or NaN; and the norm.

    Raises:
      TypeError: `t_list` is not a sequence.

    Example:
      >>> clipped, norm = tf.clip_by_global_norm(tf.gradients(loss, weights), 5.0)
    """
    t_list = _as_list(t_list)
    if use_norm is None:
        use_norm = global_norm(t_list, name)
    graph = get_default_graph()
    with name_scope(name, "clip_by_global_norm", [*t_list, clip_norm]) as scope:
        number = use_norm.dtype.base
        finite_scale = clip_norm * arithmetic.minimum(1.0 / use_norm, constant(1.0, number) / clip_norm)
        finite = comparison.is_finite(use_norm)
        scale = where.select(finite, finite_scale, constant(float("nan"), number))
        clipped: list[Any] = []
        for i, (t, value) in enumerate(zip(t_list, _all_values(t_list))):
            if value is None:
                clipped.append(None)
                continue
            with graph.colocate_with(value):
                clipped.append(_like(t, source.identity(value * scale, name=f"{scope}_{i}")))
        return clipped, use_norm


def clip_by_average_norm(t: Any, clip_norm: Any, name: str | None = None) -> Tensor:
    """`t` scaled down so that its Euclidean norm divided by its size is at most `clip_norm`.
    Deprecated: use `tf.clip_by_norm`.

    Args:
      t: a `Tensor`.
      clip_norm: the largest average norm, a scalar.
      name: name of the node.

    Returns:
      The clipped tensor.
    """
    with name_scope(name, "clip_by_average_norm", [t, clip_norm]) as scope:
        t = convert_to_tensor(t, name="t")
        count = cast(array.size_of(t), dtypes.float32)
        inverse = arithmetic.rsqrt(reduce_sum(t * t, range_(array.rank_of(t))))
        factor = arithmetic.minimum(inverse * count, constant(1.0) / clip_norm)
        return source.identity(t * clip_norm * factor, name=scope)
