"""Iterators: making them, and taking elements."""

from __future__ import annotations

import itertools
from concurrent.futures import Future

import numpy as np
from google.protobuf.message import DecodeError

from headrace.core.errors import InvalidArgumentError, NotFoundError, OpError, OutOfRangeError, require
from headrace.core.shapes import SCALAR
from headrace.formats import proto
from headrace.ops.control.optional import Optional
from headrace.ops.data.iterator_resource import IteratorResource
from headrace.ops.data.pipeline.declaring import OF_ELEMENTS, boxed, check_types, dataset_in
from headrace.ops.data.pipeline.place_codec import from_message, to_message
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.resources import Handle
from headrace.ops.declaration.shape_rules import none, scalar
from headrace.ops.declaration.signature import Function, Shapes, String, Types
from headrace.ops.declaration.traits import DEFERRED, HOST, STATEFUL

ITERATOR = "iterator"
_TRAITS = {STATEFUL, HOST}


# -- making ----------------------------------------------------------------------------------------
def handle_of(ctx, resource, container, name):
    return Handle(container, name, ITERATOR, ctx.node.device, resource)


def _shared(ctx, output_types, output_shapes, container, shared_name):
    name = shared_name or ctx.node.name
    found = ctx.resources.get_or_make(
        container, ITERATOR, name, lambda: IteratorResource(output_types, output_shapes)
    )
    require(found.types == tuple(output_types), f"Iterator '{name}' has elements of other types")
    return handle_of(ctx, found, container, name)


_NAMED = {"shared_name": String(), "container": String(), **OF_ELEMENTS}


@op("Iterator", "-> handle: resource", attrs=_NAMED, shape=scalar, traits=_TRAITS)
def iterator(ctx, *, output_types, output_shapes, container, shared_name):
    """The handle of an iterator."""
    return _shared(ctx, output_types, output_shapes, container, shared_name)


@op("IteratorV2", "-> handle: resource", attrs=_NAMED, shape=scalar, traits=_TRAITS)
def iterator_v2(ctx, *, output_types, output_shapes, container, shared_name):
    """The handle of an iterator."""
    return _shared(ctx, output_types, output_shapes, container, shared_name)


_numbers = itertools.count()


def _anonymous(ctx, output_types, output_shapes):
    made = IteratorResource(output_types, output_shapes)
    return handle_of(ctx, made, "", f"AnonymousIterator{next(_numbers)}")


@op("AnonymousIterator", "-> handle: resource", attrs=OF_ELEMENTS, shape=scalar, traits=_TRAITS)
def anonymous_iterator(ctx, *, output_types, output_shapes):
    """The handle of a new iterator, which a string may name.  It lives until it is destroyed."""
    handle = _anonymous(ctx, output_types, output_shapes)
    made = handle.get(IteratorResource)
    ctx.resources.get_or_make(handle.container, ITERATOR, handle.name, lambda: made)
    return handle


@op(
    "AnonymousIteratorV2",
    "-> handle: resource, deleter: variant",
    attrs=OF_ELEMENTS,
    shape=lambda: [SCALAR, SCALAR],
    traits=_TRAITS,
)
def anonymous_iterator_v2(ctx, *, output_types, output_shapes):
    """The handle of an iterator, and what deletes it."""
    made = _anonymous(ctx, output_types, output_shapes)
    return made, boxed(made)


@op("DeleteIterator", "handle: resource, deleter: variant ->", shape=none, traits=_TRAITS)
def delete_iterator(handle, deleter):
    """End an iterator."""
    handle.get(IteratorResource).close_resource()
    return ()


@op(
    "OneShotIterator",
    "-> handle: resource",
    attrs={"dataset_factory": Function(), **OF_ELEMENTS, "container": "", "shared_name": ""},
    shape=scalar,
    traits=_TRAITS,
)
def one_shot_iterator(ctx, *, dataset_factory, output_types, output_shapes, container, shared_name):
    """The handle of an iterator over the dataset that a function gives; it starts by itself."""
    require(not shared_name, "OneShotIteratorOp does not currently support the 'shared_name' attr.")
    name = ctx.node.name
    found = ctx.resources.get_or_make(
        container, ITERATOR, name, lambda: IteratorResource(output_types, output_shapes)
    )
    if found.iterator is None:
        _start_once(ctx, found, dataset_factory)
    return handle_of(ctx, found, container, name)


def _start_once(ctx, found, dataset_factory):
    with found.making:
        if found.failure is not None:
            raise found.failure
        if found.iterator is not None:
            return
        try:
            made = ctx.run_function(dataset_factory, [])
            require(
                len(made) == 1,
                "The `dataset_factory` function must return a single scalar of dtype DT_VARIANT.",
            )
            found.start(ctx, dataset_in(made[0]))
        except OpError as error:
            if not ctx.is_cancelled():
                found.failure = error
            raise


@op("MakeIterator", "dataset: variant, iterator: resource ->", shape=none, traits=_TRAITS)
def make_iterator(ctx, dataset, iterator):
    """Begin a pass over the dataset."""
    iterator.get(IteratorResource).start(ctx, dataset_in(dataset))
    return ()


# -- elements --------------------------------------------------------------------------------------
def _element_shapes(iterator, *, output_types, output_shapes):
    require(
        len(output_types) == len(output_shapes),
        f"`output_shapes` must be the same length as `output_types` ({len(output_shapes)} vs. "
        f"{len(output_types)}",
    )
    return list(output_shapes)


def _some(element):
    if element is None:
        raise OutOfRangeError(None, None, "End of sequence")
    return element


def then(answer, finish):
    """`finish` of an answer, or of what will be one."""
    if not isinstance(answer, Future):
        return finish(answer)
    found = Future()

    def done(future):
        try:
            found.set_result(finish(future.result()))
        except BaseException as error:
            found.set_exception(error)

    answer.add_done_callback(done)
    return found


def _get_next(name):
    @op(
        name,
        "iterator: resource -> components: output_types",
        attrs=OF_ELEMENTS,
        shape=_element_shapes,
        traits={*_TRAITS, DEFERRED},
    )
    def get_next(ctx, iterator):
        """The next element."""
        return then(iterator.get(IteratorResource).next(ctx), _some)

    get_next.no_gradient()
    return get_next


iterator_get_next = _get_next("IteratorGetNext")
iterator_get_next_sync = _get_next("IteratorGetNextSync")


@op(
    "IteratorGetNextAsOptional",
    "iterator: resource -> optional: variant",
    attrs=OF_ELEMENTS,
    shape=scalar,
    traits={*_TRAITS, DEFERRED},
)
def iterator_get_next_as_optional(ctx, iterator, *, output_types):
    """The next element as an optional, which is empty at the end."""

    def finish(element):
        return boxed(Optional() if element is None else Optional(element, output_types))

    return then(iterator.get(IteratorResource).next(ctx), finish)


# -- handles as strings ----------------------------------------------------------------------------
@op(
    "IteratorToStringHandle",
    "resource_handle: resource -> string_handle: string",
    shape=scalar,
    traits=_TRAITS,
)
def iterator_to_string_handle(resource_handle):
    """A string by which the iterator is found."""
    resource_handle.get(IteratorResource)
    message = proto.ResourceHandleProto(
        device=resource_handle.device,
        container=resource_handle.container or "localhost",
        name=resource_handle.name,
        maybe_type_name="N10tensorflow4data16IteratorResourceE",
    )
    return np.array(message.SerializeToString(), object)


def _from_string(ctx, string_handle, output_types, output_shapes):
    require(np.ndim(string_handle) == 0, "string_handle must be a scalar")
    message = proto.ResourceHandleProto()
    try:
        message.ParseFromString(string_handle.item())
    except (DecodeError, TypeError):  # no message, or no bytes
        raise InvalidArgumentError(
            None, None, "Could not parse string_handle as a valid ResourceHandle"
        ) from None
    require(
        message.device == ctx.node.device,
        f'Attempted create an iterator on device "{ctx.node.device}" from handle defined on device '
        f'"{message.device}"',
    )
    container = "" if message.container == "localhost" else message.container
    found = ctx.resources.find(container, ITERATOR, message.name)
    if found is None:
        raise NotFoundError(None, None, f"Resource {message.container}/{message.name} does not exist.")
    if output_types:
        _check_form(found, output_types, output_shapes)
    return handle_of(ctx, found, container, message.name)


def _check_form(found, output_types, output_shapes):
    check_types(found.types, output_types, output_shapes or found.shapes, found.shapes)


_FROM_STRING = {"output_types": Types(default=[], min=0), "output_shapes": Shapes(default=[], min=0)}
_FROM = "string_handle: string -> resource_handle: resource"


@op("IteratorFromStringHandle", _FROM, attrs=_FROM_STRING, shape=scalar, traits=_TRAITS)
def iterator_from_string_handle(ctx, string_handle, *, output_types, output_shapes):
    """The iterator that a string names."""
    return _from_string(ctx, string_handle, output_types, output_shapes)


@op("IteratorFromStringHandleV2", _FROM, attrs=_FROM_STRING, shape=scalar, traits=_TRAITS)
def iterator_from_string_handle_v2(ctx, string_handle, *, output_types, output_shapes):
    """The iterator that a string names."""
    return _from_string(ctx, string_handle, output_types, output_shapes)


def _get_device(name):
    @op(name, "resource: resource -> device: string", shape=scalar, traits=_TRAITS)
    def get_device(resource):
        """The device that an iterator is on."""
        return np.array(resource.device.encode(), object)

    return get_device


iterator_get_device = _get_device("IteratorGetDevice")
experimental_iterator_get_device = _get_device("ExperimentalIteratorGetDevice")


# -- places ----------------------------------------------------------------------------------------
@op("SerializeIterator", "resource_handle: resource -> serialized: variant", shape=scalar, traits=_TRAITS)
def serialize_iterator(ctx, resource_handle):
    """Where the iterator stands."""
    return boxed(to_message(resource_handle.get(IteratorResource).save(ctx.step)))


@op("DeserializeIterator", "resource_handle: resource, serialized: variant ->", shape=none, traits=_TRAITS)
def deserialize_iterator(ctx, resource_handle, serialized):
    """Go where an iterator over the same dataset stood."""
    found = serialized[()] if np.ndim(serialized) == 0 else None
    resource_handle.get(IteratorResource).restore(ctx, from_message(found))
    return ()
