"""Which signatures a session forgets."""

from headrace.session import run_cache
from headrace.session.run_cache import RunCache


def test_the_least_recently_used_one_is_forgotten(monkeypatch):
    monkeypatch.setattr(run_cache, "LIMIT", 4)
    cache = RunCache()
    for key in "abcd":
        cache.put(key, key.upper())
    assert cache.get("a", 0) == "A"
    cache.put("e", "E")
    assert [cache.get(key, 0) for key in "abcde"] == ["A", None, "C", "D", "E"]


def test_a_change_of_the_graph_empties_it():
    cache = RunCache()
    cache.put("a", 1)
    cache.put_plain("b", 2)
    assert cache.get("a", 1) is None
    assert not cache.plain and cache.get("a", 1) is None
