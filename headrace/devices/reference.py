"""The reference device: NumPy, from the declarations.  Slower, same results; every test's oracle."""

from __future__ import annotations

from headrace.devices.device import HostMemory, Program
from headrace.plan.plan import Plan
from headrace.runtime.executor import DataflowProgram
from headrace.runtime.straight import StraightProgram, is_straight


class Reference(HostMemory):
    """A CPU that interprets: what a session has whose ConfigProto turns all improvement off."""

    def prepare(self, piece: Plan) -> Program:
        return prepare(piece)


def prepare(piece: Plan) -> Program:
    return StraightProgram(piece) if is_straight(piece) else DataflowProgram(piece)
