"""Which steps a task knows: what comes first, what is forgotten, what is refused."""

from __future__ import annotations

import random

import pytest

from headrace.core.errors import AbortedError, CancelledError
from headrace.distributed.worker import steps
from headrace.distributed.worker.rendezvous import TaskRendezvous

TASK = "/job:ps/replica:0/task:0"
KEY = f"{TASK}/device:CPU:0;{1:016x};/job:worker/replica:0/task:0/device:CPU:0;edge_x;0:0"


def known() -> steps.Steps:
    return steps.Steps(lambda step_id: TaskRendezvous(TASK, step_id, None))


def test_a_question_may_come_before_the_run():
    table = known()
    asked = table.meet(1).receive(KEY)
    table.begin(1).send(KEY, 5)
    assert asked.result(0) == 5
    table.end(1)
    assert len(table) == 0


def test_a_value_that_nobody_took_keeps_the_step():
    table = known()
    table.begin(1).send(KEY, 5)
    table.end(1)
    assert len(table) == 1
    assert table.meet(1).receive(KEY).result(0) == 5
    table.settle(1)
    assert len(table) == 0


def test_who_comes_after_the_end_is_refused():
    table = known()
    waiting = table.meet(1).receive(KEY)
    table.clean(1).abort(CancelledError(None, None, "over"))
    with pytest.raises(CancelledError):
        waiting.result(0)
    with pytest.raises(AbortedError, match="has ended"):
        table.meet(1)
    table.end(1)  # a run that the end overtook


def test_a_request_counts_once():
    table = known()
    table.admit(7)
    table.admit(0)
    table.admit(0)
    with pytest.raises(AbortedError, match="twice"):
        table.admit(7)


def test_random_orders_leave_nothing_behind():
    for seed in range(300):
        rng, table = random.Random(seed), known()
        values = [KEY.replace("edge_x", f"edge_{i}") for i in range(3)]
        events = [("begin", None), *(("ask", v) for v in values)]
        rng.shuffle(events)
        asked = []
        for kind, key in events:
            if kind == "ask":
                asked.append(table.meet(1).receive(key))
            else:
                meeting = table.begin(1)
        for key in rng.sample(values, 3):
            meeting.send(key, key)
        table.end(1)
        assert all(f.done() for f in asked) and len(table) == 0, seed


def test_random_lives_of_many_steps():
    """Beside a model in plain sets: runs (several of one step: a partial run, or pieces), questions, values
    and ends in any order; nothing is known twice, nothing is left, nobody waits for what has ended."""
    for seed in range(2000):
        rng, table = random.Random(seed), known()
        running: dict[int, list[TaskRendezvous]] = {}
        waiting: list[tuple[int, object]] = []
        ended: set[int] = set()
        for number in range(60):
            step = rng.randint(1, 4)
            key = KEY.replace("edge_x", f"edge_{number}")
            event = rng.choice(["begin", "end", "ask", "meet", "clean"])
            try:
                if event == "begin":
                    running.setdefault(step, []).append(table.begin(step))
                elif event == "end" and running.get(step):
                    running[step].pop()
                    table.end(step)
                elif event == "ask":
                    waiting.append((step, table.meet(step).receive(key)))
                elif event == "meet" and running.get(step):
                    asked = table.meet(step).receive(key)
                    running[step][-1].send(key, number)
                    assert asked.result(0) == number, seed
                    table.settle(step)
                elif event == "clean":
                    meeting = table.clean(step)
                    if meeting is not None:
                        meeting.abort(CancelledError(None, None, "over"))
                    ended.add(step)
                    running.pop(step, None)
            except AbortedError:
                assert step in table._ended, seed  # only what has ended is refused
            else:
                assert step not in ended or event in ("clean", "end", "meet"), seed
            ended |= set(table._ended)
            assert not set(table._live) & set(table._ended), seed
        for step, future in waiting:
            assert future.done() or step in table._live, seed
        for step in list(table._live):
            table.clean(step).abort(CancelledError(None, None, "over"))
        assert len(table) == 0 and all(future.done() for _, future in waiting), seed


def test_what_is_remembered_is_bounded(monkeypatch):
    monkeypatch.setattr(steps, "REMEMBERED", 5)
    table = known()
    for number in range(1, 20):
        table.admit(number)
        table.begin(number)
        table.end(number)
    assert len(table._requests) == len(table._ended) == 5


def test_values_that_nobody_takes_are_bounded(monkeypatch):
    monkeypatch.setattr(steps, "UNTAKEN", 5)
    table = known()
    for number in range(1, 20):
        table.begin(number).send(KEY, 5)
        table.end(number)
    assert len(table) == 5
    assert table.meet(19).receive(KEY).result(0) == 5
    table.settle(19)
    assert len(table) == len(table._untaken) == 4
