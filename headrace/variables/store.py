"""The variables of a graph that `get_variable` made, by name: finds one again or makes it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from typing import Any

from headrace.core import dtypes, origin
from headrace.core.dtypes import DType, DTypeLike, as_dtype
from headrace.core.errors import hinted
from headrace.core.families import takes
from headrace.core.shapes import Shape, as_shape
from headrace.functions.control.init_scope import init_scope
from headrace.graph.defaults import get_default_graph
from headrace.graph.keys import GraphKeys
from headrace.graph.tensor import Tensor
from headrace.ops.array.slices.slice import slice_
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.variables import creation
from headrace.variables.initializers import initializers
from headrace.variables.modes import VariableAggregation, VariableSynchronization, checked_modes
from headrace.variables.partitioned import PartitionedVariable, cut, parts_of
from headrace.variables.resource import ResourceVariable
from headrace.variables.slices import PartitionInfo, SaveSliceInfo
from headrace.variables.variable import Variable


class ReuseMode(Enum):
    """What `get_variable` does with a name it knows."""

    AUTO_REUSE = 1  # return the variable, or make it


AUTO_REUSE = ReuseMode.AUTO_REUSE
_KEY = ("__variable_store",)


class VariableStore:
    """Variables and partitioned variables by full name."""

    def __init__(self) -> None:
        self._vars: dict[str, Any] = {}
        self._partitioned_vars: dict[str, PartitionedVariable] = {}
        self.keeps_eager = (
            False  # variables of eager mode (eager_store.py), which else end with their last user
        )

    def get_variable(
        self,
        name: str,
        shape: Any = None,
        dtype: DTypeLike = dtypes.float32,
        initializer: Any = None,
        regularizer: Callable[..., Any] | None = None,
        reuse: Any = None,
        trainable: bool | None = None,
        collections: Iterable[str] | None = None,
        caching_device: str | Callable[..., Any] | None = None,
        partitioner: Callable[..., Any] | None = None,
        validate_shape: bool = True,
        use_resource: bool | None = None,
        custom_getter: Callable[..., Any] | None = None,
        constraint: Callable[..., Any] | None = None,
        synchronization: Any = VariableSynchronization.AUTO,
        aggregation: Any = VariableAggregation.NONE,
    ) -> Any:
        """The variable of this name, through `custom_getter` if there is one."""
        if custom_getter is not None and not callable(custom_getter):
            raise ValueError(f"Passed a custom_getter which is not callable: {custom_getter}")
        synchronization, aggregation, trainable = checked_modes(synchronization, aggregation, trainable, name)
        options: dict[str, Any] = {
            "shape": shape,
            "dtype": getattr(dtype, "base_dtype", dtype),
            "initializer": initializer,
            "regularizer": regularizer,
            "reuse": reuse,
            "trainable": trainable,
            "collections": collections,
            "caching_device": caching_device,
            "partitioner": partitioner,
            "validate_shape": validate_shape,
            "use_resource": use_resource,
            "synchronization": synchronization,
            "aggregation": aggregation,
        }
        if custom_getter is None:
            return self._get(name, **options, constraint=constraint)
        if _accepts(custom_getter, "constraint"):
            options["constraint"] = constraint
        return custom_getter(getter=self._get, name=name, **options)

    @takes(get_variable, "custom_getter")
    def _get(self, name: str, partitioner: Any, **options: Any) -> Any:
        """What a custom getter calls: one variable, or a partitioned one."""
        if get_default_graph().runs_at_once:
            if options["reuse"] and not self.keeps_eager:
                raise RuntimeError(
                    "When eager execution is enabled variable reuse is only supported when an "
                    "EagerVariableStore "
                    "is active. See the documentation on EagerVariableStore for example usage."
                )
            if self.keeps_eager:
                options["reuse"] = AUTO_REUSE
        shape, reuse = options["shape"], options["reuse"]
        is_scalar = isinstance(shape, Sequence) and not shape
        if partitioner is not None and not is_scalar:
            if not callable(partitioner):
                raise ValueError(f"Partitioner must be callable, but received: {partitioner}")
            with get_default_graph().name_scope(None):
                return self._get_partitioned_variable(name, partitioner, **options)
        if reuse is True and partitioner is None and name in self._partitioned_vars:
            return self._get_partitioned_variable(name, None, **options)
        if f"{name}/part_0" in self._vars:
            raise ValueError(
                f"No partitioner was provided, but a variable of this name was made with one: {name}/part_0."
            )
        return self._get_single(name, **options)

    # -- one variable -------------------------------------------------------------------------
    def _get_single(
        self,
        name: str,
        shape: Any,
        dtype: DTypeLike,
        initializer: Any,
        regularizer: Callable[..., Any] | None,
        reuse: Any,
        partition_info: PartitionInfo | None = None,
        use_resource: bool | None = None,
        **options: Any,
    ) -> Any:
        from_value = initializer is not None and not callable(initializer)
        if shape is not None and from_value:
            raise ValueError("If initializer is a constant, do not specify shape.")
        dtype, shape = as_dtype(dtype), as_shape(shape)
        if name in self._vars:
            return self._found(name, shape, dtype, reuse)
        if reuse is True:
            raise ValueError(
                f"Variable {name} does not exist, or was not created with tf.get_variable(). Did "
                "you mean to set reuse=tf.AUTO_REUSE in VarScope?"
            )
        if initializer is None:
            initializer = _default_initializer(name, dtype)
        initial_value, known_dtype = initializer, None
        if not from_value:
            initial_value, known_dtype = _initial_value(initializer, shape, dtype, partition_info)
        if use_resource is None:
            use_resource = creation.resource_variables_enabled()
        variable = Variable(
            initial_value=initial_value, name=name, dtype=known_dtype, use_resource=use_resource, **options
        )
        if self.keeps_eager or not get_default_graph().runs_at_once:
            self._vars[name] = variable
        if regularizer:
            _regularize(variable, name, regularizer)
        return variable

    def _found(self, name: str, shape: Shape, dtype: DType, reuse: Any) -> Any:
        """The known variable, if it may be shared and is what was asked for."""
        variable = self._vars[name]
        if reuse is False:
            message = (
                f"Variable {name} already exists, disallowed. Did you mean to set reuse=True or "
                "reuse=tf.AUTO_REUSE in VarScope?"
            )
            if not isinstance(variable, ResourceVariable):
                message += f" Originally defined at:\n\n  {variable.op.origin}\n"
            raise ValueError(hinted(message, _built_twice(variable)))
        if not shape.is_compatible_with(variable.get_shape()):
            raise ValueError(
                f"Trying to share variable {name}, but specified shape {shape} and found shape "
                f"{variable.get_shape()}."
            )
        if not dtype.is_compatible_with(variable.dtype):
            raise ValueError(
                f"Trying to share variable {name}, but specified dtype {dtype.name} and found "
                f"dtype {variable.dtype.name}."
            )
        return variable

    # -- several parts ------------------------------------------------------------------------
    def _get_partitioned_variable(
        self,
        name: str,
        partitioner: Callable[..., Any] | None,
        shape: Any = None,
        dtype: Any = dtypes.float32,
        initializer: Any = None,
        reuse: Any = None,
        **options: Any,
    ) -> PartitionedVariable:
        if name in self._vars:
            raise ValueError(
                f"A partitioner was provided, but a variable of this name was made without one: {name}."
            )
        shape = as_shape(shape)
        if isinstance(initializer, Tensor):
            shape = shape.merge_with(initializer.get_shape())
        partitions = None
        if not reuse or partitioner:
            partitions = cut(partitioner, shape, dtype)
        if name in self._partitioned_vars:
            return self._found_partitioned(name, shape, dtype, partitions, reuse)
        if reuse is True:
            raise ValueError(
                f"PartitionedVariable {name} does not exist, or was not created with "
                "tf.get_variable(). Did you mean to set reuse=False or reuse=tf.AUTO_REUSE in "
                "VarScope?"
            )
        assert partitions is not None
        self._check_parts(name, partitions)
        full = shape.as_list()
        parts = []
        for i, (offset, size) in enumerate(parts_of(full, partitions)):
            part_name = f"{name}/part_{i}"
            with get_default_graph().name_scope(f"{part_name}/PartitionedInitializer"):
                init, init_shape, dtype = _part_initializer(initializer, name, dtype, offset, size)
            with get_default_graph().name_scope(None):
                part = self._get_single(
                    part_name,
                    shape=init_shape,
                    dtype=dtype,
                    initializer=init,
                    reuse=reuse,
                    partition_info=PartitionInfo(full, offset),
                    **options,
                )
            part._set_save_slice_info(SaveSliceInfo(name, full, offset, size))
            parts.append(part)
        whole = PartitionedVariable(name, shape, dtype, parts, partitions)
        self._partitioned_vars[name] = whole
        return whole

    def _found_partitioned(
        self, name: str, shape: Shape, dtype: DType, partitions: Any, reuse: Any
    ) -> PartitionedVariable:
        if reuse is False:
            raise ValueError(
                f"Partitioned variable with name {name} already exists. Did you mean to set "
                "reuse=True or reuse=tf.AUTO_REUSE in VarScope?"
            )
        known = self._partitioned_vars[name]
        prefix = f"Trying to reuse partitioned variable {name}, but specified"
        if not shape.is_compatible_with(known.get_shape()):
            raise ValueError(f"{prefix} shape {shape} and found shape {known.get_shape()}.")
        if not dtype.is_compatible_with(known.dtype):
            raise ValueError(f"{prefix} dtype {dtype.name} and found dtype {known.dtype.name}.")
        if partitions is not None and known._get_partitions() != partitions:
            raise ValueError(
                f"{prefix} partitions {partitions} and found partitions {known._get_partitions()}."
            )
        return known

    def _check_parts(self, name: str, partitions: Sequence[int]) -> None:
        """Parts that are there already must be the same in number."""
        count = max(partitions)
        if f"{name}/part_0" not in self._vars:
            return
        prefix = (
            "Partitioner returned a different partitioning than what was already found: "
            f"{count} shards.  There is {name}/part_0, but"
        )
        if f"{name}/part_{count - 1}" not in self._vars:
            raise ValueError(f"{prefix} {name}/part_{count - 1} was not.")
        if f"{name}/part_{count}" in self._vars:
            raise ValueError(f"{prefix} so was the extra shard {name}/part_{count}.")


def _accepts(function: Any, name: str) -> bool:
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False
    return name in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())


def _default_initializer(name: str, dtype: DType) -> Any:
    if dtype.is_floating:
        return initializers.GlorotUniform()
    if dtype.is_integer or dtype.is_bool or dtype.base is dtypes.string:
        return initializers.Zeros()
    raise ValueError(f"An initializer for variable {name} of {dtype.base} is required")


def _initial_value(initializer: Any, shape: Shape, dtype: DType, partition: Any) -> tuple[Any, Any]:
    """What `tf.Variable` takes, from an initializer (object, class or function)."""
    if inspect.isclass(initializer):
        initializer = initializer()
    if shape.is_fully_defined():
        sizes = shape.as_list()
        # TF 2's initializers do not know of parts.
        more = {"partition_info": partition} if _accepts(initializer, "partition_info") else {}
        return lambda: initializer(sizes, dtype=dtype, **more), dtype.base
    required = [
        p
        for p in inspect.signature(initializer).parameters.values()
        if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    if not required:
        return initializer, None
    message = (
        "The initializer passed is not valid. It should be a callable with no arguments and the "
        "shape should not be provided or an instance of `tf.keras.initializers.*' and `shape` "
        "should be fully defined."
    )
    raise ValueError(hinted(message, f"its `shape` argument must be specified; it is {shape}"))


def _part_initializer(
    initializer: Any, name: str, dtype: Any, offset: list[int], size: list[int]
) -> tuple[Any, Any, Any]:
    """(initializer, shape, dtype) of one part: an initializer fills it, a value is sliced."""
    if initializer is None:
        return _default_initializer(name, dtype), size, dtype
    if callable(initializer):
        return initializer, size, dtype
    if not isinstance(initializer, Tensor):
        initializer = convert_to_tensor(initializer, dtype)
    part = slice_(initializer, offset, size)
    return part, None, part.dtype.base


def _regularize(variable: Any, name: str, regularizer: Any) -> None:
    graph = get_default_graph()
    with graph.colocate_with(variable.op), graph.name_scope(name + "/Regularizer/"):
        with init_scope():
            loss = regularizer(variable)
    if loss is not None:
        graph.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)


def default_store() -> VariableStore:
    """The store of the default graph."""
    stores = get_default_graph().get_collection_ref(_KEY)
    if not stores:
        stores.append(VariableStore())
    store: VariableStore = stores[0]
    return store


def _built_twice(variable: Any) -> str | None:
    """A line that runs again, as the cell of a notebook does, makes its variables again."""
    made, now = variable.op.origin, origin.here()
    if (made.filename, made.line) != (now.filename, now.line):
        return None
    return "this line ran before: tf.reset_default_graph() starts a new graph"
