"""RaggedTensor: rows of different lengths, as values and the places where rows begin and end.

The values of a ragged tensor may be ragged themselves: one RaggedTensor for each ragged dimension.
"""

from __future__ import annotations

from typing import Any

from headrace.core import dtypes
from headrace.core.dtypes import DType, DTypeLike, as_dtype, int32, int64
from headrace.core.modules import late
from headrace.core.shapes import Shape, make_shape
from headrace.functions.array import array, stacking
from headrace.functions.array.indexing import gather
from headrace.functions.math import reduce
from headrace.functions.math.cast import cast
from headrace.functions.ragged.factories import RaggedFactories
from headrace.functions.ragged.operators import RaggedOperators
from headrace.functions.ragged.value import RaggedTensorValue
from headrace.functions.values.composite import CompositeTensor
from headrace.functions.values.structure import name_scope
from headrace.graph.graph import Graph
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor, run_session
from headrace.ops.array.constant import constant
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.math import arithmetic
from headrace.ops.ragged.variant import ragged_tensor_from_variant, ragged_tensor_to_variant

convert = late("headrace.functions.ragged.convert")
getitem = late("headrace.functions.ragged.getitem")
ragged = late("headrace.functions.ragged.ragged")
spec = late("headrace.functions.ragged.spec")

_SPLITS = (int32, int64)


class RaggedTensor(CompositeTensor, RaggedFactories, RaggedOperators):
    """A tensor with rows of different lengths.

    Made by `tf.ragged.constant` or one of the `from_...` methods:

      >>> tf.RaggedTensor.from_row_splits([3, 1, 4, 1, 5], [0, 2, 2, 5])
      # [[3, 1], [], [4, 1, 5]]
    """

    def __init__(
        self,
        values: Any,
        row_splits: Tensor,
        cached_row_lengths: Tensor | None = None,
        cached_value_rowids: Tensor | None = None,
        cached_nrows: Tensor | None = None,
        internal: bool = False,
    ) -> None:
        if not internal:
            raise ValueError(
                "RaggedTensor constructor is private; please use one of the factory methods "
                "instead (e.g., RaggedTensor.from_row_lengths())"
            )
        if not isinstance(values, (RaggedTensor, Tensor)):
            raise TypeError(f"values must be a Tensor or RaggedTensor, got {values!r}")
        values.shape.with_rank_at_least(1)
        _check_splits(row_splits)
        if isinstance(values, RaggedTensor) and values.row_splits.dtype != row_splits.dtype:
            raise ValueError(f"row_splits of {row_splits.dtype} around values with {values.row_splits.dtype}")
        for cached in (cached_row_lengths, cached_value_rowids, cached_nrows):
            if cached is not None and not isinstance(cached, Tensor):
                raise TypeError("Cached value must be a Tensor or None.")
            if cached is not None and cached.dtype not in _SPLITS:
                raise TypeError("Cached value must be int32 or int64.")
        self._values, self._row_splits = values, row_splits
        # What the splits were made from, to give it back without a computation.
        self._cached_row_lengths = cached_row_lengths
        self._cached_value_rowids, self._cached_nrows = cached_value_rowids, cached_nrows

    # -- what it is -----------------------------------------------------------------------------
    @property
    def values(self) -> Any:
        """The values of all rows: a tensor, or a RaggedTensor for the next ragged dimension."""
        return self._values

    @property
    def row_splits(self) -> Tensor:
        """The places where rows begin and end."""
        result: Tensor = self._row_splits
        return result

    @property
    def dtype(self) -> DType:
        dtype: DType = self._values.dtype
        return dtype

    @property
    def shape(self) -> Shape:
        """What is known of the shape; ragged dimensions are unknown."""
        splits = self._row_splits.shape.dim(0)
        rows = make_shape((None if splits is None else splits - 1, None))
        values = self._values.shape
        return rows.concatenate(values if values.rank is None else values[1:])

    def get_shape(self) -> Shape:
        return self.shape

    @property
    def ragged_rank(self) -> int:
        """How many dimensions are ragged."""
        return len(self.nested_row_splits)

    @property
    def flat_values(self) -> Tensor:
        """The innermost values, a dense tensor."""
        values = self._values
        while isinstance(values, RaggedTensor):
            values = values._values
        return values

    @property
    def nested_row_splits(self) -> tuple[Tensor, ...]:
        """The row splits of all ragged dimensions, the outermost first."""
        return tuple(level._row_splits for level in self._levels())

    def _levels(self) -> list[RaggedTensor]:
        out: list[RaggedTensor] = []
        level: Any = self
        while isinstance(level, RaggedTensor):
            out.append(level)
            level = level._values
        return out

    @property
    def graph(self) -> Graph:
        result: Graph = self._row_splits.graph
        return result

    def consumers(self) -> list[Node]:
        return self._consumers()

    def value_rowids(self, name: str | None = None) -> Tensor:
        """The number of the row that each value belongs to."""
        if self._cached_value_rowids is not None:
            result: Tensor = self._cached_value_rowids
            return result
        with name_scope(name, "RaggedValueRowIds", [self._row_splits]):
            found: Tensor = ragged.row_splits_to_segment_ids(self._row_splits)
            return found

    def nested_value_rowids(self, name: str | None = None) -> tuple[Tensor, ...]:
        """The row numbers for all ragged dimensions, the outermost first."""
        with name_scope(name, "RaggedNestedValueRowIds", [self._row_splits]):
            return tuple(level.value_rowids() for level in self._levels())

    def nrows(self, out_type: Any = None, name: str | None = None) -> Tensor:
        """How many rows there are."""
        kind = self._row_splits.dtype if out_type is None else as_dtype(out_type)
        if self._cached_nrows is not None:
            result: Tensor = cast(self._cached_nrows, kind)
            return result
        with name_scope(name, "RaggedNRows", [self._row_splits]):
            return array.shape(self._row_splits, out_type=kind)[0] - 1

    def row_starts(self, name: str | None = None) -> Tensor:
        """The places where rows begin."""
        with name_scope(name, "RaggedRowStarts", [self._row_splits]):
            result: Tensor = self._row_splits[:-1]
            return result

    def row_limits(self, name: str | None = None) -> Tensor:
        """The places where rows end."""
        with name_scope(name, "RaggedRowLimits", [self._row_splits]):
            result: Tensor = self._row_splits[1:]
            return result

    def row_lengths(self, axis: int = 1, name: str | None = None) -> Any:
        """The lengths of the rows along `axis`."""
        if self._cached_row_lengths is not None:
            return self._cached_row_lengths
        with name_scope(name, "RaggedRowLengths", [self._row_splits]):
            axis = positive_axis(axis, self.shape.rank)
            if axis == 0:
                return self.nrows()
            if axis == 1:
                return self._row_splits[1:] - self._row_splits[:-1]
            if isinstance(self._values, RaggedTensor):
                return self.with_values(self._values.row_lengths(axis - 1))
            kind = self._row_splits.dtype
            sizes = array.shape(self._values, out_type=kind)
            return self.with_values(array.ones(sizes[: axis - 1], kind) * sizes[axis - 1])

    def nested_row_lengths(self, name: str | None = None) -> tuple[Any, ...]:
        """The row lengths of all ragged dimensions, the outermost first."""
        with name_scope(name, "RaggedNestedRowLengths", [self._row_splits]):
            return tuple(level.row_lengths() for level in self._levels())

    def bounding_shape(self, axis: Any = None, name: str | None = None, out_type: Any = None) -> Tensor:
        """The smallest dense shape with room for all rows, or its sizes along `axis`."""
        kind = self._row_splits.dtype if out_type is None else as_dtype(out_type)
        with name_scope(name, "RaggedBoundingBox", [self._row_splits, axis]):
            rows = array.shape(self._row_splits, out_type=kind)[0] - 1
            if isinstance(axis, int) and axis == 0:
                return rows
            longest = [
                arithmetic.maximum(reduce.reduce_max(s[1:] - s[:-1]), constant(0, s.dtype))
                for s in self.nested_row_splits
            ]
            longest = [cast(size, kind) for size in longest]
            if isinstance(axis, int) and axis == 1:
                return longest[0]
            inner = array.shape(self.flat_values, out_type=kind)[1:]
            box = stacking.concat([stacking.stack([rows, *longest]), inner], axis=0)
            return box if axis is None else gather(box, axis)

    # -- with other parts -----------------------------------------------------------------------
    def with_values(self, new_values: Any) -> RaggedTensor:
        """The same rows of other values."""
        new_values.shape.with_rank_at_least(1)
        self._values.shape[:1].assert_is_compatible_with(new_values.shape[:1])
        if isinstance(new_values, RaggedTensor) and self._row_splits.dtype != new_values.row_splits.dtype:
            raise ValueError(
                "self and new_values have mismatched row_splits dtypes; use "
                "RaggedTensor.with_row_splits_dtype() to convert them to compatible dtypes."
            )
        return RaggedTensor(
            new_values,
            self._row_splits,
            self._cached_row_lengths,
            self._cached_value_rowids,
            self._cached_nrows,
            internal=True,
        )

    def with_flat_values(self, new_values: Any) -> RaggedTensor:
        """The same rows of other innermost values."""
        values: Any = self._values
        inner = values
        if isinstance(inner, RaggedTensor):
            return self.with_values(inner.with_flat_values(new_values))
        return self.with_values(new_values)

    def with_row_splits_dtype(self, dtype: Any) -> RaggedTensor:
        """The same, with row splits of int32 or int64."""
        kind = as_dtype(dtype)
        if kind not in _SPLITS:
            raise ValueError("dtype must be int32 or int64")
        if self._row_splits.dtype == kind:
            return self

        def converted(tensor: Any) -> Any:
            return None if tensor is None else cast(tensor, kind)

        inner = self._values
        if isinstance(inner, RaggedTensor):
            inner = inner.with_row_splits_dtype(kind)
        return RaggedTensor(
            inner,
            cast(self._row_splits, kind),
            converted(self._cached_row_lengths),
            converted(self._cached_value_rowids),
            converted(self._cached_nrows),
            internal=True,
        )

    # -- other forms ----------------------------------------------------------------------------
    def to_tensor(self, default_value: Any = None, name: str | None = None) -> Tensor:
        """A dense tensor; `default_value` (zero by default) stands behind the end of short rows."""
        result: Tensor = convert.to_tensor(self, default_value, name)
        return result

    def to_sparse(self, name: str | None = None) -> Any:
        """The same elements as a `SparseTensor`."""
        return convert.to_sparse(self, name)

    def to_list(self) -> list[Any]:
        """Nested lists of the values, in eager mode; in a graph only values have lists: run the tensor
        first."""
        if self._row_splits.graph.runs_at_once:
            return self._eager_value().to_list()  # type: ignore[no-any-return]
        raise ValueError(
            "RaggedTensor.to_list() is only supported in eager mode; here a session's value of it has a "
            "to_list()."
        )

    def _eager_value(self) -> Any:
        """The value of a tensor of eager mode."""
        values: Any = self._values
        splits: Any = self._row_splits
        inner = values._eager_value() if isinstance(values, RaggedTensor) else values.numpy()
        return RaggedTensorValue(inner, splits.numpy())

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """Run this tensor in `session`, or in the default one.  Returns a RaggedTensorValue."""
        return run_session(self.graph, session, "eval").run(self, feed_dict)

    def _to_variant(self, batched_input: bool = False, name: str | None = None) -> Tensor:
        with name_scope(name, "RaggedToVariant", [self._row_splits, batched_input]):
            return ragged_tensor_to_variant(list(self.nested_row_splits), self.flat_values, batched_input)

    @classmethod
    def _from_variant(
        cls,
        variant: Any,
        dtype: DTypeLike,
        output_ragged_rank: int,
        input_ragged_rank: int | None = None,
        name: str | None = None,
    ) -> Any:
        variant = convert_to_tensor(variant, dtypes.variant, "variant")
        rank = variant.shape.rank
        if None not in (rank, input_ragged_rank) and output_ragged_rank != (input_ragged_rank + rank):
            raise ValueError(
                "output_ragged_rank must be equal to input_ragged_rank +variant.shape.ndims, found "
                f"variant.shape.ndims: {rank}, input_ragged_rank: {input_ragged_rank}, "
                f"output_ragged_rank: {output_ragged_rank}"
            )
        with name_scope(name, "RaggedFromVariant", [variant]):
            splits, values = ragged_tensor_from_variant(
                variant,
                -1 if input_ragged_rank is None else input_ragged_rank,
                output_ragged_rank,
                dtype,
                int64,
            )
            return cls.from_nested_row_splits(values, splits, validate=False)

    @property
    def _type_spec(self) -> Any:
        return spec.RaggedTensorSpec.from_value(self)

    def _shape_invariant_to_type_spec(self, shape: Any) -> Any:
        return spec.RaggedTensorSpec(shape, self.dtype, self.ragged_rank, self._row_splits.dtype)

    def __getitem__(self, key: Any) -> Any:
        return getitem.getitem(self, key)

    def __repr__(self) -> str:
        return f"tf.RaggedTensor(values={self._values}, row_splits={self._row_splits})"


def _check_splits(row_splits: Any) -> None:
    if not isinstance(row_splits, Tensor):
        raise TypeError(f"Row-partitioning argument must be a Tensor, got {row_splits!r}")
    if row_splits.dtype not in _SPLITS:
        raise ValueError(f"Row-partitioning argument must be int32 or int64, not {row_splits.dtype}")
    row_splits.shape.assert_has_rank(1)
    row_splits.set_shape([None])  # a rank alone, where nothing was known


def positive_axis(axis: Any, rank: int | None) -> int:
    """An axis counted from the front."""
    if not isinstance(axis, int):
        raise TypeError(f"axis must be an int; got {type(axis).__name__}")
    if rank is not None:
        if 0 <= axis < rank:
            return axis
        if -rank <= axis < 0:
            return axis + rank
        raise ValueError(f"axis={axis} out of bounds: expected {-rank}<=axis<{rank}")
    if axis < 0:
        raise ValueError("axis may only be negative if ndims is statically known.")
    return axis


def is_ragged(value: Any) -> bool:
    """True for a RaggedTensor and a RaggedTensorValue."""
    return isinstance(value, (RaggedTensor, RaggedTensorValue))


def convert_to_tensor_or_ragged_tensor(
    value: Any, dtype: Any = None, preferred_dtype: Any = None, name: str | None = None
) -> Any:
    """A RaggedTensor where `value` is ragged, else the tensor it stands for."""
    wanted = None if dtype is None else as_dtype(dtype)
    if isinstance(value, RaggedTensor):
        if wanted is not None and not wanted.is_compatible_with(value.dtype):
            raise ValueError(
                f"Tensor conversion requested dtype {wanted.name} for RaggedTensor with dtype "
                f"{value.dtype.name}: {value!r}"
            )
        return value
    if isinstance(value, RaggedTensorValue):
        with name_scope(name, "ConvertToTensorOrRaggedTensor", []):
            flat = convert_to_tensor(value.flat_values, wanted, "flat_values")
            return RaggedTensor.from_nested_row_splits(flat, value.nested_row_splits, validate=False)
    return convert_to_tensor(value, wanted, name, preferred_dtype=preferred_dtype)


def match_row_splits_dtypes(*tensors: Any) -> DType:
    """The one type of the row splits of all ragged tensors among these; int64 if there are none."""
    kinds = {t.row_splits.dtype for t in tensors if isinstance(t, RaggedTensor)}
    if len(kinds) > 1:
        raise ValueError(
            "Input RaggedTensors have mismatched row_splits dtypes; use "
            "RaggedTensor.with_row_splits_dtype() to convert them to compatible dtypes."
        )
    return kinds.pop() if kinds else int64
