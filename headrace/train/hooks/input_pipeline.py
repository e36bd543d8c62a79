"""The hook that keeps the places of a program's iterators in checkpoints of their own."""

from __future__ import annotations

from typing import Any

from headrace.data.iterators import GLOBAL_ITERATORS
from headrace.graph.defaults import get_default_graph
from headrace.train.checkpoints.checkpoint_files import latest_checkpoint
from headrace.train.checkpoints.iterator_saveable import IteratorSaveable
from headrace.train.checkpoints.saver import Saver
from headrace.train.hooks.checkpoint_saver import CheckpointSaverHook
from headrace.train.hooks.run_hook import SessionRunArgs, SessionRunContext, SessionRunHook, SessionRunValues


class CheckpointInputPipelineHook(SessionRunHook):
    """Saves where all iterators of the graph stand, as often as an estimator saves its model, and beside it:
    training that is taken up again goes on with the next element.

    Args:
      estimator: whose folder and settings these are.
    """

    def __init__(self, estimator: Any) -> None:
        config, prefix = estimator._config, "input"
        if config.num_worker_replicas > 1:
            prefix += f"_{config.task_type}_{config.task_id}"
        self._hook = CheckpointSaverHook(
            estimator.model_dir,
            save_secs=config.save_checkpoints_secs,
            save_steps=config.save_checkpoints_steps,
            checkpoint_basename=f"{prefix}.ckpt",
        )
        self._folder, self._latest_filename = estimator.model_dir, f"checkpoint_{prefix}"
        self._is_first = True

    def begin(self) -> None:
        iterators = get_default_graph().get_collection(GLOBAL_ITERATORS)
        self._hook._saver = _Saver([IteratorSaveable(i) for i in iterators], self._latest_filename)
        self._hook.begin()

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        # Not when the session is made: iterators may be initialised by hooks that come after this one.
        if self._is_first:
            self._is_first = False
            self._restore_or_save(run_context.session)
        return self._hook.before_run(run_context)

    def _restore_or_save(self, session: Any) -> None:
        latest = latest_checkpoint(self._folder, self._latest_filename)
        if latest:
            self._hook._saver.restore(session, latest)
            return
        step = self._hook._step.now(session)
        self._hook._save(session, step)
        self._hook._timer.update_last_triggered_step(step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        self._hook.after_run(run_context, run_values)

    def end(self, session: Any) -> None:
        self._hook.end(session)


class _Saver(Saver):
    """One that says in a file of its own which checkpoint is the newest."""

    def __init__(self, saveables: Any, latest_filename: str) -> None:
        super().__init__(saveables)
        self._latest_filename = latest_filename

    def save(
        self,
        sess: Any,
        save_path: Any,
        global_step: Any = None,
        latest_filename: Any = None,
        *more: Any,
        **options: Any,
    ) -> str | None:
        name = latest_filename or self._latest_filename
        return super().save(sess, save_path, global_step, name, *more, **options)
