"""The CPU device: compiled programs where codegen can make them, the reference elsewhere."""

from __future__ import annotations

from headrace.core import options
from headrace.devices import reference
from headrace.devices.reference import Program
from headrace.plan.plan import Plan


def prepare(piece: Plan) -> Program:
    """May be slow; the result is kept."""
    if options.compile_enabled():
        try:
            from headrace.codegen import compile_piece
        except ImportError:
            compile_piece = None
        if compile_piece is not None:
            program: Program | None = compile_piece(piece)
            if program is not None:
                return program
    return reference.prepare(piece)
