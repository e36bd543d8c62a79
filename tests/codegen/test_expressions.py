"""Expressions are interned, and forgotten with their last user."""

from __future__ import annotations

import gc
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


def test_the_dead_are_swept_out():
    kept = chain(7.25, 50)
    for start in range(400):
        chain(1000.5 + start, 50)  # 40,000 that nobody holds
    gc.collect()
    assert len(ir._interned) <= ir._limit
    assert chain(7.25, 50) is kept
    ir._sweep()
    alive = sum(known() is not None for known in ir._interned.values())
    assert len(ir._interned) == alive


def test_nothing_runs_while_they_die():
    """Python would swallow a KeyboardInterrupt raised there."""
    value = chain(11.75, 3)
    assert all(known.__callback__ is None for known in weakref.getweakrefs(value))
