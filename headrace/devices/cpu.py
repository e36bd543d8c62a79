"""The CPU device: compiled programs where codegen can make them, the reference elsewhere."""

from __future__ import annotations

from headrace.core import options
from headrace.devices import reference
from headrace.devices.reference import Program
from headrace.plan.plan import Plan
from headrace.runtime.straight import is_straight


def prepare(piece: Plan) -> Program:
    """May be slow; the result is kept."""
    if options.compile_enabled() and is_straight(piece):
        from headrace.codegen.target import is_available

        if is_available():
            from headrace.codegen import checksum, random
            from headrace.devices.compiled import MixedProgram

            checksum.install()
            random.install()
            return MixedProgram(piece)
    return reference.prepare(piece)
