"""Operations in which a group of devices takes part, each with an op of its own: the sum of all their
tensors, or all of them, for each member; the tensor of one for all.

Members find one another by `group_key`, operations by `instance_key`, in this process or over the tasks of a
cluster.  The runtime brings them together (runtime.collectives).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from headrace.core.dtypes import float16, float32, float64, int32, int64
from headrace.core.errors import require
from headrace.core.shapes import UNKNOWN, Shape
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.samples import Sample
from headrace.ops.declaration.shape_rules import from_attr, same
from headrace.ops.declaration.signature import Int, Ints, ShapeAttr, String, Type
from headrace.ops.declaration.traits import BLOCKING, COLLECTIVE, STATEFUL

MERGES: dict[str, Any] = {"Add": np.add, "Mul": np.multiply, "Min": np.minimum, "Max": np.maximum}
_TYPES = Type([float32, float16, float64, int32, int64])
_GROUP: dict[str, Any] = {"T": _TYPES, "group_size": Int(), "group_key": Int(), "instance_key": Int()}
_HINT: dict[str, Any] = {"communication_hint": "auto"}
_TRAITS = {STATEFUL, BLOCKING, COLLECTIVE}


class Part(NamedTuple):
    """What a member says of itself and the operation."""

    kind: str
    group_size: int
    group_key: int
    instance_key: int
    merge: str = "Add"
    divides: bool = False
    offsets: tuple[int, ...] = ()
    shape: tuple[int, ...] | None = None  # where it has no tensor of its own
    is_source: bool = False


def _run(ctx, kind, value, attrs, **more):
    size = attrs["group_size"]
    require(size > 0, f"group_size must be positive, got {size}")
    return ctx.take_part(Part(kind, size, attrs["group_key"], attrs["instance_key"], **more), value)


@op(
    "CollectiveReduce",
    "input: T -> data: T",
    attrs=_GROUP
    | {
        "merge_op": String("Min", "Max", "Mul", "Add"),
        "final_op": String("Id", "Div"),
        "subdiv_offsets": Ints(),
        "wait_for": Ints(default=[]),
    }
    | _HINT,
    shape=same,
    traits=_TRAITS,
)
def collective_reduce(ctx, input, *, group_size, group_key, instance_key, merge_op, final_op, subdiv_offsets):
    """The sum (or product, least, greatest) of the tensors of all members, at each of them.

    Args:
      final_op: "Div" divides it by the number of members.
      subdiv_offsets: for each ring that a part of the tensor goes around in, where it begins among the
        devices of a task; backwards if negative.
      wait_for: instances that begin before this one; there is no need for that here.
    """
    found = {"group_size": group_size, "group_key": group_key, "instance_key": instance_key}
    return _run(
        ctx, "reduce", input, found, merge=merge_op, divides=final_op == "Div", offsets=tuple(subdiv_offsets)
    )


@collective_reduce.samples
def _(rng):
    alone = {"group_size": 1, "group_key": 1, "instance_key": 1, "subdiv_offsets": [0]}
    yield Sample(rng.normal(size=(2, 3)), merge_op="Add", final_op="Div", grad=False, **alone)
    yield Sample(np.zeros((0, 2)), merge_op="Max", final_op="Id", grad=False, **alone)


def _gathered(input, *, group_size):
    if input.rank is None:
        return UNKNOWN
    require(input.rank >= 1, "Shape must be at least rank 1 but is rank 0")
    first = input[0]
    return Shape.of(None if first is None else first * group_size, *input[1:])


@op(
    "CollectiveGather",
    "input: T -> data: T",
    attrs=_GROUP | {"shape": ShapeAttr()} | _HINT,
    shape=_gathered,
    traits=_TRAITS,
)
def collective_gather(ctx, input, *, group_size, group_key, instance_key):
    """The tensors of all members, one after another along their first dimension, at each of them."""
    require(input.ndim >= 1, "Shape must be at least rank 1 but is rank 0")
    found = {"group_size": group_size, "group_key": group_key, "instance_key": instance_key}
    return _run(ctx, "gather", input, found)


@op(
    "CollectiveBcastSend",
    "input: T -> data: T",
    attrs=_GROUP | {"shape": ShapeAttr()} | _HINT,
    shape=from_attr,
    traits=_TRAITS,
)
def collective_bcast_send(ctx, input, *, group_size, group_key, instance_key, shape):
    """Give a tensor to all other members, who receive it (CollectiveBcastRecv)."""
    require(
        shape.is_fully_defined() and tuple(shape.as_list()) == input.shape,
        f"Declared shape of op {ctx.node.name} does not match shape of input: {shape}, {list(input.shape)}",
    )
    found = {"group_size": group_size, "group_key": group_key, "instance_key": instance_key}
    return _run(ctx, "broadcast", input, found, is_source=True)


@op(
    "CollectiveBcastRecv",
    "-> data: T",
    attrs=_GROUP | {"shape": ShapeAttr()} | _HINT,
    shape=from_attr,
    traits=_TRAITS,
)
def collective_bcast_recv(ctx, *, group_size, group_key, instance_key, shape):
    """The tensor that another member gives to all."""
    require(shape.is_fully_defined(), f"the shape of what is received must be known, it is {shape}")
    found = {"group_size": group_size, "group_key": group_key, "instance_key": instance_key}
    return _run(ctx, "broadcast", None, found, shape=tuple(shape.as_list()))
