"""The ways in which Headrace runs a program, one after the other in one process.

A graph is built once; every mode has sessions of its own.  All of them must give what the model gives.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest import mock

import numpy as np

import headrace as tf
from headrace.codegen.machine import cache
from headrace.codegen.program_cache import kept
from headrace.core import options
from headrace.variables.functions.defun import Defun
from tests.state.memory import FUNCTIONS
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

    def signature(self, run: Run, names: dict[str, Any]) -> tuple[list[str], dict[str, Any]]:
        feeds = {name_of(eval(k, names)): eval(v, {"np": np}) for k, v in run.feeds}
        return [name_of(eval(f, names)) for f in run.fetches], feeds

    @np.errstate(all="ignore")
    def model(self, rules: Rules = HEADRACE) -> tuple[Results, list[Step]]:
        """What the model says, and its steps."""
        nodes = nodes_of(self.message)
        sessions = [Model(nodes, rules) for _ in range(self.program.sessions)]
        for session in sessions:
            session.run([self.start])
        results, steps = [], []
        for run, (fetches, feeds) in zip(self.program.runs, self.runs):
            session = sessions[run.session]
            steps.append(session.run(fetches, feeds))
            results.append(steps[-1].values + session.run(self.state).values)
        return results, steps

    def run(self, graph: Any = None) -> Results:
        """What sessions give, in the mode that is set."""
        config = tf.ConfigProto(device_count={"CPU": 3})
        count = self.program.sessions
        sessions = [tf.Session(graph=graph or self.graph, config=config) for _ in range(count)]
        results = []
        for session in sessions:
            session.run(self.start)
        for run, (fetches, feeds) in zip(self.program.runs, self.runs):
            session = sessions[run.session]
            results.append(session.run(fetches, feeds) + session.run(self.state))
        for session in sessions:
            session.close()
        return results

    def imported(self) -> Results:
        with tf.Graph().as_default() as graph:
            tf.import_graph_def(self.message, name="")
        return self.run(graph)


def name_of(element: Any) -> str:
    """Of a tensor, a node, or what a variable is fetched by."""
    if hasattr(element, "_as_graph_element"):
        element = element._as_graph_element()
    return str(element.name)


@dataclass(frozen=True)
class Mode:
    name: str
    settings: dict[str, str]
    is_kept: bool = False
    is_imported: bool = False

    def run(self, built: Built) -> Results:
        with self.set():
            if not self.is_kept:
                return built.imported() if self.is_imported else built.run()
            with kept_at_once():
                built.run()
                return built.run()

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
def kept_at_once() -> Iterator[None]:
    """Programs of any size are kept, before the next step runs, where a session finds them."""

    def now(job: Callable[[], Any]) -> Future[Any]:
        done: Future[Any] = Future()
        done.set_result(job())
        return done

    store: dict[str, bytes] = {}
    files = {"read": store.get, "write": store.__setitem__}
    with mock.patch.multiple(kept, FEW=0, LEAST=0.0), mock.patch.object(cache, "later", now):
        with mock.patch.multiple(kept.PROGRAMS, **files):
            yield


MODES = (
    Mode("reference", {"HEADRACE_COMPILE": "0"}),
    Mode("default", {}),
    Mode("always", {"HEADRACE_COMPILE": "always"}),
    Mode("verified", {"HEADRACE_VERIFY": "1"}),
    Mode("kept", {"HEADRACE_COMPILE": "always", "HEADRACE_WITHOUT": ""}, is_kept=True),
    Mode("imported", {"HEADRACE_COMPILE": "always"}, is_imported=True),
)
