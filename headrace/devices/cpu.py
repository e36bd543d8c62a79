"""The CPU device: compiled programs where codegen can make them, the reference elsewhere."""

from __future__ import annotations

from headrace.core import options
from headrace.core.modules import late
from headrace.devices import reference
from headrace.devices.compiled import MixedProgram, inner_mixed_program
from headrace.devices.device import HostMemory, Program
from headrace.ops.control.transfer import recv, send
from headrace.plan.plan import Plan
from headrace.plan.segments import segmented
from headrace.plan.structure import structured
from headrace.runtime.executor import DataflowProgram
from headrace.runtime.straight import StraightProgram, has_control_flow, inner_program, is_straight
from headrace.runtime.units import Prepare

boosts = late("headrace.codegen.accelerate.boosts")
target = late("headrace.codegen.machine.target")


class Cpu(HostMemory):
    """One of the process's CPU devices: they share cores and memory."""

    def prepare(self, piece: Plan) -> Program:
        return prepare(piece)


def prepare(piece: Plan) -> Program:
    """May be slow; the result is kept.  Interpreted and compiled programs have the same form, so that
    what edges leave open happens in the same order in both."""
    found = _structured(piece)
    if found is None:
        return reference.prepare(piece)
    whole, inner = _makers()
    if is_straight(found):
        program: Program = whole(found)
        return program
    parts = segmented(found)
    return reference.prepare(piece) if parts is None else DataflowProgram(parts, inner)


def _makers() -> tuple[Prepare, Prepare]:
    """What makes a program of a whole piece, and of a part of one."""
    if options.compile_enabled():
        if target.is_installed():
            boosts.install()
            return MixedProgram, inner_mixed_program
    return StraightProgram, inner_program


def _structured(piece: Plan) -> Plan | None:
    """The piece without primitives of control flow; None where it can not do without."""
    if not has_control_flow(piece):
        return piece
    if any(n.op in (send, recv) for n in piece.nodes.values()):
        return None  # dead values cross: of a branch, one side may be in another piece
    return structured(piece)
