"""A program in all modes beside the model: what differs, and a smaller program that still differs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tests.state import peer
from tests.state.kernels import NotFinite
from tests.state.memory import PYTHON
from tests.state.model import HEADRACE, TENSORFLOW
from tests.state.modes import MODES, Built, Mode, Results, planned_once
from tests.state.programs import Program


@dataclass(frozen=True)
class Difference:
    """What the first mode that differs gives, in which run."""

    kind: str  # the mode and, of an error, its class
    text: str


def difference(program: Program, modes: Sequence[Mode] = MODES) -> Difference | None:
    """The first difference of a mode from the model.  Where branches or loops leave the order open,
    the model knows no order, and modes are compared with the first of them.  Python functions that nothing
    orders run beside one another, as in TensorFlow: from there on nobody knows what they remember."""
    built = Built(program)
    try:
        wanted, steps = built.model()
    except NotFinite:
        return None
    known = next((i for i, s in enumerate(steps) if any(o.in_flow for o in s.open)), len(steps))
    compared: Results | None = wanted if known == len(steps) else None
    count = next((i for i, s in enumerate(steps) if any(o.place == PYTHON for o in s.open)), len(steps))
    with planned_once():
        for mode in modes:
            try:
                got = mode.run(built)
            except Exception as error:
                if "Cannot colocate" in str(error):  # nor does TensorFlow place it
                    return None
                return Difference(f"{mode.name}: {type(error).__name__}", f"{mode.name}: {error!r}")
            compared = wanted[:known] + got[known:] if compared is None else compared
            found = first_difference(compared[:count], got)
            if found is not None and not is_rounding(built, compared[:count], got):
                return Difference(mode.name, f"{mode.name}: {found}")
    return None


def is_rounding(built: Built, wanted: Results, got: Results, tries: int = 8) -> bool:
    """Sums in another order make such a difference: large numbers that cancel leave what rounding left."""
    try:
        others = [built.model(rounding=np.random.default_rng(i))[0] for i in range(tries)]
    except NotFinite:
        return False
    for run, (values, found) in enumerate(zip(wanted, got)):
        for place, (value, other) in enumerate(zip(values, found)):
            if is_equal(value, other):
                continue
            near = [o[run][place] for o in others]
            if not all(_are_numbers(value, x) for x in (other, *near)):
                return False
            far = np.max([np.abs(x - value) for x in near], axis=0)
            if (np.abs(other - value) > 8 * far).any():
                return False
    return True


def _are_numbers(a: Any, b: Any) -> bool:
    """Of the same kind, and finite."""
    if a is None or b is None or np.shape(a) != np.shape(b) or np.asarray(a).dtype != np.asarray(b).dtype:
        return False
    return np.asarray(a).dtype.kind == "f" and bool(np.isfinite(a).all() and np.isfinite(b).all())


def first_difference(wanted: Results, got: Results) -> str | None:
    for run, (values, others) in enumerate(zip(wanted, got)):
        for place, (value, other) in enumerate(zip(values, others)):
            if not is_equal(value, other):
                return f"run {run}, value {place}: {short(other)} instead of {short(value)}"
    return None


def is_equal(a: Any, b: Any) -> bool:
    """Of the same type and shape, and equal but for rounding."""
    if a is None or b is None:
        return a is b
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    scale = np.abs(a[np.isfinite(a)]).max(initial=1.0)
    with np.errstate(all="ignore"):
        return bool(np.allclose(a, b, rtol=1e-4, atol=1e-5 * float(scale), equal_nan=True))


def short(value: Any) -> str:
    if value is None:
        return "nothing"
    array = np.asarray(value)
    return f"{array.dtype.name}{list(array.shape)} {array.ravel()[:3].tolist()}"


def on_tensorflow(folder: Any, programs: Sequence[Program]) -> None:
    """TensorFlow beside the model, by TensorFlow's rules: up to the first run whose order is open."""
    skipped = 0
    for program, got in zip(programs, peer.run_all(folder, programs)):
        try:
            wanted, steps = Built(program).model(TENSORFLOW)
        except NotFinite:
            continue
        if peer.is_refused(program, got):
            skipped += 1
            continue
        assert not isinstance(got, str), f"seed {program.seed}: {got}\n\n{program.text()}"
        known = next((i for i, s in enumerate(steps) if s.open), len(steps))
        found = first_difference(wanted[:known], got)
        assert found is None, f"seed {program.seed}: {found}\n\n{program.text()}"
    assert skipped <= len(programs) // 20, "TensorFlow refuses too many programs"


def agreement(program: Program) -> tuple[int, int]:
    """Of how many runs the order is complete, and in how many of these TensorFlow gives by its rules
    what Headrace gives by its own."""
    built = Built(program)
    ours, steps = built.model(HEADRACE)
    theirs, others = built.model(TENSORFLOW)
    pairs = zip(ours, theirs, steps, others)
    equal = []
    for a, b, step, other in pairs:
        if step.open or other.open:
            break
        equal.append(first_difference([a], [b]) is None)
    return len(equal), sum(equal)


# -- smaller programs ----------------------------------------------------------------------------
def shrunk(program: Program, modes: Sequence[Mode], found: Difference, tries: int = 300) -> Program:
    """Without the statements, runs, fetches and feeds that the difference does not need."""
    progress = True
    while progress and tries > 0:
        progress = False
        for smaller in candidates(program):
            tries -= 1
            if tries > 0 and differs_alike(smaller, modes, found):
                program, progress = smaller, True
                break
    return program


def candidates(program: Program) -> Iterator[Program]:
    runs = program.runs
    if program.sessions > 1:
        first = tuple(r for r in runs if r.session == 0)
        yield replace(program, sessions=1, runs=first)
    for i in range(len(runs)):
        yield replace(program, runs=runs[:i] + runs[i + 1 :])
    for i in reversed(range(len(program.statements))):
        yield without_statement(program, i)
    for i, statement in enumerate(program.statements):
        for less in (replace(statement, device=""), replace(statement, waits=())):
            if less != statement:
                around = program.statements[:i], program.statements[i + 1 :]
                yield replace(program, statements=(*around[0], less, *around[1]))
    for i, run in enumerate(runs):
        for j in range(len(run.fetches)):
            less = replace(run, fetches=run.fetches[:j] + run.fetches[j + 1 :])
            yield replace(program, runs=(*runs[:i], less, *runs[i + 1 :]))
        for j in range(len(run.feeds)):
            less = replace(run, feeds=run.feeds[:j] + run.feeds[j + 1 :])
            yield replace(program, runs=(*runs[:i], less, *runs[i + 1 :]))


def without_statement(program: Program, index: int) -> Program:
    """What waited for the statement waits for what it waited for."""
    gone = program.statements[index]
    rest = []
    for s in program.statements[:index] + program.statements[index + 1 :]:
        waits = [n for w in s.waits for n in (gone.waits if w in gone.names else (w,))]
        rest.append(replace(s, waits=tuple(dict.fromkeys(waits))))
    runs = (
        replace(run, fetches=tuple(f for f in run.fetches if f not in gone.names)) for run in program.runs
    )
    return replace(program, statements=tuple(rest), runs=tuple(runs))


def differs_alike(program: Program, modes: Sequence[Mode], found: Difference) -> bool:
    try:
        again = difference(program, modes)
    except Exception:  # not a program any more: something in it needs what was left out
        return False
    return again is not None and again.kind == found.kind
