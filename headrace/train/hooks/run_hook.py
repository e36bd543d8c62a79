"""What a hook is: an object that a monitored session calls at the start, around every step and at the end.

In comes what the user runs (SessionRunContext), out goes what else to run (SessionRunArgs); the step's values
come back (SessionRunValues).  All hooks see one step: what they ask for is run together with what the user
asks for.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from headrace.core.fields import reads


class _Args(NamedTuple):
    fetches: Any
    feed_dict: Any
    options: Any


class SessionRunArgs(_Args):
    """What to run: what a hook adds to a step, or what the user asked for.

    Example:
      >>> tf.train.SessionRunArgs([loss, global_step])
    """

    __slots__ = ()

    def __new__(cls, fetches: Any, feed_dict: Any = None, options: Any = None) -> SessionRunArgs:
        """Args:
        fetches: as for `Session.run`; None for nothing.
        feed_dict: as for `Session.run`.
        options: a RunOptions, joined with those of others.
        """
        return super().__new__(cls, fetches, feed_dict, options)


class SessionRunValues(NamedTuple):
    """What came out of a step for one hook: values of its fetches, options and metadata of the step."""

    results: Any
    options: Any
    run_metadata: Any


class SessionRunContext:
    """One step: what the user asked for, the session, and the wish to stop after it."""

    __slots__ = ("_original_args", "_session", "_stop_requested", "_results")

    def __init__(self, original_args: SessionRunArgs, session: Any) -> None:
        self._original_args, self._session = original_args, session
        self._stop_requested = False
        self._results: Any = None  # what the user gets

    original_args: SessionRunArgs = reads("_original_args", "What the user asked for.")
    session: Any = reads("_session", "The session, without hooks.")
    stop_requested: bool = reads("_stop_requested", "Whether a hook wants the loop to end.")

    def request_stop(self) -> None:
        """Let the loop end: `should_stop` of the monitored session is true from now on."""
        self._stop_requested = True


class SessionRunHook:
    """The base of all hooks; every method does nothing.

    Example:
      >>> class Times(tf.train.SessionRunHook):
      ...     def before_run(self, run_context):
      ...         self.start = time.time()
      ...     def after_run(self, run_context, run_values):
      ...         print(time.time() - self.start)
    """

    def begin(self) -> None:
        """Called once, before the graph is final: nodes may be added here, and nowhere else."""

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Called for every new session, also for one that takes the place of a session that was lost.

        Args:
          session: the session, initialised.
          coord: the coordinator of its threads.
        """

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Called before every step.

        Args:
          run_context: the step.

        Returns: what to run with it, or None.
        """
        return None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Called after every step that did not fail.

        Args:
          run_context: the step.
          run_values: values of what `before_run` asked for.
        """

    def end(self, session: Any) -> None:
        """Called once at the end, unless an error ended the loop (OutOfRangeError, StopIteration are none).

        Args:
          session: the session, without hooks.
        """
