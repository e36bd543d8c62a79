"""headrace WORD ...: one module of `headrace.tools` for each word.

The first word is parsed here, the rest by the word's own module, which is imported only then: flags behind a
program belong to the program, and `headrace --help` loads nothing.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from typing import NamedTuple

from headrace.version import TF_VERSION, __version__


class Word(NamedTuple):
    module: str  # below headrace.tools; its main(words) gives the exit code
    help: str


WORDS = {
    "run": Word("run", "run an unmodified TensorFlow 1.x program"),
    "explain": Word("explain", "run it, then say what was compiled, what was not, and the times"),
    "launch": Word("launch", "start the tasks of a cluster, each with the same program"),
    "cluster": Word("cluster", "how the tasks of a running cluster are"),
    "doctor": Word("doctor", "what is in use on this machine, and why"),
    "ops": Word("coverage", "the declared ops and what each has; the declaration of one"),
    "inspect": Word("inspect", "what is in a graph, checkpoint, SavedModel, record or event file"),
    "freeze": Word("freeze_graph", "a graph and a checkpoint become one graph of constants"),
    "strip": Word("strip_unused", "a graph without what its outputs do not need"),
    "optimize": Word("optimize_for_inference", "a frozen graph made smaller and faster"),
    "transform": Word("transforms.transform_graph", "a graph through transforms: folded, quantized, renamed"),
    "contrib": Word("contrib", "install the rest of tf.contrib from TensorFlow 1.15.5's own wheel"),
    "mnist": Word("mnist", "train softmax regression on MNIST and print its accuracy"),
    "version": Word("version", "this version, and the TensorFlow that it speaks"),
}
PROGRAMS = ("run", "explain", "launch")  # what happens in them is the program's own affair


def main(argv: Sequence[str] | None = None) -> int:
    words = list(sys.argv[1:] if argv is None else argv)
    if words[:1] == ["help"]:  # `headrace help ops` as well as `headrace ops --help`
        words = [*words[1:2], "--help"]
    given = parser().parse_args(words[:1] or ["--help"])
    run = importlib.import_module(f"headrace.tools.{WORDS[given.word].module}").main
    try:
        code: int = run(words[1:])
        sys.stdout.flush()
    except BrokenPipeError:  # `headrace ops | head`: nobody reads on
        if given.word in PROGRAMS:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return code


def parser() -> argparse.ArgumentParser:
    """The parser of the first word."""
    made = argparse.ArgumentParser(
        prog="headrace",
        description="TensorFlow 1.15's language, compiled to native code.",
        epilog="headrace WORD --help says more.  Exit codes: 0 done, 1 failed, 2 misused; "
        "`run`, `explain` and `launch` end as their program ends.",
    )
    made.add_argument(
        "--version", action="version", version=f"headrace {__version__} (speaks TensorFlow {TF_VERSION})"
    )
    words = made.add_subparsers(dest="word", metavar="WORD", required=True)
    for name, word in WORDS.items():
        words.add_parser(name, help=word.help, add_help=False)
    return made


if __name__ == "__main__":
    sys.exit(main())
