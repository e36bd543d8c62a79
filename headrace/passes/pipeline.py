"""THE ordered list of passes, and how it is run."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headrace.plan.plan import Plan

Pass = Callable[[Plan], Plan]


PIPELINE: tuple[Pass, ...] = ()


def improve(plan: Plan, pipeline: Sequence[Pass] = PIPELINE) -> Plan:
    for rewrite in pipeline:
        plan = rewrite(plan)
    return plan
