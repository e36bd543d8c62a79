"""Initializers that load a matrix of a checkpoint under a new vocabulary."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.core import dtypes
from headrace.functions.array.stacking import concat
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.io.remap import generate_vocab_remapping, load_and_remap_matrix
from headrace.ops.math.sequence import range_
from headrace.variables.initializers.initializers import Zeros


class Vocabularies:
    """Old and new vocabulary files of rows and of columns; None where they did not change."""

    def __init__(
        self, old_rows: Any = None, new_rows: Any = None, old_cols: Any = None, new_cols: Any = None
    ) -> None:
        for kind, old, new in (("row", old_rows, new_rows), ("col", old_cols, new_cols)):
            if bool(old) != bool(new):
                raise ValueError(
                    f"old_{kind}_vocab_file and new_{kind}_vocab_file must both be specified or "
                    f"left unspecified. old_{kind}_vocab_file='{old}', "
                    f"new_{kind}_vocab_file='{new}'"
                )
        if not (old_rows or old_cols):
            raise ValueError(
                "Must provide either row or column vocab files. If no remapping is necessary, "
                "consider using `tf.train.init_from_checkpoint` instead."
            )
        self.old_rows, self.new_rows = old_rows, new_rows
        self.old_cols, self.new_cols = old_cols, new_cols


def load_matrix(
    ckpt_path: Any,
    name: str,
    offset: int,
    rows: int,
    cols: int,
    initializer: Any,
    vocabularies: Vocabularies,
    old_row_vocab_size: int = -1,
    row_oov: int = 0,
    col_oov: int = 0,
    max_rows_in_memory: int = -1,
) -> Any:
    """Rows `offset` to `offset + rows` of the new matrix, from an old one where that has them."""
    if row_oov < 0 or col_oov < 0:
        raise ValueError(f"the numbers of buckets must not be negative: {row_oov}, {col_oov}")
    words = vocabularies
    present_rows: Any = rows
    if words.new_rows:
        row_map, present_rows = generate_vocab_remapping(
            words.new_rows,
            words.old_rows,
            new_vocab_offset=offset,
            num_new_vocab=rows,
            old_vocab_size=old_row_vocab_size,
        )
    else:
        row_map = range_(*(convert_to_tensor(n, dtypes.int64) for n in (offset, offset + rows, 1)))
    present_cols: Any = cols
    col_map: Any = convert_to_tensor([], dtypes.int64)
    if words.new_cols:
        col_map, present_cols = generate_vocab_remapping(
            words.new_cols, words.old_cols, new_vocab_offset=0, num_new_vocab=cols
        )
    missing = initializer([rows * cols - present_rows * present_cols, 1])
    matrix = load_and_remap_matrix(
        ckpt_path,
        name,
        row_map,
        col_map,
        missing,
        num_rows=rows,
        num_cols=cols,
        max_rows_in_memory=max_rows_in_memory,
    )
    if row_oov:
        matrix = concat([matrix, convert_to_tensor(initializer([row_oov, cols]))], 0)
    if col_oov:
        matrix = concat([matrix, convert_to_tensor(initializer([rows + row_oov, col_oov]))], 1)
    return matrix


def matrix_initializer(
    ckpt_path: Any,
    name: str,
    new_rows: int,
    new_cols: int,
    vocabularies: Vocabularies,
    old_row_vocab_size: int = -1,
    row_oov: int = 0,
    col_oov: int = 0,
    initializer: Callable[..., Any] | None = None,
    max_rows_in_memory: int = -1,
) -> Callable[..., Any]:
    """An initializer for a matrix of `new_rows + row_oov` rows and `new_cols + col_oov` columns.

    Rows and columns of words that the old vocabulary had are the old ones; others come from
    `initializer` (zeros if None).  It may be used for parts of a variable that is cut into rows.
    """
    initializer = Zeros() if initializer is None else initializer
    if not callable(initializer):
        raise TypeError(
            f"initializer must be callable, instead of being {initializer} of type {type(initializer)}."
        )

    def initialize(shape: Any, dtype: Any = dtypes.float32, partition_info: Any = None) -> Any:
        if dtype != dtypes.float32:
            raise TypeError(f"Currently, only float32 is supported. Received dtype: {dtype}")
        if len(shape) != 2:
            raise ValueError(f"Expected 2-dim shape, but received: {shape}")
        if shape[0] <= 0:
            raise ValueError(f"Expected 1st dim of shape to be > 0, but received shape: {shape}")
        if shape[1] != new_cols + col_oov:
            raise ValueError(
                f"Expected 2nd dim of shape to be new_col_vocab_size ({new_cols}) + "
                f"num_col_oov_buckets ({col_oov}) = {new_cols + col_oov}, but received shape: "
                f"{shape}"
            )
        offset = 0 if partition_info is None else partition_info.single_offset(shape)
        end = offset + shape[0]
        if end > new_rows + row_oov:
            raise ValueError(
                f"A part of {shape[0]} rows that begins at row {offset} does not fit into "
                f"{new_rows + row_oov} rows: new_row_vocab_size is {new_rows}, num_row_oov_buckets "
                f"{row_oov}."
            )
        buckets = min(shape[0], max(0, end - new_rows))
        if offset > new_rows:
            return initializer(shape)
        return load_matrix(
            ckpt_path,
            name,
            offset,
            shape[0] - buckets,
            new_cols,
            initializer,
            vocabularies,
            old_row_vocab_size,
            buckets,
            col_oov,
            max_rows_in_memory,
        )

    return initialize
