"""headrace ops: every declared op with what it has (gradient, compiled rule, library call, samples)."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from headrace.ops.declaration import catalog
from headrace.ops.declaration.declare import GRADIENTS, REGISTRY, Op

RULES = ("gradient", "lower", "library", "samples")


def rules(op: Op) -> dict[str, bool]:
    has = (GRADIENTS.get(op.name), op.lower_rule, op.library_rules, op.sample_rule)
    return dict(zip(RULES, map(bool, has)))


def main(words: Sequence[str]) -> int:
    match list(words):
        case []:
            missing = None
        case ["--missing", rule] if rule in RULES:
            missing = rule
        case _:
            print(f"usage: headrace ops [--missing {'|'.join(RULES)}]", file=sys.stderr)
            return 2
    catalog.load_all()
    totals: dict[str, int] = {}
    for name in sorted(REGISTRY):
        has = rules(REGISTRY[name])
        for rule, present in has.items():
            totals[rule] = totals.get(rule, 0) + present
        if missing is None or not has[missing]:
            print(f"{name:<44}{' '.join(r for r, present in has.items() if present)}")
    print(f"{len(REGISTRY)} ops; " + ", ".join(f"{n} with {r}" for r, n in totals.items()))
    return 0
