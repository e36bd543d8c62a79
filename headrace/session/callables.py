"""Functions that run one signature: of feeds and fetches, or of what a CallableOptions names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.core.errors import UnimplementedError
from headrace.session import feeds as feeding
from headrace.session.fetches import Fetches


def make(session: Any, fetches: Any, feeds: Sequence[Any], run_options: Any = None) -> Callable[..., Any]:
    """A function of the values of `feeds`, with the keywords `options` and `run_metadata`."""
    session._check_usable()
    graph = session.graph
    tensors = [feeding.feed_tensor(graph, key) for key in feeds]
    signature = session._prepare(tensors, Fetches(graph, fetches))
    if session._remote is not None:
        signature.prepared = signature.prepared.pinned(run_options)
        run_options = None  # the master has them

    def call(*values: Any, options: Any = None, run_metadata: Any = None) -> Any:
        if len(values) != len(tensors):
            raise TypeError(
                f"Expected {len(tensors)} feed values, one per tensor of feed_list, but got {len(values)}"
            )
        arguments = [feeding.to_value(t, v) for t, v in zip(tensors, values)]
        return session._execute(signature, arguments, options or run_options, run_metadata)

    return call


def from_options(session: Any, options: Any) -> Callable[..., Any]:
    """A function that gives a list of what `options` (CallableOptions) fetches."""
    if options.tensor_connection:
        raise UnimplementedError(None, None, "CallableOptions.tensor_connection is not supported")
    targets = [session.graph.get_operation_by_name(name) for name in options.target]
    run_options = options.run_options if options.HasField("run_options") else None
    call = make(session, [*options.fetch, *targets], list(options.feed), run_options)
    count = len(options.fetch)
    return lambda *values, run_metadata=None: call(*values, run_metadata=run_metadata)[:count]
