"""A tensor: one output of a node, an edge of the graph.  It has a type and what is known of its shape."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.core.dtypes import DType
from headrace.core.fields import reads
from headrace.core.shapes import Shape, as_shape
from headrace.formats import shape_proto as _shape_proto
from headrace.graph.defaults import get_default_session

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.graph.graph import Graph
    from headrace.graph.node import Node

    Operator = Callable[[Any, Any], "Tensor"]


assert _shape_proto is not None  # imported for what it gives to Shape


class Tensor:
    """A symbolic value.  Operators (+, [], ...) are given to it by `ops.declaration.building.operators`."""

    __array_priority__ = 100  # NumPy arrays leave binary operators to us
    # The operators that libraries give to classes of their own, by TF 1.15's list.
    OVERLOADABLE_OPERATORS = set(
        "__abs__ __add__ __and__ __div__ __eq__ __floordiv__ __ge__ __getitem__ __gt__ __invert__ __le__ "
        "__lt__ __matmul__ __mod__ __mul__ __ne__ __neg__ __or__ __pow__ __radd__ __rand__ __rdiv__ "
        "__rfloordiv__ __rmatmul__ __rmod__ __rmul__ __ror__ __rpow__ __rsub__ __rtruediv__ __rxor__ "
        "__sub__ __truediv__ __xor__".split()
    )

    if TYPE_CHECKING:  # what `ops.declaration.building.operators` gives
        __getitem__: Operator
        __add__: Operator
        __radd__: Operator
        __sub__: Operator
        __rsub__: Operator
        __mul__: Operator
        __rmul__: Operator
        __truediv__: Operator
        __rtruediv__: Operator
        __floordiv__: Operator
        __rfloordiv__: Operator
        __mod__: Operator
        __rmod__: Operator
        __pow__: Operator
        __rpow__: Operator
        __matmul__: Operator
        __rmatmul__: Operator
        __and__: Operator
        __rand__: Operator
        __or__: Operator
        __ror__: Operator
        __xor__: Operator
        __rxor__: Operator
        __lt__: Operator
        __le__: Operator
        __gt__: Operator
        __ge__: Operator
        __neg__: Callable[[Any], Tensor]
        __invert__: Callable[[Any], Tensor]
        __abs__: Callable[[Any], Tensor]

    def __init__(self, op: Node, value_index: int, dtype: DType, shape: Shape) -> None:
        self._node = op
        self._index = value_index
        self._dtype = dtype
        self._shape = shape
        # For a resource: element type and shape of what the handle points to.
        self.handle_data: tuple[DType, Shape] | None = None

    op: Node = reads("_node")
    value_index: int = reads("_index")
    dtype: DType = reads("_dtype")

    @property
    def graph(self) -> Graph:
        graph: Graph = self._node.graph
        return graph

    @property
    def name(self) -> str:
        return f"{self._node.name}:{self._index}"

    @property
    def device(self) -> str:
        return self._node.device

    shape: Shape = reads("_shape")

    def get_shape(self) -> Shape:
        return self._shape

    def _shape_as_list(self) -> list[int | None] | None:
        return None if self._shape.rank is None else self._shape.as_list()

    def _rank(self) -> int | None:
        return self._shape.rank

    def set_shape(self, shape: Any) -> None:
        """Add to what is known of the shape; what contradicts it is an error."""
        try:
            self._shape = self._shape.merge_with(as_shape(shape))
        except ValueError as error:
            raise ValueError(f"{self.name}: {error}") from None
        self._node.graph.touch()

    def consumers(self) -> list[Node]:
        return [n for n in self._node.users if any(t is self for t in n.inputs)]

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """Run this tensor in `session`, or in the default one."""
        return run_session(self.graph, session, "eval").run(self, feed_dict)

    def experimental_ref(self) -> TensorRef:
        return TensorRef(self)

    ref = experimental_ref

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__

    def __copy__(self) -> Tensor:
        return self

    def __deepcopy__(self, memo: Any) -> Tensor:
        return self  # it stands for a value, and belongs to its graph

    def __iter__(self) -> Any:
        raise TypeError(
            "Tensor objects are only iterable when eager execution is enabled. "
            "To iterate over this tensor use tf.map_fn."
        )

    def __len__(self) -> int:
        raise TypeError(
            f"len is not well defined for symbolic Tensors. ({self.name}) "
            "Please call `x.shape` rather than `len(x)` for shape information."
        )

    def __bool__(self) -> bool:
        raise TypeError(
            "Using a `tf.Tensor` as a Python `bool` is not allowed. "
            "Use `if t is not None:` instead of `if t:` to test if a tensor is defined, and use "
            "TensorFlow ops such as tf.cond to execute subgraphs conditioned on the value of a "
            "tensor."
        )

    __nonzero__ = __bool__

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"Cannot convert a symbolic Tensor ({self.name}) to a numpy array.")

    def __str__(self) -> str:
        shape = ""
        if self._shape.rank is not None:
            shape = f", shape={self._shape}"
        device = f", device={self.device}" if self.device else ""
        return f'Tensor("{self.name}"{shape}, dtype={self._dtype.name}{device})'

    def __repr__(self) -> str:
        return f"<tf.Tensor '{self.name}' shape={self._shape} dtype={self._dtype.name}>"


class TensorRef:
    """A hashable stand-in for a tensor, for dictionaries and sets."""

    __slots__ = ("_wrapped",)

    def __init__(self, wrapped: Tensor) -> None:
        self._wrapped = wrapped

    def deref(self) -> Tensor:
        return self._wrapped

    def __hash__(self) -> int:
        return id(self._wrapped)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorRef) and other._wrapped is self._wrapped


def run_session(graph: Graph, session: Any, method: str) -> Any:
    """The session in which `tensor.eval()` or `node.run()` happens."""
    if session is None:
        session = get_default_session()
        if session is None:
            what = "evaluate tensor using `eval()`" if method == "eval" else "execute operation using `run()`"
            raise ValueError(
                f"Cannot {what}: No default session is registered. Use `with sess.as_default()` "
                f"or pass an explicit session to `{method}(session=sess)`"
            )
        kind, advice = "default", f" Pass an explicit session to `{method}(session=sess)`."
    else:
        kind, advice = "given", ""
    if session.graph is not graph:
        what, thing = ("evaluate", "tensor") if method == "eval" else ("execute", "operation")
        raise ValueError(
            f"Cannot use the {kind} session to {what} {thing}: the {thing}'s graph is different from the "
            f"session's graph.{advice}"
        )
    return session


def label(tensor: Tensor) -> str:
    """What messages call a tensor: those of eager mode have no names."""
    return "tensor" if tensor.graph.runs_at_once else tensor.name
