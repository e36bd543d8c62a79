"""The executor's decisions, without threads: items and values in, ready items out."""

import random

from headrace.runtime.frames import DEAD, Frame, Item, Iteration, Kind, StepState


def items(*rows):
    """(kind, inputs [(item, output)], control [items], extras)"""
    made = [Item(i, kind, len(ins), len(ctl), [[], []], []) for i, (kind, ins, ctl, _) in enumerate(rows)]
    for i, (_, ins, ctl, extra) in enumerate(rows):
        for position, (source, output) in enumerate(ins):
            made[source].outputs[output].append((i, position))
            if made[i].kind is Kind.MERGE and made[source].kind is Kind.NEXT:
                made[i].back_inputs += 1
        for source in ctl:
            made[source].followers.append(i)
        for name, value in extra.items():
            setattr(made[i], name, value)
    return made


def run(rows, compute, seed=None):
    """Run to the end in some order; returns {item: [results]}."""
    rng = random.Random(seed)
    state = StepState(items(*rows))
    ready, results = state.start(), {}
    while ready:
        item = ready.pop(rng.randrange(len(ready)) if seed is not None else 0)
        kind, number = item.item.kind, item.item.number
        if item.dead:
            out = [DEAD, DEAD]
        elif kind is Kind.SWITCH:
            out = [DEAD, item.values[0]] if item.values[1] else [item.values[0], DEAD]
        elif kind is Kind.MERGE:
            out = list(item.values)
        elif kind is Kind.ORDINARY:
            out = [compute[number](*item.values), None]
        else:
            out = [item.values[0], None]
        results.setdefault(number, []).append(out[0])
        ready += state.finish(item, out)
    assert state.unfinished == 0
    return results


O, S, M, E, X, N = Kind.ORDINARY, Kind.SWITCH, Kind.MERGE, Kind.ENTER, Kind.EXIT, Kind.NEXT


def test_join_waits_for_both():
    rows = [(O, [], [], {}), (O, [], [], {}), (O, [(0, 0), (1, 0)], [], {})]
    state = StepState(items(*rows))
    first, second = state.start()
    assert state.finish(second, [2, None]) == []
    [join] = state.finish(first, [1, None])
    assert join.values == [1, 2]
    assert state.finish(join, [3, None]) == []


def test_control_edge_waits():
    rows = [(O, [], [], {}), (O, [], [0], {})]
    state = StepState(items(*rows))
    [only] = state.start()
    [follower] = state.finish(only, [1, None])
    assert follower.item.number == 1 and not follower.dead


def conditional(choice):
    # 0 data, 1 pred, 2 switch, 3 false branch, 4 true branch, 5 merge
    return [
        (O, [], [], {}),
        (O, [], [], {}),
        (S, [(0, 0), (1, 0)], [], {}),
        (O, [(2, 0)], [], {}),
        (O, [(2, 1)], [], {}),
        (M, [(3, 0), (4, 0)], [], {}),
    ]


def test_merge_takes_the_live_branch():
    for choice, expected in ((True, 20), (False, 11)):
        compute = {0: lambda: 10, 1: lambda c=choice: c, 3: lambda x: x + 1, 4: lambda x: x * 2}
        for seed in range(20):
            assert run(conditional(choice), compute, seed)[5] == [expected]


def test_dead_control_input_makes_dead():
    rows = conditional(True) + [(O, [], [3], {})]
    compute = {0: lambda: 1, 1: lambda: True, 3: lambda x: x, 4: lambda x: x, 6: lambda: "ran"}
    assert run(rows, compute)[6] == [DEAD]


def counting_loop(limit):
    # 0 zero, 1 limit, 2 enter, 3 enter(constant), 4 merge, 5 less, 6 switch, 7 add one, 8 next,
    # 9 exit, 10 after
    return [
        (O, [], [], {}),
        (O, [], [], {}),
        (E, [(0, 0)], [], {"frame": "f", "enters": 2}),
        (E, [(1, 0)], [], {"frame": "f", "enters": 2, "is_constant": True}),
        (M, [(2, 0), (8, 0)], [], {}),
        (O, [(4, 0), (3, 0)], [], {}),
        (S, [(4, 0), (5, 0)], [], {}),
        (O, [(6, 1)], [], {}),
        (N, [(7, 0)], [], {}),
        (X, [(6, 0)], [], {}),
        (O, [(9, 0)], [], {}),
    ]


def test_loop_counts_whatever_the_order():
    for limit in (0, 1, 7):
        compute = {
            0: lambda: 0,
            1: lambda n=limit: n,
            5: lambda i, n: i < n,
            7: lambda i: i + 1,
            10: lambda x: x,
        }
        for seed in range(20):
            results = run(counting_loop(limit), compute, seed)
            assert results[10] == [limit]
            assert len(results[7]) == limit + 1  # the last one dead


def test_loop_on_a_dead_branch_does_not_run():
    rows = counting_loop(3)
    # 11 pred, 12 switch of zero: the loop is on its false side, pred is true
    rows[2] = (E, [(12, 0)], [], {"frame": "f", "enters": 2})
    rows += [(O, [], [], {}), (S, [(0, 0), (11, 0)], [], {})]
    compute = {
        0: lambda: 0,
        1: lambda: 3,
        5: lambda i, n: i < n,
        7: lambda i: i + 1,
        10: lambda x: x,
        11: lambda: True,
    }
    for seed in range(20):
        assert run(rows, compute, seed)[10] == [DEAD]


def test_frames_have_the_numbers_of_tensorflow():
    """Other processes name the same frame by the same number: the interop tests meet under it."""
    outer = Frame("while/while_context", Iteration(Frame("", None, 0), 0), 1)
    assert Iteration(outer, 2).tag == "18186195969791715286:2"
    assert Frame("in", Iteration(outer, 3), 1).id == 14658992353635592801
