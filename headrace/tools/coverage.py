"""headrace ops: every declared op with what it has (gradient, compiled rule, library call, samples), or
whole declarations: headrace ops MatMul Relu."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Sequence

from headrace.ops.declaration import catalog
from headrace.ops.declaration.declare import GRADIENTS, REGISTRY, Op
from headrace.tools.describe_op import describe_op

RULES = ("gradient", "lower", "library", "samples")


def rules(op: Op) -> dict[str, bool]:
    has = (GRADIENTS.get(op.name), op.lower_rule, op.library_rules, op.sample_rule)
    return dict(zip(RULES, map(bool, has)))


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="headrace ops", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="OP", help="print the declaration of these")
    parser.add_argument("--missing", choices=RULES, help="list only ops that lack this")
    given = parser.parse_args(list(words))
    catalog.load_all()
    if given.names:
        return _describe(parser, given.names)
    totals: dict[str, int] = {}
    for name in sorted(REGISTRY):
        has = rules(REGISTRY[name])
        for rule, present in has.items():
            totals[rule] = totals.get(rule, 0) + present
        if given.missing is None or not has[given.missing]:
            print(f"{name:<44}{' '.join(r for r, present in has.items() if present)}".rstrip())
    print(f"{len(REGISTRY)} ops; " + ", ".join(f"{n} with {r}" for r, n in totals.items()))
    return 0


def _describe(parser: argparse.ArgumentParser, names: Sequence[str]) -> int:
    found = [_find(name) for name in names]
    for name, op in zip(names, found):
        if op is None:
            near = difflib.get_close_matches(name, REGISTRY, n=3)
            hint = f"; is it {' or '.join(near)}?" if near else ""
            parser.exit(1, f"headrace ops: no op {name} is declared{hint}\n")
    print("\n\n".join("\n".join(describe_op(op)) for op in found if op is not None))
    return 0


def _find(name: str) -> Op | None:
    """An op by its name, or by what its function is called (mat_mul, matmul)."""
    if name in REGISTRY:
        return REGISTRY[name]
    plain = name.replace("_", "").lower()
    same = [op for known, op in REGISTRY.items() if known.lower() == plain]
    return same[0] if len(same) == 1 else None
