"""tf.Variable: what both kinds of variable (ref.py, resource.py) share.

`Variable(...)` asks the creators (creation.py), which make one of the two kinds of it.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from headrace.core.dtypes import DType, DTypeLike
from headrace.core.families import bound
from headrace.core.fields import reads
from headrace.core.modules import late
from headrace.core.shapes import Shape
from headrace.formats import proto
from headrace.functions.control.cond import cond
from headrace.functions.control.init_scope import init_scope
from headrace.graph.defaults import get_default_session
from headrace.graph.graph import Graph
from headrace.graph.keys import GraphKeys
from headrace.graph.scope_names import strip_scope
from headrace.graph.tensor import Tensor, TensorRef
from headrace.ops.array.slices.strided_slice import getitem
from headrace.ops.declaration.building.operators import OPERATORS
from headrace.ops.declaration.indexed_slices import IndexedSlices
from headrace.variables.creators import chained
from headrace.variables.listing import is_variable_initialized
from headrace.variables.modes import VariableAggregation, VariableSynchronization, checked_modes
from headrace.variables.slices import SaveSliceInfo as _Slice

creation = late("headrace.variables.creation")
update = late("headrace.variables.update")


class VariableType(type):
    """Calling `Variable` itself makes a variable of the kind that the creators choose."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if cls is Variable:
            return _create(*args, **kwargs)
        return super().__call__(*args, **kwargs)


def _create(*args: Any, **kwargs: Any) -> Any:
    given = bound(Variable.__name__, _SIGNATURE, None, *args, **kwargs)
    arguments = dict(given.arguments)
    del arguments["self"]
    if arguments["aggregation"] is None:
        arguments["aggregation"] = VariableAggregation.NONE
    return chained(creation.default_creator)(**arguments)


def _scatter_method(kind: str) -> Callable[..., Any]:
    def scatter(self: Any, sparse_delta: Any, use_locking: bool = False, name: Any = None) -> Any:
        delta = slices_of(sparse_delta)
        return self._scatter(kind, delta.indices, delta.values, use_locking, name)

    scatter.__name__ = f"scatter_{kind}"
    scatter.__doc__ = f"Apply '{kind}' to the rows that an IndexedSlices names; the new variable."
    return scatter


class Variable(metaclass=VariableType):
    """State that outlives a step: a value of fixed type that ops read and update.

    A variable must be initialised before it is read; `tf.global_variables_initializer()` makes a
    node that does this for all of them.

        w = tf.Variable(tf.zeros([784, 10]), name="weights")
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
    """

    __array_priority__ = 100  # NumPy arrays leave binary operators to us
    SaveSliceInfo = _Slice

    _synchronization: VariableSynchronization
    _aggregation: Any
    _trainable: bool
    _initial_value: Tensor | None
    _initializer_op: Any
    _constraint: Any
    _save_slice_info: _Slice | None

    def __init__(
        self,
        initial_value: Any = None,
        trainable: bool | None = None,
        collections: Iterable[str] | None = None,
        validate_shape: bool = True,
        caching_device: str | Callable[..., Any] | None = None,
        name: str | None = None,
        variable_def: Any = None,
        dtype: DTypeLike | None = None,
        expected_shape: Any = None,
        import_scope: str | None = None,
        constraint: Callable[..., Any] | None = None,
        use_resource: bool | None = None,
        synchronization: Any = VariableSynchronization.AUTO,
        aggregation: Any = VariableAggregation.NONE,
        shape: Any = None,
    ) -> None:
        """A new variable.

        Args:
          initial_value: what it starts with: anything that converts to a tensor, or a function
            without arguments that returns such a value.
          trainable: also add it to `GraphKeys.TRAINABLE_VARIABLES`; default True, unless it is
            synchronised on read.
          collections: where to add it; default `[GraphKeys.GLOBAL_VARIABLES]`.
          validate_shape: False allows an initial value of unknown shape.
          caching_device: where reads are cached, if not at the variable's own device.
          name: name of the variable, made unique.
          variable_def: a VariableDef message: the variable is found in the graph, not made.
          dtype: type that the initial value is converted to.
          expected_shape: ignored; `shape` says it.
          import_scope: with `variable_def`, the name scope under which the graph was imported.
          constraint: a function that optimizers apply to the new value after an update.
          use_resource: True for a resource variable, False for a reference.
          synchronization: when copies in a replicated program are brought together.
          aggregation: how updates in a replicated program are combined.
          shape: the variable's shape, if it is not the initial value's.

        Raises:
          ValueError: `initial_value` is missing, or its shape is unknown with `validate_shape`.
        """

    def _is_found(self, variable_def: Any, initial_value: Any, import_scope: str | None) -> bool:
        """Take the nodes that a VariableDef names, if there is one."""
        if variable_def is None:
            return False
        if initial_value is not None:
            raise ValueError("variable_def and initial_value are mutually exclusive.")
        self._find(variable_def, import_scope)
        return True

    def _find(self, variable_def: Any, import_scope: str | None) -> None:
        raise NotImplementedError

    def _set_modes(self, synchronization: Any, aggregation: Any, trainable: bool | None, name: Any) -> None:
        self._synchronization, self._aggregation, self._trainable = checked_modes(
            synchronization, aggregation, trainable, name
        )

    # -- state that both kinds keep ------------------------------------------------------------
    trainable: bool = reads("_trainable")
    synchronization: VariableSynchronization = reads("_synchronization")
    aggregation: Any = reads("_aggregation")
    initializer: Any = reads("_initializer_op", "The node that gives the variable its initial value.")
    initial_value: Tensor | None = reads("_initial_value")
    constraint: Any = reads("_constraint")

    @property
    def _distribute_strategy(self) -> None:
        return None

    def _set_save_slice_info(self, save_slice_info: _Slice | None) -> None:
        self._save_slice_info = save_slice_info

    def _get_save_slice_info(self) -> _Slice | None:
        return self._save_slice_info

    # -- what each kind gives -------------------------------------------------------------------
    @property
    def name(self) -> str:
        raise NotImplementedError

    @property
    def dtype(self) -> DType:
        raise NotImplementedError

    @property
    def device(self) -> str:
        raise NotImplementedError

    @property
    def graph(self) -> Graph:
        raise NotImplementedError

    @property
    def op(self) -> Any:
        """The node that stands for the variable."""
        raise NotImplementedError

    @property
    def shape(self) -> Shape:
        raise NotImplementedError

    def value(self) -> Tensor:
        """The value as uses of the variable see it."""
        raise NotImplementedError

    def read_value(self) -> Tensor:
        """The value, read when this node runs."""
        raise NotImplementedError

    def sparse_read(self, indices: Any, name: str | None = None) -> Tensor:
        """Rows at `indices`, without reading the rest (by handle only)."""
        raise AttributeError("sparse_read")

    def gather_nd(self, indices: Any, name: str | None = None) -> Tensor:
        """Elements or slices at index vectors, without reading the rest (by handle only)."""
        raise AttributeError("gather_nd")

    def set_shape(self, shape: Any) -> None:
        """Add to what is known of the shape (by reference only)."""
        raise NotImplementedError

    def assign(
        self, value: Any, use_locking: Any = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Give the variable a new value; returns it as of after the assignment (or the node)."""
        raise NotImplementedError

    def assign_add(
        self, delta: Any, use_locking: Any = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Add `delta`; returns the variable as of after the addition (or the node)."""
        raise NotImplementedError

    def assign_sub(
        self, delta: Any, use_locking: Any = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Subtract `delta`; returns the variable as of after the subtraction (or the node)."""
        raise NotImplementedError

    def count_up_to(self, limit: int) -> Tensor:
        """The value before it was raised by one; OutOfRangeError where it has reached `limit`."""
        raise NotImplementedError

    def to_proto(self, export_scope: str | None = None) -> Any:
        """The VariableDef of this variable; None where it is not inside `export_scope`."""
        raise NotImplementedError

    def _as_graph_element(self) -> Any:
        raise NotImplementedError

    def _scatter(self, kind: str, indices: Any, values: Any, use_locking: bool, name: Any) -> Any:
        raise NotImplementedError

    def _scatter_nd(self, kind: str, indices: Any, updates: Any, name: Any) -> Any:
        raise NotImplementedError

    # -- updates of parts ------------------------------------------------------------------------
    scatter_add = _scatter_method("add")
    scatter_sub = _scatter_method("sub")
    scatter_mul = _scatter_method("mul")
    scatter_div = _scatter_method("div")
    scatter_max = _scatter_method("max")
    scatter_min = _scatter_method("min")
    scatter_update = _scatter_method("update")

    def batch_scatter_update(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Set rows, batch by batch: the leading dimensions of the indices name the batch."""
        delta = slices_of(sparse_delta)
        return update.batch_scatter_update(self, delta.indices, delta.values, use_locking, name)

    def scatter_nd_add(self, indices: Any, updates: Any, name: str | None = None) -> Any:
        """Add updates at index vectors."""
        return self._scatter_nd("add", indices, updates, name)

    def scatter_nd_sub(self, indices: Any, updates: Any, name: str | None = None) -> Any:
        """Subtract updates at index vectors."""
        return self._scatter_nd("sub", indices, updates, name)

    def scatter_nd_update(self, indices: Any, updates: Any, name: str | None = None) -> Any:
        """Set the elements or slices at index vectors."""
        return self._scatter_nd("update", indices, updates, name)

    # -- derived from these ----------------------------------------------------------------------
    @property
    def _shared_name(self) -> str:
        return self.name[: self.name.index(":")]

    def get_shape(self) -> Any:
        return self.shape

    def eval(self, session: Any = None) -> Any:
        """The value in `session`, or in the default session."""
        return self._as_graph_element().eval(session=session)

    def initialized_value(self) -> Tensor:
        """The variable's value, or its initial value where it has none yet.

        Lets the initial value of one variable depend on that of another.
        """
        with init_scope():
            chosen: Tensor = cond(is_variable_initialized(self), self.read_value, lambda: self._initial_value)
            return chosen

    def load(self, value: Any, session: Any = None) -> None:
        """Give the variable a value in `session` without adding to the graph."""
        session = session or get_default_session()
        if session is None:
            raise ValueError(
                "Either session argument should be provided or default session should be established"
            )
        session.run(self.initializer, {self.initializer.inputs[1]: value})

    @staticmethod
    def from_proto(variable_def: Any, import_scope: str | None = None) -> Any:
        """The variable that a VariableDef describes; its nodes are in the default graph."""
        return creation.from_definition(variable_def, import_scope)

    def _definition(self, export_scope: str | None, snapshot: Tensor) -> Any:
        """The parts of VariableDef that both kinds have."""
        message = proto.VariableDef(
            variable_name=strip_scope(self.name, export_scope),
            initializer_name=strip_scope(self.initializer.name, export_scope),
            snapshot_name=strip_scope(snapshot.name, export_scope),
            trainable=self.trainable,
            synchronization=self.synchronization.value,
            aggregation=self.aggregation.value,
        )
        if self._initial_value is not None:
            message.initial_value_name = strip_scope(self._initial_value.name, export_scope)
        if self._save_slice_info:
            message.save_slice_info_def.MergeFrom(self._save_slice_info.to_proto(export_scope))
        return message

    def experimental_ref(self) -> Any:
        return TensorRef(self)  # type: ignore[arg-type]

    ref = experimental_ref

    def __repr__(self) -> str:
        return f"<tf.Variable '{self.name}' shape={self.get_shape()} dtype={self.dtype.name}>"

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return self is not other

    def __iter__(self) -> NoReturn:
        raise TypeError("'Variable' object is not iterable.")

    def __getitem__(self, key: Any) -> Tensor:
        """A slice; `v[...].assign(value)` writes to it."""
        return getitem(self.value(), key, self)


_SIGNATURE = inspect.signature(Variable.__init__)


def _operator(method: Callable[..., Any]) -> Callable[..., Any]:
    """An operator of Tensor, on the variable's value."""

    @functools.wraps(method)
    def run(self: Variable, *args: Any) -> Any:
        return method(self.value(), *args)

    return run


for _name, _method in OPERATORS.items():
    if _name != "__getitem__":
        setattr(Variable, _name, _operator(_method))


# -- what both kinds of variables ask ------------------------------------------------------------


def checked_collections(collections: Any, trainable: bool, constraint: Any) -> list[Any]:
    """The collections that a new variable goes to."""
    if collections is None:
        collections = [GraphKeys.GLOBAL_VARIABLES]
    if not isinstance(collections, (list, tuple, set)):
        raise ValueError(
            f"collections must be a list, a tuple or a set of names, not {collections!r} "
            f"({type(collections)})"
        )
    if constraint is not None and not callable(constraint):
        raise ValueError("The `constraint` argument must be a callable.")
    if trainable and GraphKeys.TRAINABLE_VARIABLES not in collections:
        return [*collections, GraphKeys.TRAINABLE_VARIABLES]
    return list(collections)


def check_control_flow(initial_value: Tensor, name: str) -> None:
    if initial_value.op._get_control_flow_context() is not None:
        raise ValueError(
            f"The initial value of variable {name} is from inside a control-flow construct (a loop or a "
            "branch), but it is needed outside: give a function that makes it."
        )


def slices_of(sparse_delta: Any) -> Any:
    if not isinstance(sparse_delta, IndexedSlices):
        raise TypeError(f"sparse_delta is not IndexedSlices: {sparse_delta}")
    return sparse_delta
