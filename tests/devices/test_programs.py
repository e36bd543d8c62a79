"""Programs of all regions share one bound, and what was used longest ago goes first."""

from __future__ import annotations

import gc

import pytest

from headrace.devices import programs
from headrace.devices.programs import MOST, Programs

pytestmark = pytest.mark.pure


class Program:
    def __init__(self, nbytes):
        self.nbytes = nbytes


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    monkeypatch.setattr(programs, "_held", 0)
    monkeypatch.setattr(programs, "_every", type(programs._every)())
    monkeypatch.setattr(programs, "LIMIT", 1000)


def test_the_one_used_longest_ago_goes_of_whatever_region():
    a, b = Programs(), Programs()
    a.add(1, Program(400))
    b.add(1, Program(300))
    a.used(1)
    a.add(2, Program(250))
    assert (list(a), list(b)) == ([1, 2], [1])
    b.add(2, Program(100))
    assert (list(a), list(b)) == ([1, 2], [2])


def test_one_that_is_too_large_is_the_only_one():
    a = Programs()
    a.add(1, Program(10))
    a.add(2, Program(5000))
    assert list(a) == [2]
    a.add(3, Program(10))
    assert list(a) == [3]


def test_programs_of_regions_that_are_gone_count_no_more():
    for _ in range(50):
        Programs().add(1, Program(300))
    gc.collect()
    a = Programs()
    a.add(1, Program(500))
    a.add(2, Program(500))
    assert list(a) == [1, 2]


def test_at_most_so_many_of_a_region():
    a = Programs()
    for key in range(3 * MOST):
        a.add(key, None)
        a.used(0)
    assert len(a) == MOST == len(a.last)
    assert 0 in a and 3 * MOST - 1 in a


def test_what_went_is_not_used():
    a = Programs()
    a.used(1)
    assert not a and not a.last
