"""The CPU device: compiled programs where codegen can make them, the reference elsewhere."""

from __future__ import annotations

from headrace.core import options
from headrace.devices import reference
from headrace.devices.reference import Program
from headrace.plan.plan import Plan
from headrace.plan.structure import structured
from headrace.runtime.straight import is_straight


def prepare(piece: Plan) -> Program:
    """May be slow; the result is kept."""
    straight = _straightened(piece) if options.compile_enabled() else None
    if straight is not None:
        from headrace.codegen.target import is_available

        if is_available():
            from headrace.codegen import checksum, random
            from headrace.devices.compiled import MixedProgram

            checksum.install()
            random.install()
            return MixedProgram(straight)
    return reference.prepare(piece)


def _straightened(piece: Plan) -> Plan | None:
    """The piece without primitives of control flow; None where it can not do without."""
    if is_straight(piece):
        return piece
    found = structured(piece)
    return found if found is not None and is_straight(found) else None
