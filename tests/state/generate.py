"""Random programs over variables: a seed in, a program out."""

from __future__ import annotations

import random
from dataclasses import replace

from tests.state.bodies import KINDS, Author
from tests.state.programs import HOWS, Program

REPEATS = 3  # a signature's first step is interpreted, the second compiles, the third has compiled


def program(seed: int) -> Program:
    """The program of a seed."""
    rng = random.Random(seed)
    author = Author(rng, rng.choice(("row", "row", "some", "free")), rng.random() < 0.3)
    for _ in range(rng.randrange(1, 4)):
        author.variable()
    for _ in range(rng.randrange(2)):
        author.placeholder()
    count = rng.randrange(2, 9) if rng.random() < 0.9 else rng.randrange(10, 25)
    for kind in rng.choices(list(KINDS), list(KINDS.values()), k=count):
        kind(author)
    if not author.waits:
        author.assign()
    sessions = 2 if rng.random() < 0.2 else 1
    signatures = [author.run() for _ in range(rng.randrange(1, 4))]
    runs = [
        replace(signature, session=session, how=rng.choice(HOWS))
        for signature in signatures
        for session in range(sessions)
        for _ in range(REPEATS)
    ]
    rng.shuffle(runs)
    return Program(tuple(author.statements), tuple(runs), sessions, seed)
