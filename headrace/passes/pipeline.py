"""THE ordered list of passes, and how it is run.  Layout and fusion come later: per device, in codegen."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headrace.core import options
from headrace.passes.absorb_padding import absorb_paddings
from headrace.passes.build_in_texts import build_in_texts
from headrace.passes.fold_constants import fold_constants
from headrace.passes.merge_common import merge_common
from headrace.passes.merge_products import merge_products
from headrace.passes.open_guards import open_guards
from headrace.passes.remove_identities import remove_identities
from headrace.passes.remove_waits import remove_waits
from headrace.passes.simplify_arithmetic import simplify_arithmetic
from headrace.plan.plan import Plan
from headrace.plan.text import to_text
from headrace.plan.verify import verify, verify_origins

Pass = Callable[[Plan], Plan]

PIPELINE: tuple[Pass, ...] = (
    open_guards,  # conditionals around an assertion alone
    remove_waits,  # first: identities that nobody waits for can go
    remove_identities,  # feeds and fetches stay
    fold_constants,  # never what has an effect
    simplify_arithmetic,  # keeps NaN, infinities and signed zero
    absorb_paddings,  # after fold_constants: it must know how much is padded
    build_in_texts,  # after fold_constants, which makes texts out of others
    merge_common,
    merge_products,  # after merge_common: it looks for products that are used once
)


def improve(plan: Plan, pipeline: Sequence[Pass] = PIPELINE) -> Plan:
    for rewrite in pipeline:
        before, plan = plan, rewrite(plan)
        if options.verify():
            verify(plan, rewrite.__name__)
            verify_origins(before, plan, rewrite.__name__)
        if "passes" in options.shown():
            options.show("passes", f"# {rewrite.__name__}\n{to_text(plan)}")
    return plan
