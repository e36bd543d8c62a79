"""headrace run program.py args...: an unmodified TF1 program, with `tensorflow` meaning headrace."""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Sequence


def main(words: Sequence[str]) -> int:
    if not words:
        print(
            "usage: headrace run program.py [args...]  |  headrace run -m module [args...]",
            file=sys.stderr,
        )
        return 2
    from headrace.api.stand_in import install

    install()
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
