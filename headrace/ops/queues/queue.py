"""Queues: FIFO, padding, shuffling and by priority; ops that put, take, close and count.

The ops whose names end in V2 take a handle; the older ones a reference to the queue's name.
"""

from __future__ import annotations

import secrets

import numpy as np

from headrace.core.dtypes import int64, string
from headrace.core.errors import InvalidArgumentError, NotFoundError, require
from headrace.core.shapes import SCALAR, UNKNOWN, Shape
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.resources import Handle, Slot, named
from headrace.ops.declaration.shape_rules import none, scalar
from headrace.ops.declaration.signature import Shapes, Types
from headrace.ops.declaration.text import strings
from headrace.ops.declaration.traits import DEFERRED, MOVES, READS, STATEFUL, WRITES
from headrace.ops.queues.queue_resource import Queue
from headrace.ops.queues.queue_state import Bag, Line, QueueState, Ranking
from headrace.ops.random.philox import Philox
from headrace.ops.random.word_stream import WordStream

QUEUE = "queue"
_UNBOUNDED = 2**31 - 1


# -- making and finding ---------------------------------------------------------------------------
def _make(ctx, kind, make, container, shared_name, settings):
    """The queue of a node: a new one, or that of its shared name if it is of the same make."""
    name = shared_name or ctx.node.name
    queue = ctx.resources.get_or_make(container, QUEUE, name, lambda: make(name))
    if queue.verified is not ctx.node.attrs:
        _verify(queue, kind, name, settings)
        queue.verified = ctx.node.attrs
    return queue, container, name


def _verify(queue, kind, name, settings):
    if queue.state.kind != kind:
        raise InvalidArgumentError(None, None, f"Expected {queue.state.kind}, found {kind}")
    for what, wanted in settings.items():
        found = queue.settings[what]
        if found != wanted and not (what == "random seeds" and wanted == (0, 0)):
            require(
                what == "component shapes" and queue.pads and _compatible(found, wanted),
                f"Shared queue '{name}' has {what} {_text(found)} but requested {what} was {_text(wanted)}",
            )


def _compatible(found, wanted):
    return len(found) == len(wanted) and all(a.is_compatible_with(b) for a, b in zip(found, wanted))


def _text(value):
    if isinstance(value, tuple):
        return "[" + ", ".join(_text(v) for v in value) + "]"
    return getattr(value, "name", None) or str(value)


def _settings(types, shapes, capacity, **more):
    return {
        "component types": tuple(types),
        "capacity": capacity if capacity >= 0 else _UNBOUNDED,
        "component shapes": tuple(shapes),
        **more,
    }


def _build(kind, store, types, shapes, capacity, settings, reserve=0, pads=False):
    """A function of the name that makes the queue."""
    require(
        not shapes or len(shapes) == len(types),
        f"Different number of component types.  Types: {_text(tuple(types))}, Shapes: {_text(tuple(shapes))}",
    )
    limit = None if capacity < 0 else capacity
    return lambda name: Queue(
        QueueState(kind, name, limit, store(), reserve), types, shapes or None, pads, settings
    )


def _fifo(ctx, component_types, shapes, capacity, container, shared_name):
    settings = _settings(component_types, shapes, capacity)
    build = _build("FIFOQueue", Line, component_types, shapes, capacity, settings)
    return _make(ctx, "FIFOQueue", build, container, shared_name, settings)


def _padding(ctx, component_types, shapes, capacity, container, shared_name):
    require(
        len(shapes) == len(component_types),
        f"Shapes must be provided for all components, but received {len(component_types)} dtypes "
        f"and {len(shapes)} shapes.",
    )
    settings = _settings(component_types, shapes, capacity)
    build = _build("PaddingFIFOQueue", Line, component_types, shapes, capacity, settings, pads=True)
    return _make(ctx, "PaddingFIFOQueue", build, container, shared_name, settings)


def _shuffle(ctx, component_types, shapes, capacity, min_after_dequeue, seed, seed2, container, shared_name):
    require(min_after_dequeue >= 0, f"min_after_dequeue {min_after_dequeue} must be >= 0")
    limit = capacity if capacity >= 0 else _UNBOUNDED
    require(min_after_dequeue < limit, f"min_after_dequeue {min_after_dequeue} must be < capacity {limit}")
    settings = _settings(
        component_types,
        shapes,
        capacity,
        **{"min_after_dequeue": min_after_dequeue, "random seeds": (seed, seed2)},
    )

    def bag():
        seeds = (seed, seed2) if seed or seed2 else (secrets.randbits(64), secrets.randbits(64))
        return Bag(WordStream(Philox(*seeds)).word)

    build = _build("RandomShuffleQueue", bag, component_types, shapes, capacity, settings, min_after_dequeue)
    return _make(ctx, "RandomShuffleQueue", build, container, shared_name, settings)


def _priority(ctx, component_types, shapes, capacity, container, shared_name):
    types = (int64, *component_types)
    all_shapes = (SCALAR, *shapes) if shapes else ()
    settings = _settings(types, all_shapes, capacity)
    build = _build("PriorityQueue", Ranking, types, all_shapes, capacity, settings)
    return _make(ctx, "PriorityQueue", build, container, shared_name, settings)


def handle_of(ctx, queue, container, name):
    return Handle(container, name, QUEUE, ctx.node.device, queue)


def reference_to(container, name):
    """A reference to the name of a resource."""
    slot = Slot(name, string, Shape.of(2))
    slot.value = strings([container.encode(), name.encode()])
    return slot


def referenced(ctx, reference, kind):
    """The resource of this kind whose name the reference leads to."""
    container, name = named(reference)
    found = ctx.resources.find(container, kind, name)
    if found is None:
        message = f"Resource {container or 'localhost'}/{name} does not exist."
        raise NotFoundError(None, None, message)
    return found


# -- the ops that make queues ---------------------------------------------------------------------
_PLACE = {"container": "", "shared_name": ""}
_COMPONENTS = {"component_types": Types(min=1), "shapes": Shapes(default=[], min=0), "capacity": -1}
_RANDOM = {"min_after_dequeue": 0, "seed": 0, "seed2": 0}
_RANKED = {"component_types": Types(default=[], min=0), "shapes": Shapes(min=0), "capacity": -1}


def _declare(name, make, attrs, doc):
    """The op with a handle, and the older one with a reference."""

    def with_handle(ctx, **given):
        name = given["shared_name"] or ctx.node.name
        queue = ctx.resources.find(given["container"], QUEUE, name)
        if queue is None or queue.verified is not ctx.node.attrs:
            queue, _, _ = make(ctx, **given)
        return handle_of(ctx, queue, given["container"], name)

    def with_reference(ctx, **given):
        _, container, resource = make(ctx, **given)
        return reference_to(container, resource)

    for body in (with_handle, with_reference):
        body.__doc__, body.__module__ = doc, __name__
    traits = {STATEFUL, READS, MOVES}
    new = op(f"{name}V2", "-> handle: resource", attrs=attrs, traits=traits, shape=scalar)
    old = op(name, "-> handle: Ref(string)", attrs=attrs, traits=traits, shape=lambda: Shape.of(2))
    return new(with_handle), old(with_reference)


fifo_queue_v2, fifo_queue = _declare(
    "FIFOQueue", _fifo, _COMPONENTS | _PLACE, "A queue: first in, first out."
)
padding_fifo_queue_v2, padding_fifo_queue = _declare(
    "PaddingFIFOQueue",
    _padding,
    _COMPONENTS | _PLACE,
    "A queue, first in, first out, whose batches are filled up with zeros where sizes differ.",
)
random_shuffle_queue_v2, random_shuffle_queue = _declare(
    "RandomShuffleQueue",
    _shuffle,
    _COMPONENTS | _RANDOM | _PLACE,
    "A queue whose elements leave in random order; `min_after_dequeue` stay to be mixed.",
)
priority_queue_v2, priority_queue = _declare(
    "PriorityQueue",
    _priority,
    _RANKED | _PLACE,
    "A queue whose elements leave in the order of their first component, an int64.",
)


@op(
    "FakeQueue",
    "resource: resource -> handle: Ref(string)",
    traits={STATEFUL, READS},
    shape=lambda resource: Shape.of(2),
)
def fake_queue(resource):
    """A reference to a queue's name, for older ops, from its handle."""
    return reference_to(resource.container, resource.name)


# -- the ops that use them ------------------------------------------------------------------------
def _check_types(ctx, queue, types):
    if queue.types != types:
        have, expected = _text(tuple(types)), _text(queue.types)
        require(queue.types == tuple(types), f"Signature mismatch, have: {have} expected: {expected}")


def _check_timeout(timeout_ms):
    require(timeout_ms == -1, "Timeout not supported yet.")


def _enqueue(ctx, queue, components, Tcomponents, timeout_ms):
    _check_timeout(timeout_ms)
    _check_types(ctx, queue, Tcomponents)
    return queue.put(ctx, components)


def _enqueue_many(ctx, queue, components, Tcomponents, timeout_ms):
    _check_timeout(timeout_ms)
    _check_types(ctx, queue, Tcomponents)
    return queue.put_many(ctx, components)


def _dequeue(ctx, queue, component_types, timeout_ms):
    _check_timeout(timeout_ms)
    _check_types(ctx, queue, component_types)
    return queue.take(ctx)


def _dequeue_many(ctx, queue, n, component_types, timeout_ms):
    _check_timeout(timeout_ms)
    _check_types(ctx, queue, component_types)
    return queue.take_many(ctx, int(n))


def _dequeue_up_to(ctx, queue, n, component_types, timeout_ms):
    _check_timeout(timeout_ms)
    _check_types(ctx, queue, component_types)
    return queue.take_many(ctx, int(n), up_to=True)


def _close(ctx, queue, cancel_pending_enqueues):
    return queue.close(ctx, cancel_pending_enqueues)


def _is_closed(ctx, queue):
    return np.array(queue.is_closed)


def _size(ctx, queue):
    return np.array(len(queue), np.int32)


def _components(*inputs, component_types):
    return [UNKNOWN] * len(component_types)


def _batch(handle, n, *, component_types):
    require(n.value is None or int(n.value) >= 0, f"Input 'n' must be >= 0, but is {n.value}")
    return [UNKNOWN] * len(component_types)


def _declare_use(name, arguments, results, use, doc, shape, attrs, traits):
    arguments = [part for part in (arguments,) if part]

    def with_handle(ctx, handle, *inputs, **given):
        return use(ctx, handle.get(Queue), *inputs, **given)

    def with_reference(ctx, handle, *inputs, **given):
        return use(ctx, referenced(ctx, handle, QUEUE), *inputs, **given)

    for body in (with_handle, with_reference):
        body.__doc__, body.__module__ = doc, __name__
    new = ", ".join(["handle: resource", *arguments]) + " -> " + results
    old = ", ".join(["handle: Ref(string)", *arguments]) + " -> " + results
    return (
        op(f"{name}V2", new, attrs=attrs, traits={STATEFUL, *traits}, shape=shape)(with_handle),
        op(name, old, attrs=attrs, traits=traits, shape=shape)(with_reference),
    )


_PUT = {"Tcomponents": Types(min=1), "timeout_ms": -1}
_TAKE = {"component_types": Types(min=1), "timeout_ms": -1}
_WAITS = {WRITES, DEFERRED, MOVES}

queue_enqueue_v2, queue_enqueue = _declare_use(
    "QueueEnqueue",
    "components: Tcomponents",
    "",
    _enqueue,
    "Put a tuple into a queue, when it has room.",
    none,
    _PUT,
    _WAITS,
)
queue_enqueue_many_v2, queue_enqueue_many = _declare_use(
    "QueueEnqueueMany",
    "components: Tcomponents",
    "",
    _enqueue_many,
    "Put the slices of a tuple into a queue, as it has room.",
    none,
    _PUT,
    _WAITS,
)
queue_dequeue_v2, queue_dequeue = _declare_use(
    "QueueDequeue",
    "",
    "components: component_types",
    _dequeue,
    "Take a tuple out of a queue, when it has one.",
    _components,
    _TAKE,
    _WAITS,
)
queue_dequeue_many_v2, queue_dequeue_many = _declare_use(
    "QueueDequeueMany",
    "n: int32",
    "components: component_types",
    _dequeue_many,
    "Take `n` tuples out of a queue and put them together.",
    _batch,
    _TAKE,
    _WAITS,
)
queue_dequeue_up_to_v2, queue_dequeue_up_to = _declare_use(
    "QueueDequeueUpTo",
    "n: int32",
    "components: component_types",
    _dequeue_up_to,
    "Take `n` tuples out of a queue, or the rest of a closed one.",
    _components,
    _TAKE,
    _WAITS,
)
queue_close_v2, queue_close = _declare_use(
    "QueueClose",
    "",
    "",
    _close,
    "Let nothing more into a queue after what waits to get in.",
    none,
    {"cancel_pending_enqueues": False},
    _WAITS,
)
queue_is_closed_v2, queue_is_closed = _declare_use(
    "QueueIsClosed", "", "is_closed: bool", _is_closed, "Is the queue closed?", scalar, {}, {READS}
)
queue_size_v2, queue_size = _declare_use(
    "QueueSize", "", "size: int32", _size, "How many elements a queue has.", scalar, {}, {READS}
)
