"""Functions whose work for several steps is done together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.core.shapes import make_shape
from headrace.functions.values.structure import name_scope
from headrace.functions.values.tensor_spec import TensorSpec
from headrace.graph.defaults import get_default_graph
from headrace.graph.tensor import Tensor
from headrace.ops.queues import batch as ops
from headrace.variables.functions.graph_function import function

Function = Callable[..., Any]
_MINUTE = 60 * 1000 * 1000  # microseconds


def _check(args: Sequence[Any]) -> None:
    for a in args:
        if not isinstance(a, Tensor):
            raise ValueError(
                "All arguments to functions decorated with `batch_function`  are supposed to be Tensors; "
                f"found {a!r}"
            )


def batch_function(
    num_batch_threads: int,
    max_batch_size: int,
    batch_timeout_micros: int,
    allowed_batch_sizes: Sequence[int] | None = None,
    max_enqueued_batches: int = 10,
    autograph: bool = True,
) -> Callable[[Function], Function]:
    """A decorator: what steps that run at about the same time give to the function is computed together, as
    one batch along the first dimension, and each step gets its rows.  It has no gradient.

    Args:
      num_batch_threads: how many batches are computed at the same time.
      max_batch_size: how many rows a batch has at most.
      batch_timeout_micros: how long a batch waits for more rows.
      allowed_batch_sizes: the sizes that batches are filled up to, growing; the last is `max_batch_size`.
      max_enqueued_batches: how many batches may wait to be computed.
      autograph: translate control flow of Python.
    """

    def decorate(fn: Function) -> Function:
        def decorated(*args: Any) -> Any:
            _check(args)
            traced: Any = function(lambda *given: fn(*given), autograph=autograph)
            computation = traced.get_concrete_function(
                *(TensorSpec(a.shape, a.dtype, str(i)) for i, a in enumerate(args))
            )
            computation.add_to_graph(get_default_graph())
            with name_scope("batch") as name:
                outputs = ops.batch_function(
                    list(args),
                    computation.captured_inputs,
                    f=computation.function,
                    num_batch_threads=num_batch_threads,
                    max_batch_size=max_batch_size,
                    batch_timeout_micros=batch_timeout_micros,
                    allowed_batch_sizes=list(allowed_batch_sizes or []),
                    max_enqueued_batches=max_enqueued_batches,
                    shared_name=name,
                    Tout=[o.dtype.base for o in computation.outputs],
                )
            for output, inner in zip(outputs, computation.outputs):
                if inner.shape.rank:
                    output.set_shape(make_shape((None, *inner.shape.sizes[1:])))
            return outputs

        return decorated

    return decorate


def batch_function_v1(
    num_batch_threads: int,
    max_batch_size: int,
    batch_timeout_micros: int,
    allowed_batch_sizes: Sequence[int] | None = None,
    grad_timeout_micros: int = _MINUTE,
    unbatch_timeout_micros: int = _MINUTE,
    max_enqueued_batches: int = 10,
) -> Callable[[Function], Function]:
    """The older form of `batch_function`, with gradients: one of the steps computes the batch itself.

    Args:
      num_batch_threads: how many batches are put together at the same time.
      max_batch_size: how many rows a batch has at most.
      batch_timeout_micros: how long a batch waits for more rows.
      allowed_batch_sizes: the sizes that batches are filled up to, growing; the last is `max_batch_size`.
      grad_timeout_micros: how long a step waits for its gradient.
      unbatch_timeout_micros: how long a step waits for its rows.
      max_enqueued_batches: how many batches may wait to be put together.
    """

    def decorate(fn: Function) -> Function:
        def decorated(*args: Any) -> Any:
            _check(args)
            with name_scope("batch") as name:
                *batched, index, number = ops.batch(
                    list(args),
                    num_batch_threads=num_batch_threads,
                    max_batch_size=max_batch_size,
                    batch_timeout_micros=batch_timeout_micros,
                    max_enqueued_batches=max_enqueued_batches,
                    allowed_batch_sizes=list(allowed_batch_sizes or []),
                    grad_timeout_micros=grad_timeout_micros,
                    shared_name=name,
                )
                batched = batched[0] if isinstance(batched[0], (list, tuple)) else batched
                outputs = fn(*batched)
                each = [outputs] if isinstance(outputs, Tensor) else outputs
                with name_scope("unbatch") as scope:
                    rows = [
                        ops.unbatch(
                            t,
                            index,
                            number,
                            timeout_micros=unbatch_timeout_micros,
                            shared_name=f"{scope}/{t.name}",
                        )
                        for t in each
                    ]
            return rows[0] if isinstance(outputs, Tensor) else rows

        return decorated

    return decorate
