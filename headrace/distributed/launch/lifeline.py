"""A process that ends when the one that started it is gone, however that ended.

The starter keeps the writing end of a pipe open and says in the environment which descriptor is the reading
end.  Nothing is ever written: that reading ends means that the starter has.
"""

from __future__ import annotations

import os
import signal
import threading
import time

NAME = "HEADRACE_LIFELINE"
GRACE = 10.0  # seconds that the process has to end by itself


def hold() -> None:
    """End this process, and its group, when its starter is gone; without one that asks for it, do nothing."""
    text = os.environ.pop(NAME, "")
    if not text.isdigit():
        return
    pipe = int(text)
    try:
        os.set_inheritable(pipe, False)
    except OSError:
        return  # from a starter's starter, which passed it no further
    threading.Thread(target=_wait, args=(pipe,), name="headrace-lifeline", daemon=True).start()


def _wait(pipe: int) -> None:
    while os.read(pipe, 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE)
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)
