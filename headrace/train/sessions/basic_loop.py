"""basic_train_loop: a Supervisor's loop that begins anew when its session is lost."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from headrace.core import log
from headrace.train.sessions.layers import LOST
from headrace.train.sessions.session_manager import Patience

_LONGEST_PAUSE = 5.0  # seconds between two attempts


def basic_train_loop(
    supervisor: Any, train_step_fn: Callable[..., Any], args: Any = None, kwargs: Any = None, master: str = ""
) -> None:
    """Call a function again and again until the supervisor stops; with a new session when one is lost.

    Args:
      supervisor: a `tf.train.Supervisor`.
      train_step_fn: called with the session and the arguments.
      args: arguments for it.
      kwargs: more of them, by name.
      master: where the session runs.
    """
    args, kwargs = args or [], kwargs or {}
    patience = Patience(math.inf, _LONGEST_PAUSE)
    while True:
        try:
            with supervisor.managed_session(master) as sess:
                while not supervisor.should_stop():
                    train_step_fn(sess, *args, **kwargs)
            return
        except LOST as error:
            log.info("A session was lost; a new one takes its place. Error: %s", error)
            patience.wait(f"the tasks of the cluster, of whom one fails ({error.message})")
