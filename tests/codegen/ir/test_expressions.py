"""Expressions are interned, and forgotten with their last user."""

from __future__ import annotations

import weakref

import numpy as np

from headrace.codegen.ir import kernel_ir as ir


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


def test_arrays_of_the_dead_die_with_them():
    """The entry of an expression that loads an array does not hold the array."""
    array = np.ones(4, np.float32)
    seen = weakref.ref(array)
    value = ir.Array((4,), ir.F32, value=array)[ir.const(1, ir.INDEX)]
    for _ in range(20):
        loop = ir.Var(4)
        value = ir.Array((4,), ir.F32, source=ir.Compute((loop,), value))[ir.var(loop)] + 1.5
    del array
    assert seen() is not None
    del value, loop
    assert seen() is None


def test_an_array_is_not_taken_for_one_that_is_dead():
    """Though it may get the same address."""
    index = ir.const(1, ir.INDEX)
    for n in range(50):
        tensor = ir.Array((4,), ir.F32, name=str(n))
        assert tensor[index].extra is tensor and tensor[index] is tensor[index]
        del tensor


def test_nothing_runs_while_they_die():
    """Python would swallow a KeyboardInterrupt raised there."""
    value = chain(11.75, 3)
    assert all(known.__callback__ is None for known in weakref.getweakrefs(value))
