"""The hook that saves checkpoints, and listeners to it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from headrace.core import log
from headrace.formats import proto
from headrace.functions.io.graph_files import write_graph
from headrace.graph.defaults import get_default_graph
from headrace.graph.keys import GraphKeys
from headrace.train.hooks.run_hook import SessionRunArgs, SessionRunContext, SessionRunHook, SessionRunValues
from headrace.train.hooks.step_hooks import StepReader
from headrace.train.hooks.timer import SecondOrStepTimer
from headrace.train.meta_graph.meta_graph_export import create_meta_graph_def
from headrace.train.summaries.file_writer import FileWriterCache


class CheckpointSaverListener:
    """Called by CheckpointSaverHook around every checkpoint; every method does nothing.

    Example:
      >>> class Evaluates(tf.train.CheckpointSaverListener):
      ...     def after_save(self, session, global_step_value):
      ...         return loss_is_small()  # True ends the training
    """

    def begin(self) -> None:
        """Called once, before the graph is final."""

    def before_save(self, session: Any, global_step_value: int) -> None:
        """Called before every checkpoint."""

    def after_save(self, session: Any, global_step_value: int) -> bool | None:
        """Called after every checkpoint; what is true ends the training."""

    def end(self, session: Any, global_step_value: int) -> None:
        """Called once, at the end."""


class CheckpointSaverHook(SessionRunHook):
    """Saves a checkpoint at the start, every so many steps or seconds, and at the end.

    Example:
      >>> hooks = [tf.train.CheckpointSaverHook("/tmp/model", save_secs=600)]
    """

    def __init__(
        self,
        checkpoint_dir: str,
        save_secs: float | None = None,
        save_steps: int | None = None,
        saver: Any = None,
        checkpoint_basename: str = "model.ckpt",
        scaffold: Any = None,
        listeners: Sequence[CheckpointSaverListener] | None = None,
    ) -> None:
        """Args:
        checkpoint_dir: the folder.
        save_secs: how often, in seconds, or
        save_steps: in steps.
        saver: who saves; that of the scaffold, or of the graph, if None.
        checkpoint_basename: beginning of the names of the files.
        scaffold: has the saver.
        listeners: called around every checkpoint.
        """
        log.info("Create CheckpointSaverHook.")
        if saver is not None and scaffold is not None:
            raise ValueError("You cannot provide both saver and scaffold.")
        self._saver, self._scaffold = saver, scaffold
        self._checkpoint_dir = checkpoint_dir
        self._save_path = os.path.join(checkpoint_dir, checkpoint_basename)
        self._timer = SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)
        self._listeners = list(listeners or ())
        self._steps_per_run = 1

    def _set_steps_per_run(self, steps_per_run: int) -> None:
        self._steps_per_run = steps_per_run

    def begin(self) -> None:
        self._summary_writer = FileWriterCache.get(self._checkpoint_dir)
        self._step = StepReader("CheckpointSaverHook")
        for listener in self._listeners:
            listener.begin()

    def after_create_session(self, session: Any, coord: Any) -> None:
        step = self._step.now(session)
        graph = get_default_graph()
        graph_def = graph.as_graph_def(add_shapes=True)
        write_graph(graph_def, self._checkpoint_dir, "graph.pbtxt")
        saver = self._get_saver()
        meta = create_meta_graph_def(graph_def=graph_def, saver_def=saver.saver_def if saver else None)
        self._summary_writer.add_graph(graph)
        self._summary_writer.add_meta_graph(meta)
        self._save(session, step)
        self._timer.update_last_triggered_step(step)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return self._step.request

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        if self._timer.should_trigger_for_step(run_values.results - 1 + self._steps_per_run):
            step = self._step.now(run_context.session)
            if self._timer.should_trigger_for_step(step):
                self._timer.update_last_triggered_step(step)
                if self._save(run_context.session, step):
                    run_context.request_stop()

    def end(self, session: Any) -> None:
        step = self._step.now(session)
        if step != self._timer.last_triggered_step():
            self._save(session, step)
        for listener in self._listeners:
            listener.end(session, step)

    def _save(self, session: Any, step: int) -> bool:
        """Save; whether a listener wants the training to end."""
        log.info("Saving checkpoints for %d into %s.", step, self._save_path)
        for listener in self._listeners:
            listener.before_save(session, step)
        self._get_saver().save(session, self._save_path, global_step=step)
        note = proto.SessionLog(status=proto.SessionLog.CHECKPOINT, checkpoint_path=self._save_path)
        self._summary_writer.add_session_log(note, step)
        should_stop = False
        for listener in self._listeners:
            if listener.after_save(session, step):
                log.info(
                    "A CheckpointSaverListener requested that training be stopped. listener: %s", listener
                )
                should_stop = True
        return should_stop

    def _get_saver(self) -> Any:
        """The saver that was given, the scaffold's, or the only one of the graph's collection."""
        if self._saver is not None:
            return self._saver
        if self._scaffold is not None:
            return self._scaffold.saver
        key = GraphKeys.SAVERS
        savers = get_default_graph().get_collection(key)
        if not savers:
            raise RuntimeError(
                f"No items in collection {key}. Please add a saver to the collection or provide a saver or "
                "scaffold."
            )
        if len(savers) > 1:
            raise RuntimeError(
                f"More than one item in collection {key}. Please indicate which one to use by passing it to "
                "the constructor."
            )
        self._saver = savers[0]
        return self._saver
