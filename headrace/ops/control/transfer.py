"""Send and Recv: where a tensor leaves one device and arrives at another.  `_Arg` and `_Retval` are
where values enter and leave a function."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any

from headrace.core.dtypes import DType
from headrace.core.shapes import UNKNOWN
from headrace.ops.declaration.declare import op, primitive
from headrace.ops.declaration.shape_rules import none, unknown
from headrace.ops.declaration.signature import Int, String, Type
from headrace.ops.declaration.traits import BLOCKING, SOURCE, STATEFUL

_ENDS = {
    "tensor_name": String(),
    "send_device": String(),
    "send_device_incarnation": Int(),
    "recv_device": String(),
    "client_terminated": False,
}


ONCE = "0:0"  # outside of loops


def rendezvous_key(attrs: Mapping[str, Any], tag: str = ONCE) -> str:
    """TF's key: both devices, the incarnation of the sender, the edge; `tag`: frame and iteration."""
    incarnation = (
        attrs["send_device_incarnation"] & (1 << 64) - 1
    )  # the attribute has a sign, the key has none
    return f"{attrs['send_device']};{incarnation:016x};{attrs['recv_device']};{attrs['tensor_name']};{tag}"


def as_attribute(incarnation: int) -> int:
    """64 bits without a sign as the attribute has them, with one."""
    return incarnation - (1 << 64) if incarnation >> 63 else incarnation


def labelled(value: Any, dtype: DType) -> Any:
    """A value that leaves: of a quantized type, which is plain integers to kernels, as an array that says
    which."""
    return value.view(dtype.as_numpy_dtype) if dtype.is_quantized else value


def unlabelled(value: Any, dtype: DType) -> Any:
    """A value that enters, as kernels have it."""
    return value.view(dtype.numpy) if dtype.is_quantized else value


def _send(ctx, tensor):
    """Leave a value under its key for another device."""
    attrs = ctx.node.attrs
    ctx.step.rendezvous.send(rendezvous_key(attrs), labelled(tensor, attrs["T"]))
    return ()


def _recv(ctx):
    """The value that another device has left, or will leave, under its key."""
    future = ctx.step.rendezvous.receive(rendezvous_key(ctx.node.attrs))
    dtype = ctx.node.attrs["tensor_type"]
    return _unlabelled(future, dtype) if dtype.is_quantized else future


def _unlabelled(future: Future[Any], dtype: DType) -> Future[Any]:
    made: Future[Any] = Future()

    def arrived(done: Future[Any]) -> None:
        error = done.exception()
        if error is None:
            made.set_result(unlabelled(done.result(), dtype))
        else:
            made.set_exception(error)

    future.add_done_callback(arrived)
    return made


_sends: dict[str, Any] = {"attrs": {"T": Type()} | _ENDS, "traits": {STATEFUL}, "shape": none}
_receives: dict[str, Any] = {
    "attrs": {"tensor_type": Type()} | _ENDS,
    "traits": {STATEFUL, BLOCKING},
    "shape": unknown,
}
send = op("_Send", "tensor: T ->", **_sends)(_send)
recv = op("_Recv", "-> tensor: tensor_type", **_receives)(_recv)
# TF's, where the value is in the host's memory on both sides; here that makes no difference.
host_send = op("_HostSend", "tensor: T ->", **_sends)(_send)
host_recv = op("_HostRecv", "-> tensor: tensor_type", **_receives)(_recv)
SENDS, RECEIVES = frozenset({send, host_send}), frozenset({recv, host_recv})


arg = primitive(
    "_Arg",
    "-> output: T",
    shape=lambda *, index: UNKNOWN,
    traits={STATEFUL, SOURCE},
    T=Type(),
    index=Int(min=0),
)
retval = primitive("_Retval", "input: T ->", shape=none, traits={STATEFUL}, T=Type(), index=Int(min=0))
