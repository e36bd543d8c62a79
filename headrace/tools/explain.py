"""headrace explain [--top N] program.py args...: run a TF1 program, then say what became of its steps.

Every step is traced while the program runs (which costs a little time), so the figures are means over
all its steps.  The report goes to stderr when the program ends, also when it fails.
"""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from headrace.core import hooks
from headrace.core.modules import late
from headrace.runtime.profile import Trace
from headrace.tools import run

attribution = late("headrace.codegen.attribution")
open_sizes = late("headrace.tools.open_sizes")
regions = late("headrace.codegen.regions.regions")

TOP = 12  # kernels shown per region
KINDS = 8  # sums of them, where not all are shown
SIZES, GUARDS = 4, 4  # of a program with open sizes


@dataclass(eq=False)
class Seen:
    """One program of a region, or all that come from one with open sizes: what its entries took, summed over
    its runs."""

    region: Any
    program: Any
    ticks: Any
    runs: int = 0
    seconds: float = 0.0
    sizes: Counter[tuple[int, ...]] = field(default_factory=Counter)  # that were open, and how often they ran


@dataclass(eq=False)
class Piece:
    """One signature's piece, as compiled regions and nodes on the host."""

    mixed: Any
    runs: int = 0
    programs: dict[int, Seen] = field(default_factory=dict)
    nodes: dict[str, tuple[Any, int, float]] = field(default_factory=dict)  # run one by one


class Report(Trace):
    """A trace of all steps at once: sums instead of records."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces: dict[int, Piece] = {}
        self._lock = threading.Lock()
        self._current = threading.local()
        self.others: dict[str, tuple[Any, int, float]] = {}  # nodes of pieces that do not compile

    def piece(self, program: Any) -> None:
        with self._lock:
            found = self.pieces.setdefault(id(program), Piece(program))
            found.runs += 1
        self._current.piece = found

    def region(self, region: Any, program: Any, ticks: Any, start: float, end: float) -> None:
        with self._lock:
            programs = self._current.piece.programs
            key = id(program) if program.pattern is None else id(program.pattern)
            seen = programs.setdefault(key, Seen(region, program, ticks * 0))
            seen.ticks = seen.ticks + ticks
            seen.runs += 1
            seen.seconds += end - start
            if program.pattern is not None:
                seen.sizes[program.sizes] += 1

    @contextmanager
    def kernel(self, node: Any) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            took = time.perf_counter() - start
            piece = getattr(self._current, "piece", None)
            inside = piece is not None and node.name in piece.mixed.plan.nodes
            with self._lock:
                table = piece.nodes if piece is not None and inside else self.others
                _, count, before = table.get(node.name, (node, 0, 0.0))
                table[node.name] = (node, count + 1, before + took)

    # -- as text -------------------------------------------------------------------------------
    def text(self, top: int = TOP) -> str:
        lines: list[str] = []
        busy = sorted(self.pieces.values(), key=lambda p: -_seconds(p))
        for number, piece in enumerate(busy, 1):
            lines += describe(number, piece, top)
        if self.others:
            lines += ["", "not compiled as a piece (loops or waiting ops), node by node:"]
            lines += _hosts(self.others, {}, 1, top)
        return "\n".join(lines) or "no step ran"


def _seconds(piece: Piece) -> float:
    return sum(s.seconds for s in piece.programs.values()) + sum(n[2] for n in piece.nodes.values())


def describe(number: int, piece: Piece, top: int) -> list[str]:
    plan = piece.mixed.plan
    wanted = [*(str(e) for e in plan.fetches), *plan.targets]
    shown = ", ".join(wanted[:6]) + (", ..." if len(wanted) > 6 else "")
    mean = _time(_seconds(piece) / max(piece.runs, 1))
    lines = ["", f"step {number}: {shown or 'nothing'}", f"  run {piece.runs} times, {mean} each"]
    for seen in piece.programs.values():
        lines += _region(seen, top)
    compiled = {n.name for s in piece.programs.values() for n in s.region.nodes}
    hosts = {n: row for n, row in piece.nodes.items() if n not in compiled}
    again = {n: row for n, row in piece.nodes.items() if n in compiled}
    if again:
        count = max(row[1] for row in again.values())
        lines.append(f"  {len(again)} of these nodes ran uncompiled, at most {count} times, at first")
    lines += _hosts(hosts, piece.mixed.declined, piece.runs, top)
    return lines


def _region(seen: Seen, top: int) -> list[str]:
    program, total = seen.program, max(float(seen.ticks.sum()), 1.0)
    shapes = ", ".join(str(list(shape)) for shape, _ in program.inputs[:4])
    shapes += " ..." if len(program.inputs) > 4 else ""
    if program.pattern is not None:
        shapes = open_sizes.shapes(program.pattern)
    lines = [
        f"  {seen.region.name}",
        f"    {len(program.entries)} kernels and calls, {_time(seen.seconds / seen.runs)} a run, "
        f"{seen.runs} runs, for inputs {shapes or 'none'}",
        *_open_sizes(seen),
        f"    arena of {_size(program.arena_bytes)}"
        + (f"; largest: {program.largest}" if program.arena_bytes else ""),
    ]
    order = sorted(range(len(program.entries)), key=lambda i: -seen.ticks[i])
    if len(order) > top:
        lines += _kinds(seen, total)
    for i in order[:top]:
        entry, part = program.entries[i], float(seen.ticks[i]) / total
        names = ", ".join(dict.fromkeys(entry.stores))
        threads = "all cores" if entry.uses_team else "one core"
        lines.append(
            f"    {part:6.1%} {_time(part * seen.seconds / seen.runs):>10}  {threads:<9} "
            f"{entry.name}{f'  -> {names}' if names and names != entry.name else ''}"
        )
    rest = sum(float(seen.ticks[i]) for i in order[top:]) / total
    if len(order) > top:
        lines.append(f"    {rest:6.1%}  in {len(order) - top} more")
    return lines


def _open_sizes(seen: Seen) -> list[str]:
    """Of a program with open sizes: which sizes it ran for, and what it demands of others."""
    if not seen.sizes:
        return []
    most = ", ".join(f"{open_sizes.numbers(n)} ({runs})" for n, runs in seen.sizes.most_common(SIZES))
    more = len(seen.sizes) - SIZES
    lines = [f"    ran for {len(seen.sizes)} sizes: {most}{f' and {more} more' if more > 0 else ''}"]
    guards = open_sizes.guards(seen.program.pattern)
    if guards:
        rest = len(guards) - GUARDS
        shown = "; ".join(guards[:GUARDS])
        lines.append(f"    as long as {shown}{f'; and {rest} more' if rest > 0 else ''}")
    return lines


def _kinds(seen: Seen, total: float) -> list[str]:
    """Where the time goes as a whole: library calls by what they compute, all generated loops as one."""
    counts: Counter[str] = Counter()
    ticks: dict[str, float] = {}
    for entry, took in zip(seen.program.entries, seen.ticks):
        kind = attribution.kind_of(entry)
        counts[kind] += 1
        ticks[kind] = ticks.get(kind, 0.0) + float(took)
    longest = sorted(ticks.items(), key=lambda row: -row[1])[:KINDS]
    return [
        f"    {part / total:6.1%} {_time(part / total * seen.seconds / seen.runs):>10}  "
        f"altogether {counts[kind]:>4} x {kind}"
        for kind, part in longest
    ]


def _hosts(
    rows: dict[str, tuple[Any, int, float]], declined: dict[str, str], runs: int, top: int
) -> list[str]:
    lines = []
    for name, (node, count, seconds) in sorted(rows.items(), key=lambda r: -r[1][2])[:top]:
        reason = declined.get(name) or regions.why_not(node) or "not compiled yet"
        lines.append(f"  host {_time(seconds / max(count, 1)):>10}  {name} ({node.op.name}): {reason}")
    if len(rows) > top:
        lines.append(f"  host: {len(rows) - top} more nodes")
    return lines


def _time(seconds: float) -> str:
    return f"{seconds * 1e6:.1f} us" if seconds < 1e-3 else f"{seconds * 1e3:.2f} ms"


def _size(count: int) -> str:
    return f"{count / 2**20:.1f} MB" if count >= 2**20 else f"{count} bytes"


def main(words: Sequence[str]) -> int:
    parser = run.program_parser("explain", __doc__)
    parser.add_argument("--top", type=int, default=TOP, metavar="N", help="kernels shown per region")
    own, program = run.split(words, with_value=["--top"])
    top = parser.parse_args(own).top
    run.check(parser, program)
    report = Report()
    hooks.step_watcher.value = report
    try:
        return run.run(program)
    finally:
        hooks.step_watcher.value = None
        print(report.text(top), file=sys.stderr, flush=True)
