"""Variables in parts: how a shape is cut, and the object that stands for all parts together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from headrace.core.dtypes import DType
from headrace.core.fields import reads
from headrace.core.shapes import Shape, as_shape
from headrace.functions.array.stacking import concat, split
from headrace.graph.defaults import get_default_graph
from headrace.graph.tensor import Tensor
from headrace.ops.array.source import identity
from headrace.ops.declaration.convert import register_tensor_conversion_function


def cut(partitioner: Any, shape: Shape, dtype: Any) -> list[int]:
    """Ask a partitioner into how many parts each dimension is cut; at most one may be."""
    if not shape.is_fully_defined():
        raise ValueError(
            f"Shape of a new partitioned variable must be fully defined, but instead was {shape}."
        )
    if not shape.rank:
        raise ValueError(f"A partitioned Variable must have rank at least 1, shape: {shape}")
    slicing = partitioner(shape=shape, dtype=dtype)
    if not isinstance(slicing, Sequence):
        raise ValueError(f"Partitioner must return a sequence, but saw: {slicing}")
    if len(slicing) != shape.rank:
        raise ValueError(
            "Partitioner returned a partition list that does not match the Variable's rank: "
            f"{slicing} vs. {shape}"
        )
    if any(p < 1 for p in slicing):
        raise ValueError(f"Partitioner returned zero partitions for some axes: {slicing}")
    if sum(p > 1 for p in slicing) > 1:
        raise ValueError(
            f"Can only slice a variable along one dimension: shape: {shape}, partitioning: {slicing}"
        )
    return slicing  # type: ignore[return-value]


def parts_of(full_shape: list[int], partitions: Sequence[int]) -> Iterator[tuple[list[int], list[int]]]:
    """(offset, shape) of every part; the first parts are larger where it does not divide."""
    axis = next((i for i, p in enumerate(partitions) if p > 1), 0)
    count = partitions[axis]
    size, excess = divmod(full_shape[axis], count)
    start = 0
    for i in range(count):
        length = size + (i < excess)
        offset, shape = [0] * len(full_shape), list(full_shape)
        offset[axis], shape[axis] = start, length
        yield offset, shape
        start += length


class PartitionedVariable:
    """A variable kept in parts along one dimension; as a tensor, it is their concatenation."""

    def __init__(self, name: str, shape: Any, dtype: Any, variable_list: Any, partitions: Any) -> None:
        if not isinstance(variable_list, (list, tuple)):
            raise TypeError(f"variable_list is not a list or tuple: {variable_list}")
        if not isinstance(partitions, (list, tuple)):
            raise TypeError(f"partitions is not a list or tuple: {partitions}")
        if not all(p >= 1 for p in partitions):
            raise ValueError(f"partition values must be positive: {partitions}")
        if not variable_list:
            raise ValueError("variable_list may not be empty")
        for v in variable_list:
            if any(part._get_save_slice_info() is None for part in variable_list):
                raise ValueError(
                    "All variables must have a save_slice_info available: "
                    f"{[part.name for part in variable_list]}"
                )
            if len(shape) != len(partitions):
                raise ValueError(f"len(shape) != len(partitions): {shape} vs. {partitions}")
            full_shape = v._get_save_slice_info().full_shape
            if as_shape(full_shape) != as_shape(shape):
                raise ValueError(
                    f"All variables' full shapes must match shape: {shape}; but full shapes were: "
                    f"{[full_shape]}"
                )
        self._variable_list = sorted(variable_list, key=lambda v: v._get_save_slice_info().var_offset)
        self._name, self._shape, self._dtype = name, shape, dtype
        self._partitions = partitions

    def __iter__(self) -> Iterator[Any]:
        return iter(self._variable_list)

    def __len__(self) -> int:
        axes = len(self._partition_axes())
        if axes > 1:
            raise ValueError(f"Cannot get a length for {axes} > 1 partition axes")
        return len(self._variable_list)

    def _partition_axes(self) -> list[int]:
        return [i for i, p in enumerate(self._partitions) if p > 1] or [0]

    def _axis(self, action: str) -> int:
        axes = self._partition_axes()
        if len(axes) > 1:
            raise NotImplementedError(
                f"Cannot {action} along more than one dimension: {axes}.  Multi-axis partition "
                f"{action} is not supported"
            )
        return axes[0]

    def as_tensor(self) -> Tensor:
        """The parts joined."""
        with get_default_graph().control_dependencies(None):
            return self._concat()

    def _concat(self) -> Tensor:
        graph = get_default_graph()
        joined = self._variable_list[0]
        if len(self._variable_list) > 1:
            axis = self._axis("concatenate")
            with graph.name_scope(self._name + "/ConcatPartitions/"):
                joined = concat(self._variable_list, axis)
        with graph.name_scope(None):
            whole: Tensor = identity(joined, name=self._name)
            return whole

    name: str = reads("_name")
    dtype: Any = reads("_dtype")
    shape: Any = reads("_shape")

    def get_shape(self) -> Any:
        return self._shape

    @property
    def _distribute_strategy(self) -> None:
        return None

    def _get_variable_list(self) -> list[Any]:
        return self._variable_list

    def _get_partitions(self) -> Any:
        return self._partitions

    def _values_for_parts(self, value: Any) -> list[Any]:
        """One value per part: a list of them, another partitioned variable, or a value to cut."""
        axis = self._axis("do assign action")
        if isinstance(value, list):
            assert len(value) == len(self._variable_list)
            return value
        if isinstance(value, PartitionedVariable):
            return list(value)
        sizes = [v.shape.as_list()[axis] for v in self._variable_list]
        return list(split(value, sizes, axis=axis))

    def _for_parts(self, method: str, value: Any, **options: Any) -> list[Any]:
        done = [
            getattr(part, method)(part_value, **options)
            for part, part_value in zip(self._variable_list, self._values_for_parts(value))
        ]
        return done

    def assign(
        self, value: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> list[Any]:
        """Give every part its part of `value`."""
        return self._for_parts("assign", value, use_locking=use_locking, name=name, read_value=read_value)

    def assign_add(
        self, value: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> list[Any]:
        """Add to every part its part of `value`."""
        return self._for_parts("assign_add", value, use_locking=use_locking, name=name, read_value=read_value)

    def assign_sub(
        self, value: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> list[Any]:
        """Subtract from every part its part of `value`."""
        return self._for_parts("assign_sub", value, use_locking=use_locking, name=name, read_value=read_value)


def _to_tensor(
    variable: PartitionedVariable, dtype: DType | None = None, name: Any = None, as_ref: bool = False
) -> Tensor:
    if dtype is not None and not dtype.is_compatible_with(variable.dtype):
        raise ValueError(
            f"Incompatible type conversion requested to type '{dtype.name}' for variable of type "
            f"'{variable.dtype.name}'"
        )
    if as_ref:
        raise NotImplementedError("PartitionedVariable doesn't support being used as a reference.")
    return variable.as_tensor()


register_tensor_conversion_function(PartitionedVariable, _to_tensor)
