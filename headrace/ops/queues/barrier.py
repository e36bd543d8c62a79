"""Barriers: tuples under keys, whose components come one by one."""

from __future__ import annotations

import numpy as np

from headrace.core.errors import InvalidArgumentError, require
from headrace.core.shapes import UNKNOWN, Shape
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.messages.node_def import type_name
from headrace.ops.declaration.shape_rules import none, require_rank, scalar
from headrace.ops.declaration.signature import Int, Shapes, Type, Types
from headrace.ops.declaration.traits import DEFERRED, READS, STATEFUL, WRITES
from headrace.ops.queues.barrier_resource import Barrier
from headrace.ops.queues.queue import reference_to, referenced

BARRIER = "barrier"


@op(
    "Barrier",
    "-> handle: Ref(string)",
    component_types=Types(min=1),
    shapes=Shapes(default=[], min=0),
    capacity=-1,
    container="",
    shared_name="",
    traits={STATEFUL, READS},
    shape=lambda: Shape.of(2),
)
def barrier(ctx, *, component_types, shapes, capacity, container, shared_name):
    """Tuples under keys, which leave when they are complete."""
    require(len(shapes) == len(component_types), "All of the component shapes must be specified")
    require(
        capacity == -1,
        "Barrier only accepts capacity=-1.  Feed the inputs to your Barrier through a queue to enforce a "
        "limited capacity.",
    )
    name = shared_name or ctx.node.name
    found = ctx.resources.get_or_make(
        container, BARRIER, name, lambda: Barrier(name, component_types, shapes)
    )
    for what, held, wanted in (
        ("types", found.types, tuple(component_types)),
        ("shapes", found.shapes, tuple(shapes)),
    ):
        same = len(held) == len(wanted) and all(map(_equal, held, wanted))
        require(
            same,
            f"Shared barrier '{name}' has component {what} {_listed(held)} but requested component {what} "
            f"were {_listed(wanted)}",
        )
    return reference_to(container, name)


def _equal(a, b):
    return a.sizes == b.sizes if isinstance(a, Shape) and a.rank is not None else a is b or str(a) == str(b)


def _listed(values):
    return ", ".join(str(v) if isinstance(v, Shape) else type_name(v) for v in values)


def _insert_shape(handle, keys, values):
    require_rank(keys, 1)
    require(
        values.rank is None or values.rank >= 1, f"Shape must be at least rank 1 but is rank {values.rank}"
    )
    if values.rank is not None:
        keys.merge_with(Shape.of(values.dim(0)))
    return []


@op(
    "BarrierInsertMany",
    "handle: Ref(string), keys: string, values: T ->",
    T=Type(),
    component_index=Int(),
    traits={WRITES},
    shape=_insert_shape,
)
def barrier_insert_many(ctx, handle, keys, values, *, T, component_index):
    """Give each key its value of one component."""
    found = referenced(ctx, handle, BARRIER)
    require(
        0 <= component_index < len(found.types),
        f"The component ID is out of range {component_index} > num_components (= {len(found.types)})",
    )
    wanted = found.types[component_index]
    if wanted is not T:
        raise InvalidArgumentError(
            None,
            None,
            f"Signature mismatch, have: string_ref, string, {type_name(T)}-> expected: string_ref, string, "
            f"{type_name(wanted)}->",
        )
    return found.insert(ctx, component_index, keys, values)


@op(
    "BarrierTakeMany",
    "handle: Ref(string), num_elements: int32 -> indices: int64, keys: string, values: component_types",
    component_types=Types(min=1),
    allow_small_batch=False,
    wait_for_incomplete=False,
    timeout_ms=-1,
    traits={WRITES, DEFERRED},
    shape=lambda handle, num_elements, *, component_types: [UNKNOWN] * (2 + len(component_types)),
)
def barrier_take_many(ctx, handle, num_elements, *, component_types, allow_small_batch, timeout_ms):
    """Take tuples that are complete, the oldest first, when there are enough."""
    found = referenced(ctx, handle, BARRIER)
    require(timeout_ms == -1, "Timeout not supported yet.")
    require(num_elements.ndim == 0, "num_elements must be a scalar.")
    require(
        found.types == tuple(component_types),
        f"Signature mismatch, have: {_listed(component_types)} expected: {_listed(found.types)}",
    )
    return found.take(ctx, int(num_elements), allow_small_batch)


@op(
    "BarrierClose",
    "handle: Ref(string) ->",
    cancel_pending_enqueues=False,
    traits={WRITES, DEFERRED},
    shape=none,
)
def barrier_close(ctx, handle, *, cancel_pending_enqueues):
    """Let no new keys into a barrier."""
    return referenced(ctx, handle, BARRIER).close(ctx, cancel_pending_enqueues)


@op("BarrierReadySize", "handle: Ref(string) -> size: int32", traits={READS}, shape=scalar)
def barrier_ready_size(ctx, handle):
    """How many tuples are complete."""
    return np.array(referenced(ctx, handle, BARRIER).ready_size, np.int32)


@op("BarrierIncompleteSize", "handle: Ref(string) -> size: int32", traits={READS}, shape=scalar)
def barrier_incomplete_size(ctx, handle):
    """How many tuples lack components."""
    return np.array(referenced(ctx, handle, BARRIER).incomplete_size, np.int32)
