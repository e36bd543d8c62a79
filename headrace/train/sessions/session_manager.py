"""SessionManager: a session whose model is ready: restored from a checkpoint, initialised, or waited for.

The chief calls `prepare_session`, other workers `wait_for_session`.  Who waits says for what after some
seconds, and every wait has a limit.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from headrace.core import log
from headrace.core.device_name import DeviceSpec
from headrace.core.errors import DeadlineExceededError, FailedPreconditionError, OpError
from headrace.formats import proto
from headrace.graph.defaults import get_default_graph
from headrace.session.session import Session
from headrace.train.checkpoints.checkpoint_files import get_checkpoint_state

_FIRST_WAIT = 0.1  # seconds; every further wait is longer, up to recovery_wait_secs
_QUIET = 10.0  # seconds after which a wait says what it waits for


class SessionManager:
    """Makes sessions with models that are ready.

    Example:
      >>> manager = tf.train.SessionManager(ready_op=tf.report_uninitialized_variables())
      >>> sess = manager.prepare_session("", init_op=init, saver=saver, checkpoint_dir="/tmp/model")
    """

    def __init__(
        self,
        local_init_op: Any = None,
        ready_op: Any = None,
        ready_for_local_init_op: Any = None,
        graph: Any = None,
        recovery_wait_secs: float = 30,
        local_init_run_options: Any = None,
    ) -> None:
        """Args:
        local_init_op: run in every new session; initialises what belongs to this task alone.
        ready_op: names of what is not initialised; the model is ready when there are none.
        ready_for_local_init_op: the same before `local_init_op`.
        graph: the graph; the default one if None.
        recovery_wait_secs: seconds between two looks at a model that is not ready, at most.
        local_init_run_options: a RunOptions for `local_init_op`.

        Raises:
          ValueError: there is a `ready_for_local_init_op` and no `local_init_op`.
        """
        if ready_for_local_init_op is not None and local_init_op is None:
            raise ValueError(
                "If you pass a ready_for_local_init_op you must also pass a local_init_op , "
                f"ready_for_local_init_op [{ready_for_local_init_op}]"
            )
        self._local_init_op, self._ready_op = local_init_op, ready_op
        self._ready_for_local_init_op = ready_for_local_init_op
        self._graph = get_default_graph() if graph is None else graph
        self._recovery_wait_secs = recovery_wait_secs
        self._local_init_run_options = local_init_run_options

    # -- the chief -----------------------------------------------------------------------------
    def prepare_session(
        self,
        master: str,
        init_op: Any = None,
        saver: Any = None,
        checkpoint_dir: str | None = None,
        checkpoint_filename_with_path: str | None = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        config: Any = None,
        init_feed_dict: Mapping[Any, Any] | None = None,
        init_fn: Callable[..., Any] | None = None,
    ) -> Session:
        """A session whose model is restored, or initialised where there is no checkpoint.

        Args:
          master: where the session runs.
          init_op: initialises the model.
          saver: restores it.
          checkpoint_dir: the newest checkpoint of this folder is restored, or
          checkpoint_filename_with_path: this one.
          wait_for_checkpoint: wait until there is one,
          max_wait_secs: so long at most.
          config: a ConfigProto.
          init_feed_dict: fed to `init_op`.
          init_fn: called with the session after `init_op`.

        Raises:
          RuntimeError: there is nothing to initialise the model with, or it is not ready afterwards.
          ValueError: a checkpoint and a folder are given.
        """
        wait = max_wait_secs if wait_for_checkpoint else 0.0
        where = (checkpoint_dir, checkpoint_filename_with_path)
        sess, is_restored = self._restore_checkpoint(master, saver, *where, wait, config)
        try:
            if not is_restored:
                self._initialise(sess, init_op, init_feed_dict, init_fn)
            what = f"Init op: {_name(init_op)}, init fn: {init_fn}"
            is_done, message = self._try_run_local_init_op(sess)
            if not is_done:
                raise RuntimeError(
                    f"Init operations did not make model ready for local_init.  {what}, error: {message}"
                )
            is_ready, message = self._model_ready(sess)
            if not is_ready:
                raise RuntimeError(
                    f"Init operations did not make model ready.  {what}, local_init_op: "
                    f"{self._local_init_op}, error: {message}"
                )
        except BaseException:
            _close(sess)
            raise
        return sess

    def _initialise(self, sess: Session, init_op: Any, init_feed_dict: Any, init_fn: Any) -> None:
        if init_op is None and not init_fn and self._local_init_op is None:
            raise RuntimeError(
                "Model is not initialized and no init_op or init_fn or local_init_op was given"
            )
        if init_op is not None:
            sess.run(init_op, feed_dict=init_feed_dict)
        if init_fn:
            init_fn(sess)

    def recover_session(
        self,
        master: str,
        saver: Any = None,
        checkpoint_dir: str | None = None,
        checkpoint_filename_with_path: str | None = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        config: Any = None,
    ) -> tuple[Session, bool]:
        """A session whose model is restored if there is a checkpoint.

        Args: as for `prepare_session`.

        Returns: the session, and whether the model is restored and ready.
        """
        wait = max_wait_secs if wait_for_checkpoint else 0.0
        where = (checkpoint_dir, checkpoint_filename_with_path)
        sess, is_restored = self._restore_checkpoint(master, saver, *where, wait, config)
        is_done, message = self._try_run_local_init_op(sess)
        if not is_restored:
            return sess, False
        source = checkpoint_dir or checkpoint_filename_with_path
        if not is_done:
            log.info("Restoring model from %s did not make model ready for local init: %s", source, message)
            return sess, False
        is_ready, message = self._model_ready(sess)
        if not is_ready:
            log.info("Restoring model from %s did not make model ready: %s", source, message)
            return sess, False
        log.info("Restored model from %s", source)
        return sess, True

    def _restore_checkpoint(
        self, master: str, saver: Any, folder: Any, path: Any, wait: float, config: Any
    ) -> tuple[Session, bool]:
        """A session, and whether its variables are restored."""
        sess = self._session(master, config)
        try:
            if folder and path:
                raise ValueError("Can not provide both checkpoint_dir and checkpoint_filename_with_path.")
            if not saver or not (folder or path):
                return sess, False
            if path:
                saver.restore(sess, path)
                return sess, True
            state = self._wait_for_checkpoint(folder, wait)
            if state is None:
                return sess, False
            saver.restore(sess, state.model_checkpoint_path)
            saver.recover_last_checkpoints(state.all_model_checkpoint_paths)
            return sess, True
        except BaseException:
            _close(sess)
            raise

    def _wait_for_checkpoint(self, folder: Any, seconds: float) -> Any:
        """The state file of a folder that names a checkpoint; None if none comes in time."""
        patience = Patience(seconds, self._recovery_wait_secs)
        while True:
            state = get_checkpoint_state(folder)
            if state and state.model_checkpoint_path:
                return state
            if not patience.wait(f"a checkpoint in {folder}"):
                return None

    # -- other workers -------------------------------------------------------------------------
    def wait_for_session(
        self, master: str, config: Any = None, max_wait_secs: float | None = math.inf
    ) -> Session:
        """A session, once somebody else has initialised the model.

        Args:
          master: where the session runs.
          config: a ConfigProto.
          max_wait_secs: how long to wait at most.

        Raises:
          DeadlineExceededError: the model is not ready in time.
        """
        limit = math.inf if max_wait_secs is None else max_wait_secs
        patience = Patience(limit, self._recovery_wait_secs)
        while True:
            sess = self._session(master, config)
            try:
                is_ready, message = self._try_run_local_init_op(sess)
                if is_ready:
                    is_ready, message = self._model_ready(sess)
                if is_ready:
                    return sess
            except BaseException:
                _close(sess)
                raise
            _close(sess)
            if not patience.wait(f"the chief, who has not initialised the model yet ({message})"):
                raise DeadlineExceededError(
                    None, None, f"Session was not ready after waiting {limit:.0f} secs. {message}"
                )

    def _session(self, master: str, config: Any) -> Session:
        return Session(master, graph=self._graph, config=with_filters(config, master, self._graph))

    def _model_ready(self, sess: Session) -> tuple[bool, str | None]:
        return is_ready(self._ready_op, sess, "Model not ready")

    def _model_ready_for_local_init(self, sess: Session) -> tuple[bool, str | None]:
        return is_ready(self._ready_for_local_init_op, sess, "Model not ready for local init")

    def _try_run_local_init_op(self, sess: Session) -> tuple[bool, str | None]:
        """Initialise what belongs to this task, if the model is ready for it: (whether, else why not)."""
        if self._local_init_op is None:
            return True, None
        ready, message = self._model_ready_for_local_init(sess)
        if not ready:
            return False, message
        log.info("Running local_init_op.")
        sess.run(self._local_init_op, options=self._local_init_run_options)
        log.info("Done running local_init_op.")
        return True, None


def with_filters(config: Any, master: str, graph: Any) -> Any:
    """The configuration of a session that uses the tasks which its graph names, and no others.

    A session waits for all tasks that it may use.  A replica uses the parameter servers and itself; it shall
    not wait for another one that has died, or that is done already.

    Args:
      config: a ConfigProto, or None; one that has device filters or a cluster of its own stays as it is.
      master: where the session runs.
      graph: the graph, complete.
    """
    if not master or (config is not None and (config.device_filters or config.cluster_def.job)):
        return config
    named = {node.device for node in graph.get_operations()}
    specs = [DeviceSpec.from_string(name) for name in named if name]
    filters = {DeviceSpec(s.job, s.replica, s.task).to_string() for s in specs if s.job}
    if not filters:
        return config
    made = proto.ConfigProto()
    if config is not None:
        made.CopyFrom(config)
    made.device_filters.extend(sorted(filters))
    return made


class Patience:
    """Waits that get longer, together no longer than a limit; they say what for once they last."""

    def __init__(self, limit: float, longest: float) -> None:
        """Args:
        limit: seconds in all.
        longest: seconds of one wait, at most.
        """
        self._start = time.monotonic()
        self._end = self._start + limit
        self._longest, self._next = longest, min(_FIRST_WAIT, longest)
        self._told = self._start

    def wait(self, what: str) -> bool:
        """Wait for something once more; False, at once, if that would go beyond the limit."""
        now = time.monotonic()
        pause = min(self._next, self._longest)
        if now + pause > self._end:
            return False
        if now - self._told >= _QUIET:
            self._told = now
            log.warning("Waiting for %s, for %.0f s now.", what, now - self._start)
        time.sleep(pause)
        self._next *= 1.5
        return True


def is_ready(op: Any, sess: Any, message: str) -> tuple[bool, str | None]:
    """Whether a model is ready, else why not.

    Args:
      op: names of what is not initialised; None if nobody asks.
      sess: the session.
      message: what a failure of the check is called.
    """
    if op is None:
        return True, None
    try:
        value = sess.run(op)
    except FailedPreconditionError as error:
        if "uninitialized" not in str(error):
            log.warning("%s : error [%s]", message, error)
            raise
        return False, str(error)
    # Old programs have a node without names that fails, or one that returns numbers.
    if value is None or value.dtype == np.int32 or value.size == 0:
        return True, None
    return False, "Variables not initialized: " + ", ".join(name.decode() for name in value)


def _close(sess: Session) -> None:
    try:
        sess.close()
    except OpError as error:
        log.info("A session was not closed: %s", error)


def _name(obj: Any) -> str:
    if obj is None:
        return str(obj)
    return str(obj.name) if hasattr(obj, "name") else f"<no name for {type(obj)}>"
