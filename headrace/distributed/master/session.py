"""A session at its master: steps, callables and partial runs of one client."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from typing import Any, Protocol

from headrace.core.errors import AbortedError, InvalidArgumentError, OpError, UnimplementedError
from headrace.distributed.master.partial import PartialState, feeds_of
from headrace.distributed.master.running import PartialCall, RunningStep, new_step_id
from headrace.distributed.master.signatures import Signature, Signatures
from headrace.distributed.security.limits import Limits
from headrace.distributed.worker.interface import DeviceInfo, WorkerInterface
from headrace.distributed.worker.recording import Recording
from headrace.distributed.worker.tally import Tally
from headrace.formats import proto
from headrace.session.settings import configuration

Watch = Callable[[RunningStep], None]


class Numbering(Protocol):
    """Numbers of steps of graphs with collectives."""

    def next_step(self, graph_key: int) -> int: ...

    def retire(self, graph_key: int, step: int, well: bool) -> None: ...


@dataclass(slots=True)
class PartialRun:
    signature: Signature
    state: PartialState
    step_id: int = field(default_factory=new_step_id)
    tasks: frozenset[str] = frozenset()  # where something of it runs


class MasterSession:
    """`workers`: the tasks that this session uses, by name; `default` is where nodes without a wish go."""

    def __init__(
        self,
        handle: str,
        config: Any,
        workers: Mapping[str, WorkerInterface],
        devices: Sequence[DeviceInfo],
        default: str,
        worker_session: str = "",
        tally: Tally | None = None,
        limits: Limits | None = None,
        numbering: Numbering | None = None,
    ) -> None:
        """`limits`: for a client in another process."""
        self._numbering = numbering
        self.handle, self.workers, self.devices = handle, workers, list(devices)
        self.worker_session = worker_session
        self.tally = tally or Tally()
        self._limits, self._nodes = limits, 0
        self.devices.sort(key=lambda d: (not d.name.startswith(default + "/"), d.kind != "CPU"))
        settings = configuration(config)
        self.signatures = Signatures(
            workers, worker_session, self.devices, settings.run, config.graph_options, limits is not None
        )
        self.version = 0
        self.timeout_in_ms = settings.timeout_in_ms
        self._costs_every, self._steps = settings.cost_model_every, itertools.count(1)
        self._callables: dict[int, tuple[Signature, Any]] = {}
        self._partial: dict[str, PartialRun] = {}
        self._numbers = itertools.count(1)
        self._running: set[RunningStep] = set()
        self._lock = threading.Lock()
        self._is_closed = False

    def extend(self, graph_def: Any, version: int) -> int:
        """Add nodes; `version` says which graph the client has in mind."""
        with self._lock:
            self._check()
            if version != self.version:
                raise AbortedError(
                    None, None, f"Current version is {self.version} but caller expected {version}."
                )
            if self._limits is not None:
                self._nodes = self._limits.check_graph(graph_def, self._nodes)
            self.signatures.extend(graph_def)
            self.version += 1
            return self.version

    # -- steps -----------------------------------------------------------------------------------
    def run(
        self,
        feeds: Mapping[str, Any],
        fetches: Sequence[str],
        targets: Sequence[str],
        options: Any = None,
        watch: Watch | None = None,
    ) -> tuple[list[Any], Any]:
        """One step: values of `feeds` in, values of `fetches` out.  `watch` may stop it.

        Returns: the values, and a RunMetadata where `options` (RunOptions) ask for one.
        """
        key = 0 if options is None else options.experimental.collective_graph_key
        signature = Signature(tuple(feeds), tuple(fetches), tuple(targets), graph_key=key)
        return self._run(signature, list(feeds.values()), options, watch)

    def _run(
        self, signature: Signature, arguments: list[Any], options: Any, watch: Watch | None
    ) -> tuple[list[Any], Any]:
        """A step of a signature: its values, and what was recorded of it."""
        recording = self._recording(options)
        parts = self.signatures.parts(signature)
        step = RunningStep(
            self.workers, self.worker_session, parts, arguments, len(signature.fetches), recording
        )
        timeout = self.timeout_in_ms if options is None else options.timeout_in_ms or self.timeout_in_ms
        graph_key = parts[0].graph_key if parts else 0
        if graph_key:
            values = self._numbered(signature, step, graph_key, timeout, watch)
        else:
            values = self._await(signature, step, timeout, watch)
        if recording is not None:
            step.add_to(recording.metadata)
        return values, None if recording is None else recording.metadata

    def _numbered(
        self, signature: Signature, step: RunningStep, graph_key: int, timeout: int, watch: Watch | None
    ) -> list[Any]:
        """One with collectives: masters that take part in the same ones give it the same number."""
        assert self._numbering is not None
        number = self._numbering.next_step(graph_key)
        step.take_number(number)
        well = False
        try:
            values = self._await(signature, step, timeout, watch)
            well = True
            return values
        finally:
            self._numbering.retire(graph_key, number, well)

    def _await(self, signature: Signature, step: RunningStep, timeout: int, watch: Watch | None) -> list[Any]:
        """Run a step that `close` and the client can stop meanwhile."""
        with self._lock:
            self._check()
            self._running.add(step)
        if watch is not None:
            watch(step)
        try:
            values = step.run(timeout)
            self.tally.count()
            return values
        except OpError as error:
            self.tally.count(error)
            if isinstance(error, AbortedError):  # a task was started again: it knows our graphs no more
                self.signatures.forget(signature)
            raise
        finally:
            with self._lock:
                self._running.discard(step)

    def _recording(self, options: Any) -> Recording | None:
        """What is to be known of a step; None if nothing."""
        costs = bool(self._costs_every) and next(self._steps) % self._costs_every == 0
        if options is None:
            return Recording(costs=True) if costs else None
        if options.HasField("debug_options") and options.debug_options.debug_tensor_watch_opts:
            raise UnimplementedError(
                None, None, "RunOptions.debug_options: a step at a master can not be watched by a debugger"
            )
        wanted = Recording(bool(options.trace_level), costs, options.output_partition_graphs)
        return wanted if wanted.wants else None

    # -- partial runs ----------------------------------------------------------------------------
    def partial_setup(self, feeds: Sequence[str], fetches: Sequence[str], targets: Sequence[str]) -> str:
        """Announce a step whose feeds come, and whose fetches are taken, by several calls."""
        signature = Signature(tuple(feeds), tuple(fetches), tuple(targets), is_partial=True)
        self.signatures.parts(signature)
        fed = {self.signatures.tensor(name): name for name in feeds}
        needs = {
            name: frozenset(fed[t] for t in feeds_of(self.signatures.tensor(name), fed)) for name in fetches
        }
        with self._lock:
            self._check()
            self._check_kept(self._partial)
            handle = str(next(self._numbers))
            self._partial[handle] = PartialRun(signature, PartialState(feeds, fetches, needs.__getitem__))
        return handle

    def partial_run(
        self, handle: str, feeds: Mapping[str, Any], fetches: Sequence[str], watch: Watch | None = None
    ) -> list[Any]:
        """One call of it.  After the last, or one that failed in a task, the run is over."""
        with self._lock:
            self._check()
            run = self._partial.get(handle)
            if run is None:
                raise InvalidArgumentError(
                    None, None, "Must run PartialRunSetup before performing partial runs"
                )
            is_last = run.state.admit(feeds, fetches)
        signature = run.signature
        parts = self.signatures.parts(signature)
        run.tasks = frozenset(part.task for part in parts)
        given = {signature.feeds.index(name): value for name, value in feeds.items()}
        wanted = [signature.fetches.index(name) for name in fetches]
        step = PartialCall(self.workers, self.worker_session, parts, run.step_id, given, wanted, is_last)
        try:
            values = self._await(signature, step, self.timeout_in_ms, watch)
        except BaseException:
            is_last = True
            raise
        finally:
            if is_last:
                with self._lock:
                    self._partial.pop(handle, None)
        return values

    # -- callables -------------------------------------------------------------------------------
    def make_callable(self, options: Any) -> int:
        """A signature (CallableOptions) that is run by its number."""
        if options.tensor_connection:
            raise UnimplementedError(None, None, "CallableOptions.tensor_connection at a master")
        key = options.run_options.experimental.collective_graph_key
        signature = Signature(tuple(options.feed), tuple(options.fetch), tuple(options.target), graph_key=key)
        self.signatures.parts(signature)
        kept = proto.RunOptions.FromString(options.run_options.SerializeToString())
        with self._lock:
            self._check()
            self._check_kept(self._callables)
            handle = next(self._numbers)
            self._callables[handle] = signature, kept
            return handle

    def run_callable(
        self, handle: int, values: Sequence[Any], watch: Watch | None = None
    ) -> tuple[list[Any], Any]:
        """A step of a signature that was made before: values in the order of its feeds."""
        with self._lock:
            self._check()
            found = self._callables.get(handle)
        if found is None:
            raise InvalidArgumentError(
                None, None, f"Attempted to run callable after handle was released: {handle}"
            )
        signature, options = found
        if len(values) != len(signature.feeds):
            raise InvalidArgumentError(
                None, None, f"Expected {len(signature.feeds)} feeds, got {len(values)}"
            )
        return self._run(signature, list(values), options, watch)

    def release_callable(self, handle: int) -> None:
        self._callables.pop(handle, None)

    # -- end -------------------------------------------------------------------------------------
    def close(self, error: OpError) -> None:
        """End what runs, and what tasks keep for this session; tasks that are gone are not waited for."""
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
            running, partial = list(self._running), list(self._partial.values())
            self._partial.clear()
        for step in running:
            step.stop(error)
        for run in partial:
            for task in run.tasks:
                self.workers[task].clean_step(run.step_id)
        self.signatures.close()
        if self.worker_session:
            for worker in self.workers.values():
                worker.delete_session(self.worker_session)

    def _check_kept(self, kept: Sized) -> None:
        if self._limits is not None:
            self._limits.check("kept", len(kept) + 1, "a session")

    def _check(self) -> None:
        if self._is_closed:
            raise AbortedError(None, None, f"Session {self.handle} is closed.")
