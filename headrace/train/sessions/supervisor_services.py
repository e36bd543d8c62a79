"""Threads of a chief's Supervisor: summaries, steps per second, checkpoints, each every so many seconds."""

from __future__ import annotations

import time
from typing import Any

from headrace.core import log
from headrace.formats import proto
from headrace.train.input_queues.coordinator import LooperThread
from headrace.train.schedules.step_count import global_step as step_number


class SVSummaryThread(LooperThread):
    """Writes summaries."""

    def __init__(self, sv: Any, sess: Any) -> None:
        """Args:
        sv: the Supervisor.
        sess: its session.
        """
        super().__init__(sv.coord, sv.save_summaries_secs)
        self._sv, self._sess = sv, sess

    def run_loop(self) -> None:
        step = None
        if self._sv.global_step is not None:
            summaries, step = self._sess.run([self._sv.summary_op, self._sv.global_step])
        else:
            summaries = self._sess.run(self._sv.summary_op)
        if self._sv.summary_writer:
            log.info("Recording summary at step %s.", step)
            self._sv.summary_writer.add_summary(summaries, step)


class SVStepCounterThread(LooperThread):
    """Writes steps per second."""

    def __init__(self, sv: Any, sess: Any, step_counter: Any = None) -> None:
        """Args:
        sv: the Supervisor.
        sess: its session.
        step_counter: what counts the steps; the global step if None.
        """
        super().__init__(sv.coord, sv.save_summaries_secs)
        self._sv, self._sess = sv, sess
        self._last_time, self._last_step = 0.0, 0
        self._step_counter = sv.global_step if step_counter is None else step_counter
        self._summary_tag = f"{self._step_counter.op.name}/sec"

    def start_loop(self) -> None:
        self._last_time = time.time()
        self._last_step = step_number(self._sess, self._step_counter)

    def run_loop(self) -> None:
        step, now = step_number(self._sess, self._step_counter), time.time()
        steps, seconds = step - self._last_step, now - self._last_time
        self._last_step, self._last_time = step, now
        # Where the clock has not moved the rate is unknown, and infinite as in TF.
        rate = steps / seconds if seconds > 0 else float("inf")
        if self._sv.summary_writer:
            value = proto.Summary.Value(tag=self._summary_tag, simple_value=rate)
            self._sv.summary_writer.add_summary(proto.Summary(value=[value]), step)
        log.log_first_n(log.INFO, "%s: %g", 10, self._summary_tag, rate)


class SVTimerCheckpointThread(LooperThread):
    """Saves checkpoints."""

    def __init__(self, sv: Any, sess: Any) -> None:
        """Args:
        sv: the Supervisor.
        sess: its session.
        """
        super().__init__(sv.coord, sv.save_model_secs)
        self._sv, self._sess = sv, sess

    def run_loop(self) -> None:
        sv = self._sv
        log.info("Saving checkpoint to path %s", sv.save_path)
        sv.saver.save(self._sess, sv.save_path, global_step=sv.global_step)
        if sv.summary_writer and sv.global_step is not None:
            step = step_number(self._sess, sv.global_step)
            note = proto.SessionLog(status=proto.SessionLog.CHECKPOINT, checkpoint_path=sv.save_path)
            sv.summary_writer.add_session_log(note, step)
