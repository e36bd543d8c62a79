"""headrace WORD ...: run a TF1 program, say what is in use, list ops.

headrace run program.py [args...]     run an unmodified TensorFlow 1.x program
headrace explain program.py [args...] run it, then say what was compiled, what was not, and the times
headrace doctor                       what this machine gives us, and why
headrace ops [--missing RULE]         declared ops and what each has
headrace inspect PATH                 what is in a graph, checkpoint, SavedModel, record or event file
headrace freeze --help                a graph and a checkpoint become one graph of constants
headrace strip --help                 a graph without what its outputs do not need
headrace optimize --help              a frozen graph made smaller and faster for inference
headrace transform --help             a graph through transforms: folded, stripped, quantized, renamed
headrace mnist [--steps N]            train softmax regression on MNIST and print its accuracy
headrace version
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence

WORDS = {
    "run": "headrace.tools.run",
    "explain": "headrace.tools.explain",
    "doctor": "headrace.tools.doctor",
    "ops": "headrace.tools.coverage",
    "inspect": "headrace.tools.inspect",
    "freeze": "headrace.tools.freeze_graph",
    "strip": "headrace.tools.strip_unused",
    "optimize": "headrace.tools.optimize_for_inference",
    "transform": "headrace.tools.transforms.transform_graph",
    "mnist": "headrace.tools.mnist",
    "version": "headrace.tools.version",
}


def main(argv: Sequence[str] | None = None) -> int:
    words = list(sys.argv[1:] if argv is None else argv)
    if not words or words[0] in ("-h", "--help", "help"):
        print(__doc__)
        return 0
    if words[0] not in WORDS:
        print(f"headrace: no such command: {words[0]}\n{__doc__}", file=sys.stderr)
        return 2
    result: int = importlib.import_module(WORDS[words[0]]).main(words[1:])
    return result


if __name__ == "__main__":
    sys.exit(main())
