"""tf.app.run: read the flags, call main, exit with what it returns."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from headrace.functions.platform import flags


def run(main: Callable[..., Any] | None = None, argv: Sequence[str] | None = None) -> NoReturn:
    """Run a program.

    Args:
      main: called with the arguments that are not flags; `main` of the program's module if None.
      argv: the command line; sys.argv if None.
    """
    arguments = list(sys.argv if argv is None else argv)
    chosen = main if main is not None else sys.modules["__main__"].main
    if any(a in ("--help", "-h", "--helpfull", "-help") for a in arguments[1:]):
        print(f"{(sys.modules['__main__'].__doc__ or arguments[0]).strip()}\n\nflags:\n")
        print(flags.FLAGS.get_help())
        sys.exit(1)
    try:
        rest = flags.FLAGS(arguments, known_only=True)
    except flags.Error as error:
        sys.stderr.write(f"FATAL Flags parsing error: {error}\nPass --help to see help on flags.\n")
        sys.exit(1)
    sys.exit(chosen(rest))
