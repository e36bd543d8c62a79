"""The CPU device: compiled programs where codegen can make them, interpreted ones elsewhere."""

from __future__ import annotations

from headrace.codegen.program.arenas import ARENAS
from headrace.core import options
from headrace.core.modules import late
from headrace.devices.compiled import MixedProgram, inner_mixed_program
from headrace.devices.device import HostMemory, Program
from headrace.ops.control.transfer import RECEIVES, SENDS
from headrace.plan.frames import frames_of
from headrace.plan.guards import Guards
from headrace.plan.plan import Plan
from headrace.plan.segments import segmented
from headrace.plan.structure import partly_structured, structured
from headrace.runtime.executor import DataflowProgram
from headrace.runtime.straight import (
    StraightProgram,
    has_control_flow,
    inner_program,
    is_straight,
    waiting_last,
)
from headrace.runtime.units import Prepare

boosts = late("headrace.codegen.accelerate.boosts")
target = late("headrace.codegen.machine.target")


class Cpu(HostMemory):
    """One of the process's CPU devices: they share cores and memory."""

    def prepare(self, piece: Plan) -> Program:
        return prepare(piece)

    def release(self) -> None:
        ARENAS.release()


def prepare(piece: Plan) -> Program:
    """May be slow; the result is kept.  A piece is one straight program if it can be; else the executor
    runs what waits and what may be dead, and the segments between are programs.  Interpreted and
    compiled programs have the same form, so that what edges leave open happens in the same order in
    both."""
    whole, inner = _makers()
    found = _structured(piece)
    if found is not None and is_straight(found):
        program: Program = whole(waiting_last(found))
        return program
    parts = None if found is None else segmented(found)
    if parts is None:
        parts = segmented(partly_structured(piece))
    assert parts is not None, "loops in which something waits are left open"
    return DataflowProgram(parts, inner)


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
    return None if _crosses(piece) else structured(piece)


def _crosses(piece: Plan) -> bool:
    """Whether a loop or a branch is on other devices, too: values are transferred in each of its
    iterations, or dead ones."""
    transfers = [n.name for n in piece.nodes.values() if n.op in SENDS | RECEIVES]
    if not transfers:
        return False
    frames, guards = frames_of(piece), Guards(is_lenient=True)
    for node in piece.nodes.values():
        guards.add(node)
    return any(frames.gives[name] or guards.of[name] for name in transfers)
