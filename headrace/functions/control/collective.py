"""Operations of a group of devices, as graphs are built with them: TensorFlow's module collective_ops.

Every member is a node on a device of its own; all of them, and no others, say the same `group_key` (which
devices) and `instance_key` (which operation).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core.shapes import as_shape
from headrace.ops.control import collective as ops


def all_reduce(
    t: Any,
    group_size: int,
    group_key: int,
    instance_key: int,
    merge_op: str,
    final_op: str,
    subdiv_offsets: Sequence[int] = (0,),
    communication_hint: str = "auto",
) -> Any:
    """The sum of the tensors of all members, at each of them.

    Args:
      t: this member's tensor, on its device.
      group_size: how many members there are.
      group_key, instance_key: numbers of the group, and of the operation in it.
      merge_op: "Add", "Mul", "Min" or "Max".
      final_op: "Div" divides by the number of members, "Id" does nothing.
      subdiv_offsets: where rings begin among the devices of a task, one for each part of the tensor.
      communication_hint: there is one way of communication.

    Raises:
      ValueError: `t` is on no device, or the group has fewer than two members.
    """
    _check(group_size, "all_reduce", t)
    return ops.collective_reduce(
        t,
        merge_op=merge_op,
        final_op=final_op,
        subdiv_offsets=list(subdiv_offsets),
        **_place(group_size, group_key, instance_key, communication_hint),
    )


def all_gather(
    t: Any, group_size: int, group_key: int, instance_key: int, communication_hint: str = "auto"
) -> Any:
    """The tensors of all members, one after another along their first dimension, at each of them.

    Raises:
      ValueError: `t` is on no device, or the group has fewer than two members.
    """
    _check(group_size, "all_gather", t)
    return ops.collective_gather(
        t, shape=[0], **_place(group_size, group_key, instance_key, communication_hint)
    )


def broadcast_send(
    t: Any,
    shape: Any,
    dtype: Any,
    group_size: int,
    group_key: int,
    instance_key: int,
    communication_hint: str = "auto",
) -> Any:
    """Give a tensor to all other members, who call broadcast_recv.

    Raises:
      ValueError: `t` is on no device, is not of the shape and type that are said, or the group has fewer
        than two members.
    """
    _check(group_size, "broadcast_send", t)
    if as_shape(t.shape).as_list() != as_shape(shape).as_list():
        raise ValueError("Shape of broadcast_send tensor not equal to delcared shape")
    if t.dtype != dtype:
        raise ValueError("Type of broadcast_send tensor not equal to declared type")
    return ops.collective_bcast_send(
        t, shape=shape, **_place(group_size, group_key, instance_key, communication_hint)
    )


def broadcast_recv(
    shape: Any,
    dtype: Any,
    group_size: int,
    group_key: int,
    instance_key: int,
    communication_hint: str = "auto",
) -> Any:
    """The tensor that another member gives to all.

    Raises:
      ValueError: the group has fewer than two members.
    """
    _check(group_size, "broadcast_send")
    return ops.collective_bcast_recv(
        T=dtype, shape=shape, **_place(group_size, group_key, instance_key, communication_hint)
    )


def _place(group_size: int, group_key: int, instance_key: int, communication_hint: str) -> dict[str, Any]:
    """The attributes that say which group a member belongs to, and which of its operations this is."""
    return {
        "group_size": group_size,
        "group_key": group_key,
        "instance_key": instance_key,
        "communication_hint": communication_hint,
    }


def _check(group_size: int, what: str, t: Any = None) -> None:
    if t is not None and not t.device:
        raise ValueError("Device assignment required for collective ops")
    if group_size <= 1:
        raise ValueError(f"Parameter group_size to {what} must be at least 2.")
