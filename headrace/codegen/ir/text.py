"""Stages as text, for `HEADRACE_SHOW=stages`.  In: the arrays that a region must make.  Out: a line for
every array on the way to them, operands first: an element as a formula of its indices, or the call that
makes the whole array."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from headrace.codegen.ir.kernel_ir import Array, Compute, Expr, Var, constant_value
from headrace.codegen.ir.stages import (
    Assembled,
    BranchStage,
    Called,
    LoopStage,
    Made,
    Scatter,
    Update,
    ViewOf,
)
from headrace.codegen.ir.traverse import loads, walk

_SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/", "lt": "<", "gt": ">", "eq": "=="}
_LONG = 300  # characters of a formula: what is longer is cut, since shared parts are written out


def describe(roots: Iterable[Array], updates: Iterable[Update]) -> str:
    """The stages below `roots`, then which arrays are new values of variables."""
    lines = [_line(t) for t in _reached(roots) if t.source is not None]
    lines += [f"update {u.variable!r} <- {u.value!r}" for u in updates]
    return "\n".join(lines)


def _reached(roots: Iterable[Array]) -> list[Array]:
    """Every array that the roots need, operands first.  A stack, not recursion: regions are deep."""
    found: dict[Array, None] = {}
    stack = [(t, False) for t in roots]
    stack.reverse()
    while stack:
        array, is_done = stack.pop()
        if is_done:
            found.setdefault(array)
        elif array not in found:
            stack.append((array, True))
            stack.extend((t, False) for t in _operands(array) if t not in found)
    return list(found)


def _operands(array: Array) -> Iterator[Array]:
    """The arrays that the array's source reads."""
    match array.source:
        case Compute(body=body):
            yield from (x.extra for x in loads(body))
        case Scatter(into=into, place=place, value=value):
            yield into
            yield from (x.extra for x in loads(*place, value))
        case ViewOf(base=base):
            yield base
        case Assembled(parts=parts):
            yield from (t for _, t in parts)
        case Called(inputs=inputs):
            yield from inputs
        case Made(stage=LoopStage() as stage):
            yield from (*stage.starts, *stage.reads)
        case Made(stage=BranchStage() as stage):
            yield from (stage.predicate, *stage.reads)


def _line(array: Array) -> str:
    match array.source:
        case Compute(vars=own, body=body):
            names: dict[Var, str] = {}
            index = ", ".join(f"{_name(v, names)}<{v.extent}" for v in own)
            return f"{_label(array)}[{index}] = {_formula(body, names)}"
        case Scatter(into=into, how=how):
            return f"{array!r} = {_label(into)} with places changed ({how})"
        case ViewOf(base=base):
            return f"{array!r} = {_label(base)} in another shape"
        case Called(call=call, inputs=inputs):
            return f"{array!r} = {call.kind}({', '.join(map(_label, inputs))})"
    operands = ", ".join(map(_label, _operands(array)))
    return f"{array!r} = {type(array.source).__name__}({operands})"


def _label(array: Array) -> str:
    return f"{array.name or 't'}{array.moment.number}"


def _name(loop: Var, names: dict[Var, str]) -> str:
    return names.setdefault(loop, "ijklmnopq"[len(names)] if len(names) < 9 else f"i{len(names)}")


def _formula(root: Expr, names: dict[Var, str]) -> str:
    texts: dict[int, str] = {}
    for x in walk(root):
        text = _one(x, [texts[id(a)] for a in x.args], names)
        texts[id(x)] = text if len(text) <= _LONG else f"{x.op}(...)"
    found = texts[id(root)]
    return found[1:-1] if root.op in _SIGNS and found.startswith("(") else found


def _one(x: Expr, args: list[str], names: dict[Var, str]) -> str:
    """One expression, the texts of its arguments being known."""
    if x.op == "const":
        return f"{constant_value(x):g}" if x.kind.is_float else str(x.extra)
    if x.op == "var":
        return _name(x.extra, names)
    if x.op == "size":
        return str(x.extra)
    if x.op == "load":
        return f"{_label(x.extra)}[{', '.join(args)}]" if args else _label(x.extra)
    if x.op == "reduce":
        how, loops = x.extra
        over = ", ".join(f"{_name(v, names)}<{v.extent}" for v in loops)
        return f"{how}({over}: {args[0]})"
    if x.op == "cast":
        return f"{x.kind}({args[0]})"
    if x.op in _SIGNS:
        return f"({args[0]} {_SIGNS[x.op]} {args[1]})"
    return f"{x.op}({', '.join(args)})"
