"""The machine that decides when a region is compiled: by hand, and with random orders of events beside a
compiler that is made up."""

import random

import pytest

from headrace.devices import known
from headrace.devices.adaptive import LIMIT, MOST_REFUSALS, SELDOM, Adaptive, Compile, Do, Lessons, Run
from headrace.plan.plan import Edge

pytestmark = pytest.mark.pure

X, N, M = Edge("x", 0), Edge("n", 0), Edge("m", 0)


def machine(light=-1, inputs=(X, N, M)):
    return Adaptive(Lessons(), list(inputs), light)


# -- by hand --------------------------------------------------------------------------------------
def test_a_large_region_is_compiled_at_once():
    m = machine(light=100)
    assert m.asked(((200,),), 200) == Compile(((200,),))
    assert m.compiled(((200,),), "program") == Run("program")
    assert m.asked(((200,),), 200) == m.found(((200,),)) == Run("program")


def test_a_small_region_is_interpreted_when_shapes_come_first():
    m = machine(light=100)
    assert [m.asked(((3,),), 3) for _ in range(2)] == [Do.INTERPRET, Compile(((3,),))]
    assert m.asked(((4,),), 4) is Do.INTERPRET


def test_a_fault_of_the_compiler_is_not_repeated():
    m = machine()
    assert m.asked(((3,),), 3) == Compile(((3,),))
    assert m.broken(((3,),)) is Do.INTERPRET
    assert m.asked(((3,),), 3) is m.found(((3,),)) is Do.INTERPRET


def test_a_node_that_no_value_helps_goes_to_the_host():
    m = machine()
    assert m.declined({"slice": "its size is not known"}, {"slice": []}) is Do.CUT
    assert m.lessons.declined == {"slice": "its size is not known"}


def test_a_node_is_helped_once():
    m = machine()
    assert m.known_places() == []
    assert m.declined({"slice": "?"}, {"slice": [[N]]}) is Do.LOOK
    assert m.known_places() == [1] and not m.lessons.declined
    assert m.declined({"slice": "?"}, {"slice": [[N]]}) is Do.CUT
    assert m.known_places() == [] and m.lessons.declined == {"slice": "?"}


def test_what_compiles_with_known_values_is_not_declined():
    """Values that one node asked for may be what another one lacked."""
    m = machine()
    assert m.declined({"slice": "?", "reshape": "?"}, {"slice": [[N]], "reshape": []}) is Do.LOOK
    m.compiled(((3,), (1, 7)), "program")
    assert not m.lessons.declined


def test_a_program_ends_the_doubts():
    """A node that failed beside another one, and compiled in the end, is helped again for other shapes."""
    m = machine()
    assert m.declined({"slice": "?", "reshape": "?"}, {"slice": [[N]], "reshape": []}) is Do.LOOK
    m.compiled(((3,), (1, 7)), "program")
    assert m.declined({"reshape": "?"}, {"reshape": [[M]]}) is Do.LOOK


def test_two_nodes_that_never_compile_do_not_take_turns():
    m = machine()
    rounds = 0
    while m.declined({"a": "?", "b": "?"}, {"a": [[N]], "b": [[M]] if rounds else []}) is Do.LOOK:
        rounds += 1
        assert rounds < 5
    assert set(m.lessons.declined) == {"a", "b"}


def test_values_that_are_different_each_time_are_given_up():
    m = machine()
    m.declined({"slice": "?"}, {"slice": [[N]]})
    for value in range(known.VARIANTS):
        key = ((3,), (), (1, value))
        assert m.asked(key, 3) == Compile(key)
        m.compiled(key, value)
    assert m.asked(((3,), (), (1, 0)), 3) == Run(0)
    assert m.asked(((3,), (), (1, 99)), 3) is Do.CUT
    assert set(m.lessons.declined) == {"slice"} and m.known_places() == []


def test_values_that_follow_from_shapes_are_not_given_up():
    m = machine()
    m.compiled(((1,),), "other region", few=[N])
    for value in range(LIMIT + 5):
        key = ((value,), (), (1, value))
        assert m.asked(key, 3) == Compile(key)
        m.compiled(key, value)


def test_a_burst_of_shapes_is_bounded():
    m = machine()
    for size in range(10 * LIMIT):
        m.asked(((size,),), size)
        m.compiled(((size,),), size)
    assert len(m.programs) <= LIMIT and len(m.seen) <= LIMIT


def test_checks_that_fail_time_and_again():
    """The program is tried less and less, but again and again; one success and all is forgotten."""
    m, tried = machine(), []
    for run in range(4 * SELDOM):
        if m.begins():
            tried.append(run)
            m.check_failed()
        m.interpreted()
    assert tried == [*range(MOST_REFUSALS), SELDOM, 2 * SELDOM, 3 * SELDOM]
    assert m.begins()
    m.ran()
    for _ in range(MOST_REFUSALS):
        assert m.begins()
        m.check_failed()
        m.interpreted()
    assert not m.begins()


def test_the_users_own_errors_are_no_refusals():
    """The reference fails too: `interpreted` is never said."""
    m = machine()
    for _ in range(100):
        assert m.begins()
        m.check_failed()


def test_no_quick_way_while_values_must_be_looked_at():
    m = machine()
    assert m.has_quick_way(is_plain=True) and not m.has_quick_way(is_plain=False)
    m.declined({"slice": "?"}, {"slice": [[N]]})
    assert not m.has_quick_way(is_plain=True)


# -- any order ------------------------------------------------------------------------------------
class Compiler:
    """Made up: some nodes never compile, some only with known values, some break it."""

    def __init__(self, rng, edges):
        self.never = {f"never{i}" for i in range(rng.randrange(3))}
        self.picky = {f"picky{i}": rng.choice(edges) for i in range(rng.randrange(4))}
        self.breaks_at = rng.randrange(6) if rng.random() < 0.3 else None
        self.failing = rng.choice([0.0, 0.1, 0.9])  # of its programs' checks
        self.edges = edges

    def nodes(self):
        return {*self.never, *self.picky}

    def lacking(self, values, host):
        """Nodes of the region that do not compile with these values known."""
        lacking = [*self.never, *(n for n, e in self.picky.items() if e not in values)]
        return sorted(n for n in lacking if n not in host)

    def result(self, rng, size, values, host):
        """A program, None after a fault, or which nodes it declines, perhaps not all at once, and what
        may decide for each: of those that never compile, anything."""
        lacking = self.lacking(values, host)
        if lacking:
            some = rng.sample(lacking, rng.randrange(1, len(lacking) + 1))
            anything = rng.sample(self.edges, rng.randrange(len(self.edges)))
            return {n: [[self.picky[n]]] if n in self.picky else [anything] for n in some}
        return None if size == self.breaks_at else ("program", size, tuple(sorted(values.items())))


class Piece:
    """Obeys the machine as devices/region_unit.py and devices/compiled.py do, and watches."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.edges = [Edge(name, 0) for name in "abc"]
        self.compiler = Compiler(self.rng, self.edges)
        self.lessons = Lessons()
        self.made = self.cuts = self.failures = 0
        self.cut()

    def cut(self):
        self.host = dict(self.lessons.declined)
        self.machine = Adaptive(self.lessons, self.edges, self.rng.choice([-1, 3, 100]))
        self.cuts += 1
        self.quick = None  # the size that it is for, and the program
        self.results = []  # keys that were compiled or broke the compiler, the oldest first

    def step(self, size, values):
        """One run.  What ran: a program, or None where nodes ran one by one."""
        if self.quick is not None and self.quick[0] == size:
            if self.is_checked():
                return self.quick[1]
        m = self.machine
        if not m.begins():
            assert self.failures >= MOST_REFUSALS, "refused without a cause"
            self.quick = None
            m.interpreted()
            return None
        action = self.decide(size, values)
        if action is Do.CUT:
            assert set(self.lessons.declined) > set(self.host), "a cut without a reason"
            self.cut()
        if isinstance(action, Run) and self.is_checked():
            m.ran()
            self.failures = 0
            self.quick = (size, action.program) if m.has_quick_way(is_plain=True) else None
            return action.program
        if isinstance(action, Run):
            m.check_failed()
            self.failures += 1
        m.interpreted()
        return None

    def decide(self, size, values):
        m, declined = self.machine, set(self.lessons.declined)
        asked = []  # keys of this run: it looks again only for values that it did not know
        while True:
            held = {self.edges[i]: values[self.edges[i]] for i in m.known_places()}
            key = ((size,), *((i, values[self.edges[i]]) for i in m.known_places()))
            asked.append(key)
            action = m.found(key) or m.asked(key, size)
            if isinstance(action, Compile):
                assert action.key == key
                assert key not in self.results[-LIMIT:], "compiled twice, or broken twice"
                action = self.compile(key, size, held)
            assert declined <= set(self.lessons.declined), "what was declined stays so"
            if action is not Do.LOOK:
                return action
            assert set(self.lessons.declined) == declined, "declined while there is hope"
            assert len(asked) <= 2 * len(self.compiler.nodes()) + 1, "it looks for ever"

    def is_checked(self):
        """Whether a program's own checks find nothing."""
        return self.rng.random() >= self.compiler.failing

    def compile(self, key, size, held):
        self.made += 1
        found = self.compiler.result(self.rng, size, held, self.host)
        if isinstance(found, dict):
            return self.machine.declined(dict.fromkeys(found, "no"), found)
        self.results.append(key)
        if found is None:
            return self.machine.broken(key)
        few = [e for e in self.edges if self.rng.random() < 0.02]
        return self.machine.compiled(key, found, few)


@pytest.mark.parametrize("seed", range(0, 3000, 100))
def test_random_orders(seed):
    for number in range(seed, seed + 100):
        piece = Piece(number)
        sizes = piece.rng.choice([2, 6, 60])
        spread = piece.rng.choice([1, 3, 50])
        for _ in range(piece.rng.choice([20, 150])):
            size = piece.rng.randrange(sizes)
            values = {e: piece.rng.randrange(spread) for e in piece.edges}
            program = piece.step(size, values)
            if program is not None:
                _, its_size, its_values = program
                assert its_size == size, "made for another shape"
                assert all(values[e] == v for e, v in its_values), "made for other values"
                lacking = piece.compiler.lacking(dict(its_values), piece.host)
                assert not lacking, "made without what its nodes need"
            m = piece.machine
            assert len(m.programs) <= LIMIT and len(m.seen) <= LIMIT
        assert piece.cuts <= 1 + len(piece.compiler.nodes()), "every cut takes a node away"
        assert set(piece.lessons.declined) <= piece.compiler.nodes(), "nobody declined it"


@pytest.mark.parametrize("seed", range(200))
def test_what_comes_again_is_compiled_in_the_end(seed, monkeypatch):
    """With few shapes and values, after a while everything runs as programs, and nothing is made."""
    piece = Piece(seed)
    piece.compiler.breaks_at, piece.compiler.failing = None, 0.0
    monkeypatch.setattr(piece.rng, "random", lambda: 1.0)  # no value follows from shapes
    values = dict.fromkeys(piece.edges, 1)
    for _ in range(40):
        piece.step(2, values)
    before = piece.made
    assert all(piece.step(2, values) is not None for _ in range(10))
    assert piece.made == before
    assert piece.compiler.never <= set(piece.lessons.declined)
