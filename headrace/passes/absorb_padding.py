"""A convolution of padded images pads by itself: the padded copy is never made."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from headrace.ops.array import pad as array_pad
from headrace.ops.declaration.traits import PADS
from headrace.ops.nn.window import channel_axis
from headrace.plan.plan import Plan
from headrace.plan.rewrite import Match, apply_rules, rule

LARGEST = 7  # side of a filter


@rule(PADS)
def absorb_padding(match: Match) -> Any:
    """conv(pad(x), ...) without padding of its own -> conv(x, ...) with explicit padding"""
    node = match.node
    pad = match.producer(node.inputs[0])
    if pad.op is not array_pad.pad or pad.control or node.attrs["padding"] != "VALID":
        return None
    amounts = match.constant(pad.inputs[1])
    if amounts is None or amounts.shape != (4, 2) or amounts.min() < 0:
        return None
    data_format = node.attrs["data_format"]
    if amounts[0].any() or amounts[channel_axis(data_format)].any():
        return None
    if not _is_small(match):
        return None
    if match.dtype(pad.inputs[0]).is_ref:
        return None  # the variable may change before the convolution runs
    attrs = {
        **node.attrs,
        "padding": "EXPLICIT",
        "explicit_paddings": tuple(int(n) for n in amounts.reshape(-1)),
    }
    origins = tuple(dict.fromkeys((*node.origins, *pad.origins)))
    return replace(node, inputs=(pad.inputs[0], *node.inputs[1:]), attrs=attrs, origins=origins)


def _is_small(match: Match) -> bool:
    """For larger filters with strides, libraries have fast code without padding only."""
    node = match.node
    names = [argument.name for argument in node.op.signature.inputs]
    filters = match.shape(node.inputs[names.index("filter")]) if "filter" in names else node.outputs[0].shape
    sizes = filters.sizes
    return sizes is not None and all(n is not None and n <= LARGEST for n in sizes[:2])


def absorb_paddings(plan: Plan) -> Plan:
    return apply_rules(plan, (absorb_padding,))
