"""Evaluating a checkpoint: a session that runs updates of metrics a number of times, then reads them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from headrace.core import dtypes, log
from headrace.functions.math.cast import cast
from headrace.graph.defaults import get_default_graph
from headrace.graph.keys import GraphKeys
from headrace.ops.array.source import identity
from headrace.train.hooks.run_hook import SessionRunArgs, SessionRunHook
from headrace.train.hooks.step_hooks import get_or_create_steps_per_run_variable
from headrace.train.hooks.value_hooks import FinalOpsHook
from headrace.train.sessions.creators import ChiefSessionCreator
from headrace.train.sessions.monitored import MonitoredSession
from headrace.variables.initializers.initializers import Zeros
from headrace.variables.scope import get_variable
from headrace.variables.update import assign_add


def get_or_create_eval_step() -> Any:
    """The graph's count of evaluation steps."""
    found = get_default_graph().get_collection(GraphKeys.EVAL_STEP)
    if len(found) > 1:
        raise ValueError("Multiple tensors added to tf.GraphKeys.EVAL_STEP")
    if found:
        return found[0]
    return get_variable(
        "eval_step",
        shape=[],
        dtype=dtypes.int64,
        initializer=Zeros(),
        trainable=False,
        collections=[GraphKeys.LOCAL_VARIABLES, GraphKeys.EVAL_STEP],
    )


class _CountsEvaluations(SessionRunHook):
    """A hook that knows how many evaluation steps are done."""

    def __init__(self, num_evals: int | None) -> None:
        self._num_evals = num_evals
        self._evals_completed: Any = None

    def _set_evals_completed_tensor(self, updated_eval_step: Any) -> None:
        self._evals_completed = updated_eval_step

    def before_run(self, run_context: Any) -> Any:
        return SessionRunArgs({"evals_completed": self._evals_completed})

    def _report(self, done: int) -> None:
        if self._num_evals is None:
            log.info("Evaluation [%d]", done)
        else:
            log.info("Evaluation [%d/%d]", done, self._num_evals)

    def _stop_when_done(self, run_context: Any, done: int) -> None:
        if self._num_evals is not None and done >= self._num_evals:
            run_context.request_stop()


class StopAfterNEvalsHook(_CountsEvaluations):
    """Ask to stop after so many steps, and say in the log how far it is."""

    def __init__(self, num_evals: int | None, log_progress: bool = True) -> None:
        super().__init__(num_evals)
        self._log_progress = log_progress
        self._every = 1 if num_evals is None or num_evals < 20 else num_evals // 10

    def after_run(self, run_context: Any, run_values: Any) -> None:
        done = run_values.results["evals_completed"]
        if self._log_progress and (done % self._every == 0 or self._num_evals == done):
            self._report(done)
        self._stop_when_done(run_context, done)


class MultiStepStopAfterNEvalsHook(_CountsEvaluations):
    """The same where one run does several steps: it says how many the next one does."""

    def __init__(self, num_evals: int | None, steps_per_run: int = 1) -> None:
        super().__init__(num_evals)
        self._most = steps_per_run

    def begin(self) -> None:
        self._steps = get_or_create_steps_per_run_variable()

    def after_create_session(self, session: Any, coord: Any) -> None:
        self._set_steps(session, 0)

    def _set_steps(self, session: Any, done: int) -> None:
        steps = self._most if self._num_evals is None else min(self._most, self._num_evals - done)
        self._steps.load(steps, session=session)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        done = run_values.results["evals_completed"]
        self._set_steps(run_context.session, done)
        self._report(done)
        self._stop_when_done(run_context, done)


def _with_counting(eval_ops: Any, hooks: Sequence[Any]) -> Any:
    """The ops of a step with one that counts it, whose result the hooks get."""
    step = get_or_create_eval_step()
    in_blocks = any(isinstance(hook, MultiStepStopAfterNEvalsHook) for hook in hooks)
    by = cast(get_or_create_steps_per_run_variable(), step.dtype) if in_blocks else 1
    update = assign_add(step, by, use_locking=True)
    if isinstance(eval_ops, dict):
        eval_ops["update_eval_step"] = update
    elif isinstance(eval_ops, tuple | list):
        eval_ops = [*eval_ops, update]
    else:
        eval_ops = [eval_ops, update]
    waited = list(eval_ops.values()) if isinstance(eval_ops, dict) else eval_ops
    with get_default_graph().control_dependencies(waited):
        done = identity(step.read_value())
    for hook in hooks:
        if isinstance(hook, _CountsEvaluations):
            hook._set_evals_completed_tensor(done)
    return eval_ops


def evaluate_once(
    checkpoint_path: str,
    master: str = "",
    scaffold: Any = None,
    eval_ops: Any = None,
    feed_dict: Mapping[Any, Any] | None = None,
    final_ops: Any = None,
    final_ops_feed_dict: Mapping[Any, Any] | None = None,
    hooks: Iterable[Any] | None = None,
    config: Any = None,
) -> Any:
    """Run `eval_ops` on a checkpoint until a hook stops it.

    Returns:
      The values of `final_ops`, or None.
    """
    get_or_create_eval_step()
    hooks = list(hooks or [])
    if eval_ops is not None:
        eval_ops = _with_counting(eval_ops, hooks)
    log.info("Starting evaluation at " + time.strftime("%Y-%m-%dT%H:%M:%SZ", time.localtime()))
    creator = ChiefSessionCreator(
        scaffold=scaffold, checkpoint_filename_with_path=checkpoint_path, master=master, config=config
    )
    final = FinalOpsHook(final_ops, final_ops_feed_dict)
    hooks.append(final)
    with MonitoredSession(session_creator=creator, hooks=hooks) as session:
        if eval_ops is not None:
            while not session.should_stop():
                session.run(eval_ops, feed_dict)
    log.info("Finished evaluation at " + time.strftime("%Y-%m-%d-%H:%M:%S", time.localtime()))
    return final.final_ops_values
