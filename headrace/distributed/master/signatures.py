"""What tasks have registered for a session, by signature: made once, used by every step.

Making one may take long (a large graph, a task that is slow): meanwhile steps of other signatures go on,
and those of the same one wait for it.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Any

from headrace.core.errors import AbortedError, InvalidArgumentError, NotFoundError
from headrace.distributed.master.parts import Part, make_parts
from headrace.distributed.worker.interface import DeviceInfo, WorkerInterface
from headrace.distributed.worker.session import renamed
from headrace.graph.graph import Graph
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor
from headrace.ops.array.hashing import hash64_combine
from headrace.ops.control.transfer import as_attribute
from headrace.ops.declaration.traits import COLLECTIVE
from headrace.ops.graphdef.importer import extend_graph
from headrace.partition.split import split
from headrace.plan.plan import Plan, PlanNode
from headrace.session.run_cache import LIMIT, Settings, make_plan

_SEED = 0x8774AA605C729C72


@dataclass(frozen=True, slots=True)
class Signature:
    """Names of what goes in, comes out, and runs.  `is_partial`: feeds come bit by bit."""

    feeds: tuple[str, ...]
    fetches: tuple[str, ...]
    targets: tuple[str, ...]
    is_partial: bool = False
    graph_key: int = 0  # by which masters agree on steps of graphs with collectives, where the client says it


class RemoteDevice:
    """A device of some task, as placement sees it: whether it has a kernel is found out there."""

    def __init__(self, info: DeviceInfo) -> None:
        self.name, self.info = info.name, info

    def can_run(self, node: PlanNode) -> bool:
        return True


class Signatures:
    """The graph of a session and the parts made of it; `devices[0]` is where nodes without a wish go.
    `guest`: the client is in another process."""

    def __init__(
        self,
        workers: Mapping[str, WorkerInterface],
        worker_session: str,
        devices: Sequence[DeviceInfo],
        settings: Settings,
        graph_options: Any,
        guest: bool = False,
    ) -> None:
        self.workers, self.worker_session, self.guest = workers, worker_session, guest
        self.incarnations = {d.name: d.incarnation for d in devices}
        places: Any = tuple(map(RemoteDevice, devices))  # all that placement asks of devices
        self.settings = replace(settings, devices=places)
        self.graph_options = graph_options
        self.graph = Graph()
        self._graph_lock = threading.Lock()
        self._known: OrderedDict[Signature, list[Part] | Future[list[Part]]] = OrderedDict()
        self._lock = threading.Lock()
        self._is_closed = False

    # -- the graph -------------------------------------------------------------------------------
    def extend(self, graph_def: Any) -> None:
        with self._graph_lock:
            extend_graph(self.graph, graph_def)

    def node(self, name: str) -> Node:
        node = self.graph._nodes.get(name.partition(":")[0].removeprefix("^"))
        if node is None:
            raise NotFoundError(None, None, f"{name} is not in the session's graph")
        return node

    def tensor(self, name: str) -> Tensor:
        node, _, index = name.partition(":")
        outputs = self.node(node).outputs
        place = int(index) if index.isdigit() else 0
        if place >= len(outputs):
            raise InvalidArgumentError(None, None, f"{node} has {len(outputs)} outputs, not {name}")
        return outputs[place]

    # -- parts -----------------------------------------------------------------------------------
    def parts(self, signature: Signature) -> list[Part]:
        """What the tasks do in a step of this signature; they have it when this returns."""
        with self._lock:
            found = self._known.get(signature)
            if found is not None:
                self._known.move_to_end(signature)
                if type(found) is list:
                    return found
            elif self._is_closed:
                raise AbortedError(None, None, "Session is closed.")
            else:
                mine: Future[list[Part]] = Future()
                self._known[signature] = mine
                lost = self._oldest()
        if found is not None:
            return found.result()  # type: ignore[union-attr]
        self._deregister(lost)
        return self._made(signature, mine)

    def _made(self, signature: Signature, future: Future[list[Part]]) -> list[Part]:
        """Make the parts, for all who wait for `future`.  The session may be closed meanwhile: then the tasks
        are told to forget them at once."""
        try:
            parts = self._make(signature)
        except BaseException as error:
            with self._lock:
                if self._known.get(signature) is future:
                    del self._known[signature]
            future.set_exception(error)
            raise
        with self._lock:
            is_wanted = self._known.get(signature) is future
            if is_wanted:
                self._known[signature] = parts
        future.set_result(parts)
        if not is_wanted:  # closed meanwhile
            self._deregister(parts)
        return parts

    def _make(self, signature: Signature) -> list[Part]:
        """Plan, split, register.  Where one task refuses its part, the others forget theirs: there are all
        parts of a step or none."""
        with self._graph_lock:
            plan = make_plan(
                self.graph,
                [self.tensor(n) for n in signature.feeds],
                [self.tensor(n) for n in signature.fetches],
                [self.node(n) for n in signature.targets],
                self.settings,
                is_part=signature.is_partial,  # nobody waits for a feed that comes later
            )
        graph_key = _graph_key(plan, signature)
        parts = make_parts(split(plan, self.incarnations, self.settings.halves), self.incarnations)
        for part in parts:
            part.graph_key = graph_key
        self._check_incarnations({p.task for p in parts})
        waiting = [(p, self._register(p)) for p in parts]
        failure: BaseException | None = None
        for part, future in waiting:
            failure = future.exception() or failure
            part.graph_def = None  # it may be large
        if failure is not None:
            self._deregister([p for p, future in waiting if _has_come(p, future)])
            raise failure
        for part, future in waiting:
            part.handle = future.result()
        return parts

    def _register(self, part: Part) -> Future[str]:
        worker = self._worker(part.task)
        return worker.register(
            self.worker_session, part.graph_def, self.graph_options, self.guest, part.graph_key
        )

    def _check_incarnations(self, tasks: set[str]) -> None:
        """A task that was started again has lost its state: this session can not go on with it."""
        waiting = {task: self._worker(task).devices() for task in tasks}
        for task, device in ((t, d) for t, future in waiting.items() for d in future.result()):
            known = self.incarnations.get(renamed(device.name, task), device.incarnation)
            if known != device.incarnation:
                raise AbortedError(
                    None,
                    None,
                    f"{task} was started again (its incarnation was {known}, now it is "
                    f"{device.incarnation}): make a new session.",
                )

    def _worker(self, task: str) -> WorkerInterface:
        if task not in self.workers:
            raise InvalidArgumentError(None, None, f"{task} is not a task of this session")
        return self.workers[task]

    # -- end -------------------------------------------------------------------------------------
    def forget(self, signature: Signature) -> None:
        """Make it anew at the next step."""
        with self._lock:
            found = self._known.get(signature)
            if type(found) is not list:
                return
            del self._known[signature]
        self._deregister(found)

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            known = [found for found in self._known.values() if type(found) is list]
            self._known.clear()
        for parts in known:
            self._deregister(parts)

    def _oldest(self) -> list[Part]:
        """What goes where there are too many.  Hold the lock."""
        if len(self._known) > LIMIT:
            for signature, found in self._known.items():
                if type(found) is list:
                    del self._known[signature]
                    return found
        return []

    def _deregister(self, parts: Sequence[Part]) -> None:
        for part in parts:
            self.workers[part.task].deregister(self.worker_session, part.handle)


def _graph_key(plan: Plan, signature: Signature) -> int:
    """What stands for a graph among those with the same collectives, at all masters; 0 if it has none."""
    keys = {n.attrs["instance_key"] for n in plan.nodes.values() if COLLECTIVE in n.op.traits}
    if not keys:
        return 0
    if signature.is_partial:
        raise InvalidArgumentError(None, None, "PartialRun does not support Collective ops.")
    made = _SEED
    for key in sorted(keys):
        made = hash64_combine(key & (1 << 64) - 1, made)
    return signature.graph_key or as_attribute(made)


def _has_come(part: Part, future: Future[str]) -> bool:
    if future.exception() is None:
        part.handle = future.result()
        return True
    return False
