"""A program as data: statements that build a graph, and runs of sessions, for TensorFlow and Headrace."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Run:
    """One `Session.run`: expressions to fetch, and to feed with texts of values.  It may be asked for by
    other ways than `run` (`HOWS`)."""

    fetches: tuple[str, ...]
    feeds: tuple[tuple[str, str], ...] = ()
    session: int = 0
    how: str = "run"


HOWS = ("run", "run", "run", "run", "run", "callable", "traced", "partial")


@dataclass(frozen=True)
class Statement:
    """A line or a function, under control inputs and on a device."""

    text: str
    names: tuple[str, ...] = ()  # that it binds
    waits: tuple[str, ...] = ()
    device: str = ""

    def __str__(self) -> str:
        around = [f"tf.control_dependencies([{', '.join(self.waits)}])"] if self.waits else []
        around += [f'tf.device("{self.device}")'] if self.device else []
        if not around:
            return self.text
        inner = "\n".join("    " + line for line in self.text.splitlines())
        return f"with {', '.join(around)}:\n{inner}"


@dataclass(frozen=True)
class Program:
    statements: tuple[Statement, ...]
    runs: tuple[Run, ...]
    sessions: int = 1
    seed: int = -1

    @property
    def build(self) -> str:
        return "\n".join(map(str, self.statements)) + "\n"

    def text(self) -> str:
        """A program for the reader, who may run it."""
        lines = [HEAD, self.build, "init = tf.global_variables_initializer()"]
        lines.append('config = tf.ConfigProto(device_count={"CPU": 3})')
        lines.append(f"sessions = [tf.Session(config=config) for _ in range({self.sessions})]")
        lines.append("for s in sessions: s.run(init)")
        for run in self.runs:
            fetches = ", ".join(run.fetches)
            feeds = ", ".join(f"{k}: {v}" for k, v in run.feeds)
            lines.append(f"print(sessions[{run.session}].run([{fetches}], {{{feeds}}}))  # {run.how}")
        return "\n".join(lines) + "\n"


HEAD = """import numpy as np
import headrace as tf
from headrace.variables.functions.defun import Defun
from tests.state.memory import FUNCTIONS
globals().update(FUNCTIONS)
"""
