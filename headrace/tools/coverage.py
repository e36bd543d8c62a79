"""headrace ops: every declared op with what it has (gradient, compiled rule, library call, samples)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.ops import catalog
from headrace.ops.declare import GRADIENTS, REGISTRY


def rules(op: Any) -> dict[str, bool]:
    return {
        "gradient": GRADIENTS.get(op.name) is not None,
        "lower": op.lower_rule is not None,
        "library": bool(op.library_rules),
        "samples": op.sample_rule is not None,
    }


def main(words: Sequence[str]) -> int:
    catalog.load_all()
    missing = words[1] if len(words) > 1 and words[0] == "--missing" else None
    totals: dict[str, int] = {}
    for name in sorted(REGISTRY):
        has = rules(REGISTRY[name])
        for rule, present in has.items():
            totals[rule] = totals.get(rule, 0) + present
        if missing is None or not has.get(missing, False):
            print(f"{name:<44}{' '.join(r for r, present in has.items() if present)}")
    print(f"{len(REGISTRY)} ops; " + ", ".join(f"{n} with {r}" for r, n in totals.items()))
    return 0
