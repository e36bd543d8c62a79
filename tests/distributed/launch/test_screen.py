"""What a launch shows, at terminals of any width and elsewhere."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import struct
import termios

import pytest

from headrace.distributed.launch.screen import Screen, Seen, status_text
from headrace.distributed.launch.tasks import Task

SEEN = [
    Seen(Task("worker", 0), "runs", 1200, 34.24),
    Seen(Task("worker", 1), "runs", 12, 2.0),
    Seen(Task("worker", 2), "waits"),
    Seen(Task("ps", 0), "runs", 5, 1.0),
]


def test_as_much_as_fits():
    full = "1:05  worker:0 1200 steps 34/s  worker:1 12 steps 2.0/s  worker:2 waits  ps:0 runs"
    assert status_text(SEEN, 65.4, 200) == full
    assert status_text(SEEN, 65.4, 75) == full.removesuffix("  ps:0 runs")
    assert status_text(SEEN, 65.4, 40) == "1:05  w0 34/s  w1 2.0/s  w2 waits"
    assert status_text(SEEN, 65.4, 20) == "1:05  3 tasks 36/s"
    assert status_text([Seen(Task("worker", 0), "runs")], 0, 80) == "0:00  worker:0 runs"


@pytest.mark.parametrize("width", range(1, 90))
def test_never_wider_than_the_terminal(width):
    many = [Seen(Task("worker", i), "runs", 10**9, 1e6) for i in range(30)]
    for seen in (SEEN, many, []):
        assert len(status_text(seen, 1e6, width)) <= width


def test_plain_lines_where_nobody_looks():
    out, copies = io.StringIO(), io.BytesIO()
    screen = Screen(out, copies)
    screen.line("begins")
    screen.status(SEEN, 1)
    assert not screen.is_time()
    screen.copy(b"loss 1\n")
    screen.close()
    assert copies.getvalue() == b"loss 1\n"
    assert "\x1b" not in out.getvalue() and "\r" not in out.getvalue()
    assert out.getvalue().splitlines()[0] == "headrace launch: begins"


def test_a_narrow_terminal():
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 20, 0, 0))
    with open(theirs, "w") as out:
        screen = Screen(out, io.BytesIO())
        screen.status(SEEN, 1)
        screen.line("ends")
        screen.close()
        text = ""
        while not text.endswith("ends\r\n"):  # a terminal hands over what it has
            text += os.read(ours, 1000).decode()
    os.close(ours)
    status, rest = text.removeprefix("\r\x1b[K").split("\r\x1b[K", 1)
    assert len(status) == 18 and rest == "headrace launch: ends\r\n"
