"""Values that stay in a session between its steps, under handles: "node;number;device"."""

from __future__ import annotations

import itertools

import numpy as np

from headrace.core.errors import InvalidArgumentError, require
from headrace.core.text import as_bytes
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.resources import Handle, keep
from headrace.ops.declaration.shape_rules import none, require_rank, scalar, unknown
from headrace.ops.declaration.signature import Type
from headrace.ops.declaration.text import shown, strings
from headrace.ops.declaration.traits import HOST, STATEFUL

STORED = "session tensor"  # the kind of resource
_numbers = itertools.count()


def _store(ctx, value):
    handle = f"{ctx.node.name};{next(_numbers)};{ctx.node.device}"
    kept = keep(value)
    ctx.resources.get_or_make("", STORED, handle, lambda: kept)
    return handle, kept


@op("GetSessionHandle", "value: T -> handle: string", T=Type(), traits={STATEFUL, HOST}, shape=scalar)
def get_session_handle(ctx, value):
    """Let a value stay in the session; the handle leads to it."""
    return strings([as_bytes(_store(ctx, value)[0])], ())


@op("GetSessionHandleV2", "value: T -> handle: resource", T=Type(), traits={STATEFUL, HOST}, shape=scalar)
def get_session_handle_v2(ctx, value):
    """Let a value stay in the session; the handle, a resource, leads to it."""
    handle, kept = _store(ctx, value)
    return Handle("TensorHandle", handle, STORED, ctx.node.device, kept)


def _one(handle):
    require_rank(handle, 0)
    return unknown()


def _name(handle):
    require(handle.ndim == 0, "A handle of a session's tensor is a scalar")
    return shown(handle.item())


@op("GetSessionTensor", "handle: string -> value: dtype", dtype=Type(), traits={STATEFUL, HOST}, shape=_one)
def get_session_tensor(ctx, handle, *, dtype):
    """The value that a handle leads to."""
    name = _name(handle)
    found = ctx.resources.find("", STORED, name)
    if found is None:
        message = f"The tensor with handle '{name}' is not in the session store."
        raise InvalidArgumentError(None, None, message)
    value = np.asarray(found)
    require(
        value.dtype == dtype.numpy,
        f"The tensor with handle '{name}' is of type {value.dtype}, and {dtype.name} was expected",
    )
    return value


@op("DeleteSessionTensor", "handle: string ->", traits={STATEFUL, HOST}, shape=none)
def delete_session_tensor(ctx, handle):
    """Forget the value that a handle leads to."""
    name = _name(handle)
    if not ctx.resources.remove("", STORED, name):
        message = f"Failed to delete a tensor with handle '{name}' in the session store."
        raise InvalidArgumentError(None, None, message)
    return ()


for _op in (get_session_handle, get_session_handle_v2, get_session_tensor, delete_session_tensor):
    _op.no_gradient()
