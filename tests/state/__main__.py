"""Random programs by hand: `python -m tests.state --count 20000 --seed 1 [--modes default,kept]`.

Prints every program that differs from the model, as small as it gets, and ends with 1 if there is one.
"""

from __future__ import annotations

import argparse
import sys
import time

from tests.state import compare
from tests.state.generate import program
from tests.state.modes import MODES


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.state")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="of the first program")
    parser.add_argument("--modes", default=",".join(m.name for m in MODES))
    given = parser.parse_args()
    modes = [m for m in MODES if m.name in given.modes.split(",")]
    bad, start = 0, time.time()
    for number in range(given.count):
        made = program(given.seed + number)
        found = compare.difference(made, modes)
        if found is not None:
            bad += 1
            small = compare.shrunk(made, modes, found)
            print(f"# seed {made.seed}: {compare.difference(small, modes)}\n{small.text()}", flush=True)
        if (number + 1) % 500 == 0:
            print(f"# {number + 1} programs, {bad} differ, {time.time() - start:.0f} s", flush=True)
    print(f"# {given.count} programs, {bad} differ")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
