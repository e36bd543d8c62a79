"""Supervisor: the older way to drive training: a session, a coordinator, and threads beside the loop.

    sv = tf.train.Supervisor(logdir=folder)
    with sv.managed_session(target) as sess:
        while not sv.should_stop():
            sess.run(train)

Summaries and checkpoints are written by threads of the chief, every so many seconds.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from headrace.core import dtypes, log
from headrace.core.errors import OpError
from headrace.core.fields import reads
from headrace.formats import proto
from headrace.functions.control.grouping import group
from headrace.functions.io.graph_files import write_graph
from headrace.functions.io.summary import merge_all
from headrace.functions.queues.table_initializer import tables_initializer
from headrace.graph.defaults import get_default_graph
from headrace.graph.keys import GraphKeys
from headrace.ops.declaration.traits import VARIABLE
from headrace.train.checkpoints.saver import Saver
from headrace.train.input_queues.coordinator import Coordinator, LooperThread
from headrace.train.meta_graph.meta_graph_export import create_meta_graph_def
from headrace.train.schedules.step_count import global_step as step_number
from headrace.train.sessions.session_manager import SessionManager
from headrace.train.sessions.supervisor_services import (
    SVStepCounterThread,
    SVSummaryThread,
    SVTimerCheckpointThread,
)
from headrace.train.summaries.file_writer import FileWriter
from headrace.variables.listing import (
    global_variables,
    global_variables_initializer,
    local_variables_initializer,
    report_uninitialized_variables,
)


class Supervisor:
    """Initialises or restores a model, and keeps it saved while a program trains it.

    Example:
      >>> sv = tf.train.Supervisor(logdir="/tmp/model", is_chief=task == 0)
      >>> with sv.managed_session(server.target) as sess:
      ...     while not sv.should_stop():
      ...         sess.run(train)
    """

    USE_DEFAULT: Any = 0

    def __init__(
        self,
        graph: Any = None,
        ready_op: Any = USE_DEFAULT,
        ready_for_local_init_op: Any = USE_DEFAULT,
        is_chief: bool = True,
        init_op: Any = USE_DEFAULT,
        init_feed_dict: Mapping[Any, Any] | None = None,
        local_init_op: Any = USE_DEFAULT,
        logdir: str | None = None,
        summary_op: Any = USE_DEFAULT,
        saver: Any = USE_DEFAULT,
        global_step: Any = USE_DEFAULT,
        save_summaries_secs: float = 120,
        save_model_secs: float = 600,
        recovery_wait_secs: float = 30,
        stop_grace_secs: float = 120,
        checkpoint_basename: str = "model.ckpt",
        session_manager: Any = None,
        summary_writer: Any = USE_DEFAULT,
        init_fn: Callable[..., Any] | None = None,
        local_init_run_options: Any = None,
    ) -> None:
        """Args:
        graph: the graph; the default one if None.
        ready_op: names of what is not initialised.
        ready_for_local_init_op: the same before `local_init_op`.
        is_chief: whether this task initialises, restores and saves.
        init_op: initialises the model.
        init_feed_dict: fed to it.
        local_init_op: initialises what belongs to this task alone.
        logdir: folder of checkpoints and events; None for none.
        summary_op: all summaries in one.
        saver: saves and restores.
        global_step: counts the steps.
        save_summaries_secs: seconds from one summary to the next; 0 for none.
        save_model_secs: seconds from one checkpoint to the next; 0 for none.
        recovery_wait_secs: seconds between two looks at a model that is not ready, at most.
        stop_grace_secs: how long threads may go on after the end.
        checkpoint_basename: beginning of the names of checkpoints.
        session_manager: makes sessions; made if None.
        summary_writer: writes events; made for `logdir` unless given.
        init_fn: called with the session after `init_op`.
        local_init_run_options: a RunOptions for `local_init_op`.

        Raises:
          ValueError: a variable of a replica has no device.
        """
        graph = get_default_graph() if graph is None else graph
        default = Supervisor.USE_DEFAULT
        with graph.as_default():
            self._ready_op = _given(ready_op, GraphKeys.READY_OP, report_uninitialized_variables)
            self._ready_for_local_init_op = _given(
                ready_for_local_init_op, GraphKeys.READY_FOR_LOCAL_INIT_OP, lambda: None
            )
            self._init_op = _given(init_op, GraphKeys.INIT_OP, global_variables_initializer)
            self._local_init_op = _given(local_init_op, GraphKeys.LOCAL_INIT_OP, _local_init_op)
            self._saver = _given(saver, GraphKeys.SAVERS, lambda: Saver() if global_variables() else None)
            self._summary_op = _given(summary_op, GraphKeys.SUMMARY_OP, merge_all)
            self._global_step = _given(global_step, GraphKeys.GLOBAL_STEP, _global_step_tensor)
        self._graph, self._is_chief, self._coord = graph, is_chief, Coordinator()
        self._meta_graph_def = create_meta_graph_def(
            graph_def=graph.as_graph_def(add_shapes=True),
            saver_def=self._saver.saver_def if self._saver else None,
        )
        self._stop_grace_secs, self._init_feed_dict, self._init_fn = stop_grace_secs, init_feed_dict, init_fn
        self._logdir = logdir if is_chief else None
        self._save_summaries_secs = save_summaries_secs if is_chief else None
        self._save_model_secs = save_model_secs if is_chief else None
        self._save_path = os.path.join(logdir, checkpoint_basename) if is_chief and logdir else None
        self._summary_writer: Any = None
        if is_chief and summary_writer is not default:
            self._summary_writer = summary_writer
        elif is_chief and logdir:
            self._summary_writer = FileWriter(logdir)
        self._graph_added_to_summary = False
        self._session_manager = session_manager
        if session_manager is None:
            self._session_manager = SessionManager(
                local_init_op=self._local_init_op,
                ready_op=self._ready_op,
                ready_for_local_init_op=self._ready_for_local_init_op,
                graph=graph,
                recovery_wait_secs=recovery_wait_secs,
                local_init_run_options=local_init_run_options,
            )
        self._verify_setup()
        graph.finalize()

    def _verify_setup(self) -> None:
        """Replicas share variables only where these are on a device that all of them name."""
        for node in () if self._is_chief else self._graph.get_operations():
            is_reference = VARIABLE in node.declaration.traits and node.outputs[0].dtype.is_ref
            if is_reference and not node.device:
                raise ValueError(f"When using replicas, all Variables must have their device set: {node}")

    is_chief: bool = reads("_is_chief", "Whether this task initialises, restores and saves.")
    session_manager: Any = reads("_session_manager", "Makes the sessions.")
    coord: Coordinator = reads("_coord", "Stops the threads.")
    init_op: Any = reads("_init_op", "Initialises the model.")
    init_feed_dict: Any = reads("_init_feed_dict", "Fed to `init_op`.")
    ready_op: Any = reads("_ready_op", "Names of what is not initialised.")
    ready_for_local_init_op: Any = reads("_ready_for_local_init_op", "The same before `local_init_op`.")
    summary_writer: Any = reads("_summary_writer", "Writes events; None where nobody does.")
    summary_op: Any = reads("_summary_op", "All summaries in one.")
    save_summaries_secs: Any = reads("_save_summaries_secs", "Seconds from one summary to the next.")
    global_step: Any = reads("_global_step", "Counts the steps.")
    saver: Any = reads("_saver", "Saves and restores.")
    save_model_secs: Any = reads("_save_model_secs", "Seconds from one checkpoint to the next.")
    save_path: Any = reads("_save_path", "Beginning of the paths of checkpoints.")

    # -- sessions ------------------------------------------------------------------------------
    def prepare_or_wait_for_session(
        self,
        master: str = "",
        config: Any = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        start_standard_services: bool = True,
    ) -> Any:
        """A session whose model is ready: the chief makes it so, others wait for the chief.

        Args:
          master: where the session runs.
          config: a ConfigProto.
          wait_for_checkpoint: the chief waits for a checkpoint,
          max_wait_secs: so long at most; others so long for the chief.
          start_standard_services: also start the threads, and queue runners.
        """
        # A program may come here again after it has lost a session.
        self._coord.clear_stop()
        if self._summary_writer:
            self._summary_writer.reopen()
        if self._is_chief:
            sess = self._session_manager.prepare_session(
                master,
                init_op=self.init_op,
                saver=self.saver,
                checkpoint_dir=self._logdir,
                wait_for_checkpoint=wait_for_checkpoint,
                max_wait_secs=max_wait_secs,
                config=config,
                init_feed_dict=self._init_feed_dict,
                init_fn=self._init_fn,
            )
            self._write_graph()
            if start_standard_services:
                log.info("Starting standard services.")
                self.start_standard_services(sess)
        else:
            sess = self._session_manager.wait_for_session(master, config=config, max_wait_secs=max_wait_secs)
        if start_standard_services:
            log.info("Starting queue runners.")
            self.start_queue_runners(sess)
        return sess

    @contextmanager
    def managed_session(
        self,
        master: str = "",
        config: Any = None,
        start_standard_services: bool = True,
        close_summary_writer: bool = True,
    ) -> Iterator[Any]:
        """A session for a `with` block, which ends with what the block or a thread has raised.

        Args:
          master: where the session runs.
          config: a ConfigProto.
          start_standard_services: also start the threads, and queue runners.
          close_summary_writer: close the event file at the end.
        """
        sess: Any = None
        try:
            sess = self.prepare_or_wait_for_session(
                master=master, config=config, start_standard_services=start_standard_services
            )
            yield sess
        except Exception as error:
            self.request_stop(error)
        finally:
            try:
                self.stop(close_summary_writer=close_summary_writer)
            finally:
                try:
                    if sess is not None:
                        sess.close()
                except (OpError, RuntimeError) as error:
                    log.info("Closing the session: %s", error)

    def _write_graph(self) -> None:
        if self._logdir:
            write_graph(self._graph.as_graph_def(add_shapes=True), self._logdir, "graph.pbtxt")
        if self._summary_writer and not self._graph_added_to_summary:
            self._summary_writer.add_graph(self._graph)
            self._summary_writer.add_meta_graph(self._meta_graph_def)
            self._graph_added_to_summary = True

    # -- threads -------------------------------------------------------------------------------
    def start_standard_services(self, sess: Any) -> list[LooperThread] | None:
        """Start the threads that write summaries, steps per second and checkpoints.

        Args:
          sess: the session.

        Returns: the threads; None where there is no folder to write in.

        Raises:
          RuntimeError: this is not the chief.
        """
        if not self._is_chief:
            raise RuntimeError(
                "Only chief supervisor can start standard services. Because only chief supervisors can "
                "write events."
            )
        if not self._logdir:
            log.warning("Standard services need a 'logdir' passed to the SessionManager")
            return None
        if self._global_step is not None and self._summary_writer:
            step = step_number(sess, self._global_step)
            self._summary_writer.add_session_log(proto.SessionLog(status=proto.SessionLog.START), step)
        threads: list[LooperThread] = []
        if self._save_summaries_secs and self._summary_writer:
            if self._summary_op is not None:
                threads.append(SVSummaryThread(self, sess))
            if self._global_step is not None:
                threads.append(SVStepCounterThread(self, sess))
        if self.saver and self._save_model_secs:
            threads.append(SVTimerCheckpointThread(self, sess))
        for thread in threads:
            thread.start()
        return threads

    def start_queue_runners(self, sess: Any, queue_runners: Any = None) -> list[Any]:
        """Start the threads of queue runners.

        Args:
          sess: the session.
          queue_runners: the runners; those of the graph if None.

        Returns: the threads.
        """
        if queue_runners is None:
            queue_runners = self._graph.get_collection(GraphKeys.QUEUE_RUNNERS)
        return [
            thread
            for runner in queue_runners
            for thread in runner.create_threads(sess, coord=self._coord, daemon=True, start=True)
        ]

    def loop(
        self, timer_interval_secs: Any, target: Callable[..., Any], args: Any = None, kwargs: Any = None
    ) -> LooperThread:
        """Start a thread that calls something again and again until the supervisor stops.

        Args:
          timer_interval_secs: seconds from one call to the next; None for no pause.
          target: what to call.
          args: arguments for it.
          kwargs: more of them, by name.
        """
        return LooperThread.loop(self._coord, timer_interval_secs, target, args, kwargs)

    # -- the end -------------------------------------------------------------------------------
    def stop(
        self, threads: Any = None, close_summary_writer: bool = True, ignore_live_threads: bool = False
    ) -> None:
        """Stop the threads, and raise what one of them raised.

        Args:
          threads: threads to wait for, beside our own.
          close_summary_writer: close the event file.
          ignore_live_threads: threads that go on longer are no error.
        """
        self._coord.request_stop()
        try:
            self._coord.join(
                threads, stop_grace_period_secs=self._stop_grace_secs, ignore_live_threads=ignore_live_threads
            )
        finally:
            if close_summary_writer and self._summary_writer:
                self._summary_writer.add_session_log(proto.SessionLog(status=proto.SessionLog.STOP))
                self._summary_writer.close()
                self._graph_added_to_summary = False

    def request_stop(self, ex: Any = None) -> None:
        """Ask all threads to stop; `ex` is an error that `stop` raises."""
        self._coord.request_stop(ex=ex)

    def should_stop(self) -> bool:
        """Whether somebody has asked to stop."""
        return self._coord.should_stop()

    def stop_on_exception(self) -> AbstractContextManager[None]:
        """What the block raises asks all threads to stop."""
        return self._coord.stop_on_exception()

    def wait_for_stop(self) -> None:
        """Wait until somebody asks to stop."""
        self._coord.wait_for_stop()

    def summary_computed(self, sess: Any, summary: Any, global_step: Any = None) -> None:
        """Write a summary.

        Args:
          sess: the session.
          summary: the summary.
          global_step: the step; asked for if None.

        Raises:
          RuntimeError: there is no event file.
        """
        if not self._summary_writer:
            raise RuntimeError("Writing a summary requires a summary writer.")
        if global_step is None and self.global_step is not None:
            global_step = step_number(sess, self.global_step)
        self._summary_writer.add_summary(summary, global_step)

    # The names of TensorFlow 0.x.
    PrepareSession = prepare_or_wait_for_session
    StartQueueRunners = start_queue_runners
    StartStandardServices = start_standard_services
    Stop = stop
    RequestStop = request_stop
    Loop = loop
    ShouldStop = should_stop
    StopOnException = stop_on_exception
    WaitForStop = wait_for_stop
    SummaryComputed = summary_computed


def _given(value: Any, key: str, make: Callable[[], Any]) -> Any:
    """What was given; else the first item of a collection; else what `make` makes, which goes there."""
    if value is not Supervisor.USE_DEFAULT:
        return value
    graph = get_default_graph()
    found = graph.get_collection(key)
    if len(found) > 1:
        log.info("Found %d %s operations. Returning the first one.", len(found), key)
    if found:
        return found[0]
    made = make()
    if made is not None:
        graph.add_to_collection(key, made)
    return made


def _local_init_op() -> Any:
    return group(local_variables_initializer(), tables_initializer())


def _global_step_tensor() -> Any:
    try:
        found = get_default_graph().get_tensor_by_name("global_step:0")
    except KeyError:
        return None
    if found.dtype.base_dtype in (dtypes.int32, dtypes.int64):
        return found
    log.warning("Found 'global_step' is not an int type: %s", found.dtype)
    return None
