"""The reference device: NumPy, from the declarations.  Slower, same results; every test's oracle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from headrace.plan.plan import Plan
from headrace.runtime.executor import DataflowProgram
from headrace.runtime.step import Step
from headrace.runtime.straight import StraightProgram, is_straight


class Program(Protocol):
    """A piece that can be run, again and again, from several threads at once."""

    def run(self, step: Step, arguments: Sequence[Any]) -> list[Any]: ...


def prepare(piece: Plan) -> Program:
    return StraightProgram(piece) if is_straight(piece) else DataflowProgram(piece)
