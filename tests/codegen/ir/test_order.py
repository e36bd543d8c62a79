"""Moments against a plain list."""

from __future__ import annotations

import random
from threading import Thread

import pytest

from headrace.codegen.ir.kernel_ir import Array
from headrace.codegen.ir.order import START, Moment


@pytest.mark.parametrize("seed", range(20))
def test_random_inserts_are_those_of_a_list(seed):
    draw = random.Random(seed)
    model = [Moment.new()]
    for _ in range(300):
        at = draw.randrange(len(model))
        match draw.randrange(3):
            case 0:
                model.append(Moment.new())
            case 1:
                model.insert(at, model[at].before())
            case 2:
                model.insert(at + 1, model[at].after())
    shuffled = draw.sample(model, len(model))
    assert sorted(shuffled) == model
    assert len({m.number for m in model}) == len(model)
    assert all(START < m for m in model)
    for _ in range(100):
        i, j = draw.randrange(len(model)), draw.randrange(len(model))
        assert (model[i] < model[j]) is (i < j) and (model[i] >= model[j]) is (i >= j)


def test_what_is_new_comes_behind_all_that_was_put_somewhere():
    first = Moment.new()
    beside = first.after().after().before()
    assert first < beside < Moment.new()


def test_arrays_come_in_the_order_in_which_they_are_made():
    made = [Array((), "float32") for _ in range(3)]
    assert [t.moment for t in made] == sorted(t.moment for t in made)


def test_threads_get_different_moments():
    found: list[Moment] = []
    threads = [Thread(target=lambda: found.extend([Moment.new() for _ in range(2000)])) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 8000
