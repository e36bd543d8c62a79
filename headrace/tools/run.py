"""headrace run program.py args...: an unmodified TF1 program, with `tensorflow` meaning headrace."""

from __future__ import annotations

import os
import runpy
import sys
import traceback
from collections.abc import Sequence
from types import TracebackType


def main(words: Sequence[str]) -> int:
    if not words:
        print(
            "usage: headrace run program.py [args...]  |  headrace run -m module [args...]",
            file=sys.stderr,
        )
        return 2
    from headrace.api.stand_in import install

    install()
    _hide_launcher()
    if words[0] == "-m":
        if len(words) < 2:
            print("headrace run -m: which module?", file=sys.stderr)
            return 2
        sys.argv = list(words[1:])
        sys.path.insert(0, os.getcwd())
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
        return 0
    program = words[0]
    if not os.path.exists(program):
        print(f"headrace run: no such file: {program}", file=sys.stderr)
        return 2
    sys.argv = list(words)
    sys.path.insert(0, os.path.dirname(os.path.abspath(program)))
    runpy.run_path(program, run_name="__main__")
    return 0


def _hide_launcher() -> None:
    """Tracebacks start at the user's program: what led to it is no part of the fault."""
    launcher = getattr(sys.modules["__main__"], "__file__", None)  # the `headrace` script
    ours = os.path.dirname(os.path.abspath(__file__))

    def is_launcher(filename: str) -> bool:
        return filename == launcher or filename.startswith((ours, "<frozen ", runpy.__file__))

    def show(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        while trace is not None and is_launcher(trace.tb_frame.f_code.co_filename):
            trace = trace.tb_next
        traceback.print_exception(kind, error, trace)

    sys.excepthook = show
