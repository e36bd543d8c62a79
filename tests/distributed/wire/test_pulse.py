"""Signs of life: times in, what to do out."""

from __future__ import annotations

import random

from headrace.distributed.wire.pulse import EVERY, LIMIT, Pulse, Todo


def ticks(pulse: Pulse, start: float, oldest: float, answers: bool, seconds: float) -> list[Todo]:
    """Looks at the peer for some seconds, until it is given up."""
    done, now = [], start
    while now < start + seconds and Todo.GIVE_UP not in done:
        now += EVERY
        done.append(pulse.on_tick(now, oldest))
        if answers and done[-1] is Todo.ASK:
            pulse.on_answer(now)
    return done


def test_a_peer_that_answers_is_asked_for_ever():
    pulse = Pulse()
    pulse.begin(100.0)
    done = ticks(pulse, 100.0, 100.0, True, 60.0)
    assert set(done) == {Todo.ASK}


def test_a_silent_peer_is_given_up_within_two_seconds():
    pulse = Pulse()
    pulse.begin(100.0)
    done = ticks(pulse, 100.0, 100.0, False, 60.0)
    assert done[0] is Todo.ASK and done[-1] is Todo.GIVE_UP
    assert set(done[1:-1]) == {Todo.NOTHING}  # one question is enough
    assert LIMIT <= len(done) * EVERY <= 2.0


def test_what_was_asked_in_vain_is_asked_again():
    pulse = Pulse()
    pulse.begin(0.0)
    assert pulse.on_tick(EVERY, 0.0) is Todo.ASK
    pulse.on_silence()
    assert pulse.on_tick(2 * EVERY, 0.0) is Todo.ASK


def test_short_calls_are_not_asked_after():
    pulse = Pulse()
    pulse.begin(0.0)
    assert pulse.on_tick(EVERY, EVERY - 0.01) is Todo.NOTHING


def test_who_was_asleep_blames_nobody():
    pulse = Pulse()
    pulse.begin(0.0)
    pulse.on_tick(EVERY, 0.0)
    assert pulse.on_tick(EVERY + 6.0, 0.0) is not Todo.GIVE_UP


def test_on_a_crowded_machine_a_peer_has_longer():
    """Ticks come half as often as they should: who asks waits for the processor, and so does the peer."""
    pulse = Pulse()
    pulse.begin(0.0)
    done = [pulse.on_tick(2 * EVERY * (i + 1), 0.0) for i in range(20)]
    assert done.index(Todo.GIVE_UP) * 2 * EVERY >= 1.5 * LIMIT


def test_random_orders():
    """Given up exactly where nothing was heard for LIMIT, not counting the time by which ticks were late."""
    for seed in range(2000):
        rng, pulse = random.Random(seed), Pulse()
        now = heard = 10.0
        late = 0.0
        pulse.begin(now)
        for _ in range(rng.randint(1, 60)):
            pause = EVERY * rng.choice([0.9, 1.0, 1.1, 2.0, 8.0 if rng.random() < 0.1 else 1.0])
            now, late = now + pause, late + max(0.0, pause - EVERY)
            todo = pulse.on_tick(now, 10.0)
            left = LIMIT - (now - heard - late)
            if abs(left) > 1e-6:  # at the border itself either is right
                assert (todo is Todo.GIVE_UP) == (left < 0), seed
            if todo is Todo.GIVE_UP:
                break
            if rng.random() < 0.3:
                pulse.on_answer(now)
                heard, late = now, 0.0
            elif rng.random() < 0.3:
                pulse.on_silence()
