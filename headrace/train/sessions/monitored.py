"""MonitoredSession: a session for a training loop: initialised, with hooks and queue runners, and recovered.

    with tf.train.MonitoredTrainingSession(checkpoint_dir=folder, hooks=hooks) as sess:
        while not sess.should_stop():
            sess.run(train)

It begins with the hooks' `begin`; then the graph is final.  At the end the hooks' `end` are called, threads
stop, and the session is closed.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

from headrace.core import options
from headrace.core.errors import OutOfRangeError
from headrace.graph.defaults import get_default_graph
from headrace.graph.keys import GraphKeys
from headrace.train.hooks.progress import ProgressHook
from headrace.train.hooks.run_hook import SessionRunHook
from headrace.train.input_queues.coordinator import Coordinator
from headrace.train.input_queues.queue_runners import start_queue_runners
from headrace.train.sessions import layers
from headrace.train.sessions.creators import ChiefSessionCreator, SessionCreator
from headrace.train.sessions.layers import CoordinatedSession, HookedSession, RecoverableSession
from headrace.train.sessions.scaffold import Scaffold

_CLEAN_ENDS = (OutOfRangeError, StopIteration)


class CoordinatedSessionCreator(SessionCreator):
    """A session with its threads and hooks; `tf_sess` is the session itself, `coord` its coordinator."""

    def __init__(
        self, session_creator: SessionCreator, hooks: Sequence[SessionRunHook], stop_grace_period_secs: float
    ) -> None:
        self._session_creator, self._hooks = session_creator, hooks
        self._stop_grace_period_secs = stop_grace_period_secs
        self.coord: Coordinator | None = None
        self.tf_sess: Any = None

    def create_session(self) -> CoordinatedSession:
        """A session with its queue runners and hooks: all of it again after a loss."""
        self.tf_sess = self._session_creator.create_session()
        self.coord = Coordinator(clean_stop_exception_types=[])
        layers.watch(self.coord, self.tf_sess)
        session = CoordinatedSession(
            HookedSession(self.tf_sess, self._hooks), self.coord, self._stop_grace_period_secs
        )
        try:
            if get_default_graph().get_collection(GraphKeys.QUEUE_RUNNERS):
                start_queue_runners(sess=self.tf_sess, coord=self.coord)
            for hook in self._hooks:
                hook.after_create_session(self.tf_sess, self.coord)
        except layers.LOST:
            session.close()  # its threads would go on beside those of the next one
            raise
        return session


class MonitoredSessionBase:
    """What MonitoredSession and SingularMonitoredSession share."""

    StepContext = layers.StepContext

    def __init__(
        self,
        session_creator: SessionCreator | None,
        hooks: Sequence[SessionRunHook] | None,
        should_recover: bool,
        stop_grace_period_secs: float = 120,
    ) -> None:
        self._graph_was_finalized = get_default_graph().finalized
        self._hooks = hooks or []
        if options.is_watched():
            self._hooks = [*self._hooks, ProgressHook(self._hooks)]
        for hook in self._hooks:
            hook.begin()
        self._coordinated_creator = CoordinatedSessionCreator(
            session_creator or ChiefSessionCreator(), self._hooks, stop_grace_period_secs
        )
        self._sess: Any
        if should_recover:
            self._sess = RecoverableSession(self._coordinated_creator)
        else:
            self._sess = self._coordinated_creator.create_session()

    @property
    def graph(self) -> Any:
        """The graph; None once the session is closed."""
        session = self._tf_sess()
        return None if session is None else session.graph

    def run(self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None) -> Any:
        """As `Session.run`, with hooks.

        Args: those of `Session.run`.

        Returns: values in the structure of `fetches`.
        """
        return self._sess.run(fetches, feed_dict=feed_dict, options=options, run_metadata=run_metadata)

    def run_step_fn(self, step_fn: Callable[..., Any]) -> Any:
        """Call a function that runs several things; hooks see only what it runs by `run_with_hooks`.

        Args:
          step_fn: takes a `step_context`, with `session`, `run_with_hooks` and `request_stop`.

        Returns: what it returns.

        Raises:
          ValueError: it takes other arguments.
        """
        names = tuple(inspect.signature(step_fn).parameters)
        if names not in (("step_context",), ("self", "step_context")):
            raise ValueError(
                "`step_fn` may either have one `step_context` argument, or `self` and `step_context` "
                f"arguments if it's an instance method. Got {names} instead."
            )
        return self._sess.run_step_fn(step_fn, self._tf_sess(), run_with_hooks=None)

    def should_stop(self) -> bool:
        """Whether the loop shall end."""
        return self._sess is None or self._sess.should_stop()

    def close(self) -> None:
        """End: hooks, threads, session."""
        self._close_internal()

    def __enter__(self) -> Any:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> bool:
        if exc_type in _CLEAN_ENDS:
            exc_type = None
        self._close_internal(exc_type)
        return exc_type is None

    def _close_internal(self, exception_type: Any = None) -> None:
        """Hooks end only where nothing failed; the session is closed in any case, and the graph may be
        changed again."""
        try:
            if not exception_type:
                for hook in self._hooks:
                    hook.end(self._coordinated_creator.tf_sess)
        finally:
            try:
                if self._sess is None:
                    raise RuntimeError("Session is already closed.")
                self._sess.close()
            finally:
                self._sess = None
                self._coordinated_creator.tf_sess = None
                self._coordinated_creator.coord = None
                if not self._graph_was_finalized:
                    get_default_graph()._unsafe_unfinalize()

    def _is_closed(self) -> bool:
        return self._coordinated_creator.tf_sess is None

    def _tf_sess(self) -> Any:
        return self._coordinated_creator.tf_sess


class MonitoredSession(MonitoredSessionBase):
    """A session with hooks, which recovers: when a task of its cluster is lost it makes a new session.

    Example:
      >>> creator = tf.train.ChiefSessionCreator(master=server.target, checkpoint_dir="/tmp/model")
      >>> with tf.train.MonitoredSession(session_creator=creator, hooks=hooks) as sess: ...
    """

    def __init__(
        self,
        session_creator: SessionCreator | None = None,
        hooks: Sequence[SessionRunHook] | None = None,
        stop_grace_period_secs: float = 120,
    ) -> None:
        """Args:
        session_creator: makes the sessions; a ChiefSessionCreator if None.
        hooks: called around every step.
        stop_grace_period_secs: how long threads may go on after the end.
        """
        super().__init__(session_creator, hooks, True, stop_grace_period_secs)


class SingularMonitoredSession(MonitoredSessionBase):
    """A session with hooks that does not recover, and gives the session itself."""

    def __init__(
        self,
        hooks: Sequence[SessionRunHook] | None = None,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: Any = None,
        checkpoint_dir: str | None = None,
        stop_grace_period_secs: float = 120,
        checkpoint_filename_with_path: str | None = None,
    ) -> None:
        """Args:
        hooks: called around every step.
        scaffold: what initialises, checks, saves; a default one if None.
        master: where the session runs.
        config: a ConfigProto.
        checkpoint_dir: the folder of checkpoints to restore from, or
        stop_grace_period_secs: how long threads may go on after the end.
        checkpoint_filename_with_path: one of them.
        """
        creator = ChiefSessionCreator(scaffold, master, config, checkpoint_dir, checkpoint_filename_with_path)
        super().__init__(creator, hooks, False, stop_grace_period_secs)

    def raw_session(self) -> Any:
        """The session, without hooks."""
        return self._tf_sess()
