"""Walking and rewriting expressions."""

from __future__ import annotations

from collections.abc import Callable

from headrace.codegen.ir.kernel_ir import INDEX, Expr, Var, cast, index_binary, make, select, var


def walk(*roots: Expr) -> list[Expr]:
    """Every expression below the roots, arguments first, each once."""
    if len(roots) == 1:
        return [*below(roots[0]), roots[0]]
    found: dict[int, Expr] = {}
    for root in roots:
        for x in below(root):
            found.setdefault(id(x), x)
        found.setdefault(id(root), root)
    return list(found.values())


def below(root: Expr) -> tuple[Expr, ...]:
    """What the expression is made of, arguments first, each once; kept, since it never changes."""
    if root.below is not None:
        return root.below
    seen: set[int] = set()
    order: list[Expr] = []
    stack: list[tuple[Expr, bool]] = [(a, False) for a in reversed(root.args)]
    while stack:
        expr, done = stack.pop()
        if done:
            order.append(expr)
        elif id(expr) not in seen:
            seen.add(id(expr))
            if expr.args:
                stack.append((expr, True))
                stack.extend([(a, False) for a in reversed(expr.args)])
            else:
                order.append(expr)
    root.below = tuple(order)
    return root.below


def loads(*roots: Expr) -> list[Expr]:
    return [x for x in walk(*roots) if x.op == "load"]


def rewrite(root: Expr, change: Callable[[Expr, tuple[Expr, ...]], Expr | None]) -> Expr:
    """Rebuild from the leaves up: change(old, new arguments) is the replacement; None keeps."""
    made: dict[int, Expr] = {}
    for old in walk(root):
        args = tuple(made[id(a)] for a in old.args)
        new = change(old, args)
        if new is None:
            new = old if all(a is b for a, b in zip(args, old.args)) else rebuild(old, args)
        made[id(old)] = new
    return made[id(root)]


def rebuild(old: Expr, args: tuple[Expr, ...]) -> Expr:
    """The same operation on other arguments, simplified again where that is exact."""
    if old.kind is INDEX and len(args) == 2 and args[0].kind is INDEX:
        return index_binary(old.op, *args)
    if old.op == "select":
        return select(*args)
    if old.op == "cast":
        return cast(args[0], old.kind)
    return make(old.op, args, old.kind, old.extra)


def substitute(root: Expr, values: dict[Var, Expr]) -> Expr:
    """The expression with loops replaced; its own reductions get fresh loops."""
    renamed: dict[Var, Expr] = dict(values)
    for x in walk(root):
        if x.op == "reduce":
            for loop in x.extra[1]:
                renamed.setdefault(loop, var(Var(loop.extent)))

    def change(old: Expr, args: tuple[Expr, ...]) -> Expr | None:
        if old.op == "var":
            return renamed.get(old.extra)
        if old.op == "reduce":
            fresh = tuple(renamed[v].extra for v in old.extra[1])
            return make("reduce", args, old.kind, (old.extra[0], fresh))
        return None

    return rewrite(root, change)
