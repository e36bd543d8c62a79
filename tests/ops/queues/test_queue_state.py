"""The queue's decisions: events in, answers out; then any order of events."""

from hypothesis import given
from hypothesis import strategies as st

from headrace.core.errors import CancelledError, OutOfRangeError
from headrace.ops.queues.queue_state import Bag, Line, QueueState, Ranking


def queue(capacity=2, store=None, reserve=0):
    return QueueState("FIFOQueue", "q", capacity, Line() if store is None else store, reserve)


def elements(*values):
    return [(v,) for v in values]


def test_who_takes_waits_for_who_puts():
    q = queue()
    assert q.take("t", 1) == []
    assert q.put("p", elements(1)) == [("p", []), ("t", [(1,)])]


def test_who_puts_waits_for_room():
    q = queue(capacity=1)
    assert q.put("p", elements(1, 2, 3)) == []
    assert q.take("t", 1) == [("t", [(1,)])]
    assert len(q) == 1
    assert q.take("u", 2) == [("p", []), ("u", [(2,), (3,)])]


def test_close_comes_after_those_who_wait_to_put():
    q = queue(capacity=1)
    q.put("p", elements(1, 2))
    assert q.close("c") == []
    assert q.take("t", 2) == [("p", []), ("c", []), ("t", [(1,), (2,)])]
    assert q.closed


def test_a_closed_queue_gives_back_what_a_batch_took():
    q = queue(capacity=5)
    q.put("p", elements(1, 2))
    assert q.take("t", 3) == []
    assert len(q) == 0
    (closed, failed) = q.close("c")
    assert closed == ("c", [])
    assert failed[0] == "t" and isinstance(failed[1], OutOfRangeError)
    assert "requested 1, current size 0" in failed[1].message
    assert q.take("u", 2) == [("u", [(1,), (2,)])]


def test_up_to_takes_the_rest_of_a_closed_queue():
    q = queue(capacity=5)
    q.put("p", elements(1, 2))
    assert q.take("t", 3, up_to=True) == []
    assert q.close("c") == [("c", []), ("t", [(1,), (2,)])]


def test_close_may_cancel_those_who_wait():
    q = queue(capacity=1)
    q.put("p", elements(1, 2))
    cancelled, closed = q.close("c", cancel_puts=True)
    assert cancelled[0] == "p" and isinstance(cancelled[1], CancelledError)
    assert closed == ("c", [])
    refused = q.put("late", elements(9))
    assert refused[0][1].message == "FIFOQueue 'q' is closed."


def test_who_is_cancelled_gives_back():
    q = queue(capacity=5)
    q.put("p", elements(1, 2))
    q.take("t", 3)
    assert q.cancel("t")[0][1].message == "Dequeue operation was cancelled"
    assert q.take("u", 2) == [("u", [(1,), (2,)])]
    assert q.cancel("nobody") == []


def test_reserve_stays_until_closed():
    q = queue(capacity=5, store=Bag(iter([0, 1, 0, 0]).__next__), reserve=2)
    q.put("p", elements("a", "b", "c"))
    assert q.take("t", 1) == [("t", [("a",)])]
    assert q.take("u", 1) == []
    assert q.close("c")[-1][0] == "u"


def test_ranking_takes_a_batch_at_once():
    q = queue(capacity=5, store=Ranking())
    q.put("p", [(3, "c"), (1, "a")])
    assert q.take("t", 3) == []
    assert len(q) == 2
    assert q.put("r", [(2, "b")])[-1] == ("t", [(1, "a"), (2, "b"), (3, "c")])


EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.integers(0, 4)),
        st.tuples(st.just("take"), st.integers(1, 4), st.booleans()),
        st.tuples(st.just("cancel"), st.integers(0, 30)),
        st.tuples(st.just("close"), st.booleans()),
    ),
    max_size=30,
)


@given(EVENTS, st.integers(1, 4))
def test_nothing_is_lost_and_everybody_is_answered_once(events, capacity):
    q = queue(capacity)
    sent, refused, taken, answered, asked = [], set(), [], {}, {}
    number = 0
    for ticket, event in enumerate(events):
        match event:
            case "put", count:
                batch = list(range(number, number + count))
                number += count
                sent += batch
                asked[ticket] = batch
                answers = q.put(ticket, elements(*batch))
            case "take", count, up_to:
                asked[ticket] = None
                answers = q.take(ticket, count, up_to)
            case "cancel", who:
                answers = q.cancel(who)
            case "close", now:
                asked[ticket] = None
                answers = q.close(ticket, now)
        for who, result in answers:
            assert who in asked and who not in answered
            answered[who] = result
            if isinstance(result, list):
                taken += [value for (value,) in result]
            elif asked[who]:
                refused |= set(asked[who])
    assert len(q) <= capacity + sum(e[1] for e in events if e[0] == "take")
    assert len(set(taken)) == len(taken), "an element left twice"
    left = []
    for _ in range(len(q)):
        left.append(q.store.take()[0])
    held = [v for t in q._takes for (v,) in t.got]
    waiting = [v for p in q._puts if hasattr(p, "elements") for (v,) in p.elements]
    assert set(taken) | set(left) | set(held) | set(waiting) | refused >= set(sent)
    if not any(e[0] == "cancel" for e in events):
        assert taken == sorted(taken), "first in, first out"
    if q.closed:
        assert not q._takes and not q._puts
