"""The life of a launch: what happens to tasks, and what is done then."""

from __future__ import annotations

import random

import pytest

from headrace.distributed.launch.lifecycle import (
    EVALUATION,
    GRACE,
    Ask,
    Began,
    Due,
    Ended,
    Finish,
    Kill,
    Lifecycle,
    Phase,
    Revived,
    Signalled,
    Start,
    Tell,
    Timer,
    Wait,
)
from headrace.distributed.launch.tasks import Role, Task, make_tasks

PS, FIRST, SECOND = Task("ps", 0), Task("worker", 0), Task("worker", 1)
EVALUATOR = Task("evaluator", 0)


def begun(restarts=0, **counts):
    tasks = make_tasks(counts or {"ps": 1, "worker": 2})
    state = Lifecycle(tasks, restarts)
    assert state.on(Began()) == [Start(task) for task in tasks]
    return state


def quiet(actions):
    return [action for action in actions if not isinstance(action, Tell)]


def test_parameter_servers_end_when_the_workers_are_done():
    state = begun()
    assert state.on(Ended(SECOND, 0)) == []
    assert state.on(Ended(FIRST, 0)) == [Ask(PS), Wait(GRACE, Timer.GRACE)]
    assert state.on(Ended(PS, -15)) == [Finish(0)]
    assert state.on(Due(Timer.GRACE)) == []


def test_who_does_not_end_when_asked_is_killed():
    state = begun()
    state.on(Ended(SECOND, 0))
    state.on(Ended(FIRST, 0))
    assert state.on(Due(Timer.GRACE)) == [Kill(PS)]
    assert state.on(Ended(PS, -9)) == [Finish(0)]


def test_a_failure_ends_all_with_its_code():
    state = begun()
    tell, *rest = state.on(Ended(SECOND, 3))
    assert (tell.task, tell.text) == (SECOND, "worker:1 failed with exit code 3; ending the other tasks")
    assert rest == [Ask(FIRST), Ask(PS), Wait(GRACE, Timer.GRACE)]
    assert state.on(Ended(FIRST, 7)) == []  # an echo
    assert state.on(Ended(PS, 0)) == [Finish(3)]


def test_a_task_is_started_again_as_often_as_allowed():
    state = begun(restarts=2)
    assert quiet(state.on(Ended(FIRST, -9))) == [Wait(1.0, FIRST)]
    assert state.on(Due(FIRST)) == [Start(FIRST)]
    assert quiet(state.on(Ended(FIRST, 1))) == [Wait(2.0, FIRST)]
    assert state.on(Due(FIRST)) == [Start(FIRST)]
    tell, *_ = state.on(Ended(FIRST, -9))
    assert tell.text == "worker:0 was ended by SIGKILL after 3 starts; ending the other tasks"
    state.on(Ended(SECOND, 0))
    assert state.on(Ended(PS, 0)) == [Finish(137)]


def test_the_last_worker_may_be_one_that_waits_for_its_start():
    state = begun(restarts=1)
    state.on(Ended(FIRST, 1))
    assert state.on(Ended(SECOND, 0)) == []
    assert state.on(Due(FIRST)) == [Start(FIRST)]
    assert state.on(Ended(FIRST, 0)) == [Ask(PS), Wait(GRACE, Timer.GRACE)]


def test_a_signal_ends_all_and_starts_nothing_more():
    state = begun(restarts=1)
    state.on(Ended(FIRST, 1))
    assert quiet(state.on(Signalled(2))) == [Ask(SECOND), Ask(PS), Wait(GRACE, Timer.GRACE)]
    assert state.on(Due(FIRST)) == []
    assert quiet(state.on(Signalled(2))) == [Kill(SECOND), Kill(PS)]
    assert state.on(Signalled(2)) == []
    state.on(Ended(PS, -9))
    assert state.on(Ended(SECOND, -9)) == [Finish(130)]


def test_a_signal_while_the_servers_end_counts():
    state = begun(ps=1, worker=1)
    state.on(Ended(FIRST, 0))
    assert quiet(state.on(Signalled(15))) == [Kill(PS)]
    assert state.on(Ended(PS, -9)) == [Finish(143)]


def test_evaluators_have_time_for_the_last_checkpoint():
    state = begun(worker=1, evaluator=1, ps=1)
    assert state.on(Ended(FIRST, 0)) == [Wait(EVALUATION, Timer.EVALUATION)]
    assert state.on(Ended(EVALUATOR, 0)) == [Ask(PS), Wait(GRACE, Timer.GRACE)]
    late = begun(worker=1, evaluator=1)
    late.on(Ended(FIRST, 0))
    assert late.on(Due(Timer.EVALUATION)) == [Ask(EVALUATOR), Wait(GRACE, Timer.GRACE)]
    assert late.on(Ended(EVALUATOR, -15)) == [Finish(0)]


def test_a_server_that_ends_by_itself_is_told_of():
    state = begun()
    assert [a.text for a in state.on(Ended(PS, 0))] == ["ps:0 ended by itself, before those that train"]
    state.on(Ended(FIRST, 0))
    assert state.on(Ended(SECOND, 0))[-1] == Finish(0)


def test_a_task_that_its_engine_has_started_again():
    state = begun()
    assert [a.text for a in state.on(Revived(FIRST))] == ["worker:0 was lost and is started again (1)"]
    assert FIRST in state.running


@pytest.mark.parametrize("seed", range(20))
def test_any_order_of_events(seed):
    """Whatever happens: tasks that run are started once at a time, one Finish, and nothing after it."""
    order = random.Random(seed)
    for _ in range(100):
        counts = {job: order.randrange(3) for job in ("ps", "worker", "evaluator")} | {"chief": 1}
        state = Lifecycle(make_tasks(counts), order.randrange(3))
        alive, timers, finished = set(), [], []
        actions = state.on(Began())
        for _ in range(300):
            for action in actions:
                assert not finished
                match action:
                    case Start(task):
                        assert task not in alive and state.phase is Phase.RUNNING
                        alive.add(task)
                    case Ask(task):
                        assert task in alive
                    case Kill(task):
                        assert task in alive
                    case Wait(_, what):
                        timers.append(Due(what))
                    case Finish(code):
                        assert not alive
                        finished.append(code)
            choices = [Ended(t, order.choice([0, 0, 0, 1, -9])) for t in sorted(alive)] + timers
            choices += [Revived(t) for t in sorted(alive)] if order.random() < 0.1 else []
            choices += [Signalled(2)] if order.random() < 0.03 else []
            if not choices:
                break
            event = order.choice(choices)
            if isinstance(event, Ended):
                alive.discard(event.task)
            elif isinstance(event, Due):
                timers.remove(event)
            actions = state.on(event)
        assert len(finished) == 1, state
        trained = all(t in state.done for t in state.tasks if t.role is Role.TRAINS)
        assert trained or finished[0] != 0


def test_a_number_that_is_no_signal():
    assert "signal 99" in begun().on(Ended(FIRST, -99))[0].text
