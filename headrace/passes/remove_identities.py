"""Identities, and checks that a value already passed, disappear.  Feeds and fetches stay.

An identity of a reference stays: it is the moment at which a variable is read.  So does one with
control inputs, or one that another node waits for: it orders effects.
"""

from __future__ import annotations

from headrace.ops.declaration.traits import ENTER, IDENTITY, MERGE, SWITCH
from headrace.plan.plan import Plan
from headrace.plan.rewrite import Rule, apply_rules, rule

# An identity behind these is a place to wait for: control edges of a branch or a loop start there.
_STARTS = frozenset({SWITCH, MERGE, ENTER})


def remove_identities(plan: Plan) -> Plan:
    """Let the users of an identity use its input, where nobody waits for the identity itself."""
    waited_for = {name for n in plan.nodes.values() for name in n.control}

    @rule()
    def drop(match):  # type: ignore[no-untyped-def]
        """identity(x) -> x"""
        node = match.node
        if IDENTITY not in node.op.traits or node.control or node.name in waited_for:
            return None
        source = match.inputs[0]
        if match.dtype(source).is_ref or match.producer(source).op.traits & _STARTS:
            return None
        return source

    rules: list[Rule] = [drop]
    return apply_rules(plan, rules)
