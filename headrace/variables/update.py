"""tf.assign, tf.scatter_*, ...: updates of a variable, whichever kind it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.core.families import documented
from headrace.functions.array.array import expand_dims, ones_like, reshape, shape
from headrace.functions.array.stacking import concat
from headrace.functions.math.cast import cast
from headrace.functions.values.structure import name_scope
from headrace.graph.tensor import Tensor
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.math.sequence import range_
from headrace.ops.state import state
from headrace.ops.state.scatter_update import RESOURCE_SCATTER, RESOURCE_SCATTER_ND, SCATTER, SCATTER_ND


def assign(
    ref: Any,
    value: Any,
    validate_shape: bool | None = None,
    use_locking: bool | None = None,
    name: str | None = None,
) -> Any:
    """Give a variable a new value.

    Args:
      ref: a variable (or a reference).
      value: the new value, of the variable's type.
      validate_shape: refuse a value of another shape (the default).
      use_locking: kept for compatibility; updates are always atomic here.
      name: name of the node.

    Returns:
      The variable as of after the assignment.
    """
    if ref.dtype.is_ref:
        return state.assign(ref, value, use_locking=use_locking, name=name, validate_shape=validate_shape)
    return ref.assign(value, name=name)


_CHANGE = """
    Args:
      ref: a variable (or a reference).
      value: what to {verb}, of the variable's type and shape.
      use_locking: kept for compatibility; updates are always atomic here.
      name: name of the node.

    Returns:
      The variable as of after the {noun}.
    """


@documented(_CHANGE, verb="add", noun="addition")
def assign_add(ref: Any, value: Any, use_locking: bool | None = None, name: str | None = None) -> Any:
    """Add to a variable."""
    if ref.dtype.is_ref:
        return state.assign_add(ref, value, use_locking=use_locking, name=name)
    return ref.assign_add(value)


@documented(_CHANGE, verb="subtract", noun="subtraction")
def assign_sub(ref: Any, value: Any, use_locking: bool | None = None, name: str | None = None) -> Any:
    """Subtract from a variable."""
    if ref.dtype.is_ref:
        return state.assign_sub(ref, value, use_locking=use_locking, name=name)
    return ref.assign_sub(value)


def count_up_to(ref: Any, limit: int, name: str | None = None) -> Tensor:
    """The value before it was raised by one; OutOfRangeError where it has reached `limit`.

    Args:
      ref: a scalar integer variable.
      limit: where counting ends.
      name: name of the node.

    Returns:
      The value before.
    """
    counted: Tensor
    if ref.dtype.is_ref:
        counted = state.count_up_to(ref, limit=limit, name=name)
    else:
        counted = state.resource_count_up_to(ref.handle, limit=limit, T=ref.dtype, name=name)
    return counted


def _scatter(kind: str, does: str, locking: bool, by_vector: bool) -> Callable[..., Any]:
    references, resources = (SCATTER_ND, RESOURCE_SCATTER_ND) if by_vector else (SCATTER, RESOURCE_SCATTER)

    def scatter(
        ref: Any, indices: Any, updates: Any, use_locking: bool = locking, name: str | None = None
    ) -> Any:
        if ref.dtype.is_ref:
            return references[kind](ref, indices, updates, use_locking=use_locking, name=name)
        updates = convert_to_tensor(updates, ref.dtype)
        return ref._lazy_read(resources[kind](ref.handle, indices, updates, name=name))

    scatter.__name__ = scatter.__qualname__ = f"scatter_{'nd_' if by_vector else ''}{kind}"
    where = "index vectors" if by_vector else "row numbers"
    scatter.__doc__ = f"""{does}

    Args:
      ref: a variable (or a reference).
      indices: {where}.
      updates: one value or slice per index.
      use_locking: kept for compatibility; updates are always atomic here.
      name: name of the node.

    Returns:
      The variable as of after the update.
    """
    return scatter


scatter_update = _scatter("update", "Set rows of a variable.", True, False)
scatter_add = _scatter("add", "Add to rows of a variable.", False, False)
scatter_sub = _scatter("sub", "Subtract from rows of a variable.", False, False)
scatter_mul = _scatter("mul", "Multiply rows of a variable.", False, False)
scatter_div = _scatter("div", "Divide rows of a variable.", False, False)
scatter_max = _scatter("max", "Raise rows of a variable to at least the updates.", False, False)
scatter_min = _scatter("min", "Lower rows of a variable to at most the updates.", False, False)
scatter_nd_update = _scatter("update", "Set parts of a variable.", True, True)
scatter_nd_add = _scatter("add", "Add to parts of a variable.", False, True)
scatter_nd_sub = _scatter("sub", "Subtract from parts of a variable.", False, True)


def batch_scatter_update(
    ref: Any, indices: Any, updates: Any, use_locking: bool = True, name: str | None = None
) -> Any:
    """Set rows batch by batch: `ref[i, ..., indices[i, ..., j], :] = updates[i, ..., j, :]`.

    Args:
      ref: a variable.
      indices: row numbers; all but its last dimension are batches.
      updates: of shape `indices.shape + ref.shape[indices.rank:]`.
      use_locking: kept for compatibility; updates are always atomic here.
      name: name of the scope.

    Returns:
      The variable as of after the update.

    Raises:
      ValueError: the rank of `indices` is not known.
    """
    with name_scope(name):
        indices = convert_to_tensor(indices, name="indices")
        sizes: Any = shape(indices)
        rank = indices.get_shape().rank
        if rank is None:
            raise ValueError("batch_gather does not allow indices with unknown shape.")
        rows: Any = expand_dims(indices, axis=-1)
        parts = []
        for axis in range(rank - 1):
            count = sizes[axis]
            wide = [1] * (rank + 1)
            wide[axis] = count
            numbers: Any = reshape(range_(0, count, 1), wide)
            if numbers.dtype.base is not rows.dtype:
                numbers = cast(numbers, rows.dtype)
            parts.append(numbers * ones_like(rows))
        return scatter_nd_update(ref, concat([*parts, rows], axis=-1), updates, use_locking=use_locking)
