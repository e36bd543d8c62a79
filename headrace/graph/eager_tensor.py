"""Tensors that have their values at once, and the nodes that made them, as far as somebody records those.

An `EagerTensor` is a Tensor of an `EagerGraph` (graph.eager_graph).  It knows which node made it only while a
gradient tape holds that node: else a loop that carries a tensor along would keep its whole history.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.core import origin
from headrace.core.dtypes import DType, as_dtype
from headrace.core.shapes import Shape, as_shape, make_shape
from headrace.graph.defaults import get_default_graph
from headrace.graph.node import InputList, Node
from headrace.graph.tensor import Tensor

if TYPE_CHECKING:
    from headrace.graph.eager_graph import EagerGraph

_INTEGERS = "iu"


class EagerTensor(Tensor):
    """A value with a type.  The array may be shared with others and never changes; users get copies.

    The value is kept as `_constant`, where everything that asks for values known while a graph is built looks
    (ops.declaration.constants): in eager mode all are.
    """

    def __init__(self, graph: EagerGraph, value: Any, dtype: DType, device: str = "") -> None:
        self._graph, self._constant, self._dtype, self._device = graph, value, dtype, device
        self._index = 0
        self._made_by: EagerNode | None = None  # while a tape records it
        self._pins = 0  # tapes that watch it
        self.handle_data = None

    variable: Any = None  # a handle's variable, as a weak reference

    # -- what every tensor has -------------------------------------------------------------------
    @property
    def _node(self) -> Node:  # type: ignore[override]
        """The node that made it; a stand-in without inputs where nobody records that."""
        node = self._made_by
        return EagerNode.of(self) if node is None else node

    @property
    def op(self) -> Node:  # type: ignore[override]
        return self._node

    @property
    def graph(self) -> Any:
        return self._graph

    @property
    def _shape(self) -> Shape:  # type: ignore[override]
        value = self._constant
        if type(value) is np.ndarray:
            return make_shape(value.shape)
        return make_shape(())  # a handle or a variant

    shape: Shape = property(lambda self: self._shape)  # type: ignore[assignment]

    @property
    def device(self) -> str:
        return self._device or self._graph.default_device

    backing_device = device

    @property
    def name(self) -> str:
        raise AttributeError("Tensor.name is meaningless when eager execution is enabled.")

    def set_shape(self, shape: Any) -> None:
        if not self._shape.is_compatible_with(as_shape(shape)):
            raise ValueError(
                f"EagerTensor's shape {self._shape} is not compatible with supplied shape {as_shape(shape)}"
            )

    def consumers(self) -> list[Node]:
        return [n for n in self._node.users if any(t is self for t in n.inputs)]

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        raise NotImplementedError(
            "eval is not supported when eager execution is enabled, is .numpy() what you're looking for?"
        )

    def pin(self) -> None:
        """A tape watches it: from now on it has one node."""
        self._pins += 1
        if self._made_by is None:
            self._made_by = EagerNode.of(self)

    def unpin(self) -> None:
        self._pins -= 1
        if not self._pins and self._made_by is not None and not self._made_by._tapes:
            self._made_by.forget_outputs()
            self._made_by = None

    # -- the value, as Python and NumPy see it ---------------------------------------------------
    def numpy(self) -> Any:
        """The value as an array (or a NumPy scalar) of the caller's own; bytes for a scalar string."""
        value = self._constant
        if not isinstance(value, np.ndarray):
            if self._dtype.kind in "rv":
                raise NotImplementedError(f"a {self._dtype.name} has no value in NumPy")
            return value
        return value[()] if value.ndim == 0 else value.copy()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        found = np.array(self.numpy())
        return found if dtype is None else found.astype(dtype, copy=False)

    def _item(self, what: str) -> Any:
        value = self._constant
        if not isinstance(value, np.ndarray) or value.size != 1:
            raise TypeError(f"only size-1 arrays can be converted to Python {what}s")
        return value.reshape(-1)[0]

    def __bool__(self) -> bool:
        value = self._constant
        if not isinstance(value, np.ndarray) or value.size != 1:
            raise ValueError(
                "The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()"
            )
        return bool(value.reshape(-1)[0])

    __nonzero__ = __bool__

    def __int__(self) -> int:
        return int(self._item("integer"))

    __long__ = __int__

    def __float__(self) -> float:
        return float(self._item("float"))

    def __complex__(self) -> complex:
        return complex(self._item("complex number"))

    def __index__(self) -> int:
        value = self._constant
        if self._dtype.kind not in _INTEGERS or value.size != 1:
            raise TypeError("only integer scalar arrays can be converted to a scalar index")
        return int(value.reshape(-1)[0])

    def __len__(self) -> int:
        shape = self._shape
        if not shape.rank:
            raise TypeError("Scalar tensor has no `len()`")
        return int(shape.sizes[0])  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[Any]:
        shape = self._shape
        if not shape.rank:
            raise TypeError("Cannot iterate over a scalar tensor")
        for i in range(shape.sizes[0]):  # type: ignore[arg-type]
            yield self[i]

    def __format__(self, spec: str) -> str:
        return format(self.numpy(), spec) if not self._shape.rank else str(self).__format__(spec)

    def __copy__(self) -> EagerTensor:
        return self

    def __deepcopy__(self, memo: Any) -> EagerTensor:
        return self  # its value never changes

    def __reduce__(self) -> Any:
        return _unpickled, (self.numpy(), self._dtype.as_datatype_enum)

    def __dlpack__(self, **options: Any) -> Any:
        """The array itself, not a copy.  NumPy exports no read-only memory, and users must not write here."""
        return self._constant.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self._constant.__dlpack_device__()

    def _text(self, is_repr: bool = False) -> str:
        if self._dtype.kind in "rv":
            return "<unprintable>"
        value = self._constant
        if value.ndim == 0:
            item = value[()]
            return repr(item) if isinstance(item, bytes) else str(item)
        return repr(value) if is_repr else str(value)

    def __str__(self) -> str:
        return f"tf.Tensor({self._text()}, shape={self._shape}, dtype={self._dtype.name})"

    def __repr__(self) -> str:
        return f"<tf.Tensor: shape={self._shape}, dtype={self._dtype.name}, numpy={self._text(True)}>"

    # -- devices ---------------------------------------------------------------------------------
    def cpu(self) -> EagerTensor:
        return self

    def gpu(self, gpu_index: int = 0) -> EagerTensor:
        raise RuntimeError(f"no device GPU:{gpu_index}")

    @property
    def _id(self) -> int:
        return id(self)

    @property
    def ndim(self) -> int:
        return int(self._shape.rank or 0)


def _unpickled(value: Any, dtype: int) -> Any:
    graph = get_default_graph()
    if not graph.runs_at_once:
        raise RuntimeError("a tensor of eager mode can only be unpickled in eager mode")
    kind = as_dtype(dtype)
    return EagerTensor(graph, np.asarray(value, kind.numpy), kind)  # type: ignore[arg-type]


class EagerNode(Node):
    """One op that has run.  A tape holds it; without a tape it is gone when its caller has the outputs."""

    @staticmethod
    def of(tensor: EagerTensor) -> EagerNode:
        """A stand-in for the node that made a tensor, which nobody recorded."""
        return EagerNode(tensor._graph, tensor._graph.source, (), (), {}, (tensor,))

    results: list[EagerTensor]  # the outputs

    def __init__(
        self,
        graph: EagerGraph,
        op: Any,
        inputs: Sequence[Tensor],
        types: Sequence[DType],
        attrs: dict[str, Any],
        outputs: Sequence[EagerTensor],
    ) -> None:
        self.graph, self.declaration, self.attrs = graph, op, attrs
        self._name = op.name
        self._inputs = InputList(inputs, types)
        self._outputs = self.results = list(outputs)  # type: ignore[assignment]
        self._control_inputs = []
        self._waiters, self.users = {}, {}
        self._device = ""
        self._control_flow_context = self.saving = None
        self.number = graph.count()
        self.origin = origin.UNKNOWN  # looked up where an error needs it
        self._tapes = 0  # that hold it

    def remember(self) -> None:
        """A tape holds it: the outputs know this node, and what made its inputs knows that it uses them."""
        self._tapes += 1
        if self._tapes > 1:
            return
        for i, tensor in enumerate(self.results):
            tensor._made_by, tensor._index = self, i
        for source in self._inputs:
            if isinstance(source, EagerTensor):
                if source._made_by is None:
                    source._made_by = EagerNode.of(source)
                source._made_by.users[self] = None

    def forget(self) -> None:
        """A tape lets it go.  After the last one has, its outputs are values like others."""
        self._tapes -= 1
        if self._tapes:
            return
        for source in self._inputs:
            if not isinstance(source, EagerTensor) or source._made_by is None:
                continue
            before = source._made_by
            before.users.pop(self, None)
            if not (before.users or before._tapes or source._pins):  # a stand-in that nobody needs any more
                before.forget_outputs()
                source._made_by = None
        for tensor in self.results:
            if tensor._made_by is self:
                tensor._made_by = EagerNode.of(tensor) if tensor._pins else None
        self._inputs = InputList((), ())
        self.forget_outputs()

    def _extend(
        self, inputs: Sequence[Tensor], outputs: Sequence[tuple[DType, Shape]], attrs: dict[str, Any]
    ) -> list[Tensor]:
        """Before it runs: take and give more, at the end."""
        types = [*self._inputs.types, *(t.dtype.base for t in inputs)]
        self._inputs = InputList([*self._inputs, *inputs], types)
        added = [EagerTensor(self.graph, None, dtype) for dtype, _ in outputs]
        self.results += added
        self.attrs = self.attrs | attrs
        return list(added)

    def forget_outputs(self) -> None:
        """So that it keeps no array alive."""
        self._outputs = self.results = []  # type: ignore[assignment]
        self.users.clear()
