"""headrace cluster status ADDRESS: asks every task of a running cluster how it is.

ADDRESS ("host:port") is that of any of its tasks, which knows the others.  The table has for each task: how
long it is up, the memory of its process, its devices, the sessions of clients at its master and the steps
that it has done for them, the parts of steps (of any master) that have run on the task, and how many of both
have failed; below it the last error of each.  Exit code 0: all tasks answer; 1: some do not.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence

from headrace.distributed.launch.inquiry import Inquiry, Report
from headrace.distributed.launch.rates import Rates
from headrace.distributed.launch.table import table

EVERY = 1.0  # seconds between two tables
_CLEAR = "\x1b[H\x1b[J"


def main(words: Sequence[str]) -> int:
    made = parser()
    given = made.parse_args(words)
    address = given.address.partition("://")[2] or given.address
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        made.error(f"{given.address} is no address: host:port")
    inquiry, rates = Inquiry(), Rates()
    try:
        while True:
            reports = inquiry.all(address)
            show(reports, rates, given.watch)
            if not given.watch:
                return int(any(report.status is None and report.state != "tensorflow" for report in reports))
            time.sleep(EVERY)
    except KeyboardInterrupt:
        return 130
    finally:
        inquiry.close()


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="headrace cluster", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("what", choices=["status"])
    made.add_argument("address", metavar="ADDRESS", help="of any task: host:port")
    made.add_argument("--watch", action="store_true", help="again every second, until Ctrl-C")
    return made


def show(reports: Sequence[Report], rates: Rates, is_watched: bool) -> None:
    """Print the table; at a terminal, where it is watched, in place of the last one."""
    now = time.monotonic()
    for report in reports:
        if report.status is not None:
            rates.note(report.task, now, report.status.parts)
    is_terminal = sys.stdout.isatty()
    width = os.get_terminal_size(sys.stdout.fileno()).columns if is_terminal else 0
    lines = table(reports, rates, width)
    print((_CLEAR if is_watched and is_terminal else "") + "\n".join(lines), flush=True)
