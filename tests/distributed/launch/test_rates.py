"""How fast counters grow."""

from __future__ import annotations

from headrace.distributed.launch.rates import WINDOW, Rates


def test_rates():
    rates = Rates()
    assert (rates.count("a"), rates.rate("a")) == (None, None)
    rates.note("a", 10.0, 100)
    assert (rates.count("a"), rates.rate("a")) == (100, None)
    rates.note("a", 12.0, 150)
    assert rates.rate("a") == 25.0
    rates.note("a", 12.0, 150)  # the same moment again
    assert rates.rate("a") == 25.0


def test_the_last_seconds_count():
    rates = Rates()
    for second in range(100):
        rates.note("a", float(second), second**2)
    slow, fast = 99**2 - (99 - WINDOW - 1) ** 2, 99**2 - (99 - WINDOW + 1) ** 2
    assert fast / (WINDOW - 1) >= rates.rate("a") >= slow / (WINDOW + 1)


def test_a_counter_that_begins_anew():
    rates = Rates()
    rates.note("a", 0.0, 100)
    rates.note("a", 1.0, 3)
    assert rates.rate("a") is None
    rates.note("a", 2.0, 4)
    assert rates.rate("a") == 1.0
    rates.forget("a")
    rates.forget("b")
    assert rates.count("a") is None


def test_moments_that_are_equal():
    rates = Rates()
    rates.note("a", 1.0, 1)
    rates.note("a", 1.0, 2)
    assert rates.rate("a") is None
