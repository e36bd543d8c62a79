"""A step at its master: events in, actions out."""

from __future__ import annotations

import random

from headrace.core.errors import CancelledError, DeadlineExceededError, InvalidArgumentError, UnavailableError
from headrace.distributed.master.step import (
    Clean,
    Deliver,
    Fail,
    GaveUp,
    Launch,
    MasterStep,
    PartEnded,
    PartFailed,
    Started,
    Stopped,
)

CAUSE = InvalidArgumentError(None, None, "the cause")
ECHO = CancelledError(None, None, "ended by its master")
LOST = UnavailableError(None, None, "is not there")
LATE = DeadlineExceededError(None, None, "late")


def test_all_parts_end():
    step = MasterStep(["a", "b"])
    assert step.on(Started()) == [Launch("a"), Launch("b")]
    assert step.on(PartEnded("b", [2])) == []
    assert step.on(PartEnded("a", [1])) == [Deliver({"b": [2], "a": [1]})]


def test_tasks_that_do_not_forget_are_told():
    step = MasterStep(["a", "b"], cleans=frozenset("b"))
    step.on(Started())
    step.on(PartEnded("a", []))
    assert step.on(PartEnded("b", [])) == [Clean("b"), Deliver({"a": [], "b": []})]


def test_a_failure_ends_all_parts_and_the_cause_is_told():
    step = MasterStep(["a", "b", "c"])
    step.on(Started())
    assert step.on(PartFailed("a", LOST)) == [Clean("a"), Clean("b"), Clean("c")]
    assert step.on(PartFailed("b", CAUSE)) == []
    assert step.on(PartFailed("c", ECHO)) == [Fail(CAUSE)]


def test_a_lost_task_is_told_although_others_were_cancelled_before_it_was_noticed():
    step = MasterStep(["a", "b"])
    step.on(Started())
    step.on(PartFailed("a", ECHO))
    assert step.on(PartFailed("b", LOST)) == [Fail(LOST)]


def test_a_deadline_is_its_own_cause():
    step = MasterStep(["a"])
    step.on(Started())
    assert step.on(Stopped(LATE)) == [Clean("a")]
    assert step.on(PartFailed("a", ECHO)) == [Fail(LATE)]


def test_a_task_that_does_not_answer_is_given_up():
    step = MasterStep(["a", "b"])
    step.on(Started())
    assert step.on(GaveUp()) == []  # nothing has failed: it takes its time
    step.on(PartFailed("a", CAUSE))
    assert step.on(GaveUp()) == [Fail(CAUSE)]
    assert step.on(PartEnded("b", [])) == []


def test_nothing_to_do():
    assert MasterStep([]).on(Started()) == [Deliver({})]


def test_random_orders_end_once():
    """Whatever happens in whatever order, twice or after the end: one end, the right one."""
    for seed in range(3000):
        rng = random.Random(seed)
        tasks = [f"t{i}" for i in range(rng.randint(0, 4))]
        step = MasterStep(tasks, frozenset(t for t in tasks if rng.random() < 0.5))
        events = []
        for task in tasks:
            made = rng.choice([PartEnded(task, [task]), PartFailed(task, rng.choice([CAUSE, ECHO, LOST]))])
            events += [made] * rng.choice([1, 1, 2])
        events += [Stopped(LATE)] * rng.choice([0, 0, 1]) + [GaveUp()] * rng.choice([0, 0, 1])
        rng.shuffle(events)
        actions = step.on(Started())
        for event in events:
            actions += step.on(event)
        ends = [a for a in actions if isinstance(a, (Deliver, Fail))]
        assert len(ends) == 1 and step.has_ended, seed
        assert [a.task for a in actions if isinstance(a, Launch)] == tasks
        if isinstance(ends[0], Deliver):
            assert set(ends[0].values) == set(tasks)
        else:
            assert {a.task for a in actions if isinstance(a, Clean)} == set(tasks)
            seen = [e for _, e in step.errors]
            assert ends[0].error in ((CAUSE, LATE) if CAUSE in seen or LATE in seen else (ECHO, LOST))
