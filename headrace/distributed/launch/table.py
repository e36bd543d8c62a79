"""Reports of tasks as a table of text.  Pure."""

from __future__ import annotations

import time
from collections.abc import Sequence

from headrace.distributed.launch.inquiry import Report
from headrace.distributed.launch.rates import Rates

HEAD = ("task", "address", "up", "memory", "devices", "sessions", "steps", "parts", "parts/s", "failed")


def table(reports: Sequence[Report], rates: Rates, width: int = 0) -> list[str]:
    """Lines, cut at the width (0: none is).  Errors of tasks stand below, each with its time."""
    rows = [HEAD, *(_row(report, rates) for report in reports)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(HEAD))]
    lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths)).rstrip() for row in rows]
    lines += [line for report in reports for line in _remark(report)]
    return [line[:width] if width else line for line in lines]


def _row(report: Report, rates: Rates) -> tuple[str, ...]:
    """The cells of one task.  One that is not of ours says little: that it is up, and its devices."""
    name, status = short(report.task), report.status
    devices = str(len(report.devices)) if report.devices else ""
    if status is None:
        up = {"tensorflow": "yes", "listed": "listed"}.get(report.state, "no")
        return (name, report.address, up, "", devices, "", "", "", "", "")
    rate = rates.rate(report.task)
    return (
        name,
        report.address,
        duration(status.seconds),
        size(status.memory),
        devices,
        str(status.sessions),
        str(status.steps),
        str(status.parts),
        "" if rate is None else f"{rate:.1f}",
        str(status.failures),
    )


def _remark(report: Report) -> list[str]:
    name = short(report.task) or report.address
    status = report.status
    if status is not None:
        at = time.strftime("%H:%M:%S", time.localtime(status.last_error_at))
        return [f"{name}: {at} {status.last_error.splitlines()[0]}"] if status.last_error.strip() else []
    if report.state == "tensorflow":
        return [f"{name} is TensorFlow's: it tells its devices alone"]
    if report.state == "listed":
        return [
            f"{name}: {report.devices[0].partition('/device')[0]} is named by TensorFlow without its address"
        ]
    return [f"{name} does not answer: {report.state}"]


def short(task: str) -> str:
    """/job:worker/replica:0/task:1 as worker:1."""
    parts = dict(part.split(":", 1) for part in task.strip("/").split("/") if ":" in part)
    return f"{parts['job']}:{parts.get('task', '0')}" if "job" in parts else task


def duration(seconds: float) -> str:
    whole = int(seconds)
    hours, minutes = whole // 3600, whole // 60 % 60
    return f"{hours}:{minutes:02d}:{whole % 60:02d}" if hours else f"{minutes}:{whole % 60:02d}"


def size(count: float) -> str:
    """Bytes, in the largest unit of which there is at least one."""
    units = ["B", "kB", "MB", "GB", "TB"]
    while count >= 1000 and len(units) > 1:
        count, units = count / 1000, units[1:]
    return f"{count:.0f} {units[0]}" if count >= 10 or units[0] == "B" else f"{count:.1f} {units[0]}"
