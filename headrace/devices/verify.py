"""HEADRACE_VERIFY=1: compiled values beside the reference's.

Rounding alone may move a value far: a sum whose terms cancel, a division by next to nothing, a
comparison of equals.  How far is measured, not guessed.  Where values differ by more than a plain
tolerance, the reference runs again with noise on every value that it makes, a few units of the
last place, and what the noise does to a result is what rounding may do to it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.devices.binding import HANDLE
from headrace.ops.declaration.resources import Slot
from headrace.runtime.step import Step

if TYPE_CHECKING:
    from headrace.devices.region_unit import RegionUnit

verifying = threading.RLock()  # a verified region puts variables back: one at a time

NOISE = 8.0  # units of rounding: sums in another order and Winograd's method err by about as many
SAMPLES = 3
FACTOR = 16.0  # how much further than the noise moved it a value may be
FEW = 1e-3  # the part of an array that may be as far as noise moved any of it
_LOOSE = {2: 5e-2, 4: 1e-4}  # by the size of an element
_ROUNDING = {2: 2.0**-9, 4: 2.0**-24}

Change = Callable[[Any], Any]


def verify_region(
    unit: RegionUnit, values: list[Any], registers: list[Any], step: Step, given: dict[int, Any]
) -> None:
    """The reference first; then the program from the same state; then compare both."""
    slots = unit.slots.of(step, given)
    if slots is None:
        unit.leave_arrays(given)
        unit.interpret(registers, step)
        return
    before = [np.array(s.value) for s in slots]
    kept = list(registers)

    def reference(change: Change | None = None) -> list[Any]:
        """What the variables and outputs become, from the state before."""
        put(slots, before)
        registers[:] = kept
        unit.interpret(registers, step, change)
        return [s.value for s in slots] + [registers[r] for r in unit.outputs]

    wanted = reference()
    after = list(registers)
    put(slots, before)
    outputs = unit.attempt(values, step, given)
    if outputs is None:
        for slot, value in zip(slots, wanted):
            slot.value = value
        return
    made = [s.value for s in slots]
    found = [after[r] if o is HANDLE else o for o, r in zip(outputs, unit.outputs)]
    names = [str(k[-1]) for k in unit.slots.keys] + [str(e) for e in unit.region.outputs]
    try:
        check(names, made + found, wanted, reference)
    finally:
        for slot, value in zip(slots, made):
            slot.value = value
    registers[:] = kept
    unit.deliver(outputs, registers, step)


def put(slots: list[Slot], values: list[Any]) -> None:
    """Give variables copies of these values: they may change them in place."""
    for slot, value in zip(slots, values):
        slot.value = value.copy()


def check(
    names: Sequence[str], got: Sequence[Any], want: Sequence[Any], again: Callable[[Change], Any]
) -> None:
    """Compiled values against the reference's; `again` gives them with all that leads to them
    changed by a function.  AssertionError names the first that rounding does not explain."""
    far = [i for i, w in enumerate(want) if _is_numeric(w) and not _is_near(got[i], w, names[i])]
    if not far:
        return
    spread = {i: np.zeros(want[i].shape) for i in far}
    noise = _Noise()
    for _ in range(SAMPLES):
        moved = again(noise)
        for i in far:
            with np.errstate(all="ignore"):
                np.maximum(spread[i], np.abs(_wide(moved[i]) - _wide(want[i])), out=spread[i])
    for i in far:
        _explain(got[i], want[i], spread[i], names[i])


class _Noise:
    """Every number a little more or less.  Zeros, infinities and integers stay."""

    def __init__(self) -> None:
        self.random = np.random.default_rng(0)

    def __call__(self, value: Any) -> Any:
        if not _is_numeric(value) or not _is_real(value):
            return value
        size = NOISE * _ROUNDING.get(value.dtype.itemsize, 2.0**-53)
        kind = np.float32 if value.dtype.itemsize <= 4 else np.float64
        factor = self.random.random(value.shape, kind)
        factor *= 2.0 * size
        factor += 1.0 - size
        with np.errstate(all="ignore"):
            return (value * factor).astype(value.dtype)


def _is_numeric(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype != object


def _is_real(value: Any) -> bool:
    """Neither integers nor truth values; complex numbers count."""
    return value.dtype.kind not in "iub"


def _wide(value: Any) -> Any:
    return value.astype(np.complex128 if value.dtype.kind == "c" else np.float64)


def _is_near(got: Any, want: Any, name: str) -> bool:
    assert got.dtype == want.dtype and got.shape == want.shape, (name, got.shape, want.shape)
    if not _is_real(want):
        return bool(np.array_equal(got, want))
    wide, other = _wide(got), _wide(want)
    return bool(np.isclose(wide, other, rtol=0, atol=_plain(other, want), equal_nan=True).all())


def _plain(other: Any, want: Any) -> Any:
    """What may differ wherever nothing cancels."""
    loose = _LOOSE.get(want.dtype.itemsize, 1e-8)
    scale = np.abs(other[np.isfinite(other)]).max(initial=1e-30)
    with np.errstate(invalid="ignore"):
        return loose * (np.nan_to_num(np.abs(other)) + scale)


def _explain(got: Any, want: Any, spread: Any, name: str) -> None:
    """Whether the noise moved the values about as far as they differ: each, or all of the array.
    Noise that turns a comparison moves few values, but far, and rounding may turn another one."""
    wide, other = _wide(got), _wide(want)
    known = spread[np.isfinite(spread)]
    usual = np.sqrt(np.mean(np.square(known))) if known.size else 0.0
    allowed = _plain(other, want) + FACTOR * np.maximum(spread, usual)
    with np.errstate(invalid="ignore"):
        equal = (wide == other) | (np.isnan(wide) & np.isnan(other))
        distance = np.abs(wide - other)
        bad = ~(equal | (distance <= allowed))
        if np.count_nonzero(bad) <= FEW * bad.size:
            bad &= ~(distance <= allowed + FACTOR * known.max(initial=0.0))
    if bad.any():
        place = tuple(int(i) for i in np.argwhere(bad)[0])
        raise AssertionError(
            f"compiled {name}: {np.count_nonzero(bad)} of {bad.size} values differ by more than "
            f"rounding can; first at {list(place)}: {got[place]} instead of {want[place]}, "
            f"allowed {allowed[place]:.2g}"
        )
