"""What all sessions do.  A known signature costs a look-up, the binding of feeds, and one call."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Container, Sequence
from contextlib import AbstractContextManager
from copy import copy
from typing import Any

from headrace.core.collecting import paused
from headrace.core.errors import CancelledError, DeadlineExceededError, InvalidArgumentError, OpError, at
from headrace.core.fields import reads
from headrace.core.interrupts import noted
from headrace.core.later import call_later
from headrace.core.modules import late
from headrace.core.text import as_bytes
from headrace.graph import defaults
from headrace.graph.graph import Graph
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor
from headrace.ops.state.session_tensor import get_session_handle
from headrace.placement.place import check_requests
from headrace.runtime.cancel import Cancel
from headrace.runtime.containers import Containers
from headrace.runtime.step import Step
from headrace.session import feeds as feeding
from headrace.session.fetches import Fetches
from headrace.session.handles import DeadHandles, TensorHandle
from headrace.session.hints import add_hint
from headrace.session.library import Library
from headrace.session.results import to_user
from headrace.session.run_cache import Prepared, RunCache, prepare
from headrace.session.settings import Configuration, DeviceAttributes, configuration
from headrace.session.targets import Remote, connect

callables = late("headrace.session.callables")
import_export = late("headrace.ops.graphdef.import_export")
partial = late("headrace.session.partial")
profile = late("headrace.runtime.profile")


class _Signature:
    """One prepared signature with its fetch structure."""

    __slots__ = ("prepared", "only", "feeds", "dtypes", "rebuild", "returned", "handles")

    def __init__(self, prepared: Prepared, feeds: list[Tensor], fetches: Fetches) -> None:
        self.prepared, self.feeds, self.rebuild = prepared, feeds, fetches.rebuild
        self.dtypes = [t.dtype.base for t in fetches.tensors]
        self.handles = [  # places of values that stay in the session, and their types
            (i, t.op.inputs[0].dtype.base)
            for i, t in enumerate(fetches.tensors)
            if t.op.declaration is get_session_handle
        ]
        # Places of what is fed and fetched: in the fetches, in the feeds.
        places = {t: i for i, t in enumerate(feeds) if t.dtype.kind not in "rv"}
        self.returned = [(i, places[t]) for i, t in enumerate(fetches.tensors) if t in places]
        has_quick = hasattr(prepared.only, "quick") and not self.returned
        self.only: Any = prepared.only if has_quick else _Slow

    def watched(self, options: Any, run_metadata: Any) -> _Signature:
        """The same at a master, which gets the options and gives what it recorded."""
        made = copy(self)
        made.prepared = self.prepared.watched(options, run_metadata)  # type: ignore[attr-defined]
        return made


class _Slow:
    """Stands for programs that have no quick way."""

    quick = None


live: weakref.WeakSet[BaseSession] = weakref.WeakSet()  # the sessions of this process


class BaseSession:
    """What Session and InteractiveSession share."""

    def __init__(self, target: Any = "", graph: Graph | None = None, config: Any = None) -> None:
        if graph is not None and not isinstance(graph, Graph):
            raise TypeError(f"graph must be a tf.Graph, but got {type(graph)}")
        if target is not None and not isinstance(target, (str, bytes)):
            raise TypeError(f"target must be a string, but got {type(target)}")
        self._graph = graph if graph is not None else defaults.get_default_graph()
        self._target = target or ""
        self._config = config
        self._settings: Configuration = configuration(config)
        self._remote: Remote | None = None  # who runs the steps, where it is not this process
        if self._target:
            self._remote = connect(as_bytes(self._target).decode(), self._graph, config)
        self._containers = Containers()
        self._cache = RunCache()
        self._steps: set[Step] = set()
        self._ending = Cancel()  # set when the session is closed: ends steps that have no Step
        self._lock = threading.Lock()
        self._closed = False
        self._library = Library(self._graph, self._settings.run)
        self._partial: dict[str, Any] = {}
        self._dead_handles = DeadHandles()
        self._checked_nodes = self._watched_steps = 0
        live.add(self)

    # -- what users read -----------------------------------------------------------------------
    graph: Graph = reads("_graph")

    @property
    def graph_def(self) -> Any:
        return self._graph.as_graph_def(add_shapes=self._settings.infer_shapes)

    sess_str: str | bytes = reads("_target")

    def list_devices(self) -> list[Any]:
        if self._remote is not None:
            told = self._remote.list_devices()
            return [DeviceAttributes(d.name, d.memory_limit, d.incarnation) for d in told]
        own = self._settings.run.devices
        return [DeviceAttributes(d.name, d.attributes().memory_limit) for d in own]

    def as_default(self) -> AbstractContextManager[Any]:
        return defaults.default_session(self)  # type: ignore[no-any-return]

    # -- running -------------------------------------------------------------------------------
    def run(self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None) -> Any:
        """Run what `fetches` needs, with `feed_dict` in place of its tensors.

        Args:
          fetches: a tensor, an operation, a name, or nested lists, tuples and dicts of them.
          feed_dict: values for tensors of the graph.
          options: a RunOptions (timeout_in_ms, trace_level).
          run_metadata: a RunMetadata to fill.

        Returns: NumPy values in the structure of `fetches`; None for operations.
        """
        if options is None and run_metadata is None:
            cache = self._cache
            if not feed_dict and cache.mutations == self._graph._mutations:
                kind = type(fetches)
                signature = cache.plain.get(fetches) if kind is Tensor or kind is Node else None
            else:
                signature = None
            signature = signature or self._known(fetches, feed_dict)
            if signature is not None:
                return self._run_known(signature, feed_dict)
        return self._run_new(fetches, feed_dict, options, run_metadata)

    def _known(self, fetches: Any, feed_dict: Any) -> Any:
        key = fetches if type(fetches) is Tensor else _key(fetches)
        try:
            return self._cache.get((key, *feed_dict) if feed_dict else (key,), self._graph._mutations)
        except TypeError:  # not hashable: the general path
            return None

    def _run_known(self, signature: _Signature, feed_dict: Any) -> Any:
        quick = signature.only.quick
        if quick is not None and not self._settings.timeout_in_ms:
            values = feeding.arrays(signature.feeds, feed_dict) if feed_dict else []
            try:
                found = quick.run(self._containers, values, self._ending)
            except BaseException as error:
                raise self._named(error) from error.__cause__
            if found is not None:
                return signature.rebuild(found)
            del values  # it may hold variables: they would be copied instead of changed
        fed = list(feed_dict.values()) if feed_dict else []
        arguments = [feeding.to_value(t, v) for t, v in zip(signature.feeds, fed)]
        return self._execute(signature, arguments, None, None, fed)

    def _run_new(self, fetches: Any, feed_dict: Any, options: Any, run_metadata: Any) -> Any:
        """A call whose fetches and feeds were not seen together before: check them, make the signature, and
        remember it for the next call where that is safe."""
        self._check_usable()
        structure = Fetches(self._graph, fetches)
        tensors: list[Tensor] = []
        arguments: list[Any] = []
        fed: list[Any] = []
        plain = True
        for key, value in self._feed_pairs(feed_dict):
            tensor = feeding.feed_tensor(self._graph, key)
            fed.append(value)
            value = feeding.to_value(tensor, value)
            plain = plain and (key is tensor or _stands_for(key, tensor))
            if tensor in tensors:
                raise ValueError(f"Tensor {tensor} is fed twice")
            tensors.append(tensor)
            arguments.append(value)
        signature = self._prepare(tensors, structure)
        if plain and options is None and len(tensors) == len(feed_dict or ()):
            self._remember(fetches, feed_dict, signature)
        return self._execute(signature, arguments, options, run_metadata, fed)

    def _feed_pairs(self, feed_dict: Any) -> list[tuple[Any, Any]]:
        if not feed_dict:
            return []
        return feeding.expanded(feed_dict)

    def _remember(self, fetches: Any, feed_dict: Any, signature: _Signature) -> None:
        if not feed_dict and type(fetches) in (Tensor, Node):
            self._cache.put_plain(fetches, signature)
        try:
            self._cache.put((_key(fetches), *(feed_dict or ())), signature)
        except TypeError:
            return  # a structure that can not be a key: looked up by its tensors instead

    def _prepare(self, tensors: list[Tensor], structure: Fetches) -> _Signature:
        signature = (tuple(tensors), tuple(structure.tensors), tuple(structure.targets))
        key = (Prepared, signature)  # no structure of fetches is like that
        prepared = self._cache.get(key, self._graph._mutations)
        if prepared is None:
            if self._remote is not None:
                prepared = self._remote.prepare(*signature)
            else:
                if self._settings.place_whole_graph:
                    self._check_devices()
                with paused:
                    prepared = prepare(self._graph, *signature, self._settings.run)
            self._cache.put(key, prepared)
        return _Signature(prepared, tensors, structure)

    def _check_devices(self) -> None:
        """Also a node that does not run must ask for a device that exists, as in TF."""
        run = self._settings.run
        if not run.soft_placement:
            nodes = self._graph._ordered
            check_requests(nodes[self._checked_nodes :], run.names)
            self._checked_nodes = len(nodes)

    def _execute(
        self,
        signature: _Signature,
        arguments: list[Any],
        options: Any,
        run_metadata: Any,
        fed: Sequence[Any] = (),
    ) -> Any:
        """Run a prepared signature and hand out its values as the user's own.  Without options, deadline or
        metadata there is nothing to watch, which is the short way."""
        if self._closed:
            raise RuntimeError("Attempted to use a closed Session.")
        step = Step(self._containers, self)
        step.library = self._library
        timeout = self._timeout(options)
        if timeout or options is not None or run_metadata is not None:
            values = self._run_watched(signature, step, arguments, timeout, options, run_metadata)
        else:
            values = self._run_step(signature, step, arguments)
        for place, dtype in enumerate(signature.dtypes):
            values[place] = to_user(values, place, dtype)
        for place, dtype in signature.handles:
            self._dead_handles.sweep(self)
            values[place] = TensorHandle(values[place], dtype, self)
        for place, source in signature.returned if fed else ():
            values[place] = feeding.as_fed(arguments[source], fed[source])
        return signature.rebuild(values)

    def _run_step(self, signature: _Signature, step: Step, arguments: list[Any]) -> list[Any]:
        """While it runs, closing the session can end it, and Ctrl-C does."""
        self._steps.add(step)
        with noted(step.cancel) as ctrl_c:
            try:
                values = signature.prepared.run(step, arguments)
                if ctrl_c.is_pressed:
                    raise KeyboardInterrupt
                return values
            except BaseException as error:
                step.cancel.set()
                if ctrl_c.is_pressed and isinstance(error, CancelledError):
                    raise KeyboardInterrupt from error
                raise self._named(error) from error.__cause__
            finally:
                self._steps.discard(step)

    def _timeout(self, options: Any) -> int:
        if options is not None and not hasattr(options, "timeout_in_ms"):
            raise TypeError(f"options must be a tf.RunOptions, but got {type(options)}")
        if options is not None and options.timeout_in_ms:
            return int(options.timeout_in_ms)
        return self._settings.timeout_in_ms

    def _run_watched(
        self,
        signature: _Signature,
        step: Step,
        arguments: list[Any],
        timeout: int,
        options: Any,
        run_metadata: Any,
    ) -> list[Any]:
        """With a deadline, a trace, or both."""
        if self._remote is not None:
            signature = signature.watched(options, run_metadata)
        elif options is not None and options.trace_level and run_metadata is not None:
            step.trace = profile.Trace()
        timer = None
        if timeout:
            late = DeadlineExceededError(None, None, "Timed out waiting for notification")
            timer = call_later(timeout / 1000, lambda: step.cancel.set(late))
        try:
            values = self._run_step(signature, step, arguments)
        finally:
            if timer is not None:
                timer.cancel()
        if run_metadata is not None and self._remote is None:
            run_metadata.Clear()
            if step.trace is not None:
                step.trace.fill(run_metadata)
            self._watched_steps += 1
            every = self._settings.cost_model_every
            if every and self._watched_steps % every == 0:
                profile.fill_cost_graph(run_metadata, [p.plan for p in signature.prepared.pieces])
            if options is not None and options.output_partition_graphs:
                for piece in signature.prepared.pieces:
                    run_metadata.partition_graphs.add().CopyFrom(import_export.plan_to_graph_def(piece.plan))
        return values

    def _named(self, error: BaseException) -> BaseException:
        """A failure names the user's node, not the plan's copy of it."""
        if isinstance(error, MemoryError):
            error = at(error, None)
        if isinstance(error, OpError) and error._op is not None:
            if not isinstance(error._op, Node):
                error._op = self._graph._nodes.get(error._op.name, error._op)
            add_hint(error, self._graph)
        return error

    def _check_usable(self) -> None:
        if self._closed:
            raise RuntimeError("Attempted to use a closed Session.")
        if not self._graph._ordered:
            raise RuntimeError(
                "The Session graph is empty.  Add operations to the graph before calling run()."
            )

    # -- other ways to run ---------------------------------------------------------------------
    def make_callable(
        self, fetches: Any, feed_list: Any = None, accept_options: bool = False
    ) -> Callable[..., Any]:
        """A function of the values of `feed_list` that runs `fetches`."""
        if feed_list is not None and not isinstance(feed_list, (list, tuple)):
            raise TypeError("`feed_list` must be a list or tuple.")
        call: Callable[..., Any] = callables.make(self, fetches, feed_list or ())
        if accept_options:
            return call
        return lambda *values: call(*values)

    def _make_callable_from_options(self, callable_options: Any) -> Callable[..., Any]:
        """The same by the names in a CallableOptions."""
        return callables.from_options(self, callable_options)  # type: ignore[no-any-return]

    def _register_dead_handle(self, handle: str) -> None:
        """Nobody holds this handle of a value any more."""
        self._dead_handles.add(self, handle)

    def partial_run_setup(self, fetches: Any, feeds: Any = None) -> str:
        """Begin a run whose feeds arrive and whose fetches are taken bit by bit."""
        self._check_usable()
        run = partial.begin(self, fetches, feeds)
        self._partial[run.handle] = run
        return str(run.handle)

    def partial_run(self, handle: str, fetches: Any, feed_dict: Any = None) -> Any:
        """Continue a partial run."""
        self._check_usable()
        if handle not in self._partial:
            raise InvalidArgumentError(
                None, None, f"Must run 'setup' before performing partial runs! ({handle!r})"
            )
        run = self._partial[handle]
        values = run.run(fetches, feed_dict)
        if run.is_complete:
            del self._partial[handle]
        return values

    # -- end -----------------------------------------------------------------------------------
    def cancel_steps(self, reason: OpError, threads: Container[int] | None = None) -> None:
        """End the steps that run now; the session stays usable.

        Args:
          reason: the error that they end with.
          threads: only those that these threads wait for, by their `threading.get_ident()`.
        """
        for step in list(self._steps):
            if threads is None or step.thread in threads:
                step.cancel.set(reason)

    def close(self) -> None:
        """Cancel what runs, and forget the state."""
        with self._lock:
            self._closed = True
        text = "Session has been closed."
        if self._remote is not None:  # TF has another text for masters
            text = "Step was cancelled by an explicit call to `Session::Close()`."
        reason = CancelledError(None, None, text)
        self._ending.set(reason)
        for step in list(self._steps):
            step.cancel.set(reason)
        self._partial.clear()
        if self._remote is not None:
            self._remote.close()
        self._containers.clear()
        self._cache = RunCache()
        for device in self._settings.run.devices:
            device.wait()
            device.release()


def _key(fetches: Any) -> Any:
    """The structure as something to look up by: equal keys give results of equal structure."""
    if isinstance(fetches, (list, tuple)):
        return (type(fetches), *map(_key, fetches))
    if isinstance(fetches, dict):
        return (type(fetches), *fetches, *map(_key, fetches.values()))
    return fetches


def _stands_for(key: Any, tensor: Tensor) -> bool:
    return isinstance(key, str)
