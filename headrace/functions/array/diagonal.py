"""Diagonals of matrices: tf.linalg.diag, tf.linalg.diag_part, tf.linalg.set_diag."""

from __future__ import annotations

from typing import Any

from headrace.core.dtypes import as_dtype, bool_
from headrace.functions.linalg.matrix import is_operator
from headrace.graph.tensor import Tensor
from headrace.ops.array.diagonals import matrix_diagonal


def _padding(value: Any, like: Any) -> Any:
    kind = getattr(like, "dtype", None)
    return bool(value) if kind is not None and as_dtype(kind) == bool_ else value


def matrix_diag(
    diagonal: Any,
    name: str = "diag",
    k: int | Tensor = 0,
    num_rows: Any = -1,
    num_cols: Any = -1,
    padding_value: Any = 0,
) -> Tensor:
    """Matrices with given diagonals.

    Args:
      diagonal: the diagonals: [..., length], or [..., count, length] for several.
      name: name of the node.
      k: which diagonals: one number (0 the main one, positive above it), or the lowest and the
        highest of a band; the highest stands first in `diagonal`.
      num_rows: the number of rows; the smallest that fits if -1.
      num_cols: the number of columns; the smallest that fits if -1.
      padding_value: what stands elsewhere.

    Example:
      >>> tf.linalg.diag([1, 2])       # [[1, 0], [0, 2]]
    """
    return matrix_diagonal.matrix_diag_v2(
        diagonal, k, num_rows, num_cols, _padding(padding_value, diagonal), name=name
    )


def matrix_diag_part(input: Any, name: str = "diag_part", k: Any = 0, padding_value: Any = 0) -> Tensor:
    """The diagonals of matrices.

    Args:
      input: a tensor of rank 2 or more.
      name: name of the node.
      k: which diagonals, as for `tf.linalg.diag`.
      padding_value: what fills up the shorter ones of several.
    """
    if is_operator(input):
        result: Tensor = input.diag_part(name)
        return result
    return matrix_diagonal.matrix_diag_part_v2(input, k, _padding(padding_value, input), name=name)


def matrix_set_diag(input: Any, diagonal: Any, name: str = "set_diag", k: Any = 0) -> Tensor:
    """Matrices with diagonals replaced.

    Args:
      input: a tensor of rank 2 or more.
      diagonal: the new diagonals.
      name: name of the node.
      k: which diagonals, as for `tf.linalg.diag`.
    """
    return matrix_diagonal.matrix_set_diag_v2(input, diagonal, k, name=name)
