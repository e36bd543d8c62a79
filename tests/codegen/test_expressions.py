"""Expressions are interned, and forgotten with their last user."""

from __future__ import annotations

import weakref

from headrace.codegen import kernel_ir as ir


def chain(start, count):
    value = ir.const(start, ir.F32)
    for n in range(count):
        value = value * (start + n)
    return value


def test_equal_ones_are_the_same_object():
    assert chain(3.5, 20) is chain(3.5, 20)
    assert ir.const(0.0, ir.F32) is not ir.const(-0.0, ir.F32)


def test_the_dead_are_swept_out(monkeypatch):
    monkeypatch.setattr(ir, "_interned", {})
    monkeypatch.setattr(ir, "_limit", ir._SWEEP)
    kept = chain(7.25, 50)
    for start in range(400):
        chain(1000.5 + start, 50)  # 40,000 that nobody holds
    assert len(ir._interned) <= ir._limit
    assert chain(7.25, 50) is kept
    ir._sweep()
    alive = sum(known() is not None for known in ir._interned.values())
    assert len(ir._interned) == alive > 50


def test_arrays_of_the_dead_die_with_them(monkeypatch):
    """An entry holds the array that its expression loads, and the array the expression that makes it."""
    monkeypatch.setattr(ir, "_interned", {})
    value = ir.const(2.5, ir.F32)
    for _ in range(20):
        loop = ir.Var(4)
        value = ir.Tensor((4,), ir.F32, source=ir.Compute((loop,), value))[ir.var(loop)] + 1.5
    assert len(ir._interned) > 40
    del value, loop
    ir._sweep()
    assert not ir._interned


def test_nothing_runs_while_they_die():
    """Python would swallow a KeyboardInterrupt raised there."""
    value = chain(11.75, 3)
    assert all(known.__callback__ is None for known in weakref.getweakrefs(value))
