"""Lists of tensors, one element at a time.  A list is a value: every change gives a new one."""

from __future__ import annotations

import numpy as np

from headrace.core.dtypes import INDEX, float32, int32
from headrace.core.errors import require
from headrace.core.shapes import SCALAR, UNKNOWN, Shape, make_shape, show
from headrace.ops.array import fill
from headrace.ops.control.tensor_array_state import partly_known, refuse, shown
from headrace.ops.control.tensor_list_value import TensorList, boxed, described, unboxed
from headrace.ops.declaration import array
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.messages.node_def import type_name
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import merge
from headrace.ops.declaration.shape_rules import require_rank, scalar
from headrace.ops.declaration.signature import Type
from headrace.ops.declaration.traits import STATEFUL


# -- what shape rules share -----------------------------------------------------------------------
def shape_input(x):
    """The shape that a tensor describes; the scalar -1 is an unknown one."""
    if x.rank == 0:
        require(
            x.value is None or x.value == -1,
            "The only valid scalar shape tensor is the fully unknown shape specified as -1.",
        )
        return UNKNOWN
    return UNKNOWN if x.rank is None else x.as_shape


def held_shape(handle, element_dtype, doing="read from", verb="but expected type"):
    """What is known of a list's elements, whose type is checked."""
    if handle.handle is None:
        return UNKNOWN
    held, shape = handle.handle
    require(
        held is element_dtype,
        f"Trying to {doing} list with wrong element dtype. List has type {type_name(held)} {verb} "
        f"{type_name(element_dtype)}",
    )
    return shape


def kept(input_handle, *others):
    """The new list holds what the old one held."""
    return input_handle.handle


def nothing(*inputs):
    """An element of a list of lists: nothing is known of it."""
    return None


# -- new lists ------------------------------------------------------------------------------------
@op(
    "EmptyTensorList",
    "element_shape: shape_type, max_num_elements: int32 -> handle: variant",
    element_dtype=Type(),
    shape_type=INDEX,
    shape=scalar,
)
def empty_tensor_list(element_shape, max_num_elements, *, element_dtype):
    """A list without elements."""
    require(
        max_num_elements.ndim == 0,
        f"max_num_elements expected to be a scalar but got shape: {shown(max_num_elements.shape)}",
    )
    shape = described(element_shape)
    return boxed(TensorList((), element_dtype, shape, int(max_num_elements)))


@empty_tensor_list.points_to
def _(element_shape, max_num_elements, *, element_dtype):
    return element_dtype, shape_input(element_shape)


empty_tensor_list.no_gradient()


@empty_tensor_list.samples
def _(rng):
    yield Sample(np.array([2, -1], np.int32), np.array(-1, np.int32), element_dtype=float32)
    yield Sample(np.array(-1, np.int64), np.array(3, np.int32), element_dtype=float32)
    yield ErrorSample(
        np.array(2, np.int32), np.array(3, np.int32), element_dtype=float32, raises="only valid scalar shape"
    )


@op(
    "TensorListReserve",
    "element_shape: shape_type, num_elements: int32 -> handle: variant",
    element_dtype=Type(),
    shape_type=INDEX,
    shape=scalar,
)
def tensor_list_reserve(element_shape, num_elements, *, element_dtype):
    """A list of elements that are not set."""
    require(num_elements.size == 1, f"num_elements must be a scalar, not {show(num_elements.shape)}")
    require(
        num_elements >= 0,
        f"The num_elements to reserve must be a non negative number, but got {num_elements}",
    )
    return boxed(TensorList([None] * num_elements.item(), element_dtype, described(element_shape)))


@tensor_list_reserve.points_to
def _(element_shape, num_elements, *, element_dtype):
    return element_dtype, shape_input(element_shape)


tensor_list_reserve.no_gradient()


@tensor_list_reserve.samples
def _(rng):
    yield Sample(np.array([2], np.int32), np.array(3, np.int32), element_dtype=float32)
    yield ErrorSample(
        np.array([2], np.int32), np.array(-3, np.int32), element_dtype=float32, raises="non negative number"
    )
    yield ErrorSample(np.array([-3], np.int32), np.int32(2), element_dtype=float32, raises="must be >= -1")


# -- one element ----------------------------------------------------------------------------------
def push_shape(input_handle, tensor, *, element_dtype):
    held_shape(input_handle, element_dtype, "push to", "but trying to push element with type")
    return SCALAR


def _check_item(held, item, action):
    if not held.element_shape.is_compatible_with(make_shape(item.shape)):
        refuse(
            f"Tried to {action}element shape: {shown(item.shape)} list shape: "
            f"{partly_known(held.element_shape)}"
        )


def pushed(held, tensor, where=""):
    _check_item(held, tensor, f"append a tensor with incompatible shape to a list{where}. Op ")
    if held.max_size != -1 and len(held) >= held.max_size:
        refuse(
            f"Tried to push item into a full list list size: {len(held)} max_num_elements: {held.max_size}"
        )
    return held.with_items((*held.items, tensor))


@op(
    "TensorListPushBack",
    "input_handle: variant, tensor: element_dtype -> output_handle: variant",
    element_dtype=Type(),
    shape=push_shape,
)
def tensor_list_push_back(input_handle, tensor, *, element_dtype):
    """The list with one more element."""
    return boxed(pushed(unboxed(input_handle, element_dtype), tensor))


@tensor_list_push_back.points_to
def _(input_handle, tensor, *, element_dtype):
    return input_handle.handle or (element_dtype, UNKNOWN)


@tensor_list_push_back.gradient
def _(node, dlist):
    return tensor_list_pop_back(dlist, array.shape(node.inputs[1]), element_dtype=node.attrs["element_dtype"])


def pop_shape(input_handle, element_shape, *, element_dtype):
    return [SCALAR, held_shape(input_handle, element_dtype)]


@op(
    "TensorListPopBack",
    "input_handle: variant, element_shape: int32 -> output_handle: variant, tensor: element_dtype",
    element_dtype=Type(),
    shape=pop_shape,
)
def tensor_list_pop_back(input_handle, element_shape, *, element_dtype):
    """The list without its last element, and that element."""
    held = unboxed(input_handle, element_dtype)
    require(len(held), "Trying to pop from an empty list.")
    last = held.items[-1]
    if last is None:
        shape = held.shape_with(described(element_shape), ())
        require(
            shape.is_full,
            "Trying to read an uninitialized tensor but element_shape is not fully defined."
            f"{partly_known(shape)}",
        )
        last = held.zeros(shape)
    return boxed(held.with_items(held.items[:-1])), last


tensor_list_pop_back.points_to(kept)


@tensor_list_pop_back.gradient
def _(node, dlist, delement):
    if delement is None:
        delement = fill.zeros_like(node.outputs[1])
    if dlist is None:
        shape = tensor_list_element_shape(node.outputs[0], shape_type=int32)
        dlist = empty_tensor_list(shape, -1, element_dtype=delement.dtype.base)
    return tensor_list_push_back(dlist, delement), None


def get_shape(input_handle, index, element_shape, *, element_dtype):
    require_rank(index, 0)
    return merge(held_shape(input_handle, element_dtype), shape_input(element_shape))


@op(
    "TensorListGetItem",
    "input_handle: variant, index: int32, element_shape: int32 -> item: element_dtype",
    element_dtype=Type(),
    shape=get_shape,
)
def tensor_list_get_item(input_handle, index, element_shape, *, element_dtype):
    """The element at `index`: zeros where it is not set."""
    held, place = unboxed(input_handle, element_dtype), int(index)
    if not 0 <= place < len(held):
        refuse(f"Trying to access element {place} in a list with {len(held)} elements.")
    found = held.items[place]
    if found is None:
        shape = held.shape_with(described(element_shape))
        require(
            shape.is_full,
            "Trying to read an uninitialized tensor but element_shape is not fully defined: "
            f"{partly_known(shape)} and no list element is set.",
        )
        found = held.zeros(shape)
    return found


tensor_list_get_item.points_to(nothing)


@tensor_list_get_item.gradient
def _(node, ditem):
    shape = tensor_list_element_shape(node.inputs[0], shape_type=int32)
    size = tensor_list_length(node.inputs[0])
    zeros = tensor_list_reserve(shape, size, element_dtype=ditem.dtype.base)
    return tensor_list_set_item(zeros, node.inputs[1], ditem), None, None


def set_shape(input_handle, index, item):
    require_rank(index, 0)
    if input_handle.handle is not None:
        merge(item.plain(), input_handle.handle[1])
    return SCALAR


@op(
    "TensorListSetItem",
    "input_handle: variant, index: int32, item: element_dtype -> output_handle: variant",
    element_dtype=Type(),
    shape=set_shape,
)
def tensor_list_set_item(input_handle, index, item, *, element_dtype):
    """The list with `item` at `index`."""
    held, place = unboxed(input_handle, element_dtype), int(index)
    if not 0 <= place < len(held):
        refuse(f"Trying to modify element {place} in a list with {len(held)} elements.")
    _check_item(held, item, "set a tensor with incompatible shape at a list index. Item ")
    return boxed(held.with_items((*held.items[:place], item, *held.items[place + 1 :])))


@tensor_list_set_item.points_to
def _(input_handle, index, item, *, element_dtype):
    return input_handle.handle or (element_dtype, UNKNOWN)


@tensor_list_set_item.gradient
def _(node, dlist):
    _, index, item = node.inputs
    rest = tensor_list_set_item(dlist, index, fill.zeros_like(item))
    ditem = tensor_list_get_item(dlist, index, array.shape(item), element_dtype=item.dtype.base)
    return rest, None, ditem


# -- the list itself ------------------------------------------------------------------------------
@op("TensorListLength", "input_handle: variant -> length: int32", shape=scalar)
def tensor_list_length(input_handle):
    """How many elements there are."""
    return np.array(len(unboxed(input_handle)), np.int32)


tensor_list_length.no_gradient()


def element_shape_shape(input_handle):
    return Shape.of(None if input_handle.handle is None else input_handle.handle[1].rank)


@op(
    "TensorListElementShape",
    "input_handle: variant -> element_shape: shape_type",
    shape_type=INDEX,
    shape=element_shape_shape,
)
def tensor_list_element_shape(input_handle, *, shape_type):
    """The shape of the elements, -1 where it is unknown."""
    shape = unboxed(input_handle).element_shape
    sizes = -1 if shape.rank is None else [-1 if s is None else s for s in shape.sizes]
    return np.array(sizes, shape_type.numpy)


tensor_list_element_shape.no_gradient()


def resize_shape(input_handle, size):
    require_rank(size, 0)
    return SCALAR


@op(
    "TensorListResize",
    "input_handle: variant, size: int32 -> output_handle: variant",
    traits={STATEFUL},
    shape=resize_shape,
)
def tensor_list_resize(input_handle, size):
    """The list with so many elements: new ones are not set."""
    held, count = unboxed(input_handle), int(size)
    require(count >= 0, f"TensorListSlice expects size to be non-negative. Got: {count}")
    new = [None] * max(count - len(held), 0)
    return boxed(held.with_items((*held.items[:count], *new)))


tensor_list_resize.points_to(kept)


@tensor_list_resize.gradient
def _(node, dlist):
    return tensor_list_resize(dlist, tensor_list_length(node.inputs[0])), None


def batch_shape(input_handles, tensor, *, element_dtype):
    require_rank(input_handles, 1)
    held_shape(input_handles, element_dtype, "push to", "but trying to push element with type")
    return input_handles.plain()


@op(
    "TensorListPushBackBatch",
    "input_handles: variant, tensor: element_dtype -> output_handles: variant",
    element_dtype=Type(),
    shape=batch_shape,
)
def tensor_list_push_back_batch(input_handles, tensor, *, element_dtype):
    """Each list with a row of `tensor` as one more element."""
    require(tensor.ndim > 0, f"Expected tensor to be at least a vector, but saw shape: {shown(tensor.shape)}")
    require(
        input_handles.shape == tensor.shape[:1],
        f"Expected tensor.shape[0] == input_handles.size, but saw {len(tensor)} vs. {input_handles.size}",
    )
    out = np.empty(input_handles.shape, object)
    for i, row in enumerate(tensor):
        held = unboxed(boxed(input_handles[i]), element_dtype)
        out[i] = pushed(held, np.asarray(row), f" at index {i}")
    return out


tensor_list_push_back_batch.points_to(kept)
tensor_list_push_back_batch.no_gradient()


def joined_shape(input_a, input_b, *, element_dtype):
    for name, x in (("input_a", input_a), ("input_b", input_b)):
        if x.handle is not None:
            require(
                x.handle[0] is element_dtype,
                f"{name}.type != element_dtype: {type_name(x.handle[0])} vs. {type_name(element_dtype)}",
            )
    if input_a.handle is not None and input_b.handle is not None:
        merge(input_a.handle[1], input_b.handle[1])
    return merge(input_a.plain(), input_b.plain())


@op(
    "TensorListConcatLists",
    "input_a: variant, input_b: variant -> output: variant",
    element_dtype=Type(),
    shape=joined_shape,
)
def tensor_list_concat_lists(input_a, input_b, *, element_dtype):
    """One list after the other."""
    require(
        input_a.shape == input_b.shape,
        f"Incompatible input TensorList tensor shapes: {shown(input_a.shape)} vs. {shown(input_b.shape)}",
    )
    out = np.empty(input_a.shape, object)
    for place in np.ndindex(input_a.shape):
        a, b = (unboxed(boxed(x[place]), element_dtype) for x in (input_a, input_b))
        require(
            a.element_shape.rank == b.element_shape.rank
            and (a.element_shape.rank is None or a.element_shape.sizes == b.element_shape.sizes),
            "input_a and input_b TensorList element shapes are not identical at index "
            f"{place[0] if place else 0}.  Saw {partly_known(a.element_shape)} vs. "
            f"{partly_known(b.element_shape)}",
        )
        out[place] = a.with_items(a.items + b.items)
    return out


tensor_list_concat_lists.points_to(lambda a, b: a.handle or b.handle)
tensor_list_concat_lists.no_gradient()


def refuses_text(declared, *inputs, **attrs):
    """Samples can not hold lists: tests/ops/control/test_tensor_list.py has what is made of them."""

    @declared.samples
    def _(rng):
        yield ErrorSample(np.array(b"no list", object), *inputs, raises="variant", **attrs)


_ZERO, _ANY, _ITEM = np.array(0, np.int32), np.array(-1, np.int32), np.array(1.0, np.float32)
for _op, _inputs, _attrs in (
    (tensor_list_push_back, [_ITEM], {}),
    (tensor_list_push_back_batch, [_ITEM], {}),
    (tensor_list_pop_back, [_ANY], {"element_dtype": float32}),
    (tensor_list_get_item, [_ZERO, _ANY], {"element_dtype": float32}),
    (tensor_list_set_item, [_ZERO, _ITEM], {}),
    (tensor_list_length, [], {}),
    (tensor_list_element_shape, [], {"shape_type": int32}),
    (tensor_list_concat_lists, [np.array(b"no list", object)], {"element_dtype": float32}),
):
    refuses_text(_op, *_inputs, **_attrs)
