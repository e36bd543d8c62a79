"""The ways in which Headrace runs a program, one after the other in one process.

A graph is built once; every mode has sessions of its own.  All of them must give what the model gives.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any
from unittest import mock

import numpy as np

import headrace as tf
from headrace.codegen.machine import cache
from headrace.codegen.program_cache import kept
from headrace.core import options
from headrace.devices import cpu
from headrace.session import run_cache
from headrace.session.run_cache import Settings
from headrace.variables.functions.defun import Defun
from tests.state.memory import FUNCTIONS, NOTES
from tests.state.model import HEADRACE, Model, Rules, Step
from tests.state.nodes import nodes_of
from tests.state.programs import Program, Run

Results = list[list[Any]]  # per run: the fetched values, then what the variables hold


class Built:
    """A program's graph, and the names of what its runs fetch and feed."""

    def __init__(self, program: Program) -> None:
        self.program, self.graph = program, tf.Graph()
        names: dict[str, Any] = {"tf": tf, "np": np, "Defun": Defun, **FUNCTIONS}
        with self.graph.as_default():
            exec(program.build, names)
            self.start = tf.global_variables_initializer().name
            self.state = [name_of(v) for v in tf.global_variables()]
            self.runs = [self.signature(run, names) for run in program.runs]
        self.message = self.graph.as_graph_def()
        self.is_open = True  # until the model says that all orders are complete
        self.kept: dict[str, bytes] = {}  # programs that a mode has left for the next

    def signature(self, run: Run, names: dict[str, Any]) -> tuple[list[str], dict[str, Any]]:
        feeds = {name_of(eval(k, names)): eval(v, {"np": np}) for k, v in run.feeds}
        return [name_of(eval(f, names)) for f in run.fetches], feeds

    @np.errstate(all="ignore")
    def model(
        self, rules: Rules = HEADRACE, rounding: np.random.Generator | None = None
    ) -> tuple[Results, list[Step]]:
        """What the model says, and its steps."""
        nodes = nodes_of(self.message)
        sessions = [Model(nodes, rules, rounding) for _ in range(self.program.sessions)]
        NOTES.clear()
        for session in sessions:
            session.run([self.start])
        results, steps = [], []
        for run, (fetches, feeds) in zip(self.program.runs, self.runs):
            session = sessions[run.session]
            steps.append(session.run(fetches, feeds))
            results.append(steps[-1].values + session.run(self.state).values)
        self.is_open = any(step.open for step in steps)
        return results, steps

    def run(self, graph: Any = None) -> Results:
        """What sessions give, in the mode that is set."""
        config = tf.ConfigProto(device_count={"CPU": 3})
        count = self.program.sessions
        sessions = [tf.Session(graph=graph or self.graph, config=config) for _ in range(count)]
        results = []
        NOTES.clear()
        for session in sessions:
            session.run(self.start)
        for run, (fetches, feeds) in zip(self.program.runs, self.runs):
            session = sessions[run.session]
            values = ask(session, self.way(run, fetches), fetches, feeds)
            results.append(values + session.run(self.state))
        for session in sessions:
            session.close()
        return results

    def way(self, run: Run, fetches: list[str]) -> str:
        """How to ask.  In parts only where that changes nothing: what is not ordered may then run
        later, and a fetched reference is read as soon as it is there."""
        tensors = [self.graph.get_tensor_by_name(f) for f in fetches if ":" in f]
        is_whole = self.is_open or not tensors or any(t.dtype._is_ref_dtype for t in tensors)
        return "run" if run.how == "partial" and is_whole else run.how

    def imported(self) -> Results:
        with tf.Graph().as_default() as graph:
            tf.import_graph_def(self.message, name="")
        return self.run(graph)


def ask(session: Any, how: str, fetches: list[str], feeds: dict[str, Any]) -> list[Any]:
    """The values of a run, by one of the ways that give them."""
    if how == "callable":
        return session.make_callable(fetches, list(feeds))(*feeds.values())
    if how == "partial":
        return in_parts(session, fetches, feeds)
    if how == "traced":
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        return session.run(fetches, feeds, options, tf.RunMetadata())
    return session.run(fetches, feeds)


def in_parts(session: Any, fetches: list[str], feeds: dict[str, Any]) -> list[Any]:
    """The first feed, then the others and the fetches."""
    handle = session.partial_run_setup(fetches, list(feeds))
    if feeds:
        first = next(iter(feeds))
        session.partial_run(handle, [], {first: feeds[first]})
        feeds = {k: v for k, v in feeds.items() if k != first}
    tensors = [f for f in fetches if ":" in f]
    found = dict(zip(tensors, session.partial_run(handle, tensors, feeds)))
    return [found.get(f) for f in fetches]


def name_of(element: Any) -> str:
    """Of a tensor, a node, or what a variable is fetched by."""
    if hasattr(element, "_as_graph_element"):
        element = element._as_graph_element()
    return str(element.name)


@dataclass(frozen=True)
class Mode:
    name: str
    settings: dict[str, str]
    is_kept: bool = False  # what it compiles it finds the next time
    is_imported: bool = False  # it runs the graph's message

    def run(self, built: Built) -> Results:
        with self.set(), kept_at_once(built.kept) if self.is_kept else nullcontext():
            return built.imported() if self.is_imported else built.run()

    @contextmanager
    def set(self) -> Iterator[None]:
        """The environment of this mode; a fault of the compiler is an error."""
        plain = {"HEADRACE_COMPILE": "1", "HEADRACE_VERIFY": "0", "HEADRACE_WITHOUT": "kept"}
        with mock.patch.dict(os.environ, plain | self.settings), warnings.catch_warnings():
            warnings.filterwarnings("error", message=".*runs uncompiled")
            forget()
            with np.errstate(all="ignore"):
                yield
        forget()


def forget() -> None:
    for setting in (options.verify, options.without):
        setting.cache_clear()


@contextmanager
def kept_at_once(store: dict[str, bytes]) -> Iterator[None]:
    """Programs of any size are kept, before the next step runs, where a session finds them."""

    def now(job: Callable[[], Any]) -> Future[Any]:
        done: Future[Any] = Future()
        done.set_result(job())
        return done

    files = {"read": store.get, "write": store.__setitem__}
    with mock.patch.multiple(kept, FEW=0, LEAST=0.0), mock.patch.object(cache, "later", now):
        with mock.patch.multiple(kept.PROGRAMS, **files):
            yield


@contextmanager
def planned_once() -> Iterator[None]:
    """Modes plan alike: what one of them has made of a signature or of a plan, which nobody
    changes, the next one takes.  Each prepares its own programs."""
    with ExitStack() as patches:
        for module, name in _PLANNING:
            patches.enter_context(mock.patch.object(module, name, once(getattr(module, name))))
        yield


_PLANNING = (
    (run_cache, "make_plan"),
    (run_cache, "split"),
    (cpu, "_structured"),
    (cpu, "partly_structured"),
    (cpu, "segmented"),
)


def once(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which is asked once for the same objects.  (What it was asked for stays alive.)"""
    known: dict[Any, tuple[Any, Any]] = {}

    def find(*given: Any) -> Any:
        parts = [x if isinstance(x, (tuple, list)) else (x,) for x in given if not isinstance(x, Settings)]
        key = (options.verify(), *(tuple(map(id, part)) for part in parts))
        if key not in known:
            known[key] = given, function(*given)
        return known[key][1]

    return find


_KEEPING = {"HEADRACE_COMPILE": "always", "HEADRACE_WITHOUT": ""}
MODES = (
    Mode("reference", {"HEADRACE_COMPILE": "0"}),
    Mode("default", {}),
    Mode("always", _KEEPING, is_kept=True),
    Mode("kept", _KEEPING, is_kept=True),
    Mode("verified", {"HEADRACE_VERIFY": "1"}),
    Mode("imported", {"HEADRACE_COMPILE": "always"}, is_imported=True),
    Mode("open", {"HEADRACE_COMPILE": "open"}),
)
