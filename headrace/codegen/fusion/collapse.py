"""Neighbouring loops become one where all memory is walked as if they were.

In: lists of loops and the actions in them.  Out: fewer loops, and the actions over them.  Two loops
(i, j) merge into one when every access steps by (extent of j) * step(j) along i, and nothing else
looks at i or j.  Accesses are flattened on the way: one index into the array as a vector.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from headrace.codegen.fusion.generalize import linear, strides
from headrace.codegen.ir import kernel_ir as ir
from headrace.codegen.ir.kernel import Action, Store
from headrace.codegen.ir.kernel_ir import Array, Expr, Var, const, var
from headrace.codegen.ir.ranges import in_bounds
from headrace.codegen.ir.stages import ViewOf, memory
from headrace.codegen.ir.traverse import rewrite, walk


class _Access:
    """A load or store whose index is provably inside: steps per loop, other terms, a start."""

    def __init__(self, array: Array, index: tuple[Expr, ...]) -> None:
        self.array = array
        terms, self.start = linear(index, strides(array.shape))
        self.steps = {t.extra: f for t, f in terms if t.op == "var"}
        self.rest = [(t, f) for t, f in terms if t.op != "var"]

    def pinned(self) -> set[Var]:
        """Loops that an opaque part of the index uses."""
        return {v for t, _ in self.rest for v in t.free if isinstance(v, Var)}


def collapse(
    loops: Sequence[tuple[Var, ...]], actions: Sequence[list[Action]]
) -> tuple[list[tuple[Var, ...]], list[list[Action]]]:
    """Merge loops within each list; all actions may use all loops."""
    accesses: dict[int, _Access] = {}
    keep: list[object] = []
    pinned: set[Var] = set()
    for action in (a for group in actions for a in group):
        _examine(action.value, accesses, pinned, keep)
        if isinstance(action, Store):
            for i in action.index:
                _examine_index(i, accesses, pinned, keep)
            _note(id(action), action.array, action.index, accesses, pinned)
            keep.append(action)
    merged: dict[Var, Var] = {}
    result = [_merge(list(group), list(accesses.values()), pinned, merged) for group in loops]
    changed = [[_rewrite(a, accesses, merged) for a in group] for group in actions]
    return result, changed


def _examine(root: Expr, accesses: dict[int, _Access], pinned: set[Var], keep: list[object]) -> None:
    """Note every load; a loop that is used as data cannot merge."""
    for x in walk(root):
        if x.op == "load":
            _note(id(x), x.extra, x.args, accesses, pinned)
            keep.append(x)
    _pin_data(root, pinned)


def _examine_index(root: Expr, accesses: dict[int, _Access], pinned: set[Var], keep: list[object]) -> None:
    for x in walk(root):
        if x.op == "load":
            _note(id(x), x.extra, x.args, accesses, pinned)
            keep.append(x)


def _note(
    key: int, array: Array, index: tuple[Expr, ...], accesses: dict[int, _Access], pinned: set[Var]
) -> None:
    if all(in_bounds(index, array.shape)):
        access = accesses[key] = _Access(array, index)
        pinned |= access.pinned()
    else:
        pinned |= {v for i in index for v in i.free if isinstance(v, Var)}


def _pin_data(root: Expr, pinned: set[Var]) -> None:
    seen: set[int] = set()
    stack = [root]
    while stack:
        x = stack.pop()
        if id(x) in seen or x.op == "load":
            continue
        seen.add(id(x))
        if x.op == "var":
            pinned.add(x.extra)
        stack.extend(x.args)


def _merge(
    loops: list[Var], accesses: list[_Access], pinned: set[Var], merged: dict[Var, Var]
) -> tuple[Var, ...]:
    """Join neighbouring loops that every access walks as one: a step of the outer one is a whole
    round of the inner one.  `merged` says what became of each loop."""
    runs: list[list[Var]] = []
    for v in loops:
        last = runs[-1][-1] if runs else None
        if (
            last is not None
            and last not in pinned
            and v not in pinned
            and all(a.steps.get(last, 0) == a.steps.get(v, 0) * v.extent for a in accesses)
        ):
            runs[-1].append(v)
        else:
            runs.append([v])
    out = []
    for run in runs:
        if len(run) == 1:
            out.append(run[0])
            continue
        extent = 1
        for v in run:
            extent *= v.extent
        whole = Var(extent)
        for v in run[:-1]:
            merged[v] = _GONE
        merged[run[-1]] = whole
        out.append(whole)
    return tuple(out)


_GONE = Var(1)


def _rewrite(action: Action, accesses: dict[int, _Access], merged: dict[Var, Var]) -> Action:
    """The action over the joined loops: each access by its flat offset."""

    def flat(access: _Access) -> Expr:
        total = const(access.start, ir.INDEX)
        for v, step in access.steps.items():
            target = merged.get(v, v)
            if target is not _GONE:
                total = total + var(target) * step
        for term, step in access.rest:
            total = total + rewrite(term, change) * step
        return total

    def change(x: Expr, args: tuple[Expr, ...]) -> Expr | None:
        access = accesses.get(id(x)) if x.op == "load" else None
        return None if access is None else flat_view(access.array)[flat(access)]

    if not merged:
        return action
    value = rewrite(action.value, change)
    if not isinstance(action, Store):
        return replace(action, value=value)
    access = accesses.get(id(action))
    if access is None:
        index = tuple(rewrite(i, change) for i in action.index)
        return replace(action, value=value, index=index)
    return replace(action, array=flat_view(access.array), index=(flat(access),), value=value)


def flat_view(array: Array) -> Array:
    """The same memory as a vector."""
    if len(array.shape) == 1:
        return array
    return Array((array.count,), array.dtype, source=ViewOf(memory(array)))
