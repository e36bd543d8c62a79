"""MonitoredTrainingSession: a MonitoredSession with the hooks that a training run usually has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.train.hooks.checkpoint_saver import CheckpointSaverHook
from headrace.train.hooks.run_hook import SessionRunHook
from headrace.train.hooks.step_hooks import StepCounterHook
from headrace.train.hooks.summary_saver import SummarySaverHook
from headrace.train.sessions.creators import ChiefSessionCreator, SessionCreator, WorkerSessionCreator
from headrace.train.sessions.monitored import MonitoredSession
from headrace.train.sessions.scaffold import Scaffold

USE_DEFAULT: Any = object()


def MonitoredTrainingSession(
    master: str = "",
    is_chief: bool = True,
    checkpoint_dir: str | None = None,
    scaffold: Scaffold | None = None,
    hooks: Sequence[SessionRunHook] | None = None,
    chief_only_hooks: Sequence[SessionRunHook] | None = None,
    save_checkpoint_secs: Any = USE_DEFAULT,
    save_summaries_steps: Any = USE_DEFAULT,
    save_summaries_secs: Any = USE_DEFAULT,
    config: Any = None,
    stop_grace_period_secs: float = 120,
    log_step_count_steps: int | None = 100,
    max_wait_secs: float = 7200,
    save_checkpoint_steps: Any = USE_DEFAULT,
    summary_dir: Any = None,
) -> MonitoredSession:
    """A session for training: the chief's saves checkpoints and summaries, a worker's waits for the chief's.

    Args:
      master: where the session runs.
      is_chief: whether this task initialises, restores and saves.
      checkpoint_dir: folder of the checkpoints; None for none.
      scaffold: what initialises, checks, saves; a default one if None.
      hooks: called around every step.
      chief_only_hooks: those of the chief alone.
      save_checkpoint_secs: how often to save, in seconds (600 unless told), or
      save_summaries_steps: how often to write summaries, in steps (100 unless told), or
      save_summaries_secs: in seconds.
      config: a ConfigProto.
      stop_grace_period_secs: how long threads may go on after the end.
      log_step_count_steps: how often to write steps per second; None for never.
      max_wait_secs: how long a worker waits for the chief.
      save_checkpoint_steps: how often to save, in steps.
      summary_dir: folder of the event file; `checkpoint_dir` if None.

    Example:
      >>> with tf.train.MonitoredTrainingSession(checkpoint_dir="/tmp/model", hooks=hooks) as sess:
      ...     while not sess.should_stop():
      ...         sess.run(train)
    """
    summaries = _every(save_summaries_steps, save_summaries_secs, (100, None))
    checkpoints = _every(save_checkpoint_steps, save_checkpoint_secs, (None, 600))
    scaffold = scaffold or Scaffold()
    creator: SessionCreator
    if not is_chief:
        creator = WorkerSessionCreator(scaffold, master, config, max_wait_secs)
        return MonitoredSession(creator, hooks or [], stop_grace_period_secs)
    all_hooks = list(chief_only_hooks or ())
    creator = ChiefSessionCreator(scaffold, master, config, checkpoint_dir)
    summary_dir = summary_dir or checkpoint_dir
    if summary_dir and log_step_count_steps and log_step_count_steps > 0:
        all_hooks.append(StepCounterHook(log_step_count_steps, output_dir=summary_dir))
    if summary_dir and _is_asked(summaries):
        steps, seconds = summaries
        all_hooks.append(SummarySaverHook(steps, seconds, output_dir=summary_dir, scaffold=scaffold))
    if checkpoint_dir and _is_asked(checkpoints):
        steps, seconds = checkpoints
        all_hooks.append(CheckpointSaverHook(checkpoint_dir, seconds, steps, scaffold=scaffold))
    all_hooks.extend(hooks or ())
    return MonitoredSession(creator, all_hooks, stop_grace_period_secs)


def _every(steps: Any, seconds: Any, default: tuple[Any, Any]) -> tuple[Any, Any]:
    """(steps, seconds): the default if neither is given; what is given alone takes the place of the other."""
    if steps is USE_DEFAULT and seconds is USE_DEFAULT:
        return default
    return (None if steps is USE_DEFAULT else steps), (None if seconds is USE_DEFAULT else seconds)


def _is_asked(every: tuple[Any, Any]) -> bool:
    return any(number and number > 0 for number in every)
