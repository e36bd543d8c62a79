"""The CPU device: compiled programs where codegen can make them, the reference elsewhere."""

from __future__ import annotations

from headrace.core import options
from headrace.devices import reference
from headrace.devices.reference import Program
from headrace.ops.transfer import recv, send
from headrace.plan.plan import Plan
from headrace.plan.segments import segmented
from headrace.plan.structure import structured
from headrace.runtime.executor import DataflowProgram
from headrace.runtime.straight import has_control_flow, is_straight


def prepare(piece: Plan) -> Program:
    """May be slow; the result is kept."""
    if not options.compile_enabled():
        return reference.prepare(piece)
    from headrace.codegen import boosts, target

    if not target.is_installed():
        return reference.prepare(piece)
    from headrace.devices.compiled import MixedProgram

    boosts.install()
    found = _structured(piece)
    if found is None:
        return reference.prepare(piece)
    if is_straight(found):
        return MixedProgram(found)
    parts = segmented(found)
    return reference.prepare(piece) if parts is None else DataflowProgram(parts, MixedProgram)


def _structured(piece: Plan) -> Plan | None:
    """The piece without primitives of control flow; None where it can not do without."""
    if not has_control_flow(piece):
        return piece
    if any(n.op in (send, recv) for n in piece.nodes.values()):
        return None  # dead values cross: of a branch, one side may be in another piece
    return structured(piece)
