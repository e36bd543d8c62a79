"""The layers of a monitored session, from the outside in:

    RecoverableSession    a session that is lost is replaced by a new one
      CoordinatedSession  threads of the session stop with it; the error of one is that of the step
        HookedSession     hooks before and after every step
          Session

Each has `run`, `run_step_fn`, `should_stop` and `close`.  A session is lost when a task of its cluster dies
or is started again: UnavailableError, AbortedError.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from headrace.core import log
from headrace.core.errors import AbortedError, CancelledError, OpError, UnavailableError
from headrace.core.fields import reads
from headrace.formats import proto
from headrace.train.hooks.run_hook import SessionRunArgs, SessionRunContext, SessionRunHook, SessionRunValues
from headrace.train.input_queues.coordinator import Coordinator
from headrace.train.sessions.session_manager import Patience

LOST = (AbortedError, UnavailableError)
_LONGEST_PAUSE = 5.0  # seconds between two attempts to make a session


class StepContext:
    """What `run_step_fn` gives to its function."""

    def __init__(self, session: Any, run_with_hooks_fn: Callable[..., Any]) -> None:
        """Args:
        session: the session, without hooks.
        run_with_hooks_fn: runs with hooks.
        """
        self._session, self._run_with_hooks_fn = session, run_with_hooks_fn

    session: Any = reads("_session", "The session, without hooks.")

    def run_with_hooks(self, *args: Any, **kwargs: Any) -> Any:
        """As `MonitoredSession.run`."""
        return self._run_with_hooks_fn(*args, **kwargs)

    def request_stop(self) -> None:
        """Let the loop end, by StopIteration."""
        raise StopIteration("step_fn has requested the iterations to stop.")


class WrappedSession:
    """A session around another one."""

    def __init__(self, sess: Any) -> None:
        self._sess = sess
        self._wrapped_is_stoppable = isinstance(sess, WrappedSession)

    graph: Any = reads("_sess.graph")
    sess_str: Any = reads("_sess.sess_str")

    def should_stop(self) -> bool:
        if self._check_stop():
            return True
        if self._sess:
            return bool(self._wrapped_is_stoppable and self._sess.should_stop())
        return True

    def _check_stop(self) -> bool:
        """Whether this layer wants the loop to end."""
        return False

    def close(self) -> None:
        if not self._sess:
            return
        try:
            self._sess.close()
        except LOST as error:
            log.warning("The session was not closed, since a task of its cluster has gone: %s", error)
        finally:
            self._sess = None

    def run(self, *args: Any, **kwargs: Any) -> Any:
        return self._sess.run(*args, **kwargs)

    def run_step_fn(self, step_fn: Callable[..., Any], raw_session: Any, run_with_hooks: Any) -> Any:
        return step_fn(StepContext(raw_session, run_with_hooks or self.run))


class RecoverableSession(WrappedSession):
    """Makes a new session when one is lost, and runs the step again there.

    The new session comes from the creator: the chief's has the variables of the newest checkpoint.
    """

    def __init__(self, sess_creator: Any) -> None:
        """Args:
        sess_creator: has `create_session`.
        """
        self._sess_creator = sess_creator
        super().__init__(self._create_session())

    def _create_session(self) -> Any:
        patience = Patience(math.inf, _LONGEST_PAUSE)
        while True:
            try:
                return self._sess_creator.create_session()
            except LOST as error:
                log.info("A session could not be made; trying again. Error: %s", error)
                patience.wait(f"the tasks of the cluster, of whom one fails ({error.message})")

    def _lose(self, error: OpError) -> None:
        log.info(
            "A task of the cluster was lost; a new session takes the place of this one, from the newest "
            "checkpoint. Error: %s",
            error,
        )
        self.close()

    def _check_stop(self) -> bool:
        if not self._sess:
            return True
        try:
            return bool(self._sess._check_stop())
        except LOST as error:
            self._lose(error)
            self._sess = self._create_session()
            return False
        except Exception:  # whatever a thread reported: `run` and `close` raise it
            return True

    def run(self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None) -> Any:
        while True:
            try:
                if not self._sess:
                    self._sess = self._create_session()
                return self._sess.run(
                    fetches, feed_dict=feed_dict, options=options, run_metadata=run_metadata
                )
            except LOST as error:
                self._lose(error)

    def run_step_fn(self, step_fn: Callable[..., Any], raw_session: Any, run_with_hooks: Any) -> Any:
        while True:
            try:
                if not self._sess:
                    self._sess = self._create_session()
                    raw_session = getattr(self._sess_creator, "tf_sess", raw_session)
                return self._sess.run_step_fn(step_fn, raw_session, self._sess.run)
            except LOST as error:
                self._lose(error)


class CoordinatedSession(WrappedSession):
    """Stops when its coordinator does, and the other way round."""

    def __init__(self, sess: Any, coord: Coordinator, stop_grace_period_secs: float = 120) -> None:
        """Args:
        sess: the session.
        coord: the coordinator of its threads.
        stop_grace_period_secs: how long these may go on after `close`.
        """
        super().__init__(sess)
        self._coord, self._stop_grace_period_secs = coord, stop_grace_period_secs

    def _check_stop(self) -> bool:
        self._coord.raise_requested_exception()
        return self._coord.should_stop()

    def close(self) -> None:
        self._coord.request_stop()
        try:
            self._coord.join(stop_grace_period_secs=self._stop_grace_period_secs, ignore_live_threads=True)
        finally:
            try:
                super().close()
            except (OpError, RuntimeError) as error:
                log.info("Closing the session: %s", error)  # what matters `join` has raised

    def run(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return self._sess.run(*args, **kwargs)
        except LOST:
            raise
        except Exception:
            # The step may have failed because a thread lost the session first: then that is the cause.
            try:
                self._coord.raise_requested_exception()
            except LOST:
                raise
            except Exception as reported:
                log.info("A thread of the session has failed, too: %s", reported)
            raise


def watch(coord: Coordinator, session: Any) -> None:
    """When a thread has lost the session, end the step: what it waits for may be the thread's work."""

    def on_error(error: BaseException) -> None:
        if isinstance(error, LOST):
            reason = f"A thread of the session has lost it: {error.message}"
            session.cancel_steps(CancelledError(None, None, reason))

    if hasattr(session, "cancel_steps"):
        coord.on_error(on_error)


class HookedSession(WrappedSession):
    """Calls hooks around every step; what they ask for is run with it."""

    def __init__(self, sess: Any, hooks: Sequence[SessionRunHook]) -> None:
        super().__init__(sess)
        self._hooks = hooks
        self._should_stop = False

    def _check_stop(self) -> bool:
        return self._should_stop

    def run(self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None) -> Any:
        """As `Session.run`, with hooks.  A session is only asked for metadata where somebody wants some."""
        if self.should_stop():
            raise RuntimeError("Run called even after should_stop requested.")
        context = SessionRunContext(SessionRunArgs(fetches, feed_dict), self._sess)
        asked: dict[Any, Any] = {"caller": fetches}
        feed_dict, options = self._call_hook_before_run(context, asked, feed_dict, options)
        if options is None and run_metadata is None:
            outputs = self._sess.run(fetches=asked, feed_dict=feed_dict)
            if not self._hooks:
                return outputs["caller"]
            options, run_metadata = proto.RunOptions(), proto.RunMetadata()
        else:
            options = proto.RunOptions() if options is None else options
            run_metadata = proto.RunMetadata() if run_metadata is None else run_metadata
            outputs = self._sess.run(
                fetches=asked, feed_dict=feed_dict, options=options, run_metadata=run_metadata
            )
        context._results = outputs["caller"]
        for hook in self._hooks:
            hook.after_run(context, SessionRunValues(outputs.get(hook), options, run_metadata))
        self._should_stop = self._should_stop or context.stop_requested
        return outputs["caller"]

    def _call_hook_before_run(
        self, context: SessionRunContext, asked: dict[Any, Any], feed_dict: Any, options: Any
    ) -> tuple[Any, Any]:
        """Adds what hooks fetch to `asked`; returns what to feed, and the options of the step."""
        feeds: dict[Any, Any] = {}
        for hook in self._hooks:
            request = hook.before_run(context)
            if request is None:
                continue
            if request.fetches is not None:
                asked[hook] = request.fetches
            if request.feed_dict:
                _refuse_common(feeds, request.feed_dict, "Same tensor is fed by two hooks.")
                feeds.update(request.feed_dict)
            if request.options:
                options = proto.RunOptions() if options is None else options
                _merge(options, request.options)
        if not feeds:
            return feed_dict, options
        if feed_dict:
            _refuse_common(feed_dict, feeds, "Same tensor is fed by a SessionRunHook and user.")
            feeds.update(feed_dict)
        return feeds, options


def _refuse_common(one: dict[Any, Any], other: dict[Any, Any], message: str) -> None:
    common = list(one.keys() & other.keys())
    if common:
        raise RuntimeError(f"{message} Conflict(s): {common}")


def _merge(options: Any, more: Any) -> None:
    """Join two RunOptions: the larger number, the longer list."""
    for field in ("trace_level", "timeout_in_ms", "inter_op_thread_pool", "output_partition_graphs"):
        setattr(options, field, max(getattr(options, field), getattr(more, field)))
    debug, other = options.debug_options, more.debug_options
    debug.debug_tensor_watch_opts.extend(other.debug_tensor_watch_opts)
    debug.reset_disk_byte_usage = debug.reset_disk_byte_usage or other.reset_disk_byte_usage
    options.report_tensor_allocations_upon_oom = (
        options.report_tensor_allocations_upon_oom or more.report_tensor_allocations_upon_oom
    )
