"""What runs when: by the learning phase, by a condition, along elements."""

from __future__ import annotations

from typing import Any

from headrace.layers import ops
from headrace.layers.engine.learning_phase import learning_phase


def _called(x: Any) -> Any:
    return x() if callable(x) else x


def in_train_phase(x: Any, alt: Any, training: Any = None) -> Any:
    """`x` in training, else `alt`; both may be functions."""
    if training is None:
        training = learning_phase()
    if isinstance(training, int | bool) or not hasattr(training, "graph"):
        return _called(x) if training in (1, True) else _called(alt)
    return switch(training, x, alt)


def in_test_phase(x: Any, alt: Any, training: Any = None) -> Any:
    """`alt` in training, else `x`; both may be functions."""
    return in_train_phase(alt, x, training=training)


def switch(condition: Any, then_expression: Any, else_expression: Any) -> Any:
    """One of two, by a condition: a truth value, or one for each element or row."""
    condition = ops.convert_to_tensor(condition)
    if condition.dtype != ops.dtypes.bool_:
        condition = ops.cast(condition, ops.dtypes.bool_)
    rank = condition.shape.ndims
    if not rank:
        then = then_expression if callable(then_expression) else lambda: ops.identity(then_expression)
        other = else_expression if callable(else_expression) else lambda: ops.identity(else_expression)
        return ops.cond(condition, then, other)
    then, other = _called(then_expression), _called(else_expression)
    wanted = then.shape.ndims
    if rank > wanted:
        raise ValueError(
            "Rank of `condition` should be less than or equal to rank of `then_expression` and "
            "`else_expression`. "
            f"ndim(condition)={rank}, ndim(then_expression)={wanted}"
        )
    if rank > 1:
        for _ in range(wanted - rank):
            condition = ops.expand_dims(condition, -1)
        shape = ops.shape(then)
        inner = ops.shape(condition)
        condition = ops.tile(condition, ops.where(shape > inner, shape, ops.ones_like(shape)))
    return ops.where(condition, then, other)


def map_fn(fn: Any, elems: Any, name: str | None = None, dtype: Any = None) -> Any:
    """A function of each element."""
    return ops.map_fn(fn, elems, name=name, dtype=dtype)


def foldl(fn: Any, elems: Any, initializer: Any = None, name: str | None = None) -> Any:
    """A function of each element and what it gave before, from the left."""
    return ops.foldl(fn, elems, initializer=initializer, name=name)


def foldr(fn: Any, elems: Any, initializer: Any = None, name: str | None = None) -> Any:
    """The same from the right."""
    return ops.foldr(fn, elems, initializer=initializer, name=name)


def print_tensor(x: Any, message: str = "") -> Any:
    """`x`, which is printed when it is computed."""
    return ops.Print(x, [x], message)
