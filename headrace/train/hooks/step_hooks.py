"""Hooks that follow the global step: stop at one, wait for one, count them per second.

A hook sees the global step as it was read in its step, which may be before or after the increment, and other
workers increment it too.  So what seems to have come is asked for again before somebody acts upon it.

What is fetched is the step *after* the one that is read: a value of its own.  To give out the variable's
value from before the update would keep the update from happening in place.
"""

from __future__ import annotations

import time
from typing import Any

from headrace.core import dtypes, log
from headrace.formats import proto
from headrace.graph.defaults import get_default_graph
from headrace.graph.keys import GraphKeys
from headrace.train.hooks.run_hook import SessionRunArgs, SessionRunContext, SessionRunHook, SessionRunValues
from headrace.train.hooks.timer import SecondOrStepTimer
from headrace.train.schedules.step_count import get_global_step
from headrace.train.summaries.file_writer import FileWriterCache
from headrace.variables.initializers.initializers import Ones
from headrace.variables.scope import get_variable, variable_scope
from headrace.variables.store import AUTO_REUSE

_STEPS_PER_RUN = "hooks_steps_per_run"
_NEXT_STEP = "hooks_next_global_step"
_WAIT_SECONDS = 0.5  # between two looks at a global step that has not come


class StepReader:
    """Reads the global step with every step of a session; one node of the graph for all hooks."""

    def __init__(self, hook: str) -> None:
        """Args:
        hook: who needs it.

        Raises:
          RuntimeError: the graph has no global step.
        """
        step, graph = get_global_step(), get_default_graph()
        if step is None:
            raise RuntimeError(f"Global step should be created to use {hook}.")
        made = graph.get_collection_ref(_NEXT_STEP)
        if not made:
            with graph.name_scope(None), graph.name_scope(step.op.name + "/"), graph.device(step.device):
                made.append(step + 1)
        self.next = made[0]
        self.request = SessionRunArgs(self.next)

    def now(self, session: Any) -> Any:
        """The global step at this moment."""
        return session.run(self.next) - 1


class StopAtStepHook(SessionRunHook):
    """Ends the loop after some steps, or when the global step has reached a number.

    Example:
      >>> hooks = [tf.train.StopAtStepHook(last_step=100000)]
    """

    def __init__(self, num_steps: int | None = None, last_step: int | None = None) -> None:
        """Args:
        num_steps: how many steps from the start of the session, or
        last_step: the global step at which to end.
        """
        _check_one(num_steps, last_step)
        self._num_steps, self._last_step = num_steps, last_step

    def begin(self) -> None:
        self._step = StepReader("StopAtStepHook")

    def after_create_session(self, session: Any, coord: Any) -> None:
        if self._last_step is None:
            self._last_step = self._step.now(session) + self._num_steps

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return self._step.request

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        last: Any = self._last_step
        if run_values.results >= last and self._step.now(run_context.session) >= last:
            run_context.request_stop()


def _check_one(num_steps: int | None, last_step: int | None) -> None:
    if num_steps is None and last_step is None:
        raise ValueError("One of num_steps or last_step must be specified.")
    if num_steps is not None and last_step is not None:
        raise ValueError("Only one of num_steps or last_step can be specified.")


def get_or_create_steps_per_run_variable() -> Any:
    """A local variable that says how many global steps one `run` makes; 1 at first."""
    found = get_default_graph().get_collection(_STEPS_PER_RUN)
    if len(found) > 1:
        raise RuntimeError("Multiple steps_per_run_var in collection.")
    if found:
        return found[0]
    with variable_scope("hooks", reuse=AUTO_REUSE):
        return get_variable(
            "steps_per_run",
            initializer=Ones(),
            shape=[],
            dtype=dtypes.int32,
            trainable=False,
            collections=[_STEPS_PER_RUN, GraphKeys.LOCAL_VARIABLES],
            use_resource=True,
        )


class MultiStepStopAtStepHook(SessionRunHook):
    """As StopAtStepHook where one `run` makes several global steps: the last run makes fewer."""

    def __init__(
        self, num_steps: int | None = None, last_step: int | None = None, steps_per_run: int = 1
    ) -> None:
        """Args:
        num_steps: how many steps from the start of the session, or
        last_step: the global step at which to end.
        steps_per_run: how many global steps one run makes at most.
        """
        _check_one(num_steps, last_step)
        if steps_per_run is None or steps_per_run < 1:
            raise ValueError("steps_per_run should be greater than 0")
        self._num_steps, self._last_step = num_steps, last_step
        self._steps_per_run = steps_per_run

    def begin(self) -> None:
        self._global_step_tensor = get_global_step()
        if self._global_step_tensor is None:
            raise RuntimeError("Global step should be created to use StopAtStepHook.")
        self._variable = get_or_create_steps_per_run_variable()

    def after_create_session(self, session: Any, coord: Any) -> None:
        step = session.run(self._global_step_tensor)
        if self._last_step is None:
            self._last_step = step + self._num_steps
        self._load(step, session)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        step = run_context.session.run(self._global_step_tensor)
        if step >= self._last_step:
            run_context.request_stop()
        else:
            self._load(step, run_context.session)

    def _load(self, step: int, session: Any) -> None:
        last: Any = self._last_step
        self._variable.load(min(last - step, self._steps_per_run), session=session)


class StepCounterHook(SessionRunHook):
    """Global steps per second, in the log and in an event file."""

    def __init__(
        self,
        every_n_steps: int | None = 100,
        every_n_secs: float | None = None,
        output_dir: str | None = None,
        summary_writer: Any = None,
    ) -> None:
        """Args:
        every_n_steps: how often, in steps, or
        every_n_secs: in seconds.
        output_dir: folder of the event file, or
        summary_writer: who writes it.
        """
        if (every_n_steps is None) == (every_n_secs is None):
            raise ValueError("exactly one of every_n_steps and every_n_secs should be provided.")
        self._timer = SecondOrStepTimer(every_steps=every_n_steps, every_secs=every_n_secs)
        self._summary_writer, self._output_dir = summary_writer, output_dir
        self._last_global_step: int | None = None
        self._steps_per_run = 1

    def _set_steps_per_run(self, steps_per_run: int) -> None:
        self._steps_per_run = steps_per_run

    def begin(self) -> None:
        if self._summary_writer is None and self._output_dir:
            self._summary_writer = FileWriterCache.get(self._output_dir)
        self._step = StepReader("StepCounterHook")
        self._summary_tag = f"{get_global_step().op.name}/sec"

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return self._step.request

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Every so many steps or seconds, the rate.  The request of `before_run` saw the step's number before
        the increment, so what is due is asked of the session again."""
        seen = run_values.results - 1
        if self._timer.should_trigger_for_step(seen + self._steps_per_run):
            step = self._step.now(run_context.session)
            if self._timer.should_trigger_for_step(step):
                seconds, steps = self._timer.update_last_triggered_step(step)
                if seconds:
                    self._log_and_record(steps, seconds, step)
        if seen == self._last_global_step:
            log.log_first_n(
                log.WARN,
                "It seems that global step (tf.train.get_global_step) has not been increased. Current value "
                "(could be stable): %s vs previous value: %s. You could increase the global step by passing "
                "tf.train.get_global_step() to Optimizer.apply_gradients or Optimizer.minimize.",
                5,
                seen,
                self._last_global_step,
            )
        self._last_global_step = seen

    def _log_and_record(self, elapsed_steps: int, elapsed_time: float, global_step: int) -> None:
        rate = elapsed_steps / elapsed_time
        if self._summary_writer is not None:
            value = proto.Summary.Value(tag=self._summary_tag, simple_value=rate)
            self._summary_writer.add_summary(proto.Summary(value=[value]), global_step)
        log.info("%s: %g", self._summary_tag, rate)


class GlobalStepWaiterHook(SessionRunHook):
    """The first step waits until others have brought the global step to a number.

    So that workers of an asynchronous cluster begin one after the other.
    """

    def __init__(self, wait_until_step: int) -> None:
        """Args:
        wait_until_step: the global step to wait for.
        """
        self._wait_until_step = wait_until_step

    def begin(self) -> None:
        self._worker_is_started = False
        self._step = StepReader("_GlobalStepWaiterHook")

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        if self._worker_is_started:
            return None
        if self._wait_until_step > 0:
            self._wait(run_context.session)
        self._worker_is_started = True
        return None

    def _wait(self, session: Any) -> None:
        log.info("Waiting for global step %d before starting training.", self._wait_until_step)
        told = 0
        while (step := self._step.now(session)) < self._wait_until_step:
            if step - told > 1000:
                log.info(
                    "Waiting for global step %d before starting training. Current step is %d.",
                    self._wait_until_step,
                    step,
                )
                told = step
            time.sleep(_WAIT_SECONDS)
