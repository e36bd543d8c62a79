"""Batches made of what several steps bring, and their parts given back."""

from __future__ import annotations

import secrets
from functools import partial

import numpy as np

from headrace.core.errors import require
from headrace.core.shapes import SCALAR, UNKNOWN, Shape, make_shape
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.resources import keep
from headrace.ops.declaration.signature import Function, Int, Ints, Type, Types
from headrace.ops.declaration.traits import DEFERRED, HOST
from headrace.ops.queues.batch_resource import Batcher, Exchange, GradientExchange, Task, bounds, split

_LIMITS = ("num_batch_threads", "max_batch_size", "batch_timeout_micros", "max_enqueued_batches")


def _submit(ctx, process, inputs, captured):
    """Into the batcher of this name; what is given back is a Future."""
    attrs = ctx.node.attrs
    limits = {name: attrs[name] for name in _LIMITS}
    found = ctx.resources.get_or_make(
        attrs["container"],
        "batcher",
        attrs["shared_name"] or ctx.node.name,
        lambda: Batcher(process, allowed_batch_sizes=attrs["allowed_batch_sizes"], **limits),
    )
    task = Task(ctx, [keep(x) for x in inputs], captured, secrets.randbits(62))
    return found.submit(attrs["batching_queue"], task)


# -- a batch for one of the steps ------------------------------------------------------------------
def _give_to_last(batcher, batch):
    """The last step gets the batch, and where each step's rows are in it; the others get nothing."""
    joined = batcher.joined(batch)
    index = [(task.guid, *rows) for task, rows in zip(batch, bounds(batch))]
    for task in batch[:-1]:
        blanks = [np.empty((0,), x.dtype) for x in joined]
        task.answer([*blanks, np.empty((0, 3), np.int64), np.array(task.guid)])
    batch[-1].answer([*joined, np.array(index, np.int64), np.array(batch[-1].guid)])


def _batch_shapes(in_tensors):
    """One input after the other, with any number of rows."""
    out = []
    for x in in_tensors:
        if x.rank is None:
            out.append(UNKNOWN)
            continue
        require(x.rank > 0, "Shape must be at least rank 1 but is rank 0")
        out.append(make_shape((None, *x.sizes[1:])))
    return [*out, Shape.of(None, 3), SCALAR]


@op(
    "Batch",
    "in_tensors: T -> batched_tensors: T, batch_index: int64, id: int64",
    num_batch_threads=Int(),
    max_batch_size=Int(),
    max_enqueued_batches=10,
    batch_timeout_micros=Int(),
    allowed_batch_sizes=Ints(default=[]),
    grad_timeout_micros=Int(),
    container="",
    shared_name="",
    batching_queue="",
    T=Types(min=1),
    traits={HOST, DEFERRED},
    shape=_batch_shapes,
)
def batch(ctx, in_tensors):
    """Put together what steps bring at about the same time: one of them gets it all."""
    return _submit(ctx, _give_to_last, in_tensors, [])


@batch.gradient
def _(node, *grads):
    index, number = node.outputs[-2:]
    timeout = node.attrs["grad_timeout_micros"]
    return [
        unbatch(
            grads[i], index, number, timeout_micros=timeout, shared_name=f"batch_gradient_{node.name}_{i}"
        )
        for i in range(len(node.inputs))
    ]


# -- a function of a batch -------------------------------------------------------------------------
def _compute(f, batcher, batch):
    """The function of the batch, and for each step its rows."""
    joined = batcher.joined(batch)
    last = batch[-1]
    outputs = last.ctx.run_function(f, [*joined, *last.more])
    split(batch, outputs, len(joined[0]))


def _function_shapes(in_tensors, captured_tensors, *, Tout):
    return [UNKNOWN] * len(Tout)


@op(
    "BatchFunction",
    "in_tensors: Tin, captured_tensors: Tcaptured -> out_tensors: Tout",
    f=Function(),
    num_batch_threads=Int(),
    max_batch_size=Int(),
    batch_timeout_micros=Int(),
    max_enqueued_batches=10,
    allowed_batch_sizes=Ints(default=[]),
    container="",
    shared_name="",
    batching_queue="",
    Tin=Types(min=1),
    Tcaptured=Types(min=0),
    Tout=Types(min=1),
    traits={HOST, DEFERRED},
    shape=_function_shapes,
)
def batch_function(ctx, in_tensors, captured_tensors, *, f):
    """A function of what steps bring at about the same time: computed once, each step gets its rows."""
    return _submit(ctx, partial(_compute, f), in_tensors, captured_tensors)


batch_function.no_gradient()


# -- the parts of a batch --------------------------------------------------------------------------
def _unbatch_shape(batched_tensor, batch_index, id):
    return UNKNOWN if batched_tensor.rank is None else make_shape((None, *batched_tensor.sizes[1:]))


@op(
    "Unbatch",
    "batched_tensor: T, batch_index: int64, id: int64 -> unbatched_tensor: T",
    timeout_micros=Int(),
    container="",
    shared_name="",
    T=Type(),
    traits={HOST, DEFERRED},
    shape=_unbatch_shape,
)
def unbatch(ctx, batched_tensor, batch_index, id, *, timeout_micros, container, shared_name):
    """Each step's rows of what one of them computed of a batch."""
    found = ctx.resources.get_or_make(
        container, "unbatch", shared_name or ctx.node.name, lambda: Exchange(timeout_micros)
    )
    return found.swap(ctx, batched_tensor, batch_index, int(id))


@unbatch.gradient
def _(node, grad):
    batched, index, number = node.inputs
    name = f"unbatch_gradient_{node.name}"
    return [unbatch_grad(batched, index, grad, number, shared_name=name), None, None]


@op(
    "UnbatchGrad",
    "original_input: T, batch_index: int64, grad: T, id: int64 -> batched_grad: T",
    container="",
    shared_name="",
    T=Type(),
    traits={HOST, DEFERRED},
    shape=lambda original_input, batch_index, grad, id: (
        UNKNOWN if grad.rank is None else make_shape((None, *grad.sizes[1:]))
    ),
)
def unbatch_grad(ctx, original_input, batch_index, grad, id, *, container, shared_name):
    """The gradient of a batch, from those of each step's rows."""
    found = ctx.resources.get_or_make(
        container, "unbatch gradient", shared_name or ctx.node.name, GradientExchange
    )
    blank = np.empty((0,), grad.dtype)
    return found.swap(ctx, batch_index, grad, int(id), blank)
