"""tf.TensorArray: values written and read by index, in and across the iterations of a loop."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from headrace.core import dtypes, log
from headrace.core.dtypes import as_dtype
from headrace.core.fields import reads
from headrace.core.modules import late
from headrace.core.shapes import Shape, as_shape
from headrace.functions.array.array import shape
from headrace.functions.math.math import range_
from headrace.functions.values.structure import name_scope
from headrace.graph.defaults import get_default_graph
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor
from headrace.ops.array.source import identity
from headrace.ops.control import tensor_array as ops
from headrace.ops.declaration.constants import constant_value
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.math import cast

tensor_array_list = late("headrace.functions.control.tensor_array_list")


class TensorArray:
    """An array of tensors that live as long as a step, each written at most once.

    Every change gives a new TensorArray: use it for what comes afterwards.  Its `flow` is what a loop
    or conditional carries.

    Args:
      dtype: type of the elements.
      size: how many elements; needed unless a handle is given.
      dynamic_size: writes may make the array longer.
      clear_after_read: forget an element once it was read; it can not be read again.
      tensor_array_name: a name for the array at run time.
      handle, flow: of an existing array, in place of size.
      infer_shape: all elements have one shape; it is checked and used.
      element_shape: what is known of the elements' shape.
      colocate_with_first_write_call: live on the device of the first value that is written.
      name: a scope for the nodes.

    Raises:
      ValueError: of arguments that exclude each other.
      TypeError: `handle` is not a tensor.

    Example:
      >>> squares = tf.TensorArray(tf.int32, size=3)
      >>> for i in range(3):
      ...   squares = squares.write(i, i * i)
      >>> squares.stack()        # [0, 1, 4]
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> TensorArray:
        flow = kwargs.get("flow", args[6] if len(args) > 6 else None)
        if isinstance(flow, Tensor) and flow.dtype.base is dtypes.variant:
            result: TensorArray = object.__new__(tensor_array_list.ListArray)
            return result
        return object.__new__(cls)

    def __init__(
        self,
        dtype: Any,
        size: int | Tensor | None = None,
        dynamic_size: bool | None = None,
        clear_after_read: bool | None = None,
        tensor_array_name: str | None = None,
        handle: Tensor | None = None,
        flow: Tensor | None = None,
        infer_shape: bool = True,
        element_shape: Any = None,
        colocate_with_first_write_call: bool = True,
        name: str | None = None,
    ) -> None:
        self._handle: Any
        self._flow: Any
        self._dtype = as_dtype(dtype).base
        self._dynamic_size = bool(dynamic_size)
        self._infer_shape = infer_shape
        # Shared by the arrays that writes give: the shape may become known later.
        self._element_shape = [as_shape(element_shape)]
        self._first_written: list[Tensor] | None = [] if colocate_with_first_write_call else None
        if handle is not None:
            _check_given(handle, flow, tensor_array_name, size, element_shape, dynamic_size, clear_after_read)
            self._handle, self._flow = handle, flow
            return
        if size is None:
            raise ValueError("Size must be provided if handle is not provided")
        graph = get_default_graph()
        with (
            name_scope(name, "TensorArray", [handle, size, flow]) as scope,
            _anywhere(graph, colocate_with_first_write_call),
        ):
            self._handle, self._flow = ops.tensor_array_v3(
                size,
                dtype,
                element_shape,
                self._dynamic_size,
                True if clear_after_read is None else clear_after_read,
                infer_shape,
                tensor_array_name,
                name=scope,
            )

    # -- what it is ----------------------------------------------------------------------------
    flow: Any = reads("_flow", "A tensor that is there once the array is as this object says.")
    dtype: Any = reads("_dtype", "The type of the elements.")
    handle: Any = reads("_handle", "The handle of the array.")

    @property
    def element_shape(self) -> Shape:
        """What is known of the elements' shape."""
        return self._element_shape[0]

    dynamic_size: bool = reads("_dynamic_size", "Can writes make it longer?")

    def with_flow(self, flow: Tensor) -> TensorArray:
        """The same array at another moment."""
        new = object.__new__(type(self))
        new.__dict__.update(self.__dict__)
        new._flow = flow
        return new

    def identity(self) -> TensorArray:
        """The same array; what uses it waits for the control inputs of the moment."""
        return self.with_flow(identity(self._flow))

    def mark_used(self) -> None:
        """Nothing: says that an array which is not used further is meant so."""

    def size(self, name: str | None = None) -> Tensor:
        """How many elements there are: a scalar int32."""
        found: Tensor = ops.tensor_array_size_v3(self._handle, self._flow, name=name)
        return found

    def close(self, name: str | None = None) -> Node:
        """A node that forgets the elements; the array can not be used afterwards."""
        node: Node = ops.tensor_array_close_v3(self._handle, name=name)
        return node

    # -- reading -------------------------------------------------------------------------------
    def read(self, index: Any, name: str | None = None) -> Tensor:
        """The element at `index`, a scalar int32."""
        value: Tensor = ops.tensor_array_read_v3(
            self._handle, index, self._flow, dtype=self._dtype, name=name
        )
        value.set_shape(self.element_shape)
        return value

    def stack(self, name: str | None = None) -> Tensor:
        """All elements, stacked: they have one shape."""
        with (
            get_default_graph().colocate_with(self._handle.op),
            name_scope(name, "TensorArrayStack", [self._handle]),
        ):
            return self.gather(range_(0, self.size()), name=name)

    def gather(self, indices: Any, name: str | None = None) -> Tensor:
        """The elements at `indices`, a vector of int32, stacked."""
        value: Tensor = ops.tensor_array_gather_v3(
            self._handle, indices, self._flow, self._dtype, self.element_shape, name=name
        )
        value.set_shape(Shape([None]).concatenate(self.element_shape))
        return value

    def concat(self, name: str | None = None) -> Tensor:
        """All elements one after the other: only their first dimension may differ."""
        rest = self.element_shape[1:]
        value, _ = ops.tensor_array_concat_v3(self._handle, self._flow, self._dtype, rest, name=name)
        if self.element_shape.rank is not None:
            value.set_shape(Shape([None]).concatenate(rest))
        return value

    # -- writing -------------------------------------------------------------------------------
    def write(self, index: Any, value: Any, name: str | None = None) -> TensorArray:
        """The array with `value` at `index`."""
        with name_scope(name, "TensorArrayWrite", [self._handle, index, value]):
            value = self._converted(value)
            self._check_element_shape(value.shape)
            with self._beside(value):
                return self.with_flow(
                    ops.tensor_array_write_v3(self._handle, index, value, self._flow, name=name)
                )

    def unstack(self, value: Any, name: str | None = None) -> TensorArray:
        """The array with the rows of `value`."""
        with name_scope(name, "TensorArrayUnstack", [self._handle, value]):
            count = shape(value)[0]
            return self.scatter(range_(0, count), value, name=name)

    def scatter(self, indices: Any, value: Any, name: str | None = None) -> TensorArray:
        """The array with the rows of `value` at `indices`, a vector of int32."""
        with name_scope(name, "TensorArrayScatter", [self._handle, value, indices]):
            value = self._converted(value)
            self._check_element_shape(value.shape[1:])
            with self._beside(value):
                return self.with_flow(
                    ops.tensor_array_scatter_v3(self._handle, indices, value, self._flow, name=name)
                )

    def split(self, value: Any, lengths: Any, name: str | None = None) -> TensorArray:
        """The array with `lengths[i]` rows of `value` at each index i."""
        with name_scope(name, "TensorArraySplit", [self._handle, value, lengths]):
            value = convert_to_tensor(value, self._dtype, name="value")
            with self._beside(value):
                lengths = self._checked_lengths(value, lengths)
                return self.with_flow(
                    ops.tensor_array_split_v3(self._handle, value, lengths, self._flow, name=name)
                )

    def grad(self, source: str, flow: Tensor | None = None, name: str | None = None) -> TensorArray:
        """The array that collects the gradients of this one in the computation called `source`."""
        flow = self._flow if flow is None else flow
        graph = get_default_graph()
        with name_scope(name, "TensorArrayGrad", [self._handle]), graph.colocate_with(self._handle.op):
            handle, _ = ops.tensor_array_grad_v3(self._handle, flow, source, name=name)
            with graph.control_dependencies([handle]):
                flow = identity(flow, name="gradient_flow")
            gradient = TensorArray(
                self._dtype,
                handle=handle,
                flow=flow,
                infer_shape=self._infer_shape,
                colocate_with_first_write_call=False,
            )
            gradient._element_shape = self._element_shape
            return gradient

    # -- checks --------------------------------------------------------------------------------
    def _converted(self, value: Any) -> Tensor:
        value = convert_to_tensor(value, preferred_dtype=self._dtype, name="value")
        if value.dtype.base is not self._dtype:
            log.error(
                "%s has type %s, but the array's elements have type %s: what is read back is undefined.",
                value,
                value.dtype,
                self._dtype,
            )
        result: Tensor = value
        return result

    def _check_element_shape(self, shape: Shape) -> None:
        if not shape.is_compatible_with(self.element_shape):
            raise ValueError(f"Inconsistent shapes: saw {shape} but expected {self.element_shape} ")
        if self._infer_shape:
            self._element_shape[0] = self.element_shape.merge_with(shape)

    def _checked_lengths(self, value: Tensor, lengths: Any) -> Tensor:
        lengths = cast.cast(convert_to_tensor(lengths), DstT=dtypes.int64)
        known = constant_value(lengths)
        if known is not None and known.ndim and value.shape.rank is not None:
            if known.size and known.max() == known.min():
                self._check_element_shape(Shape([int(known[0])]).concatenate(value.shape[1:]))
        result: Tensor = lengths
        return result

    @contextmanager
    def _beside(self, value: Tensor) -> Iterator[None]:
        """Where the first value lives that was written."""
        if self._first_written is None:
            yield
            return
        if not self._first_written:
            self._first_written.append(value)
        with get_default_graph().colocate_with(self._first_written[0].op):
            yield


def _check_given(
    handle: Any, flow: Any, name: Any, size: Any, element_shape: Any, dynamic_size: Any, clear_after_read: Any
) -> None:
    if name:
        raise ValueError("Cannot construct with both handle and tensor_array_name")
    if not isinstance(handle, Tensor):
        raise TypeError("Handle must be a Tensor")
    for given, what in (
        (size, "size"),
        (element_shape, "element_shape"),
        (dynamic_size, "dynamic_size"),
        (clear_after_read, "clear_after_read"),
    ):
        if given is not None:
            raise ValueError(f"Cannot provide both a handle and {what} at the same time")
    if flow is None:
        raise ValueError("flow must not be None if handle is not None.")


@contextmanager
def _anywhere(graph: Any, free: bool) -> Iterator[None]:
    if not free:
        yield
        return
    with graph.device(None), graph.colocate_with(None, ignore_existing=True):
        yield
