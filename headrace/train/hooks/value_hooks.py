"""Hooks that look at values: write them to the log, refuse NaN, run something at the end, feed something."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from headrace.core import log
from headrace.core.errors import OutOfRangeError
from headrace.core.fields import reads
from headrace.graph.defaults import get_default_graph
from headrace.train.hooks.run_hook import SessionRunArgs, SessionRunContext, SessionRunHook, SessionRunValues
from headrace.train.hooks.timer import HookTimer, NeverTriggerTimer, SecondOrStepTimer


class LoggingTensorHook(SessionRunHook):
    """Writes values of tensors to the log.

    Example:
      >>> hooks = [tf.train.LoggingTensorHook({"loss": loss}, every_n_iter=100)]
    """

    def __init__(
        self,
        tensors: Any,
        every_n_iter: int | None = None,
        every_n_secs: float | None = None,
        at_end: bool = False,
        formatter: Callable[[dict[Any, Any]], str] | None = None,
    ) -> None:
        """Args:
        tensors: tensors or their names: a list, or a dict by the words to show.
        every_n_iter: how often, in steps of this session, or
        every_n_secs: in seconds.
        at_end: at the end, too.
        formatter: makes the line of the values.
        """
        only_at_end = at_end and every_n_iter is None and every_n_secs is None
        if not only_at_end and (every_n_iter is None) == (every_n_secs is None):
            raise ValueError(
                "either at_end and/or exactly one of every_n_iter and every_n_secs must be provided."
            )
        if every_n_iter is not None and every_n_iter <= 0:
            raise ValueError(f"invalid every_n_iter={every_n_iter}.")
        if isinstance(tensors, dict):
            self._tag_order = sorted(tensors)
        else:
            self._tag_order = tensors
            tensors = {item: item for item in tensors}
        self._tensors, self._formatter, self._log_at_end = tensors, formatter, at_end
        self._timer: HookTimer = NeverTriggerTimer()
        if not only_at_end:
            self._timer = SecondOrStepTimer(every_secs=every_n_secs, every_steps=every_n_iter)

    def begin(self) -> None:
        self._timer.reset()
        self._iter_count = 0
        self._current_tensors = {tag: graph_element(tensor) for tag, tensor in self._tensors.items()}

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        self._should_trigger = self._timer.should_trigger_for_step(self._iter_count)
        return SessionRunArgs(self._current_tensors) if self._should_trigger else None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        if self._should_trigger:
            self._log_tensors(run_values.results)
        self._iter_count += 1

    def end(self, session: Any) -> None:
        if self._log_at_end:
            self._log_tensors(session.run(self._current_tensors))

    def _log_tensors(self, tensor_values: dict[Any, Any]) -> None:
        with np.printoptions(suppress=True):
            seconds, _ = self._timer.update_last_triggered_step(self._iter_count)
            if self._formatter:
                log.info(self._formatter(tensor_values))
                return
            line = ", ".join(f"{tag} = {tensor_values[tag]}" for tag in self._tag_order)
            if seconds is None:
                log.info("%s", line)
            else:
                log.info("%s (%.3f sec)", line, seconds)


def graph_element(obj: Any) -> Any:
    """A tensor of the default graph, or the one of a name; "x" means "x:0" if x has one output."""
    graph = get_default_graph()
    if not isinstance(obj, str):
        if getattr(obj, "graph", None) is not graph:
            raise ValueError(
                f"Passed {obj} should have graph attribute that is equal to current graph {graph}."
            )
        return obj
    if ":" in obj:
        return graph.as_graph_element(obj)
    element = graph.as_graph_element(f"{obj}:0")
    if len(element.op.outputs) > 1:
        raise ValueError(f"Name {obj} is ambiguous, as this `Operation` has multiple outputs (at least 2).")
    return element


class NanLossDuringTrainingError(RuntimeError):
    """The loss is not a number."""

    def __str__(self) -> str:
        return "NaN loss during training."


class NanTensorHook(SessionRunHook):
    """Ends the training when a loss is NaN."""

    def __init__(self, loss_tensor: Any, fail_on_nan_loss: bool = True) -> None:
        """Args:
        loss_tensor: the loss.
        fail_on_nan_loss: by an error; otherwise the loop just ends.
        """
        self._loss_tensor, self._fail_on_nan_loss = loss_tensor, fail_on_nan_loss

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(self._loss_tensor)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        if not np.isnan(run_values.results):
            return
        message = "Model diverged with loss = NaN."
        if self._fail_on_nan_loss:
            log.error(message)
            raise NanLossDuringTrainingError
        log.warning(message)
        run_context.request_stop()


class FinalOpsHook(SessionRunHook):
    """Runs something once more at the end, and keeps the values."""

    def __init__(self, final_ops: Any, final_ops_feed_dict: Any = None) -> None:
        """Args:
        final_ops: what to run.
        final_ops_feed_dict: what to feed.
        """
        self._final_ops, self._final_ops_feed_dict = final_ops, final_ops_feed_dict
        self._final_ops_values: Any = None

    final_ops_values: Any = reads("_final_ops_values", "The values, after the end.")

    def end(self, session: Any) -> None:
        if self._final_ops is None:
            return
        try:
            self._final_ops_values = session.run(self._final_ops, feed_dict=self._final_ops_feed_dict)
        except (OutOfRangeError, StopIteration):
            log.warning(
                "What FinalOpsHook runs came to the end of an input. It should read variables alone: the "
                "value of a metric, say, and not its update, which reads another batch."
            )
            raise


class FeedFnHook(SessionRunHook):
    """Feeds every step what a function returns."""

    def __init__(self, feed_fn: Callable[[], Any]) -> None:
        """Args:
        feed_fn: returns a feed_dict.
        """
        self.feed_fn = feed_fn

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(fetches=None, feed_dict=self.feed_fn())
