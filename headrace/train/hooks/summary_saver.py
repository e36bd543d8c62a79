"""Hooks that write what a step says of itself: summaries, and traces of its time."""

from __future__ import annotations

import os
from typing import Any

from headrace.core import log
from headrace.formats import files, proto
from headrace.runtime.timeline import Timeline
from headrace.train.hooks.run_hook import SessionRunArgs, SessionRunContext, SessionRunHook, SessionRunValues
from headrace.train.hooks.step_hooks import StepReader
from headrace.train.hooks.timer import SecondOrStepTimer
from headrace.train.summaries.file_writer import FileWriterCache


class SummarySaverHook(SessionRunHook):
    """Writes summaries every so many steps or seconds.

    Example:
      >>> hooks = [tf.train.SummarySaverHook(save_steps=100, output_dir="/tmp/logs", summary_op=merged)]
    """

    def __init__(
        self,
        save_steps: int | None = None,
        save_secs: float | None = None,
        output_dir: str | None = None,
        summary_writer: Any = None,
        scaffold: Any = None,
        summary_op: Any = None,
    ) -> None:
        """Args:
        save_steps: how often, in steps, or
        save_secs: in seconds.
        output_dir: folder of the event file, or
        summary_writer: who writes it.
        scaffold: has the summaries, or
        summary_op: a summary, or a list of them.
        """
        if (scaffold is None) == (summary_op is None):
            raise ValueError("Exactly one of scaffold or summary_op must be provided.")
        self._summary_op, self._scaffold = summary_op, scaffold
        self._summary_writer, self._output_dir = summary_writer, output_dir
        self._timer = SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)

    def begin(self) -> None:
        if self._summary_writer is None and self._output_dir:
            self._summary_writer = FileWriterCache.get(self._output_dir)
        self._next_step: int | None = None
        self._step = StepReader("SummarySaverHook")

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        self._request_summary = self._next_step is None or self._timer.should_trigger_for_step(
            self._next_step
        )
        requests = {"next_step": self._step.next}
        if self._request_summary and (summaries := self._get_summary_op()) is not None:
            requests["summary"] = summaries
        return SessionRunArgs(requests)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        if not self._summary_writer:
            return
        step = run_values.results["next_step"]
        if self._request_summary:
            step = self._step.now(run_context.session)
            if self._next_step is None:
                self._summary_writer.add_session_log(proto.SessionLog(status=proto.SessionLog.START), step)
            self._timer.update_last_triggered_step(step)
            for summary in run_values.results.get("summary", ()):
                self._summary_writer.add_summary(summary, step)
        self._next_step = step + 1

    def end(self, session: Any = None) -> None:
        if self._summary_writer:
            self._summary_writer.flush()

    def _get_summary_op(self) -> list[Any] | None:
        found = self._scaffold.summary_op if self._summary_op is None else self._summary_op
        return found if found is None or isinstance(found, list) else [found]


class ProfilerHook(SessionRunHook):
    """Traces a step every so many steps or seconds: timeline-STEP.json for chrome://tracing, and an event."""

    def __init__(
        self,
        save_steps: int | None = None,
        save_secs: float | None = None,
        output_dir: str = "",
        show_dataflow: bool = True,
        show_memory: bool = False,
    ) -> None:
        """Args:
        save_steps: how often, in steps, or
        save_secs: in seconds.
        output_dir: the folder.
        show_dataflow: with arrows between nodes.
        show_memory: with memory in use.
        """
        self._output_file = os.path.join(output_dir, "timeline-{}.json")
        self._file_writer = FileWriterCache.get(output_dir)
        self._show_dataflow, self._show_memory = show_dataflow, show_memory
        self._timer = SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)

    def begin(self) -> None:
        self._next_step: int | None = None
        self._step = StepReader("ProfilerHook")

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        # Not the first step, which compiles.
        self._request_summary = self._next_step is not None and self._timer.should_trigger_for_step(
            self._next_step
        )
        options = None
        if self._request_summary:
            options = proto.RunOptions(trace_level=proto.RunOptions.FULL_TRACE)
        return SessionRunArgs(self._step.next, options=options)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        step = run_values.results
        if self._next_step is None:
            self._timer.update_last_triggered_step(step - 1)
        if self._request_summary:
            step = self._step.now(run_context.session)
            self._timer.update_last_triggered_step(step)
            self._save(step, self._output_file.format(step), run_values.run_metadata.step_stats)
            self._file_writer.add_run_metadata(run_values.run_metadata, f"step_{step}")
        self._next_step = step + 1

    def _save(self, step: int, path: str, step_stats: Any) -> None:
        log.info("Saving timeline for %d into '%s'.", step, path)
        trace = Timeline(step_stats).generate_chrome_trace_format(self._show_dataflow, self._show_memory)
        files.write_whole(path, trace)
