"""Roles inside of a compiled region: the ops that have one fit its sentence, and codegen knows each."""

from __future__ import annotations

import re

import pytest

from headrace.codegen.regions.array_ops import RULES
from headrace.ops.declaration.in_region import InRegion
from tests.ops.declared import ops


def parts(sentence: str) -> tuple[int, int]:
    """How many inputs and outputs: "(handle, flow) -> value, lengths: ..." """
    inputs, outputs = re.fullmatch(r"\(([^)]*)\)(?: -> ([\w, ]+))?(?::.*)?", sentence).groups()
    return len(inputs.split(",")), len(outputs.split(",")) if outputs else 0


@pytest.mark.parametrize("role", InRegion)
def test_roles(role):
    having = [op for op in ops() if op.region_role is role]
    assert having, "nobody has this role"
    for op in having:
        assert (len(op.signature.inputs), len(op.signature.outputs)) == parts(role.value), op.name
    assert role in RULES or role is InRegion.DISTINCT
