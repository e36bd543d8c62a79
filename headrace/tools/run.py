"""headrace run program.py args...: an unmodified TF1 program, with `tensorflow` meaning headrace."""

from __future__ import annotations

import argparse
import importlib.util
import os
import runpy
import sys
import traceback
from collections.abc import Sequence
from types import TracebackType

from headrace.aged import install as aged
from headrace.core.modules import late
from headrace.distributed.launch import lifeline

stand_in = late("headrace.api.stand_in")

MODULE = "-m"
# The package that has a module, where it is called otherwise.
_PACKAGES = {
    "absl": "absl-py", "cv2": "opencv-python-headless", "PIL": "pillow", "skimage": "scikit-image",
    "sklearn": "scikit-learn", "tensorflow_estimator": "'headrace[estimator]'", "yaml": "PyYAML",
}  # fmt: skip


def main(words: Sequence[str]) -> int:
    parser = program_parser("run", __doc__)
    parser.add_argument(
        "--strict", action="store_true", help="do not put back what Python and libraries removed since TF 1"
    )
    own, program = split(words)
    given = parser.parse_args(own)
    check(parser, program)
    if not given.strict:
        aged.install()
    return run(program)


# -- the command line ----------------------------------------------------------------------------
def program_parser(word: str, text: str | None) -> argparse.ArgumentParser:
    """The parser of what stands before the program."""
    flags = {"explain": "[--top N] ", "run": "[--strict] "}.get(word, "")
    return argparse.ArgumentParser(
        prog=f"headrace {word}",
        usage=f"headrace {word} {flags}program.py [args ...]\n"
        f"       headrace {word} {flags}-m module [args ...]",
        description=text,
        allow_abbrev=False,
    )


def split(words: Sequence[str], with_value: Sequence[str] = ()) -> tuple[list[str], list[str]]:
    """(flags of ours, the program and its words).  The latter are nobody's business but the program's."""
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] != MODULE:
        at += 2 if words[at] in with_value else 1
    return list(words[:at]), list(words[at:])


def check(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """A program or module that is not there is misuse, and no fault of ours: a line, no traceback."""
    if not words:
        parser.error("which program?")
    is_module = words[0] == MODULE
    if is_module and len(words) < 2:
        parser.error("which module?")
    if is_module:
        sys.path.insert(0, os.getcwd())
    problem = _module_problem(words[1]) if is_module else _file_problem(words[0])
    if problem is not None:
        parser.exit(2, f"{parser.prog}: {problem}\n")


def _file_problem(path: str) -> str | None:
    if os.path.isdir(path):  # as Python runs folders
        inside = os.path.exists(os.path.join(path, "__main__.py"))
        return None if inside else f"{path} is a folder without a __main__.py"
    try:
        with open(path, "rb"):
            return None
    except FileNotFoundError:
        return f"no such file: {path}"
    except OSError as error:
        return f"can not read {path}: {error.strerror}"


def _module_problem(name: str) -> str | None:
    """Why there is no such module.  Packages above it are imported, as Python's own -m does."""
    try:
        spec = importlib.util.find_spec(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise  # a package above it lacks something else
        return f"no module named {error.name}"
    except (ImportError, ValueError):  # ".relative", "__main__"
        return f"no module named {name}"
    if spec is None:
        return f"no module named {name}"
    if spec.submodule_search_locations is not None:
        inside = importlib.util.find_spec(f"{name}.__main__")
        return None if inside else f"{name} is a package without a __main__ module"
    return None


# -- running -------------------------------------------------------------------------------------
def run(words: Sequence[str]) -> int:
    """Run the program, or the module behind -m."""
    lifeline.hold()
    stand_in.install(imperative=True)
    _hide_launcher()
    if words[0] == MODULE:
        sys.argv = list(words[1:])
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
        return 0
    sys.argv = list(words)
    sys.path.insert(0, os.path.dirname(os.path.abspath(words[0])))
    runpy.run_path(words[0], run_name="__main__")
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
        if isinstance(error, ModuleNotFoundError) and error.name:
            package = error.name.partition(".")[0]
            print(f"headrace run: pip install {_PACKAGES.get(package, package)}", file=sys.stderr)

    sys.excepthook = show
